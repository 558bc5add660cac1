using System;
using System.Collections.Concurrent;
using System.Linq;
using System.Threading;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>A worker's reports of its items, and its answer to results it cannot settle as they are.</summary>
    public sealed class SettledTests : IDisposable
    {
        private Queue queue;

        public SettledTests()
        {
            queue = TestQueue.Open();
        }

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public void EachItemIsReportedOnceItIsSettled()
        {
            TestQueue.Enqueue(queue, "good", "bad", "unbegun");
            var told = new ConcurrentQueue<SettledItem>();
            QueueWorker worker = null;
            worker = new QueueWorker(queue, item =>
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
            Assert.True(told.All(item => item.Answer == Status.Ok && item.Key != null && item.Attempt == 1));
            Assert.Equivalent(
                new[] { ItemState.Completed, ItemState.Failed, ItemState.Pending }, told.Select(item => item.State),
                strict: true);
            WorkerFigures figures = worker.Figures;
            Assert.Equal(3, figures.Claimed);
            Assert.Equal(2, figures.Settled);
            Assert.Equal(1, figures.Released);
            Assert.Equal(0, figures.Ready + figures.Begun + figures.Ended);
        }

        [Fact]
        public void RefusedPartsOfAResultAreLeftOut()
        {
            TestQueue.Enqueue(queue, "delay", "step", "no action");
            Run(
                new QueueWorker(queue, item => Err(item)),
                () => queue.Stats().Paused == 1 && queue.Stats().Failed == 2);
            string[] errors = TestQueue.Column(queue, "error");
            Assert.StartsWith("a part of the result was refused: ", errors[0]);
            Assert.Contains("the delay of -1000 ms is not from 0", errors[0]);
            Assert.Contains("the action Step does not end an item", errors[1]);
            Assert.Contains("the action that was given does not end an item", errors[2]);
        }

        [Fact]
        public void TheSettleTimeoutIsOverWhenTheDatabaseDoesNotAnswer()
        {
            string name = TestQueue.Install();
            using (var server = Psql.Start())
            using (Queue patient = Queue.Open(TestQueue.Options, name))
            {
                TestQueue.Enqueue(patient, "a");
                QueueWorker worker = null;
                worker = new QueueWorker(patient, item =>
                {
                    server.Ask("BEGIN; LOCK TABLE readpast_csharp." + name.ToLowerInvariant() + "; SELECT 1");
                    worker.Stop();
                })
                { SettleTimeout = TimeSpan.FromMilliseconds(100) };
                Assert.Equal(Status.TimedOut, Assert.Throws<QueueException>(() => worker.Run()).Status);
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

        private static void Run(QueueWorker worker, Func<bool> enough)
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
