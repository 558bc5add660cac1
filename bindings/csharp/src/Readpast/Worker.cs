using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Threading;

namespace Readpast
{
    /// <summary>
    /// Works a queue off on several threads: each claims a batch, has its leases renewed, hands every item to the
    /// handler, and settles the batch and claims the next one in a single round trip.
    /// </summary>
    /// <remarks>
    /// The handler says what came of an item by what it returns: null is <see cref="Item.Complete"/>. An exception
    /// records its type, message and stack as the item's error, and the item is tried again while attempts are left;
    /// the worker goes on. An item that was lost meanwhile is left to whoever has it now. What the database cannot
    /// store, such as a response longer than its column, is left out, and the item's error says so. Lost connections
    /// and the like are waited for. <see cref="Logged"/> tells of all that. The worker uses a shared handle of its own:
    /// to stop it does not interrupt other users of the queue, while <see cref="Queue.Interrupt"/> stops it.
    /// <para>
    /// An asynchronous handler runs on the thread pool, and the worker's thread waits until its task has ended: so
    /// <see cref="Threads"/> of them run at once. Its token is cancelled when its item is found lost, and when the
    /// worker is stopped; if it then ends by <see cref="OperationCanceledException"/>, the item is given back, and the
    /// attempt does not count. A settlement of another item, or null for a task, is a mistake of the program: the work
    /// may have been done, so the item becomes Failed with an error that says so, and is not tried again.
    /// </para>
    /// </remarks>
    public sealed partial class Worker
    {
        private static readonly TimeSpan Wait = TimeSpan.FromMinutes(1);
        private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);

        private readonly Queue queue;
        private readonly Func<Item, Settlement> handler;
        private readonly object gate = new object();
        private readonly ManualResetEventSlim stopped = new ManualResetEventSlim();
        private Queue own;
        private ExceptionDispatchInfo failure;

        /// <summary>The items of a batch, before the first is handled. Raised on the worker's threads.</summary>
        public event Action<IReadOnlyList<Item>> Claimed;

        /// <summary>
        /// What a batch came to, after it was settled: what was asked for and what was answered, item by item, how long
        /// the call took, and how many items it claimed. Raised on the worker's threads.
        /// </summary>
        public event Action<IReadOnlyList<Settlement>, IReadOnlyList<Outcome>, TimeSpan, int> Settled;

        /// <summary>How many threads work; 1 unless it is set before <see cref="Run"/>.</summary>
        public int Threads { get; set; } = 1;

        /// <summary>
        /// How many items a thread claims at once, 1 to 1000; 1 unless it is set before <see cref="Run"/>.
        /// </summary>
        public int BatchSize { get; set; } = 1;

        /// <summary>
        /// Works until <see cref="Stop"/>, or until the token is cancelled. Then items in hand are finished and
        /// settled, those of a batch that were not begun are given back, and this returns.
        /// </summary>
        /// <param name="cancellation">Stops it.</param>
        /// <exception cref="QueueException">
        /// A failure that no other try mends. Other threads have been drained.
        /// </exception>
        /// <exception cref="InvalidOperationException">It was run before, or is running.</exception>
        public void Run(CancellationToken cancellation = default(CancellationToken))
        {
            if (Threads < 1)
            {
                throw new InvalidOperationException("a worker needs a thread");
            }
            lock (gate)
            {
                if (own != null)
                {
                    throw new InvalidOperationException("a worker runs once");
                }
                own = queue.Share();
                if (stopped.IsSet)
                {
                    own.Interrupt();
                }
            }
            using (own)
            {
                LogStart();
                using (cancellation.Register(Stop))
                {
                    var threads = new Thread[Threads];
                    for (int i = 0; i < threads.Length; i++)
                    {
                        threads[i] = new Thread(Work) { Name = "readpast worker " + (i + 1), IsBackground = true };
                        threads[i].Start();
                    }
                    foreach (Thread thread in threads)
                    {
                        thread.Join();
                    }
                }
                lock (gate)
                {
                    // Nobody interrupts it any more.
                    stopped.Set();
                }
                LogEnd();
            }
            failure?.Throw();
        }

        /// <summary>
        /// Lets <see cref="Run"/> end in order, now or when it is called. From any thread; returns at once.
        /// </summary>
        public void Stop()
        {
            lock (gate)
            {
                if (!stopped.IsSet)
                {
                    stopped.Set();
                    own?.Interrupt();
                }
            }
        }

        private void Work()
        {
            try
            {
                while (!stopped.IsSet)
                {
                    Batch batch = Claim();
                    if (batch == null)
                    {
                        return;
                    }
                    if (batch.Status == Status.Interrupted)
                    {
                        // By Stop, or because the queue itself was interrupted: for all threads alike.
                        Stop();
                    }
                    while (batch.Count > 0)
                    {
                        batch = WorkOn(batch);
                    }
                    batch.Dispose();
                }
            }
            catch (Exception exception)
            {
                lock (gate)
                {
                    failure = failure ?? ExceptionDispatchInfo.Capture(exception);
                }
                Stop();
            }
        }

        /// <summary>
        /// Waits for items; null when it is time to end and the server does not answer, of which who ends need not
        /// complain.
        /// </summary>
        private Batch Claim()
        {
            try
            {
                return Try("claiming", operation => own.Claim(BatchSize, Wait));
            }
            catch (QueueException exception) when (exception.IsTransient && stopped.IsSet)
            {
                return null;
            }
        }
    }
}
