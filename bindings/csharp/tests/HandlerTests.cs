using System;
using System.Collections.Concurrent;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using NUnit.Framework;

namespace Readpast.Tests
{
    /// <summary>Asynchronous handlers, mistakes of handlers, and what a worker tells of them.</summary>
    [TestFixture]
    public class HandlerTests
    {
        private Queue queue;

        [SetUp]
        public void Open()
        {
            queue = TestQueue.Open();
        }

        [TearDown]
        public void Close()
        {
            queue.Dispose();
        }

        [Test]
        public void AnAsynchronousLambdaIsATaskThatIsWaitedFor()
        {
            TestQueue.Enqueue(queue, "slow");
            var gate = new TaskCompletionSource<bool>();
            bool isBegun = false;
            var worker = new Worker(queue, async item =>
            {
                isBegun = true;
                await gate.Task;
            });
            Thread running = Start(worker);
            Until.True(() => isBegun);
            Assert.AreEqual(0, queue.Stats().Completed, "nothing is settled before it is done");
            Assert.AreEqual(1, queue.Stats().Processing);
            gate.SetResult(true);
            Until.True(() => queue.Stats().Completed == 1);
            Stop(worker, running);
        }

        /// <summary>Which overload each of these is, mcs and Roslyn decide by the same rules.</summary>
        [Test]
        public void EveryKindOfHandlerIsTaken()
        {
            Takes(null, new Worker(queue, item => { }));
            Takes(null, new Worker(queue, async item => { await Task.Yield(); }));
            Takes(null, new Worker(queue, async item => await Task.Yield()));
            Takes(null, new Worker(queue, item => Task.Delay(1)));
            Takes(null, new Worker(queue, async item => await Count(item)));
            Takes(null, new Worker(queue, Send));
            Takes(null, new Worker(queue, async (item, cancellation) => await Task.Delay(1, cancellation)));
            Takes(null, new Worker(queue, async item => await Nothing()));
            Takes("sent", new Worker(queue, item => item.Complete("sent")));
            Takes("sent", new Worker(queue, item => Answer(item)));
            Takes("sent", new Worker(queue, async item => await Answer(item)));
            Takes("sent", new Worker(queue, Answer));
            Takes("sent", new Worker(queue, async (item, cancellation) => await Answer(item)));
        }

        [Test]
        public void AnAsyncVoidMethodIsRefusedWithTheRemedy()
        {
            Action<Item> several = item => { };
            several += Vanish;
            foreach (Action<Item> handler in new Action<Item>[] { Vanish, several, async item => await Task.Yield() })
            {
                string said = Assert.Throws<ArgumentException>(() => new Worker(queue, handler)).Message;
                StringAssert.Contains("is async void", said);
                StringAssert.Contains("return Task", said);
            }
            StringAssert.Contains(
                "HandlerTests.Vanish", Assert.Throws<ArgumentException>(() => new Worker(queue, Vanish)).Message);
        }

        [Test]
        public void ATaskThatFailsIsAnAttemptThatFails()
        {
            TestQueue.Enqueue(queue, "bad");
            var worker = new Worker(queue, async item =>
            {
                await Task.Yield();
                throw new InvalidOperationException("it is bad");
            });
            RunUntil(worker, () => queue.Stats().Failed == 1);
            string error = TestQueue.Column(queue, "error").Single();
            StringAssert.StartsWith("System.InvalidOperationException: it is bad", error);
            StringAssert.Contains("HandlerTests", error, "where it was thrown");
        }

        [Test]
        public void AHandlerThatWantsItsContextBackDoesNotWaitForEver()
        {
            TestQueue.Enqueue(queue, "a", "b");
            int handled = 0;
            var worker = new Worker(queue, async item =>
            {
                await Task.Yield();
                Interlocked.Increment(ref handled);
            });
            // As a library for windows may leave it on a thread.
            worker.Claimed += items => SynchronizationContext.SetSynchronizationContext(new NobodyServes());
            RunUntil(worker, () => queue.Stats().Completed == 2);
            Assert.AreEqual(2, handled);
        }

        [Test]
        public void TheTokenEndsWithTheWorkerAndTheAttemptDoesNotCount()
        {
            TestQueue.Enqueue(queue, "a", "b");
            bool isBegun = false;
            var worker = new Worker(queue, async (item, cancellation) =>
            {
                isBegun = true;
                await Task.Delay(Timeout.Infinite, cancellation);
            });
            RunUntil(worker, () => isBegun);
            Assert.AreEqual(2, queue.Stats().Pending);
            CollectionAssert.AreEqual(new[] { 0, 0 }, Attempts());
        }

        [Test]
        public void WhatIgnoresItsTokenIsWaitedFor()
        {
            TestQueue.Enqueue(queue, "a");
            var cancelled = new TaskCompletionSource<bool>();
            bool isBegun = false;
            var worker = new Worker(queue, async (item, cancellation) =>
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
            });
            RunUntil(worker, () => isBegun);
            CollectionAssert.AreEqual(new[] { "all the same" }, TestQueue.Column(queue, "response"));
        }

        [Test]
        public void ACancellationOfItsOwnIsAFailedAttempt()
        {
            TestQueue.Enqueue(queue, "a");
            var worker = new Worker(queue, async item =>
            {
                await Task.Yield();
                throw new OperationCanceledException("the mail server took too long");
            });
            RunUntil(worker, () => queue.Stats().Failed == 1);
            StringAssert.Contains("took too long", TestQueue.Column(queue, "error").Single());
        }

        [Test]
        public void TheTokenEndsWhenTheItemIsLost()
        {
            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "1500";
            options["recover.interval_ms"] = "3600000";
            using (Queue brief = Queue.Open(options, TestQueue.Install()))
            {
                TestQueue.Enqueue(brief, "doomed");
                bool wasCancelled = false;
                var worker = new Worker(brief, async (item, cancellation) =>
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
                Assert.IsTrue(wasCancelled);
                Assert.IsTrue(entries.Any(entry => entry.Message.Contains("was cancelled: the item is lost")));
                Assert.AreEqual(1, brief.Stats().Terminated);
            }
        }

        [Test]
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
                var worker = new Worker(brief, async (item, cancellation) =>
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
                Assert.IsTrue(doomedEnded.Task.Result);
                Assert.AreEqual("to the end", TestQueue.Column(brief, "response").Last());
            }
        }

        [Test]
        public void AStopFromElsewhereIsToldWhileAllThreadsAreBusy()
        {
            TestQueue.Enqueue(queue, "a");
            var worker = new Worker(queue, async (item, cancellation) =>
            {
                // Nobody waits for items, who could be told by that.
                queue.Interrupt();
                await Task.Delay(Until.Patience, cancellation);
            });
            worker.Run();
            queue.Resume();
            Assert.AreEqual(1, queue.Stats().Pending);
            CollectionAssert.AreEqual(new[] { 0 }, Attempts());
        }

        [Test]
        public void AMistakeOfTheHandlerIsFinalAndNamesIt()
        {
            TestQueue.Enqueue(queue, "null", "another's", "not started", "good");
            int handled = 0;
            var worker = new Worker(queue, item =>
            {
                Interlocked.Increment(ref handled);
                return Err(item);
            });
            var entries = new ConcurrentQueue<WorkerLogEntry>();
            worker.Logged += entries.Enqueue;
            RunUntil(worker, () => queue.Stats().Failed == 3 && queue.Stats().Completed == 1);
            Assert.AreEqual(4, handled, "what was done is not done again");
            string[] errors = TestQueue.Column(queue, "error");
            StringAssert.Contains("HandlerTests", errors[0]);
            StringAssert.Contains("returned null in place of a task", errors[0]);
            StringAssert.Contains("settled item another", errors[1]);
            StringAssert.Contains("a task that was not started", errors[2]);
            Assert.AreEqual(3, entries.Count(entry => entry.Level == WorkerLogLevel.Error && entry.Attempt == 1));
        }

        [Test]
        public void ItTellsOfEveryFailedAttemptAndOfNoPayload()
        {
            TestQueue.Enqueue(queue, "throws s3cret", "retries s3cret", "fails s3cret", "long s3cret", "good s3cret");
            string[] keys;
            using (Batch all = queue.Find())
            {
                keys = all.Select(item => item.Key).ToArray();
            }
            var entries = new ConcurrentQueue<WorkerLogEntry>();
            var worker = new Worker(queue, item => Fail(item)) { BatchSize = 2 };
            worker.Logged += entries.Enqueue;
            RunUntil(worker, () => queue.Stats().Failed == 2 && queue.Stats().Completed == 2);
            WorkerLogEntry[] told = entries.ToArray();
            Assert.AreEqual(WorkerLogLevel.Information, told[0].Level);
            StringAssert.EndsWith(" started: threads: 1, items a batch: 2", told[0].Message);
            Assert.AreEqual(WorkerLogLevel.Information, told.Last().Level);
            StringAssert.EndsWith(" stopped", told.Last().Message);
            for (int attempt = 1; attempt <= 3; attempt++)
            {
                WorkerLogEntry thrown = told.Single(entry => entry.Key == keys[0] && entry.Attempt == attempt);
                Assert.AreEqual(WorkerLogLevel.Warning, thrown.Level);
                Assert.IsInstanceOf<FormatException>(thrown.Exception);
                Assert.AreEqual(
                    "item " + keys[0] + ", attempt " + attempt +
                    " failed: the handler threw System.FormatException: 451 greylisted",
                    thrown.Message);
            }
            string[] warnings = told.Where(entry => entry.Level == WorkerLogLevel.Warning)
                .Select(entry => entry.Message).ToArray();
            CollectionAssert.Contains(
                warnings,
                "item " + keys[1] + ", attempt 1 failed (Retry): 452 full" + new string('!', 242) +
                " … (14508 characters left out) … " + new string('!', 250));
            CollectionAssert.Contains(warnings, "item " + keys[2] + ", attempt 1 failed (Fail): 550 no such user");
            string refused = warnings.Single(line => line.StartsWith("item " + keys[3], StringComparison.Ordinal));
            StringAssert.Contains(
                "attempt 1: a part of the result (step of 600 characters) was refused, and is left out of its ",
                refused);
            StringAssert.Contains("widen its column", refused);
            Assert.IsFalse(warnings.Any(line => line.Contains(keys[4])));
            Assert.IsFalse(told.Any(entry => entry.ToString().Contains("s3cret")));
            // As the fields that a provider of Microsoft.Extensions.Logging keeps, too.
            string[] fields = told
                .Select(entry => string.Join(" ", entry.Select(field => field.Key + "=" + field.Value)))
                .ToArray();
            string whose = "Queue=" + queue.Name + " Worker=" + queue.Worker;
            Assert.AreEqual(2, fields.Count(each => each == whose));
            CollectionAssert.Contains(fields, whose + " Key=" + keys[0] + " Attempt=3 Action=Retry");
            CollectionAssert.Contains(fields, whose + " Key=" + keys[2] + " Attempt=1 Action=Fail");
            CollectionAssert.Contains(
                fields, whose + " Key=" + keys[3] + " Attempt=1 Action=Complete Status=InvalidArgument");
        }

        [Test]
        public void AListenerThatThrowsEndsTheWorkerAndIsNoFailureOfTheHandler()
        {
            TestQueue.Enqueue(queue, "fails");
            var worker = new Worker(queue, item => Fail(item));
            worker.Logged += entry =>
            {
                if (entry.Key != null)
                {
                    throw new FormatException("the listener's");
                }
            };
            StringAssert.Contains("the listener's", Assert.Throws<FormatException>(() => worker.Run()).Message);
            Assert.AreEqual(1, queue.Stats().Failed, "what the handler did is done");
        }

        [Test]
        public void WhileNobodyListensWarningsGoToStandardError()
        {
            TestQueue.Enqueue(queue, "throws");
            TextWriter before = Console.Error;
            using (var said = new StringWriter())
            {
                Console.SetError(TextWriter.Synchronized(said));
                try
                {
                    RunUntil(new Worker(queue, item => Fail(item)), () => queue.Stats().Failed == 1);
                }
                finally
                {
                    Console.SetError(before);
                }
                StringAssert.Contains("readpast: warning: item ", said.ToString());
                StringAssert.DoesNotContain("info: ", said.ToString());
            }
        }

        private static Thread Start(Worker worker)
        {
            worker.SettleTimeout = worker.SettleTimeout ?? Until.Patience;
            var thread = new Thread(() => worker.Run());
            thread.Start();
            return thread;
        }

        private static void Stop(Worker worker, Thread running)
        {
            worker.Stop();
            Until.Ended(running);
        }

        private static void RunUntil(Worker worker, Func<bool> enough)
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

        private void Takes(string response, Worker worker)
        {
            TestQueue.Enqueue(queue, "a");
            long before = queue.Stats().Completed;
            RunUntil(worker, () => queue.Stats().Completed == before + 1);
            Assert.AreEqual(response ?? string.Empty, TestQueue.Column(queue, "response").Last());
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
