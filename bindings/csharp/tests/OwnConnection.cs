using System;
using System.Data.Common;
using Microsoft.Data.SqlClient;
using Npgsql;

namespace Readpast.Tests
{
    /// <summary>Connections of .NET's own drivers to the server that READPAST_CONNECTION names for ODBC.</summary>
    internal static class OwnConnection
    {
        internal static bool IsSqlServer
        {
            get { return Odbc().TryGetValue("driver", out object driver) && ((string)driver).Contains("SQL Server"); }
        }

        /// <summary>Whether SQL Server is a stand-in, which keeps the escapes of JSON as they are.</summary>
        internal static bool IsStandIn
        {
            get
            {
                using (DbConnection connection = Open())
                using (DbCommand command = connection.CreateCommand())
                {
                    command.CommandText = IsSqlServer ? "SELECT @@VERSION" : "SELECT ''";
                    return ((string)command.ExecuteScalar()).Contains("Babelfish");
                }
            }
        }

        internal static string Text
        {
            get
            {
                DbConnectionStringBuilder odbc = Odbc();
                if (IsSqlServer)
                {
                    var sql = new SqlConnectionStringBuilder
                    {
                        DataSource = Value(odbc, "Server"),
                        InitialCatalog = Value(odbc, "Database") ?? "master",
                        UserID = Value(odbc, "Uid"),
                        Password = Value(odbc, "Pwd"),
                        Encrypt = SqlConnectionEncryptOption.Optional,
                        TrustServerCertificate = true,
                        CommandTimeout = 600,
                    };
                    return sql.ConnectionString;
                }
                var postgres = new NpgsqlConnectionStringBuilder
                {
                    Host = Value(odbc, "Server"),
                    Port = int.Parse(Value(odbc, "Port") ?? "5432"),
                    Database = Value(odbc, "Database"),
                    Username = Value(odbc, "Uid"),
                    Password = Value(odbc, "Pwd"),
                    CommandTimeout = 600,
                };
                return postgres.ConnectionString;
            }
        }

        internal static DbConnection Open()
        {
            DbConnection connection = IsSqlServer ? new SqlConnection(Text) : new NpgsqlConnection(Text);
            connection.Open();
            return connection;
        }

        private static DbConnectionStringBuilder Odbc()
        {
            return new DbConnectionStringBuilder(true)
            {
                ConnectionString = Environment.GetEnvironmentVariable("READPAST_CONNECTION"),
            };
        }

        private static string Value(DbConnectionStringBuilder odbc, string key)
        {
            return odbc.TryGetValue(key, out object value) ? (string)value : null;
        }
    }
}
