using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <content>
    /// The handlers that a worker takes. Of an asynchronous lambda the compiler chooses the task: the priorities rule
    /// out <c>ValueTask</c>, which is as good to it.
    /// </content>
    public sealed partial class QueueWorker
    {
        /// <summary>A worker whose handler says how to settle.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Called on the worker's threads, several at once.</param>
#if NET
        [OverloadResolutionPriority(1)]
#endif
        public QueueWorker(Queue queue, Func<Item, Settlement> handler)
        {
            this.queue = queue ?? throw new ArgumentNullException(nameof(queue));
            this.handler = handler ?? throw new ArgumentNullException(nameof(handler));
        }

        /// <summary>A worker whose items are done when the handler returns.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Called on the worker's threads, several at once.</param>
        /// <exception cref="ArgumentException">
        /// The handler is <c>async void</c>: nobody would learn when it has ended, or that it failed.
        /// </exception>
        public QueueWorker(Queue queue, Action<Item> handler)
            : this(queue, Completing(handler))
        {
        }

        /// <summary>A worker whose items are done when the handler's task has ended.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Begun on the worker's threads, several at once.</param>
#if NET
        [OverloadResolutionPriority(1)]
#endif
        public QueueWorker(Queue queue, Func<Item, Task> handler)
            : this(queue, handler, (item, token) => handler(item))
        {
        }

        /// <summary>A worker whose handler's task says how to settle.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Begun on the worker's threads, several at once. A result of null is Complete.</param>
#if NET
        [OverloadResolutionPriority(1)]
#endif
        public QueueWorker(Queue queue, Func<Item, Task<Settlement>> handler)
            : this(queue, (Func<Item, Task>)handler)
        {
        }

        /// <summary>A worker whose items are done when the handler's task has ended.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">
        /// Begun on the worker's threads, several at once. Its token ends with the worker, or when the item is lost.
        /// </param>
#if NET
        [OverloadResolutionPriority(1)]
#endif
        public QueueWorker(Queue queue, Func<Item, CancellationToken, Task> handler)
            : this(queue, handler, handler)
        {
        }

        /// <summary>A worker whose handler's task says how to settle.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">
        /// Begun on the worker's threads, several at once. Its token ends with the worker, or when the item is lost. A
        /// result of null is Complete.
        /// </param>
#if NET
        [OverloadResolutionPriority(1)]
#endif
        public QueueWorker(Queue queue, Func<Item, CancellationToken, Task<Settlement>> handler)
            : this(queue, (Func<Item, CancellationToken, Task>)handler)
        {
        }

#if NET
        /// <summary>A worker whose items are done when the handler's task has ended.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Begun on the worker's threads, several at once.</param>
        public QueueWorker(Queue queue, Func<Item, ValueTask> handler)
            : this(queue, handler, (item, token) => handler(item).AsTask())
        {
        }

        /// <summary>A worker whose handler's task says how to settle.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">Begun on the worker's threads, several at once. A result of null is Complete.</param>
        public QueueWorker(Queue queue, Func<Item, ValueTask<Settlement>> handler)
            : this(queue, handler, (item, token) => handler(item).AsTask())
        {
        }

        /// <summary>A worker whose items are done when the handler's task has ended.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">
        /// Begun on the worker's threads, several at once. Its token ends with the worker, or when the item is lost.
        /// </param>
        public QueueWorker(Queue queue, Func<Item, CancellationToken, ValueTask> handler)
            : this(queue, handler, (item, token) => handler(item, token).AsTask())
        {
        }

        /// <summary>A worker whose handler's task says how to settle.</summary>
        /// <param name="queue">The queue; it must stay open while the worker runs.</param>
        /// <param name="handler">
        /// Begun on the worker's threads, several at once. Its token ends with the worker, or when the item is lost. A
        /// result of null is Complete.
        /// </param>
        public QueueWorker(Queue queue, Func<Item, CancellationToken, ValueTask<Settlement>> handler)
            : this(queue, handler, (item, token) => handler(item, token).AsTask())
        {
        }
#endif

        private QueueWorker(Queue queue, Delegate handler, Func<Item, CancellationToken, Task> call)
        {
            this.queue = queue ?? throw new ArgumentNullException(nameof(queue));
            string name = NameOf(handler ?? throw new ArgumentNullException(nameof(handler)));
            tasks = new TaskHandler(this, name, call);
            this.handler = tasks.Handle;
        }

        /// <summary>The name of a handler, as the author of the program knows it.</summary>
        private static string NameOf(Delegate handler)
        {
            return handler.Method.DeclaringType + "." + handler.Method.Name;
        }

        private static Func<Item, Settlement> Completing(Action<Item> handler)
        {
            if (handler == null)
            {
                throw new ArgumentNullException(nameof(handler));
            }
            foreach (Delegate each in handler.GetInvocationList())
            {
                // The type of an async void method is that of any other; only the compiler's mark distinguishes it.
                if (each.Method.IsDefined(typeof(AsyncStateMachineAttribute), false))
                {
                    throw new ArgumentException(
                        "the handler " + NameOf(each) + " is async void: its items would be Completed before their " +
                        "work is done. Let it return Task: async Task " + each.Method.Name + "(Item item)",
                        nameof(handler));
                }
            }
            return item =>
            {
                handler(item);
                return null;
            };
        }
    }
}
