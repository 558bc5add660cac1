using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Asynchronous handlers, mistakes of handlers, and a worker's reports of them.</summary>
    public sealed class HandlerTests : IDisposable
    {
        private Queue queue;

        public HandlerTests()
        {
            queue = TestQueue.Open();
        }

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public void AnAsynchronousLambdaIsATaskThatIsWaitedFor()
        {
            TestQueue.Enqueue(queue, "slow");
            var gate = new TaskCompletionSource<bool>();
            bool isBegun = false;
            var worker = new QueueWorker(queue, async item =>
            {
                isBegun = true;
                await gate.Task;
            });
            Thread running = Start(worker);
            Until.True(() => isBegun);
            Assert.Equal(0, queue.Stats().Completed);
            Assert.Equal(1, queue.Stats().Processing);
            gate.SetResult(true);
            Until.True(() => queue.Stats().Completed == 1);
            Stop(worker, running);
        }

        [Fact]
        public void EveryKindOfHandlerIsTaken()
        {
            Takes(null, new QueueWorker(queue, item => { }));
            Takes(null, new QueueWorker(queue, async item => { await Task.Yield(); }));
            Takes(null, new QueueWorker(queue, async item => await Task.Yield()));
            Takes(null, new QueueWorker(queue, item => Task.Delay(1)));
            Takes(null, new QueueWorker(queue, async item => await Count(item)));
            Takes(null, new QueueWorker(queue, Send));
            Takes(null, new QueueWorker(queue, async (item, cancellation) => await Task.Delay(1, cancellation)));
            Takes(null, new QueueWorker(queue, async item => await Nothing()));
            Takes(null, new QueueWorker(queue, item => SendLater(item)));
            Takes(null, new QueueWorker(queue, SendLater));
            Takes(null, new QueueWorker(queue, (item, cancellation) => SendLater(item)));
            Takes("sent", new QueueWorker(queue, item => AnswerLater(item)));
            Takes("sent", new QueueWorker(queue, (item, cancellation) => AnswerLater(item)));
            Takes("sent", new QueueWorker(queue, item => item.Complete("sent")));
            Takes("sent", new QueueWorker(queue, item => Answer(item)));
            Takes("sent", new QueueWorker(queue, async item => await Answer(item)));
            Takes("sent", new QueueWorker(queue, Answer));
            Takes("sent", new QueueWorker(queue, async (item, cancellation) => await Answer(item)));
        }

        [Fact]
        public void AnAsyncVoidMethodIsRefusedWithTheRemedy()
        {
            Action<Item> several = item => { };
            several += Vanish;
            foreach (Action<Item> handler in new Action<Item>[] { Vanish, several, async item => await Task.Yield() })
            {
                string said = Assert.Throws<ArgumentException>(() => new QueueWorker(queue, handler)).Message;
                Assert.Contains("is async void", said);
                Assert.Contains("return Task", said);
            }
            Assert.Contains(
                "HandlerTests.Vanish", Assert.Throws<ArgumentException>(() => new QueueWorker(queue, Vanish)).Message);
        }

        [Fact]
        public void ATaskThatFailsIsAnAttemptThatFails()
        {
            TestQueue.Enqueue(queue, "bad");
            var worker = new QueueWorker(queue, async item =>
            {
                await Task.Yield();
                throw new InvalidOperationException("it is bad");
            });
            RunUntil(worker, () => queue.Stats().Failed == 1);
            string error = TestQueue.Column(queue, "error").Single();
            Assert.StartsWith("System.InvalidOperationException: it is bad", error);
            Assert.Contains("HandlerTests", error);
        }

        [Fact]
        public void AHandlerThatWantsItsContextBackDoesNotWaitForEver()
        {
            TestQueue.Enqueue(queue, "a", "b");
            int handled = 0;
            var worker = new QueueWorker(queue, async item =>
            {
                await Task.Yield();
                Interlocked.Increment(ref handled);
            });
            // As a library for windows may leave it on a thread.
            worker.Claimed += items => SynchronizationContext.SetSynchronizationContext(new NobodyServes());
            RunUntil(worker, () => queue.Stats().Completed == 2);
            Assert.Equal(2, handled);
        }

        [Fact]
        public void TheTokenEndsWithTheWorkerAndTheAttemptDoesNotCount()
        {
            TestQueue.Enqueue(queue, "a", "b");
            bool isBegun = false;
            var worker = new QueueWorker(queue, async (item, cancellation) =>
            {
                isBegun = true;
                await Task.Delay(Timeout.Infinite, cancellation);
            })
            {
                StopTimeout = TimeSpan.Zero,
            };
            var entries = new ConcurrentQueue<WorkerLogEntry>();
            worker.Logged += entries.Enqueue;
            RunUntil(worker, () => isBegun);
            Assert.All(entries, entry => Assert.Equal(WorkerLogLevel.Information, entry.Level));
            Assert.Equal(2, queue.Stats().Pending);
            Assert.Equal(new[] { 0, 0 }, Attempts());
        }

        [Fact]
        public void AStopWaitsForAHandlerThatIgnoresItsToken()
        {
            TestQueue.Enqueue(queue, "a");
            var cancelled = new TaskCompletionSource<bool>();
            bool isBegun = false;
            var worker = new QueueWorker(queue, async (item, cancellation) =>
            {
                cancellation.Register(() =>
                {
                    cancelled.SetResult(true);
                    throw new InvalidOperationException("a callback that fails, which is no end of the task");
                });
                isBegun = true;
                await cancelled.Task;
                await Task.Delay(100);
                return item.Complete("all the same");
            })
            {
                StopTimeout = TimeSpan.Zero,
            };
            RunUntil(worker, () => isBegun);
            Assert.Equal(new[] { "all the same" }, TestQueue.Column(queue, "response"));
        }

        [Fact]
        public void ACancellationOfItsOwnIsAFailedAttempt()
        {
            TestQueue.Enqueue(queue, "a");
            var worker = new QueueWorker(queue, async item =>
            {
                await Task.Yield();
                throw new OperationCanceledException("the mail server took too long");
            });
            RunUntil(worker, () => queue.Stats().Failed == 1);
            Assert.Contains("took too long", TestQueue.Column(queue, "error").Single());
        }

        [Fact]
        public void TheTokenEndsWhenTheItemIsLost()
        {
            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "1500";
            options["recover.interval_ms"] = "3600000";
            using (Queue brief = Queue.Open(options, TestQueue.Install()))
            {
                TestQueue.Enqueue(brief, "doomed");
                bool wasCancelled = false;
                var worker = new QueueWorker(brief, async (item, cancellation) =>
                {
                    brief.Settle(Settlement.Operator(item.Key, SettlementAction.Terminate));
                    try
                    {
                        await Task.Delay(Timeout.Infinite, cancellation);
                    }
                    finally
                    {
                        wasCancelled = item.IsLost;
                    }
                });
                var entries = new ConcurrentQueue<WorkerLogEntry>();
                worker.Logged += entries.Enqueue;
                RunUntil(worker, () => entries.Any(entry => entry.Message.Contains("was lost: ")));
                Assert.True(wasCancelled);
                Assert.Contains(entries, entry => entry.Message.Contains("was cancelled: the item is lost"));
                Assert.Equal(1, brief.Stats().Terminated);
            }
        }

        [Fact]
        public void OnlyTheTokenOfTheLostItemEnds()
        {
            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "1500";
            options["recover.interval_ms"] = "3600000";
            using (Queue brief = Queue.Open(options, TestQueue.Install()))
            {
                TestQueue.Enqueue(brief, "doomed", "kept");
                var keptRuns = new TaskCompletionSource<bool>();
                var doomedEnded = new TaskCompletionSource<bool>();
                var worker = new QueueWorker(brief, async (item, cancellation) =>
                {
                    if (item.GetString("Payload") == "kept")
                    {
                        keptRuns.SetResult(true);
                        await doomedEnded.Task;
                        return item.Complete(cancellation.IsCancellationRequested ? "cancelled" : "to the end");
                    }
                    await keptRuns.Task;
                    brief.Settle(Settlement.Operator(item.Key, SettlementAction.Terminate));
                    try
                    {
                        await Task.Delay(Until.Patience, cancellation);
                    }
                    finally
                    {
                        doomedEnded.SetResult(cancellation.IsCancellationRequested);
                    }
                    return null;
                })
                {
                    Threads = 2,
                };
                RunUntil(worker, () => brief.Stats().Completed == 1 && brief.Stats().Terminated == 1);
                Assert.True(doomedEnded.Task.Result);
                Assert.Equal("to the end", TestQueue.Column(brief, "response").Last());
            }
        }

        [Fact]
        public void AStopFromElsewhereArrivesWhileAllThreadsAreBusy()
        {
            TestQueue.Enqueue(queue, "a");
            var worker = new QueueWorker(queue, async (item, cancellation) =>
            {
                // No thread waits for items, to learn of the stop that way.
                queue.Interrupt();
                await Task.Delay(Until.Patience, cancellation);
            })
            {
                StopTimeout = TimeSpan.Zero,
            };
            worker.Run();
            queue.Resume();
            Assert.Equal(1, queue.Stats().Pending);
            Assert.Equal(new[] { 0 }, Attempts());
        }

        [Fact]
        public void AMistakeOfTheHandlerIsFinalAndNamesIt()
        {
            TestQueue.Enqueue(queue, "null", "another's", "not started", "good");
            int handled = 0;
            var worker = new QueueWorker(queue, item =>
            {
                Interlocked.Increment(ref handled);
                return Err(item);
            });
            var entries = new ConcurrentQueue<WorkerLogEntry>();
            worker.Logged += entries.Enqueue;
            RunUntil(worker, () => queue.Stats().Failed == 3 && queue.Stats().Completed == 1);
            Assert.Equal(4, handled);
            string[] errors = TestQueue.Column(queue, "error");
            Assert.Contains("HandlerTests", errors[0]);
            Assert.Contains("returned null in place of a task", errors[0]);
            Assert.Contains("settled item another", errors[1]);
            Assert.Contains("a task that was not started", errors[2]);
            Assert.Equal(3, entries.Count(entry => entry.Level == WorkerLogLevel.Error && entry.Attempt == 1));
        }

        [Fact]
        public void ItLogsEveryFailedAttemptAndNoPayload()
        {
            TestQueue.Enqueue(queue, "throws s3cret", "retries s3cret", "fails s3cret", "long s3cret", "good s3cret");
            string[] keys;
            using (Batch all = queue.Find())
            {
                keys = all.Select(item => item.Key).ToArray();
            }
            var entries = new ConcurrentQueue<WorkerLogEntry>();
            var worker = new QueueWorker(queue, item => Fail(item)) { BatchSize = 2 };
            worker.Logged += entries.Enqueue;
            RunUntil(worker, () => queue.Stats().Failed == 2 && queue.Stats().Completed == 2);
            WorkerLogEntry[] told = entries.ToArray();
            Assert.Equal(WorkerLogLevel.Information, told[0].Level);
            Assert.EndsWith(" started: threads: 1, items a batch: 2", told[0].Message);
            Assert.Equal(WorkerLogLevel.Information, told.Last().Level);
            Assert.EndsWith(" stopped", told.Last().Message);
            for (int attempt = 1; attempt <= 3; attempt++)
            {
                WorkerLogEntry thrown = told.Single(entry => entry.Key == keys[0] && entry.Attempt == attempt);
                Assert.Equal(WorkerLogLevel.Warning, thrown.Level);
                Assert.IsType<FormatException>(thrown.Exception);
                Assert.Equal(
                    "item " + keys[0] + ", attempt " + attempt +
                    " failed: the handler threw System.FormatException: 451 greylisted",
                    thrown.Message);
            }
            string[] warnings = told.Where(entry => entry.Level == WorkerLogLevel.Warning)
                .Select(entry => entry.Message).ToArray();
            Assert.Contains(
                "item " + keys[1] + ", attempt 1 failed (Retry): 452 full" + new string('!', 242) +
                " … (14508 characters left out) … " + new string('!', 250),
                warnings);
            Assert.Contains("item " + keys[2] + ", attempt 1 failed (Fail): 550 no such user", warnings);
            string refused = warnings.Single(line => line.StartsWith("item " + keys[3], StringComparison.Ordinal));
            Assert.Contains(
                "attempt 1: a part of the result (step of 600 characters) was refused, and is left out of its ",
                refused);
            Assert.Contains("widen its column", refused);
            Assert.DoesNotContain(warnings, line => line.Contains(keys[4]));
            Assert.DoesNotContain(told, entry => entry.ToString().Contains("s3cret"));
            // As the fields that a provider of Microsoft.Extensions.Logging keeps, too.
            string[] fields = told
                .Select(entry => string.Join(" ", entry.Select(field => field.Key + "=" + field.Value)))
                .ToArray();
            string whose = "Queue=" + queue.Name + " Worker=" + queue.Worker;
            Assert.Equal(2, fields.Count(each => each == whose));
            Assert.Contains(whose + " Key=" + keys[0] + " Attempt=3 Action=Retry", fields);
            Assert.Contains(whose + " Key=" + keys[2] + " Attempt=1 Action=Fail", fields);
            Assert.Contains(
                whose + " Key=" + keys[3] + " Attempt=1 Action=Complete Status=InvalidArgument",
                fields);
        }

        [Fact]
        public void AListenerThatThrowsEndsTheWorkerAndIsNoFailureOfTheHandler()
        {
            TestQueue.Enqueue(queue, "fails");
            var worker = new QueueWorker(queue, item => Fail(item));
            worker.Logged += entry =>
            {
                if (entry.Key != null)
                {
                    throw new FormatException("the listener's");
                }
            };
            Assert.Contains("the listener's", Assert.Throws<FormatException>(() => worker.Run()).Message);
            Assert.Equal(1, queue.Stats().Failed);
        }

        [Fact]
        public void WhileNobodyListensWarningsGoToStandardError()
        {
            TestQueue.Enqueue(queue, "throws");
            TextWriter before = Console.Error;
            using (var said = new StringWriter())
            {
                Console.SetError(TextWriter.Synchronized(said));
                try
                {
                    RunUntil(new QueueWorker(queue, item => Fail(item)), () => queue.Stats().Failed == 1);
                }
                finally
                {
                    Console.SetError(before);
                }
                Assert.Contains("readpast: warning: item ", said.ToString());
                Assert.DoesNotContain("info: ", said.ToString());
            }
        }

        private static Thread Start(QueueWorker worker)
        {
            worker.SettleTimeout = worker.SettleTimeout ?? Until.Patience;
            var thread = new Thread(() => worker.Run());
            thread.Start();
            return thread;
        }

        private static void Stop(QueueWorker worker, Thread running)
        {
            worker.Stop();
            Until.Ended(running);
        }

        private static void RunUntil(QueueWorker worker, Func<bool> enough)
        {
            Thread running = Start(worker);
            try
            {
                Until.True(enough);
            }
            finally
            {
                Stop(worker, running);
            }
        }

        private static async Task Send(Item item)
        {
            await Task.Yield();
        }

        private static async ValueTask SendLater(Item item)
        {
            await Task.Yield();
            // Where the item is settled before its work is done, this is refused.
            Assert.Equal(Status.Ok, item.RecordStep("sent").Answer);
        }

        private static async ValueTask<Settlement> AnswerLater(Item item)
        {
            await Task.Yield();
            return item.Complete("sent");
        }

        private static async Task<int> Count(Item item)
        {
            await Task.Yield();
            return item.Attempt;
        }

        private static async Task<Settlement> Nothing()
        {
            await Task.Yield();
            return null;
        }

        private static async Task<Settlement> Answer(Item item)
        {
            await Task.Yield();
            return item.Complete("sent");
        }

        private static async void Vanish(Item item)
        {
            await Task.Yield();
        }

        private static Task<Settlement> Err(Item item)
        {
            switch (item.GetString("Payload"))
            {
                case "null":
                    return null;
                case "another's":
                    return Task.FromResult(new Settlement("another", item.Token, 1, SettlementAction.Complete));
                case "not started":
                    return new Task<Settlement>(() => item.Complete());
                default:
                    return Task.FromResult(item.Complete());
            }
        }

        private static Settlement Fail(Item item)
        {
            switch (item.GetString("Payload").Split(' ')[0])
            {
                case "throws":
                    throw new FormatException("451 greylisted");
                case "retries":
                    return item.Retry("452 full" + new string('!', 15000), TimeSpan.FromHours(1));
                case "fails":
                    return item.Fail("550 no such user");
                case "long":
                    Settlement settlement = item.Complete("s3crets3crets3cret");
                    settlement.Step = string.Concat(Enumerable.Repeat("s3cret", 100));
                    return settlement;
                default:
                    return null;
            }
        }

        private void Takes(string response, QueueWorker worker)
        {
            TestQueue.Enqueue(queue, "a");
            long before = queue.Stats().Completed;
            RunUntil(worker, () => queue.Stats().Completed == before + 1);
            Assert.Equal(response ?? string.Empty, TestQueue.Column(queue, "response").Last());
        }

        private int[] Attempts()
        {
            using (Batch all = queue.Find())
            {
                return all.Select(item => item.Attempt).ToArray();
            }
        }

        /// <summary>A context as windows have it, of which nobody runs the loop.</summary>
        private sealed class NobodyServes : SynchronizationContext
        {
            public override void Post(SendOrPostCallback callback, object state)
            {
            }
        }
    }
}
