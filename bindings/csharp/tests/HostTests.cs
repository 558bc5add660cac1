using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
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

        [Fact]
        public void AHostWhoseWorkerCannotGoOnEndsWithAnError()
        {
            TestQueue.Install();
            using (Process host = Start(("Readpast__Settings__schema", "readpast_nowhere")))
            {
                Assert.True(host.WaitForExit(Until.Patience));
                Assert.Equal(1, host.ExitCode);
            }
        }

        [Fact]
        public void AProcessThatEndsWithoutAHostSpendsNoAttemptEither()
        {
            Assert.SkipWhen(OperatingSystem.IsWindows(), "the process is told to end by SIGTERM");
            using (Queue queue = TestQueue.Open())
            {
                TestQueue.Enqueue(queue, "a", "b");
                using (Process child = Child.Start("HostTests.WorkInThisProcess", null, ("READPAST_CHILD", queue.Name)))
                {
                    Until.True(() => child.HasExited || queue.Stats().Processing == 2);
                    Process.Start("kill", "-TERM " + child.Id).WaitForExit();
                    child.StandardOutput.ReadToEnd();
                    Assert.True(child.WaitForExit(Until.Patience));
                }
                using (Batch all = queue.Find())
                {
                    Assert.Equal(new[] { 0, 0 }, all.Select(item => item.Attempt));
                    Assert.Equal(2, queue.Stats().Pending);
                }
            }
        }

        /// <summary>Two workers, whose handlers never end.</summary>
        [Fact(Explicit = true)]
        public void WorkInThisProcess()
        {
            // .NET 10 ends a process at the signal without an event; this makes it an ordinary end.
            using (PosixSignalRegistration.Create(PosixSignal.SIGTERM, signal => Environment.Exit(0)))
            using (Queue queue = Queue.Open(TestQueue.Options, Environment.GetEnvironmentVariable("READPAST_CHILD")))
            {
                var workers = Enumerable.Range(0, 2)
                    .Select(_ => new QueueWorker(queue, item => Thread.Sleep(Timeout.Infinite)).RunAsync());
                Task.WaitAll(workers.ToArray());
            }
        }

        private static Process Start(params (string Name, string Value)[] more)
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
            foreach ((string name, string value) in more)
            {
                start.Environment[name] = value;
            }
            return Process.Start(start);
        }
    }
}
