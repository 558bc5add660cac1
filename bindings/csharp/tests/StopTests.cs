using System;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>The end of a worker whose handlers are at work, and what handlers have in common.</summary>
    public sealed class StopTests : IDisposable
    {
        private readonly Queue queue = TestQueue.Open();

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public void AHandlerMayGoOnForTheStopTimeout()
        {
            TestQueue.Enqueue(queue, "a");
            var isBegun = new TaskCompletionSource<bool>();
            var mayEnd = new TaskCompletionSource<bool>();
            var worker = new QueueWorker(queue, async (item, cancellation) =>
            {
                isBegun.SetResult(true);
                await mayEnd.Task;
                return item.Complete(cancellation.IsCancellationRequested ? "cancelled" : "to the end");
            })
            {
                StopTimeout = Until.Patience,
            };
            Task running = worker.RunAsync();
            Assert.True(isBegun.Task.Wait(Until.Patience));
            worker.Stop();
            // Those who wait for news of the stop have had time to take it for an end.
            Thread.Sleep(50);
            mayEnd.SetResult(true);
            Assert.True(running.Wait(Until.Patience));
            Assert.Equal(new[] { "to the end" }, TestQueue.Column(queue, "response"));
        }

        [Fact]
        public void AnAbandonedWorkerSpendsNoAttemptOfWhatItsHandlersHave()
        {
            TestQueue.Enqueue(queue, "blocks", "waits");
            var begun = new CountdownEvent(2);
            var mayEnd = new ManualResetEventSlim();
            var answers = new CountdownEvent(2);
            Settlement Block(Item item)
            {
                begun.Signal();
                mayEnd.Wait();
                Assert.True(item.IsLost);
                Assert.Equal(Status.NotFound, item.RecordStep("late").Answer);
                answers.Signal();
                return item.Complete("late");
            }
            var workers = new[]
            {
                new QueueWorker(queue, Block),
                new QueueWorker(queue, async (item, cancellation) =>
                {
                    // In vain: it takes no notice of its token.
                    await Task.Yield();
                    return Block(item);
                }),
            };
            Task[] running = workers.Select(worker => worker.RunAsync()).ToArray();
            Assert.True(begun.Wait(Until.Patience));
            Assert.Equal(2, queue.Stats().Processing);
            foreach (QueueWorker worker in workers)
            {
                worker.Abandon();
            }
            Assert.True(Task.WaitAll(running, Until.Patience), "it waits for its handler");
            mayEnd.Set();
            Assert.True(answers.Wait(Until.Patience));
            using (Batch all = queue.Claim(2))
            {
                Assert.Equal(new[] { 1, 1 }, all.Select(item => item.Attempt));
                Assert.Equal(new[] { "", "" }, TestQueue.Column(queue, "response"));
            }
        }

        [Fact]
        public void AWorkerAbandonedBeforeItRunsDoesNothing()
        {
            TestQueue.Enqueue(queue, "a");
            var worker = new QueueWorker(queue, item => Assert.Fail());
            worker.Abandon();
            worker.Run();
            Assert.Equal(1, queue.Stats().Pending);
        }

        [Fact]
        public void NothingAmbientGoesFromCallerToHandlerOrFromItemToItem()
        {
            TestQueue.Enqueue(queue, "a", "b", "c");
            var ambient = new AsyncLocal<string>();
            int strangers = 0, handled = 0;
            void Look()
            {
                handled++;
                strangers += ambient.Value != null || Activity.Current != null ? 1 : 0;
                ambient.Value = "what an item leaves";
                new Activity("of an item").Start();
            }
            Run(new QueueWorker(queue, item => Look()) { BatchSize = 2 });
            Assert.Equal((3, 0), (handled, strangers));
            TestQueue.Enqueue(queue, "a", "b");
            Run(new QueueWorker(queue, item =>
            {
                Look();
                return Task.CompletedTask;
            }));
            Assert.Equal((5, 0), (handled, strangers));

            void Run(QueueWorker worker)
            {
                worker.UntilEmpty = true;
                ambient.Value = "the caller's";
                using (Activity activity = new Activity("of the caller").Start())
                {
                    worker.Run();
                }
            }
        }

        [Fact]
        public void HandlersThatBlockTakeNoThreadOfThePool()
        {
            const int Handlers = 8;
            TestQueue.Enqueue(queue, Enumerable.Repeat("a", Handlers).ToArray());
            using (new SmallPool())
            {
                using (var all = new Barrier(Handlers))
                {
                    var worker = new QueueWorker(queue, item =>
                    {
                        bool haveMet = all.SignalAndWait(Until.Patience);
                        return Task.FromResult(haveMet ? item.Complete() : item.Fail("alone"));
                    })
                    {
                        Threads = Handlers, UntilEmpty = true,
                    };
                    worker.Run();
                }
                Assert.Equal(Handlers, queue.Stats().Completed);
            }
        }
    }
}
