using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>The worker: what handlers do, and how it ends.</summary>
    public sealed class WorkerTests : IDisposable
    {
        private Queue queue;

        public WorkerTests()
        {
            queue = TestQueue.Open();
        }

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public void EachItemIsHandledOnce()
        {
            const int Items = 500;
            TestQueue.Enqueue(queue, Enumerable.Range(0, Items).Select(i => "item " + i).ToArray());
            var handled = new ConcurrentBag<string>();
            Run(new QueueWorker(queue, item => handled.Add(item.GetString("Payload"))) { Threads = 4, BatchSize = 7 },
                () => handled.Count == Items);
            Assert.Equal(Items, handled.Distinct().Count());
            Assert.Equal(Items, queue.Stats().Completed);
        }

        [Fact]
        public void ATaskThatIsCancelledEndsWell()
        {
            TestQueue.Enqueue(queue, "item");
            using (var source = new CancellationTokenSource())
            {
                Task run = new QueueWorker(queue, item => source.Cancel()).RunAsync(source.Token);
                Assert.True(run.Wait(Until.Patience));
                Assert.Equal(TaskStatus.RanToCompletion, run.Status);
            }
            Assert.Equal(1, queue.Stats().Completed);
            Task refused = new QueueWorker(queue, item => { }) { Threads = 0 }.RunAsync();
            Assert.IsType<InvalidOperationException>(
                Assert.Throws<AggregateException>(() => refused.Wait()).InnerException);
        }

        [Fact]
        public void ATimeoutThatCannotBeIsRefusedAndEndsTheRun()
        {
            var endless = new QueueWorker(queue, item => { }) { SettleTimeout = Timeout.InfiniteTimeSpan };
            Assert.Contains(
                "SettleTimeout", Assert.Throws<ArgumentOutOfRangeException>(() => endless.Run()).Message);
            TestQueue.Enqueue(queue, "item");
            QueueWorker tooLong = null;
            tooLong = new QueueWorker(queue, item => tooLong.Stop()) { SettleTimeout = TimeSpan.FromDays(2) };
            Assert.Equal(
                Status.InvalidArgument, Assert.Throws<QueueException>(() => tooLong.Run()).Status);
            Assert.Equal(1, queue.Stats().Completed);
        }

        [Fact]
        public void AHandlersResultIsSettled()
        {
            TestQueue.Enqueue(
                queue, "nothing", "response", "partially", "fail", "retry", "release", "cancel", "pause", "step");
            int handled = 0;
            Run(
                new QueueWorker(queue, item => Interlocked.Increment(ref handled) > 0 ? Do(item) : null),
                () => handled == 9);
            Assert.Equal(
                new[]
                {
                    "Completed", "Completed", "PartiallyCompleted", "Failed", "Error", "Pending", "Cancelled", "Paused",
                    "Completed",
                },
                TestQueue.Column(queue, "status"));
            Assert.Equal(
                new[] { "", "sent", "half", "", "", "", "", "", "" }, TestQueue.Column(queue, "response"));
            Assert.Equal(new[] { "never", "later" }, TestQueue.Column(queue, "error").Skip(3).Take(2));
            Assert.Equal("rendered", TestQueue.Column(queue, "step").Last());
        }

        [Fact]
        public void AnExceptionIsTheItemsErrorAndTheWorkerGoesOn()
        {
            TestQueue.Enqueue(queue, "bad", "good", "long", "unsendable");
            Run(
                new QueueWorker(queue, item => Play(item)) { BatchSize = 2 },
                () => queue.Stats().Failed == 2 && queue.Stats().Completed == 2);
            string[] errors = TestQueue.Column(queue, "error");
            Assert.Equal(
                new[] { "Failed", "Completed", "Failed", "Completed" }, TestQueue.Column(queue, "status"));
            Assert.StartsWith(
                "System.InvalidOperationException: it is bad: ä\U0001F600 \uFFFD\uFFFD!", errors[0]);
            Assert.Contains("System.FormatException: inner", errors[0]);
            Assert.Contains("WorkerTests.Play", errors[0]);
            Assert.Equal(string.Empty, errors[1]);
            Assert.Equal(16000, new StringInfo(errors[2]).LengthInTextElements);
            Assert.Contains("the response is not UTF-8", errors[3]);
            Assert.Equal(string.Empty, TestQueue.Column(queue, "response")[3]);
        }

        [Fact]
        public void ATokenStopsItToo()
        {
            using (var source = new CancellationTokenSource())
            {
                var worker = new QueueWorker(queue, item => { }) { Threads = 3 };
                var thread = new Thread(() => worker.Run(source.Token));
                thread.Start();
                source.Cancel();
                Until.Ended(thread);
                Assert.Throws<InvalidOperationException>(() => worker.Run());
            }
        }

        [Fact]
        public void AnInterruptOfTheQueueStopsItsWorkers()
        {
            var worker = new QueueWorker(queue, item => { }) { Threads = 3 };
            var thread = new Thread(() => worker.Run());
            thread.Start();
            queue.Interrupt();
            Until.Ended(thread);
        }

        [Fact]
        public void AWorkerStoppedBeforeItRunsDoesNothing()
        {
            TestQueue.Enqueue(queue, "a");
            var worker = new QueueWorker(queue, item => Assert.Fail());
            worker.Stop();
            worker.Run();
            Assert.Equal(1, queue.Stats().Pending);
        }

        [Fact]
        public void LeasesOutlastTheWork()
        {
            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "15000";
            options["recover.interval_ms"] = "50";
            string name = TestQueue.Install();
            using (Queue brief = Queue.Open(options, name))
            using (Queue rival = Queue.Open(options, name))
            {
                TestQueue.Enqueue(brief, "slow");
                bool lost = false, done = false;
                Run(
                    new QueueWorker(brief, item =>
                    {
                        for (int i = 0; i < 340; i++)
                        {
                            using (Batch none = rival.Claim(1, TimeSpan.FromMilliseconds(50)))
                            {
                                lost |= item.IsLost || none.Count > 0;
                            }
                        }
                        done = true;
                    }),
                    () => done && brief.Stats().Completed == 1);
                Assert.False(lost);
            }
        }

        [Fact]
        public void AHandlerLearnsThatItsItemIsLost()
        {
            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "1500";
            options["recover.interval_ms"] = "3600000";
            using (Queue brief = Queue.Open(options, TestQueue.Install()))
            {
                TestQueue.Enqueue(brief, "doomed");
                bool wasLost = false;
                var notices = new ConcurrentQueue<string>();
                var worker = new QueueWorker(brief, item =>
                {
                    Assert.False(item.IsLost);
                    brief.Settle(Settlement.Operator(item.Key, SettlementAction.Terminate));
                    Until.True(() => item.IsLost);
                    wasLost = true;
                });
                worker.Logged += entry =>
                {
                    if (entry.Level == WorkerLogLevel.Warning)
                    {
                        notices.Enqueue(entry.Message);
                    }
                };
                Run(worker, () => notices.Count > 0);
                Assert.True(wasLost);
                Assert.Contains("was lost: ", notices.Single());
                Assert.Equal(1, brief.Stats().Terminated);
            }
        }

        [Fact]
        public void BatchesOfAWorkerShareTheirColumns()
        {
            using (Queue queue = TestQueue.Open())
            {
                TestQueue.Enqueue(queue, "a", "b", "c");
                var columns = new List<IReadOnlyList<Column>>();
                var read = new List<string>();
                var worker = new QueueWorker(queue, item => read.Add(item.GetString("Payload"))) { UntilEmpty = true };
                worker.Claimed += items => columns.Add(((Batch)items).Columns);
                worker.Run();
                Assert.Equal(new[] { "a", "b", "c" }, read);
                Assert.All(columns, each => Assert.Same(columns[0], each));
                Assert.Equal(3, columns.Count);
            }
        }

        [Fact]
        public void AFailureThatNobodyMendsEndsTheRun()
        {
            var worker = new QueueWorker(queue, item => { }) { Threads = 2, BatchSize = 5000 };
            Assert.Equal(Status.InvalidArgument, Assert.Throws<QueueException>(() => worker.Run()).Status);

            TestQueue.Enqueue(queue, "a");
            worker = new QueueWorker(queue, item => { }) { Threads = 2 };
            Exception thrown = null;
            var thread = new Thread(() => thrown = Assert.Throws<QueueException>(() => worker.Run()));
            thread.Start();
            Until.True(() => queue.Stats().Completed == 1);
            queue.Close(Until.Patience);
            Until.Ended(thread);
            Assert.Equal(Status.Closed, ((QueueException)thrown).Status);
            Assert.Contains("QueueWorker.Work", thrown.StackTrace);
        }

        private static void Run(QueueWorker worker, Func<bool> enough)
        {
            Exception failed = null;
            var thread = new Thread(() =>
            {
                try
                {
                    worker.Run();
                }
                catch (Exception exception)
                {
                    failed = exception;
                }
            });
            worker.SettleTimeout = worker.SettleTimeout ?? Until.Patience;
            thread.Start();
            try
            {
                Until.True(() => failed != null || enough());
            }
            finally
            {
                worker.Stop();
                Until.Ended(thread);
            }
            Assert.Null(failed);
        }

        private static Settlement Do(Item item)
        {
            switch (item.GetString("Payload"))
            {
                case "response": return item.Complete("sent");
                case "partially": return item.CompletePartially("half");
                case "fail": return item.Fail("never");
                case "retry": return item.Retry("later", TimeSpan.FromHours(1));
                case "release": return item.Release(TimeSpan.FromHours(1));
                case "cancel": return item.Settle(SettlementAction.Cancel);
                case "pause": return item.Settle(SettlementAction.Pause);
                case "step":
                    Assert.Equal(Status.Ok, item.RecordStep("rendered").Answer);
                    return item.Complete();
                default: return null;
            }
        }

        private static Settlement Play(Item item)
        {
            switch (item.GetString("Payload"))
            {
                case "bad":
                    throw new InvalidOperationException(
                        "it is bad: ä\U0001F600 \0\ud83d!", new FormatException("inner"));
                case "long":
                    throw new InvalidOperationException(string.Concat(Enumerable.Repeat("\U0001F600", 20000)));
                case "unsendable":
                    // Half a character is no reason to do the work again.
                    return item.Complete("\ud83d!");
                default:
                    return null;
            }
        }
    }
}
