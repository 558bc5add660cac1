using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.ExceptionServices;
using System.Text;
using System.Threading;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// Works a queue off on several threads: each claims a batch, has its leases renewed, hands every item to the
    /// handler, and settles the batch and claims the next one in a single round trip.
    /// </summary>
    /// <remarks>
    /// The handler says what came of an item by what it returns: null is <see cref="Item.Complete"/>. An exception
    /// records its type, message and stack as the item's error, and the item is tried again while attempts are left;
    /// the worker goes on. An item that was lost meanwhile is left to whoever has it now. Lost connections and the like
    /// are waited for. The worker uses a shared handle of its own: to stop it does not interrupt other users of the
    /// queue, while <see cref="Queue.Interrupt"/> stops it.
    /// </remarks>
    public sealed class Worker
    {
        /// <summary>What an error column holds at most, in UTF-16 characters; stacks can be long.</summary>
        private const int LongestError = 16 * 1024;

        private static readonly TimeSpan Wait = TimeSpan.FromMinutes(1);
        private static readonly TimeSpan Pause = TimeSpan.FromSeconds(1);

        private readonly Queue queue;
        private readonly Func<Item, Settlement> handler;
        private readonly object gate = new object();
        private readonly ManualResetEventSlim stopped = new ManualResetEventSlim();
        private Queue own;
        private ExceptionDispatchInfo failure;

        /// <summary>A worker whose handler says how to settle.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Called on the worker's threads, several at once.</param>
        public Worker(Queue queue, Func<Item, Settlement> handler)
        {
            this.queue = queue ?? throw new ArgumentNullException(nameof(queue));
            this.handler = handler ?? throw new ArgumentNullException(nameof(handler));
        }

        /// <summary>A worker whose items are done when the handler returns.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Called on the worker's threads, several at once.</param>
        public Worker(Queue queue, Action<Item> handler)
            : this(queue, Completing(handler))
        {
        }

        /// <summary>
        /// What a person may want to know: leases found lost, failures that are met by another try. Raised on the
        /// worker's threads.
        /// </summary>
        public event Action<string> Notice;

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

        private static Func<Item, Settlement> Completing(Action<Item> handler)
        {
            if (handler == null)
            {
                throw new ArgumentNullException(nameof(handler));
            }
            return item =>
            {
                handler(item);
                return null;
            };
        }

        private static string Describe(Exception exception)
        {
            string text = exception.ToString();
            var told = new StringBuilder(Math.Min(text.Length, LongestError));
            for (int i = 0; i < text.Length && told.Length < LongestError; i++)
            {
                if (char.IsSurrogatePair(text, i))
                {
                    told.Append(text, i++, 2);
                }
                else
                {
                    // A message may hold what no column takes; half a character is no reason to lose the rest.
                    told.Append(text[i] == '\0' || char.IsSurrogate(text[i]) ? '\uFFFD' : text[i]);
                }
            }
            return told.ToString();
        }

        /// <summary>
        /// What cannot be sent would fail the settling of the whole batch; it is the handler's mistake, and its item's
        /// alone.
        /// </summary>
        private static Settlement Checked(Settlement settlement, Item item)
        {
            if (settlement.Key != item.Key)
            {
                throw new InvalidOperationException(
                    "the handler of item " + item.Key + " settled item " + settlement.Key);
            }
            using (var texts = new Arena())
            {
                texts.Text(settlement.Step, nameof(settlement.Step));
                texts.Text(settlement.Response, nameof(settlement.Response));
                texts.Text(settlement.Error, nameof(settlement.Error));
                texts.Text(settlement.Due, nameof(settlement.Due));
            }
            return settlement;
        }

        private void Work()
        {
            try
            {
                while (!stopped.IsSet)
                {
                    Batch batch = Try("claiming", operation => own.Claim(BatchSize, Wait));
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

        /// <summary>Handles the items of a batch, settles them, and returns the next batch.</summary>
        private Batch WorkOn(Batch batch)
        {
            using (batch)
            {
                var settlements = new List<Settlement>(batch.Count);
                using (LeaseRenewal renewal = own.StartRenewal(batch))
                {
                    batch.Renewal = renewal;
                    Claimed?.Invoke(batch);
                    foreach (Item item in batch)
                    {
                        // Of what was lost before it was begun, the refusal is all there is to report.
                        settlements.Add(stopped.IsSet || item.IsLost ? item.Release() : Handle(item));
                    }
                }
                var clock = Stopwatch.StartNew();
                SettledAndClaimed next = Try(
                    "settling", operation => own.SettleAndClaim(settlements, BatchSize, operation));
                TimeSpan took = clock.Elapsed;
                Report(settlements, next.Outcomes);
                Settled?.Invoke(settlements, next.Outcomes, took, next.Batch.Count);
                return next.Batch;
            }
        }

        private Settlement Handle(Item item)
        {
            try
            {
                return Checked(handler(item) ?? item.Complete(), item);
            }
            catch (Exception exception)
            {
                return item.Retry(Describe(exception));
            }
        }

        private void Report(List<Settlement> settlements, Answers<Outcome> outcomes)
        {
            for (int i = 0; i < settlements.Count; i++)
            {
                if (outcomes[i].Answer != Status.Ok)
                {
                    Notice?.Invoke(
                        "item " + settlements[i].Key + " could not be settled (" + outcomes[i].Answer +
                        "): it is " + outcomes[i].State + " now");
                }
            }
        }

        /// <summary>
        /// Makes a call until it succeeds, with the same operation once an outcome is unknown; throws what no other try
        /// mends.
        /// </summary>
        private T Try<T>(string doing, Func<string, T> call)
        {
            string operation = null;
            while (true)
            {
                try
                {
                    return call(operation);
                }
                catch (QueueException exception) when (exception.IsTransient || exception.Operation != null)
                {
                    operation = exception.Operation ?? operation;
                    Notice?.Invoke(doing + " failed and is tried again: " + exception.Message);
                    if (stopped.Wait(Pause) && exception.Operation == null)
                    {
                        // Nobody waits for the server for ever: leases run out, and others take over.
                        throw;
                    }
                }
            }
        }
    }
}
