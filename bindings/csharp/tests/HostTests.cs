using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>A process that gets a signal to end while its handlers work: examples/hosted_service.cs.</summary>
    public class HostTests
    {
        [Fact]
        public void ARollOutSpendsNoAttemptOfAHandlerThatOutlastsIt()
        {
            Assert.SkipWhen(OperatingSystem.IsWindows(), "the host is told to end by SIGTERM");
            Queue.Install(
                TestQueue.Options,
                "{\"queue\": \"Mail\", \"columns\": [{\"name\": \"Recipient\", \"type\": \"text(254)\"}]}");
            using (Queue queue = Queue.Open(TestQueue.Options, "Mail"))
            {
                queue.Enqueue(TestQueue.With("Recipient", "a@example.org"));
                for (int rollOut = 1; rollOut <= 2; rollOut++)
                {
                    using (Process host = Start())
                    {
                        Until.True(() => host.HasExited || queue.Stats().Processing == 1);
                        Process.Start("kill", "-TERM " + host.Id).WaitForExit();
                        Assert.True(host.WaitForExit(Until.Patience));
                        Assert.Equal(0, host.ExitCode);
                    }
                    using (Batch all = queue.Find())
                    {
                        Assert.Equal(new[] { 0 }, all.Select(item => item.Attempt));
                        Assert.Equal(1, queue.Stats().Pending);
                    }
                }
            }
        }

        private static Process Start()
        {
            string program = Path.Combine(
                AppContext.BaseDirectory, "..", "..", "hosted_service", "release", "hosted_service.dll");
            var start = new ProcessStartInfo("dotnet", new[] { program });
            foreach (var setting in TestQueue.Options)
            {
                bool isConnection = setting.Key == "connection";
                string name = isConnection ? "Readpast__Connection" : "Readpast__Settings__" + setting.Key;
                start.Environment[name] = setting.Value;
            }
            // Their work takes a minute, and the host waits for a second.
            start.Environment["MailMilliseconds"] = "60000";
            start.Environment["DOTNET_SHUTDOWNTIMEOUTSECONDS"] = "1";
            start.Environment["Logging__LogLevel__Default"] = "Error";
            return Process.Start(start);
        }
    }
}
