using System;
using System.Data.Common;
using System.Diagnostics;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>A session on the test's PostgreSQL that is not the library's.</summary>
    internal sealed class Psql : IDisposable
    {
        private readonly Process process;

        private Psql(Process process)
        {
            this.process = process;
        }

        internal static Psql Start()
        {
            var connection = new DbConnectionStringBuilder(true)
            {
                ConnectionString = Environment.GetEnvironmentVariable("READPAST_CONNECTION"),
            };
            string bin = Environment.GetEnvironmentVariable("READPAST_PG_BIN");
            if (bin == null)
            {
                Assert.Skip("needs the throw-away PostgreSQL");
            }
            var start = new ProcessStartInfo
            {
                FileName = bin + "/psql",
                Arguments = "-X -q -t -A -v ON_ERROR_STOP=1",
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                UseShellExecute = false,
            };
            start.EnvironmentVariables["PGHOST"] = (string)connection["Server"];
            start.EnvironmentVariables["PGPORT"] = (string)connection["Port"];
            start.EnvironmentVariables["PGDATABASE"] = (string)connection["Database"];
            start.EnvironmentVariables["PGUSER"] = (string)connection["Uid"];
            if (connection.TryGetValue("Pwd", out object password))
            {
                start.EnvironmentVariables["PGPASSWORD"] = (string)password;
            }
            return new Psql(Process.Start(start));
        }

        /// <summary>Runs statements of which one gives a value.</summary>
        internal string Ask(string sql)
        {
            process.StandardInput.WriteLine(sql + ";");
            process.StandardInput.Flush();
            return process.StandardOutput.ReadLine();
        }

        public void Dispose()
        {
            process.StandardInput.Close();
            process.WaitForExit();
            process.Dispose();
        }
    }
}
