using System;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Makes a handler of one that is asynchronous: the worker's thread waits until the task has ended. The task runs
    /// on the thread pool, where no synchronization context wants the waiting thread back.
    /// </summary>
    internal sealed class TaskHandler
    {
        /// <summary>
        /// Between two looks at whether the item is lost, or the queue interrupted. The library tells when it is asked,
        /// which costs nothing worth speaking of.
        /// </summary>
        private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(100);

        private readonly Worker worker;
        private readonly string name;
        private readonly Func<Item, CancellationToken, Task> handler;
        private readonly WaitHandle stopped;

        internal TaskHandler(
            Worker worker, string name, Func<Item, CancellationToken, Task> handler, WaitHandle stopped)
        {
            this.worker = worker;
            this.name = name;
            this.handler = handler;
            this.stopped = stopped;
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

        /// <summary>Waits until the task has ended, or cancels it and says why.</summary>
        private string WaitOrCancel(Item item, Task task, CancellationTokenSource ending)
        {
            WaitHandle[] either = { ((IAsyncResult)task).AsyncWaitHandle, stopped };
            while (!task.IsCompleted)
            {
                bool isStopping = WaitHandle.WaitAny(either, Look) == 1 || item.IsWorkerStopping;
                bool isLost = item.IsLost;
                if (isStopping || isLost)
                {
                    Cancel(ending);
                    return isLost ? "the item is lost" : "the worker stops";
                }
            }
            return null;
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
