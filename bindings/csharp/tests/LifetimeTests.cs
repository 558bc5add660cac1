using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Lifetimes: disposing, forgetting to, and use after the end.</summary>
    public class LifetimeTests
    {
        private const string Waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";

        [Fact]
        public void DisposedObjectsThrow()
        {
            Queue queue = TestQueue.Open();
            Batch batch = TestQueue.Claimed(queue, "a");
            Item item = batch[0];
            LeaseRenewal renewal = queue.StartRenewal(batch);
            foreach (IDisposable each in new IDisposable[] { renewal, queue, batch })
            {
                each.Dispose();
                each.Dispose();
            }
            Assert.Throws<ObjectDisposedException>(() => queue.Claim());
            Assert.Throws<ObjectDisposedException>(() => queue.Enqueue(new NewItem()));
            Assert.Throws<ObjectDisposedException>(() => queue.Settle(item.Complete()));
            Assert.Throws<ObjectDisposedException>(() => queue.Interrupt());
            Assert.Throws<ObjectDisposedException>(() => queue.Share());
            Assert.Throws<ObjectDisposedException>(() => queue.Stats());
            Assert.Throws<ObjectDisposedException>(() => queue.StartRenewal(batch));
            Assert.Throws<ObjectDisposedException>(() => Assert.Null(queue.Worker));
            Assert.Throws<ObjectDisposedException>(() => item.GetString("Payload"));
            Assert.Throws<ObjectDisposedException>(() => item.ToJson());
            Assert.Throws<ObjectDisposedException>(() => Assert.Equal(0, renewal.LostCount));
            Assert.Throws<ObjectDisposedException>(() => renewal.Release(item.Key));
            Assert.Equal(1, item.Attempt);
            Assert.NotEmpty(item.Key);
        }

        [Fact]
        public void AClosedQueueSaysSo()
        {
            using (Queue queue = TestQueue.Open())
            using (Queue shared = queue.Share())
            using (Batch batch = TestQueue.Claimed(queue, "a"))
            {
                queue.Close(TimeSpan.FromSeconds(600));
                queue.Close(TimeSpan.Zero);
                Assert.Equal(Status.Closed, Assert.Throws<QueueException>(() => queue.Claim()).Status);
                Assert.Equal(Status.Closed, Assert.Throws<QueueException>(() => shared.Stats()).Status);
                Assert.Equal("a", batch[0].GetString("Payload"));
            }
        }

        [Fact]
        public void ASharedHandleStaysWhenTheOtherGoes()
        {
            Queue queue = TestQueue.Open();
            using (Queue shared = queue.Share())
            {
                queue.Dispose();
                using (Batch batch = TestQueue.Claimed(shared, "a"))
                {
                    Assert.Equal(Status.Ok, shared.Settle(batch[0].Complete()).Answer);
                }
            }
        }

        [Fact]
        public void DisposingEndsAClaimThatWaits()
        {
            Queue queue = TestQueue.Open();
            Status ended = Status.Ok;
            var thread = new Thread(() =>
            {
                try
                {
                    ended = queue.Claim(1, TimeSpan.FromHours(1)).Status;
                }
                catch (ObjectDisposedException)
                {
                    // It had not begun by then.
                    ended = Status.Interrupted;
                }
            });
            thread.Start();
            Thread.Sleep(100);
            queue.Dispose();
            Until.Ended(thread);
            Assert.Equal(Status.Interrupted, ended);
        }

        [Fact]
        public void AForgottenDisposeLosesNoHandle()
        {
            using (Queue queue = TestQueue.Open())
            {
                TestQueue.Enqueue(queue, Enumerable.Repeat("x", 40).ToArray());
                WeakReference[] forgotten = Forget(queue);
                Until.True(() =>
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                    return forgotten.All(each => !each.IsAlive);
                });
                Assert.Equal(40, queue.Stats().Processing);
            }
        }

        /// <summary>
        /// To free a renewal means to wait for its round, which here waits for a lock until the test lets go.
        /// </summary>
        [Fact]
        public void NoFinalizerWaits()
        {
            string name = TestQueue.Install();
            using (var server = Psql.Start())
            using (Queue queue = Queue.Open(TestQueue.Options, name))
            using (Batch batch = TestQueue.Claimed(queue, "a"))
            {
                server.Ask("BEGIN; LOCK TABLE readpast_csharp." + name.ToLowerInvariant() + "; SELECT 1");
                WeakReference forgotten = ForgetRenewal(queue, batch);
                Until.True(() => server.Ask(Waiting) == "1");
                do
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                    Assert.Equal("1", server.Ask(Waiting));
                }
                while (forgotten.IsAlive);
                server.Ask("COMMIT; SELECT 1");
            }
        }

        [Fact]
        public void GarbageCollectionsDoNotDisturbWorkInHand()
        {
            using (Queue queue = TestQueue.Open())
            {
                bool done = false;
                var collector = new Thread(() =>
                {
                    while (!Volatile.Read(ref done))
                    {
                        GC.Collect();
                        GC.WaitForPendingFinalizers();
                        // Wine 10 lets nobody else run otherwise: ten minutes for this test.
                        Thread.Sleep(1);
                    }
                });
                collector.Start();
                try
                {
                    for (int round = 0; round < 20; round++)
                    {
                        TestQueue.Enqueue(queue, Enumerable.Range(0, 50).Select(i => new string('ä', i)).ToArray());
                        // The batch, which nothing else holds, must outlive the reading of its items.
                        foreach (Item item in queue.Claim(50))
                        {
                            Assert.True(item.GetString("Payload").All(c => c == 'ä'));
                            Assert.Contains("Payload", item.ToJson());
                            Assert.Equal(Status.Ok, queue.Settle(item.Complete()).Answer);
                        }
                    }
                }
                finally
                {
                    Volatile.Write(ref done, true);
                    collector.Join();
                }
                Assert.Equal(1000, queue.Stats().Completed);
            }
        }

        [Fact]
        public void ReadingWhileAnotherThreadDisposes()
        {
            using (Queue queue = TestQueue.Open())
            {
                for (int round = 0; round < 50; round++)
                {
                    Batch batch = TestQueue.Claimed(queue, "some text");
                    var begun = new CountdownEvent(3);
                    Exception[] thrown = new Exception[3];
                    Thread[] readers = Enumerable.Range(0, 3).Select(i => new Thread(() =>
                    {
                        begun.Signal();
                        try
                        {
                            while (true)
                            {
                                Assert.Equal("some text", batch[0].GetString("Payload"));
                            }
                        }
                        catch (Exception exception)
                        {
                            thrown[i] = exception;
                        }
                    })).ToArray();
                    Array.ForEach(readers, reader => reader.Start());
                    begun.Wait();
                    batch.Dispose();
                    Array.ForEach(readers, Until.Ended);
                    Assert.All(thrown, each => Assert.IsType<ObjectDisposedException>(each));
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static WeakReference[] Forget(Queue queue)
        {
            var forgotten = new List<WeakReference>();
            // In another thread's stack, which is gone afterwards, so that no slot of it holds a reference.
            var thread = new Thread(() =>
            {
                for (int i = 0; i < 20; i++)
                {
                    Queue shared = queue.Share();
                    Batch batch = shared.Claim(2);
                    forgotten.Add(new WeakReference(shared));
                    forgotten.Add(new WeakReference(batch));
                    forgotten.Add(new WeakReference(shared.StartRenewal(batch)));
                }
            });
            thread.Start();
            thread.Join();
            return forgotten.ToArray();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static WeakReference ForgetRenewal(Queue queue, Batch batch)
        {
            WeakReference forgotten = null;
            var thread = new Thread(
                () => forgotten = new WeakReference(queue.StartRenewal(batch, TimeSpan.FromMilliseconds(1))));
            thread.Start();
            thread.Join();
            return forgotten;
        }
    }
}
