using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Tasks, and how their waits are called off.</summary>
    public sealed class CancellationTests : IDisposable
    {
        private static readonly TimeSpan Long = TimeSpan.FromHours(1);

        private Queue queue;

        public CancellationTests()
        {
            queue = TestQueue.Open();
        }

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public void TasksGiveWhatCallsGive()
        {
            var items = new[] { TestQueue.With("Payload", "a"), new NewItem() };
            Assert.Equal(Status.Ok, End(queue.EnqueueAsync(items)).Status);
            using (Batch batch = End(queue.ClaimAsync(1, Long)))
            {
                SettledAndClaimed both = End(queue.SettleAndClaimAsync(new[] { batch[0].Complete() }, 1));
                Assert.Equal(Status.Ok, both.Outcomes.Status);
                Assert.Equal(Status.Ok, End(queue.SettleAsync(new[] { both.Batch[0].Complete() })).Status);
                both.Batch.Dispose();
            }
            var failed = Assert.Throws<AggregateException>(() => End(queue.ClaimAsync(0)));
            Assert.Equal(Status.InvalidArgument, ((QueueException)failed.InnerException).Status);
        }

        [Fact]
        public void CancellingEndsOneWaitAndNoOther()
        {
            using (var source = new CancellationTokenSource())
            {
                Task<Batch> cancelled = queue.ClaimAsync(1, Long, source.Token);
                Task<Batch> other = queue.ClaimAsync(1, Long);
                source.CancelAfter(50);
                AssertCancelled(cancelled);
                TestQueue.Enqueue(queue, "for the other");
                using (Batch batch = End(other))
                {
                    Assert.Single(batch);
                }
            }
        }

        [Fact]
        public void WaitsForTheEndsOfItemsHoldNoThread()
        {
            // More than the queue has threads for its calls.
            string[] payloads = Enumerable.Range(0, 20).Select(n => n.ToString()).ToArray();
            using (Batch batch = TestQueue.Claimed(queue, payloads))
            using (var source = new CancellationTokenSource())
            {
                Task<Batch>[] waiting = batch.Select(item => queue.WaitForAsync(item.Key, Long)).ToArray();
                Task<Batch> cancelled = queue.WaitForAsync(batch[0].Key, Long, source.Token);
                Task<Batch> brief = queue.WaitForAsync(batch[0].Key, TimeSpan.FromMilliseconds(50));
                Assert.Equal(Status.Empty, End(brief).Status);
                source.Cancel();
                AssertCancelled(cancelled);
                Settlement[] done = batch.Select(item => item.Complete(item.GetString("Payload"))).ToArray();
                Assert.Equal(Status.Ok, queue.Settle(done).Status);
                string[] responses = waiting.Select(wait => End(wait)[0].GetString("response")).ToArray();
                Assert.Equal(batch.Select(item => item.GetString("Payload")), responses);
                var refused = Assert.Throws<AggregateException>(
                    () => End(queue.WaitForAsync(batch[0].Key, TimeSpan.FromDays(2))));
                Assert.Equal(Status.InvalidArgument, ((QueueException)refused.InnerException).Status);
            }
        }

        [Fact]
        public void AClaimOfTooManyEndsNoOtherThatWaits()
        {
            Task<Batch> waiting = queue.ClaimAsync(1, Long);
            // Until it waits in line, where its claims are made for others too.
            Until.True(() => queue.IsClaimWaiting);
            var refused = Assert.Throws<AggregateException>(() => End(queue.ClaimAsync(1001, Long)));
            Assert.Equal(Status.InvalidArgument, ((QueueException)refused.InnerException).Status);
            TestQueue.Enqueue(queue, "a");
            using (Batch batch = End(waiting))
            {
                Assert.Single(batch);
            }
        }

        [Fact]
        public void CallsCancelledBeforeDoNotBegin()
        {
            TestQueue.Enqueue(queue, "a");
            var cancelled = new CancellationToken(true);
            AssertCancelled(queue.ClaimAsync(1, Long, cancelled));
            AssertCancelled(queue.EnqueueAsync(new[] { new NewItem() }, null, cancelled));
            Assert.Equal(1, queue.Stats().Pending);
        }

        [Fact]
        public void AnInterruptOfAQueueInterruptsItsTasks()
        {
            using (var source = new CancellationTokenSource())
            {
                Task<Batch> waiting = queue.ClaimAsync(1, Long, source.Token);
                queue.Interrupt();
                Assert.Equal(Status.Interrupted, End(waiting).Status);
                Assert.Equal(Status.Interrupted, End(queue.ClaimAsync(1, Long, source.Token)).Status);
                Assert.Equal(Status.Interrupted, queue.Claim(1, Long).Status);
                queue.Resume();
                Assert.Equal(Status.Empty, End(queue.ClaimAsync(1, TimeSpan.Zero, source.Token)).Status);

                waiting = queue.ClaimAsync(1, Long, source.Token);
                queue.Dispose();
                Until.True(() => waiting.IsCompleted);
                Assert.True(
                    waiting.IsFaulted
                        ? waiting.Exception.InnerException is ObjectDisposedException
                        : waiting.Result.Status == Status.Interrupted);
            }
        }

        /// <summary>
        /// However the race of items and cancellations ends, each item is in somebody's hands, or in the queue.
        /// </summary>
        [Fact]
        public void NoItemIsLostToACancellation()
        {
            const int Rounds = 200;
            int taken = 0;
            var random = new Random(1);
            for (int round = 0; round < Rounds; round++)
            {
                using (var source = new CancellationTokenSource())
                {
                    Task<Batch> claim = queue.ClaimAsync(1, Long, source.Token);
                    TestQueue.Enqueue(queue, "a");
                    Thread.Sleep(random.Next(4));
                    source.Cancel();
                    Until.True(() => claim.IsCompleted);
                    if (!claim.IsCanceled)
                    {
                        using (Batch batch = claim.Result)
                        {
                            taken += batch.Count;
                            Assert.Equal(Status.Ok, queue.Settle(batch.Single().Complete()).Answer);
                        }
                    }
                }
            }
            QueueStats stats = queue.Stats();
            Assert.Equal(taken, stats.Completed);
            Assert.Equal(Rounds - taken, stats.Pending);
            Assert.Equal(0, stats.Processing);
        }

        [Fact]
        public void WaitsTakeNoThreadOfThePool()
        {
            using (new SmallPool())
            using (var source = new CancellationTokenSource())
            {
                List<Task<Batch>> claims =
                    Enumerable.Range(0, 20).Select(_ => queue.ClaimAsync(1, Long, source.Token)).ToList();
                // With every thread of the pool in a wait, this would never run.
                End(Task.Run(() => true));
                source.Cancel();
                claims.ForEach(AssertCancelled);
            }
        }

        private static T End<T>(Task<T> task)
        {
            Assert.True(task.Wait(Until.Patience), "the task never ended");
            return task.Result;
        }

        private static void AssertCancelled<T>(Task<T> task)
        {
            Until.True(() => task.IsCompleted);
            Assert.Equal(TaskStatus.Canceled, task.Status);
        }
    }
}
