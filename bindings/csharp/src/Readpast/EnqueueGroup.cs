using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Single items of many tasks. While calls are under way more gather, and leave in the next: one commit serves all
    /// that wait for it.
    /// </summary>
    internal sealed class EnqueueGroup
    {
        /// <summary>A second call goes on while the first is held up.</summary>
        private const int MostCalls = 2;

        /// <summary>So many the library takes in a commit.</summary>
        private const int InACommit = 1000;

        private readonly Queue queue;
        private readonly AsyncCalls calls;
        private readonly int mostItems;
        private readonly object gate = new object();
        private readonly LinkedList<Waiting> line = new LinkedList<Waiting>();
        private int leaving;

        /// <param name="queue">The queue.</param>
        /// <param name="calls">The threads that make calls.</param>
        /// <param name="isSpread">
        /// Whether it is spread over several databases. A call has a commit in each then, and one that fails may have
        /// put in the items of others: each item goes alone.
        /// </param>
        internal EnqueueGroup(Queue queue, AsyncCalls calls, bool isSpread)
        {
            this.queue = queue;
            this.calls = calls;
            mostItems = isSpread ? 1 : InACommit;
        }

        internal Task<Receipt> Enqueue(NewItem item, CancellationToken cancellation)
        {
            if (cancellation.IsCancellationRequested)
            {
                return Task.FromCanceled<Receipt>(cancellation);
            }
            var waiting = new Waiting(item);
            lock (gate)
            {
                LinkedListNode<Waiting> place = line.AddLast(waiting);
                if (cancellation.CanBeCanceled)
                {
                    waiting.Registration = cancellation.Register(() => CallOff(place, cancellation));
                }
                HaveThemLeave();
            }
            return waiting.Done.Task;
        }

        private void CallOff(LinkedListNode<Waiting> place, CancellationToken cancellation)
        {
            lock (gate)
            {
                if (place.List == null)
                {
                    // It has left.
                    return;
                }
                line.Remove(place);
            }
            place.Value.Done.TrySetCanceled(cancellation);
        }

        private void HaveThemLeave()
        {
            if (line.Count > 0 && leaving < MostCalls)
            {
                leaving++;
                calls.Run(Leave, CancellationToken.None);
            }
        }

        private void Leave()
        {
            var group = new List<Waiting>();
            lock (gate)
            {
                while (line.Count > 0 && group.Count < mostItems)
                {
                    group.Add(line.First.Value);
                    line.RemoveFirst();
                }
            }
            foreach (Waiting each in group)
            {
                each.Registration.Dispose();
            }
            if (group.Count > 0)
            {
                Enqueue(group);
            }
            lock (gate)
            {
                leaving--;
                HaveThemLeave();
            }
        }

        private void Enqueue(List<Waiting> group)
        {
            try
            {
                Answers<Receipt> receipts = queue.Enqueue(group.Select(each => each.Item));
                for (int i = 0; i < group.Count; i++)
                {
                    group[i].Done.TrySetResult(receipts[i]);
                }
            }
            catch (Exception exception) when (group.Count > 1 && IsOfOneItem(exception))
            {
                // All or none went in: the others go without it.
                foreach (Waiting each in group)
                {
                    Enqueue(new List<Waiting> { each });
                }
            }
            catch (Exception exception)
            {
                group.ForEach(each => each.Done.TrySetException(exception));
            }
        }

        private static bool IsOfOneItem(Exception exception)
        {
            var refused = exception as QueueException;
            return exception is ArgumentException || refused?.Status == Status.InvalidItem ||
                refused?.Status == Status.InvalidArgument;
        }

        private sealed class Waiting
        {
            internal readonly NewItem Item;

            internal readonly TaskCompletionSource<Receipt> Done =
                new TaskCompletionSource<Receipt>(TaskCreationOptions.RunContinuationsAsynchronously);

            internal CancellationTokenRegistration Registration;

            internal Waiting(NewItem item)
            {
                Item = item;
            }
        }
    }
}
