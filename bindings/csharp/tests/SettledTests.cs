using System;
using System.Collections.Concurrent;
using System.Linq;
using System.Threading;
using NUnit.Framework;

namespace Readpast.Tests
{
    /// <summary>What a worker tells of its items, and what it does with what cannot be settled as it is.</summary>
    [TestFixture]
    public class SettledTests
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
        public void EachItemIsToldOfOnceItIsSettled()
        {
            TestQueue.Enqueue(queue, "good", "bad", "unbegun");
            var told = new ConcurrentQueue<SettledItem>();
            Worker worker = null;
            worker = new Worker(queue, item =>
            {
                if (item.GetString("Payload") == "good")
                {
                    return item.Complete();
                }
                worker.Stop();
                return item.Fail("never");
            })
            { BatchSize = 3 };
            worker.Settled += told.Enqueue;
            worker.Run();
            Assert.IsTrue(told.All(item => item.Answer == Status.Ok && item.Key != null && item.Attempt == 1));
            CollectionAssert.AreEquivalent(
                new[] { ItemState.Completed, ItemState.Failed, ItemState.Pending }, told.Select(item => item.State));
            WorkerFigures figures = worker.Figures;
            Assert.AreEqual(3, figures.Claimed);
            Assert.AreEqual(2, figures.Settled);
            Assert.AreEqual(1, figures.Released);
            Assert.AreEqual(0, figures.Ready + figures.Begun + figures.Ended);
        }

        [Test]
        public void WhatTheLibraryCannotBeToldIsLeftOut()
        {
            TestQueue.Enqueue(queue, "delay", "step", "no action");
            Run(
                new Worker(queue, item => Err(item)),
                () => queue.Stats().Paused == 1 && queue.Stats().Failed == 2);
            string[] errors = TestQueue.Column(queue, "error");
            StringAssert.StartsWith("a part of the result was refused: ", errors[0]);
            StringAssert.Contains("the delay of -1000 ms is not from 0", errors[0]);
            StringAssert.Contains("the action Step does not end an item", errors[1]);
            StringAssert.Contains("the action that was given does not end an item", errors[2]);
        }

        [Test]
        public void TheSettleTimeoutIsOverWhenTheDatabaseDoesNotAnswer()
        {
            string name = TestQueue.Install();
            using (var server = Psql.Start())
            using (Queue patient = Queue.Open(TestQueue.Options, name))
            {
                TestQueue.Enqueue(patient, "a");
                Worker worker = null;
                worker = new Worker(patient, item =>
                {
                    server.Ask("BEGIN; LOCK TABLE readpast_csharp." + name.ToLowerInvariant() + "; SELECT 1");
                    worker.Stop();
                })
                { SettleTimeout = TimeSpan.FromMilliseconds(100) };
                Assert.AreEqual(Status.TimedOut, Assert.Throws<QueueException>(() => worker.Run()).Status);
                server.Ask("COMMIT; SELECT 1");
            }
        }

        private static Settlement Err(Item item)
        {
            switch (item.GetString("Payload"))
            {
                case "delay":
                    Settlement paused = item.Settle(SettlementAction.Pause);
                    paused.Delay = TimeSpan.FromSeconds(-1);
                    return paused;
                case "step": return item.Settle(SettlementAction.Step);
                default: return item.Settle((SettlementAction)99);
            }
        }

        private static void Run(Worker worker, Func<bool> enough)
        {
            var thread = new Thread(() => worker.Run());
            thread.Start();
            try
            {
                Until.True(enough);
            }
            finally
            {
                worker.Stop();
                Until.Ended(thread);
            }
        }
    }
}
