using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Makes a handler of one that is asynchronous: the worker's thread waits until the task has ended, or until it is
    /// told to cancel it. The task runs on the thread pool, where no synchronization context wants the waiting thread
    /// back.
    /// </summary>
    internal sealed class TaskHandler
    {
        private readonly Worker worker;
        private readonly string name;
        private readonly Func<Item, CancellationToken, Task> handler;

        /// <summary>The items that are handled, with who waits for news of each. Locked while it is used.</summary>
        private readonly Dictionary<Item, TaskCompletionSource<string>> handled =
            new Dictionary<Item, TaskCompletionSource<string>>();

        internal TaskHandler(Worker worker, string name, Func<Item, CancellationToken, Task> handler)
        {
            this.worker = worker;
            this.name = name;
            this.handler = handler;
        }

        /// <summary>
        /// Tells those who wait for a task whether it is to be cancelled, each time that the library has news, until
        /// the worker has closed.
        /// </summary>
        internal void Listen(Engine engine)
        {
            long? seen = 0;
            while ((seen = engine.News(seen.Value)) != null)
            {
                KeyValuePair<Item, TaskCompletionSource<string>>[] all;
                lock (handled)
                {
                    all = handled.ToArray();
                }
                foreach (KeyValuePair<Item, TaskCompletionSource<string>> each in all)
                {
                    Look(each.Key, each.Value);
                }
            }
        }

        /// <summary>Has an item handled. Throws what the task ended by.</summary>
        internal Settlement Handle(Item item)
        {
            using (var ending = new CancellationTokenSource())
            {
                Task<Settlement> task = Task.Run(() => Run(item, ending.Token));
                string why = WaitOrCancel(item, task, ending);
                try
                {
                    return task.GetAwaiter().GetResult();
                }
                catch (OperationCanceledException) when (why != null)
                {
                    worker.LogCancelled(item, why);
                    return item.Release();
                }
            }
        }

        /// <summary>
        /// Cancels what the handler waits for. A callback that throws is the handler's; its task tells how it ended.
        /// </summary>
        private static void Cancel(CancellationTokenSource ending)
        {
            try
            {
                ending.Cancel();
            }
            catch (AggregateException)
            {
                return;
            }
        }

        private static void Look(Item item, TaskCompletionSource<string> told)
        {
            if (item.IsLost)
            {
                told.TrySetResult("the item is lost");
            }
            else if (item.IsWorkerStopping)
            {
                told.TrySetResult("the worker stops");
            }
        }

        /// <summary>Waits until the task has ended, or cancels it and says why.</summary>
        private string WaitOrCancel(Item item, Task task, CancellationTokenSource ending)
        {
            var told = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
            lock (handled)
            {
                handled.Add(item, told);
            }
            try
            {
                // What was told before it was among those who are told.
                Look(item, told);
                if (Task.WaitAny(task, told.Task) == 0)
                {
                    return null;
                }
            }
            finally
            {
                lock (handled)
                {
                    handled.Remove(item);
                }
            }
            Cancel(ending);
            return told.Task.Result;
        }

        private async Task<Settlement> Run(Item item, CancellationToken token)
        {
            Task task = handler(item, token);
            if (task == null || task.Status == TaskStatus.Created)
            {
                return Worker.Mistaken(
                    item,
                    "the handler " + name + " returned " + (task == null ? "null" : "a task that was not started") +
                    " in place of a task that runs, so nobody knows whether its work is done; make it async");
            }
            await task.ConfigureAwait(false);
            return (task as Task<Settlement>)?.Result;
        }
    }
}
