using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Makes a handler of one that is asynchronous: it begins on the worker's thread, which waits until its task has
    /// ended, and goes on on the thread pool, where no synchronization context wants the waiting thread back.
    /// </summary>
    internal sealed class TaskHandler
    {
        private readonly QueueWorker worker;
        private readonly string name;
        private readonly Func<Item, CancellationToken, Task> handler;

        /// <summary>The items that are handled, with what ends their tokens. Locked while it is used.</summary>
        private readonly Dictionary<Item, Ending> handled = new Dictionary<Item, Ending>();

        /// <summary>Whether handlers have had the time that a stop gives them.</summary>
        private volatile bool isOver;

        internal TaskHandler(QueueWorker worker, string name, Func<Item, CancellationToken, Task> handler)
        {
            this.worker = worker;
            this.name = name;
            this.handler = handler;
        }

        /// <summary>
        /// Cancels what is to be cancelled, each time that the library has news, and when the time of a stop is over,
        /// until the worker has closed.
        /// </summary>
        internal void Listen(Engine engine)
        {
            Stopwatch stopping = null;
            TimeSpan wait = Engine.Day;
            for (long? seen = 0; (seen = engine.News(seen.Value, wait)) != null;)
            {
                if (worker.StopTimeout != null && !isOver && engine.IsStopping)
                {
                    stopping = stopping ?? Stopwatch.StartNew();
                    TimeSpan left = worker.StopTimeout.Value - stopping.Elapsed;
                    isOver = left <= TimeSpan.Zero;
                    wait = isOver ? Engine.Day : left;
                }
                KeyValuePair<Item, Ending>[] all;
                lock (handled)
                {
                    all = handled.ToArray();
                }
                foreach (KeyValuePair<Item, Ending> each in all)
                {
                    Look(each.Key, each.Value);
                }
            }
        }

        /// <summary>Has an item handled. Throws what the task ended by.</summary>
        internal Settlement Handle(Item item)
        {
            var ending = new Ending();
            lock (handled)
            {
                handled.Add(item, ending);
            }
            try
            {
                // A stop or loss may have come before this item was among those that receive it.
                Look(item, ending);
                SynchronizationContext.SetSynchronizationContext(null);
                return Run(item, ending.Token).GetAwaiter().GetResult();
            }
            catch (OperationCanceledException) when (ending.Why != null)
            {
                worker.LogCancelled(item, ending.Why, ending.IsInOrder);
                return item.Release();
            }
            finally
            {
                lock (handled)
                {
                    handled.Remove(item);
                }
            }
        }

        private void Look(Item item, Ending ending)
        {
            if (item.IsLost)
            {
                ending.End("the item is lost", false);
            }
            else if (isOver)
            {
                ending.End("the worker stops", true);
            }
        }

        private async Task<Settlement> Run(Item item, CancellationToken token)
        {
            Task task = handler(item, token);
            if (task == null || task.Status == TaskStatus.Created)
            {
                return QueueWorker.Mistaken(
                    item,
                    "the handler " + name + " returned " + (task == null ? "null" : "a task that was not started") +
                    " in place of a task that runs, so nobody knows whether its work is done; make it async");
            }
            await task.ConfigureAwait(false);
            return (task as Task<Settlement>)?.Result;
        }

        /// <summary>The end of a handler's token, and why.</summary>
        private sealed class Ending
        {
            private readonly CancellationTokenSource source = new CancellationTokenSource();

            internal CancellationToken Token
            {
                get { return source.Token; }
            }

            internal string Why { get; private set; }

            internal bool IsInOrder { get; private set; }

            internal void End(string why, bool isInOrder)
            {
                lock (source)
                {
                    if (Why != null)
                    {
                        return;
                    }
                    (Why, IsInOrder) = (why, isInOrder);
                }
                // Callbacks are the handler's, and may take their time.
                ThreadPool.UnsafeQueueUserWorkItem(state => Cancel(), null);
            }

            /// <summary>A callback that throws is the handler's; its task reports how it ended.</summary>
            private void Cancel()
            {
                try
                {
                    source.Cancel();
                }
                catch (AggregateException)
                {
                    return;
                }
            }
        }
    }
}
