using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Works a queue off on several threads: each takes items from the library, which claims ahead, settles in groups
    /// and renews leases on threads of its own, and has the handler called for each.
    /// </summary>
    /// <remarks>
    /// The handler returns the item's settlement: null is <see cref="ClaimedItem.Complete"/>. An exception
    /// records its type, message and stack as the item's error, and the item is tried again while attempts are left;
    /// the worker goes on. A lost item is left to its new holder. A value the database cannot
    /// store, such as a response longer than its column, is left out, and the item's error says so. Lost connections
    /// and the like are waited for. <see cref="Logged"/> reports all that. To stop the worker does not interrupt other
    /// users of the queue, while <see cref="Queue.Interrupt"/> stops it. How far it claims ahead, and on how many
    /// connections, say the settings <c>worker.ahead</c>, <c>worker.hold_ms</c> and <c>worker.fetchers</c>.
    /// <para>
    /// An asynchronous handler begins on the worker's thread, which waits until its task has ended: so <see
    /// cref="Threads"/> of them run at once. Its token is cancelled when its item is found lost, and when the worker
    /// was stopped <see cref="StopTimeout"/> ago; if it then ends by <see cref="OperationCanceledException"/>, the item
    /// is given back, and the attempt does not count. What a handler leaves in the execution context (AsyncLocal,
    /// Activity.Current, culture) is not the next one's, nor is what the caller of <see cref="Run"/> has there. A
    /// settlement of another item, or null for a task, is a mistake of the program: the work may have been done, so the
    /// item becomes Failed with an error that says so, and is not tried again.
    /// </para>
    /// </remarks>
    public sealed partial class QueueWorker
    {
        private readonly Queue queue;
        private readonly Func<Item, Settlement> handler;
        private readonly TaskHandler tasks;
        private readonly object gate = new object();

        private readonly ManualResetEventSlim hasEnded = new ManualResetEventSlim();
        private readonly ManualResetEventSlim isAbandoned = new ManualResetEventSlim();
        private Engine engine;
        private WorkerFigures last = new WorkerFigures();
        private bool wasRun;
        private bool isStopped;
        private string queueName;
        private string workerName;
        private ExceptionDispatchInfo failure;

        /// <summary>
        /// The items that a thread has taken, before the first is handled. Raised on the worker's threads.
        /// </summary>
        public event Action<IReadOnlyList<Item>> Claimed;

        /// <summary>
        /// Reports an item that was settled, given back, or found lost. A thread of the worker's own raises it,
        /// soon after. When a listener is so slow that a thousand wait, the oldest are dropped.
        /// </summary>
        public event Action<SettledItem> Settled;

        /// <summary>How many threads work; 1 unless it is set before <see cref="Run"/>.</summary>
        public int Threads { get; set; } = 1;

        /// <summary>
        /// How many items a thread takes at once, 1 to 1000; 1 unless it is set before <see cref="Run"/>. They are
        /// handled one after the other. Round trips are saved without it.
        /// </summary>
        public int BatchSize { get; set; } = 1;

        /// <summary>
        /// How long handlers may go on once the worker was stopped, before the tokens of those that are asynchronous
        /// are cancelled; 5 seconds unless it is set before <see cref="Run"/>. Null: until they end, or <see
        /// cref="Abandon"/> is called.
        /// </summary>
        public TimeSpan? StopTimeout { get; set; } = TimeSpan.FromSeconds(5);

        /// <summary>
        /// How long a worker that was stopped waits for the database to take what its handlers have ended, once the
        /// last of them has; up to a day. Then it gives up, and the leases run out. Null: <see cref="Queue.Lease"/>.
        /// </summary>
        public TimeSpan? SettleTimeout { get; set; }

        /// <summary>
        /// Whether it stops by itself when nothing is due and nothing in flight; set it before <see cref="Run"/>.
        /// </summary>
        public bool UntilEmpty { get; set; }

        /// <summary>The worker's figures so far.</summary>
        public WorkerFigures Figures
        {
            get
            {
                lock (gate)
                {
                    return engine == null ? last : engine.Figures;
                }
            }
        }

        /// <summary>
        /// Works until <see cref="Stop"/>, or until the token is cancelled. Then items in flight are finished and
        /// settled, those that were not begun are given back, and this returns.
        /// </summary>
        /// <param name="cancellation">Stops it.</param>
        /// <exception cref="QueueException">
        /// A failure that no other try mends. Other threads have been drained. Or, with <see cref="Status.TimedOut"/>,
        /// that <see cref="SettleTimeout"/> is over; the message says what was left.
        /// </exception>
        /// <exception cref="InvalidOperationException">It was run before, or is running.</exception>
        public void Run(CancellationToken cancellation = default(CancellationToken))
        {
            if (Threads < 1)
            {
                throw new InvalidOperationException("a worker needs a thread");
            }
            queueName = queue.Name;
            workerName = queue.Worker;
            long timeout = Queue.OrNone("SettleTimeout", SettleTimeout);
            Queue.OrNone("StopTimeout", StopTimeout);
            lock (gate)
            {
                if (wasRun)
                {
                    throw new InvalidOperationException("a worker runs once");
                }
                wasRun = true;
                if (isStopped)
                {
                    return;
                }
                engine = new Engine(queue, UntilEmpty);
            }
            using (Engine running = engine)
            {
                RunningWorkers.Add(this);
                try
                {
                    LogStart();
                    using (cancellation.Register(Stop))
                    {
                        WorkOnThreads(running, timeout);
                    }
                }
                finally
                {
                    RunningWorkers.Remove(this);
                    hasEnded.Set();
                    lock (gate)
                    {
                        // Nobody stops it any more.
                        isStopped = true;
                        last = running.Figures;
                        engine = null;
                    }
                }
                LogEnd();
            }
            failure?.Throw();
        }

        /// <summary>
        /// <see cref="Run"/> as a task, on a thread of its own: what a hosted service awaits. Cancelling is the
        /// ordinary end of it, not an exception.
        /// </summary>
        /// <param name="cancellation">Stops it.</param>
        /// <returns>A task that ends when the worker has ended, and fails as <see cref="Run"/> does.</returns>
        public Task RunAsync(CancellationToken cancellation = default(CancellationToken))
        {
            return Task.Factory.StartNew(
                () => Run(cancellation), CancellationToken.None,
                TaskCreationOptions.LongRunning | TaskCreationOptions.DenyChildAttach, TaskScheduler.Default);
        }

        /// <summary>
        /// Lets <see cref="Run"/> end in order, now or when it is called. From any thread; returns at once.
        /// </summary>
        public void Stop()
        {
            lock (gate)
            {
                if (!isStopped)
                {
                    isStopped = true;
                    engine?.Stop();
                }
            }
        }

        /// <summary>
        /// Stops it, and gives back at once what handlers have not ended, without spending an attempt: for a program
        /// that ends and waits for its handlers no longer, as a host does when its ShutdownTimeout is over. <see
        /// cref="Run"/> returns although handlers go on; what they return is refused. An ordinary end of the process
        /// (<see cref="AppDomain.ProcessExit"/>) does it by itself; SIGTERM alone is none since .NET 10, unless a host
        /// or the program handles it. From any thread; returns at once.
        /// </summary>
        public void Abandon()
        {
            lock (gate)
            {
                isStopped = true;
                engine?.Abandon();
            }
            isAbandoned.Set();
        }

        internal void WaitForEnd(TimeSpan most)
        {
            hasEnded.Wait(most);
        }

        private void WorkOnThreads(Engine running, long timeout)
        {
            var working = new CountdownEvent(Threads);
            int begun = 0;
            Thread teller = Start("readpast worker events", () => Tell(running));
            Thread listener = null;
            try
            {
                if (tasks != null)
                {
                    listener = Start("readpast news", () => Listen(running));
                }
                for (int i = 1; i <= Threads; i++)
                {
                    Start("readpast worker " + i, () => Work(running, working));
                    begun++;
                }
            }
            catch (OutOfMemoryException exception)
            {
                // So many threads the system does not have.
                EndBy(exception);
                working.Signal(Threads - begun);
            }
            WaitHandle.WaitAny(new[] { working.WaitHandle, isAbandoned.WaitHandle });
            Close(running, timeout);
            teller.Join();
            listener?.Join();
        }

        /// <summary>Starts a thread with nothing of the caller's execution context.</summary>
        internal static Thread Start(string name, Action run)
        {
            var thread = new Thread(() => run()) { Name = name, IsBackground = true };
            bool isSuppressed = ExecutionContext.IsFlowSuppressed();
            AsyncFlowControl flow = isSuppressed ? default(AsyncFlowControl) : ExecutionContext.SuppressFlow();
            try
            {
                thread.Start();
            }
            finally
            {
                if (!isSuppressed)
                {
                    flow.Undo();
                }
            }
            return thread;
        }

        private void Close(Engine running, long timeout)
        {
            try
            {
                running.Close(timeout);
            }
            catch (QueueException exception)
            {
                EndBy(exception);
            }
        }

        /// <summary>Ends the worker; the first reason is what <see cref="Run"/> throws.</summary>
        private void EndBy(Exception exception)
        {
            lock (gate)
            {
                failure = failure ?? ExceptionDispatchInfo.Capture(exception);
            }
            Stop();
        }

        /// <summary>Has tasks cancelled when it is time.</summary>
        private void Listen(Engine running)
        {
            try
            {
                tasks.Listen(running);
            }
            catch (QueueException exception)
            {
                EndBy(exception);
            }
        }

        /// <summary>One thread.</summary>
        private void Work(Engine running, CountdownEvent working)
        {
            try
            {
                ExecutionContext clean = ExecutionContext.Capture();
                for (Batch batch; (batch = running.Take(BatchSize)) != null;)
                {
                    using (batch)
                    {
                        WorkOn(batch, running, clean);
                    }
                }
                // Stop was called, or the queue itself was interrupted.
                Stop();
            }
            catch (ObjectDisposedException) when (isAbandoned.IsSet)
            {
                // Its handler has outlasted the worker.
            }
            catch (Exception exception)
            {
                EndBy(exception);
            }
            finally
            {
                working.Signal();
            }
        }
    }
}
