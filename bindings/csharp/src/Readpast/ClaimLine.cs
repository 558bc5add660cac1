using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// Claims of tasks that wait for items, any number of them on one thread: it waits for the first in line, and wakes
    /// for who has the least time, or is called off.
    /// </summary>
    internal sealed class ClaimLine
    {
        private static readonly Stopwatch Clock = Stopwatch.StartNew();

        private readonly Queue queue;
        private readonly object gate = new object();
        private readonly LinkedList<Waiting> line = new LinkedList<Waiting>();

        /// <summary>The thread's own queue for its claims, or null; an interrupt of it reaches no other.</summary>
        private QueueHandle own;
        private bool isPoked;
        private bool isServed;

        /// <summary>Until when the thread waits for the first.</summary>
        private TimeSpan until;

        internal ClaimLine(Queue queue)
        {
            this.queue = queue;
        }

        /// <summary>Whether others wait, so that nothing is due.</summary>
        internal bool IsWaiting
        {
            get
            {
                lock (gate)
                {
                    return line.Count > 0;
                }
            }
        }

        internal Task<Batch> Claim(int maxItems, TimeSpan wait, CancellationToken cancellation)
        {
            var waiting = new Waiting(maxItems, Clock.Elapsed + wait, cancellation);
            lock (gate)
            {
                line.AddLast(waiting);
                if (!isServed)
                {
                    isServed = true;
                    QueueWorker.Start("readpast claims", Serve);
                }
                else if (waiting.Until < until)
                {
                    Poke();
                }
            }
            // One that is cancelled already calls itself off here.
            waiting.Registration = cancellation.Register(() => CallOff(waiting));
            return waiting.Done.Task;
        }

        private void CallOff(Waiting waiting)
        {
            lock (gate)
            {
                waiting.IsCalledOff = true;
                Poke();
            }
        }

        /// <summary>Has the thread look at the line.</summary>
        private void Poke()
        {
            if (!isPoked && own != null)
            {
                isPoked = true;
                Queue.InterruptClaims(own);
            }
        }

        private void Serve()
        {
            try
            {
                using (QueueHandle shared = queue.ShareClaims())
                {
                    lock (gate)
                    {
                        own = shared;
                    }
                    while (IsLeft(out Waiting first, out TimeSpan wait))
                    {
                        Take(first, queue.ClaimOn(shared, first.MaxItems, wait));
                    }
                }
            }
            catch (Exception exception)
            {
                foreach (Waiting each in EndAll())
                {
                    each.End(() => each.Done.TrySetException(exception));
                }
            }
        }

        /// <summary>The next to wait for. When there is none the thread ends.</summary>
        private bool IsLeft(out Waiting first, out TimeSpan wait)
        {
            var over = new List<Waiting>();
            lock (gate)
            {
                // Each has had its first look before it came here.
                TimeSpan now = Clock.Elapsed;
                foreach (Waiting each in line.Where(each => each.IsCalledOff || each.Until <= now).ToArray())
                {
                    line.Remove(each);
                    over.Add(each);
                }
                first = line.First?.Value;
                until = first == null ? TimeSpan.Zero : line.Min(each => each.Until);
                wait = until - now;
                if (first == null)
                {
                    (own, isPoked, isServed) = (null, false, false);
                }
            }
            foreach (Waiting each in over)
            {
                each.End(each.IsCalledOff
                    ? (Action)(() => each.Done.TrySetCanceled(each.Cancellation))
                    : () => each.Done.TrySetResult(queue.None(Status.Empty)));
            }
            return first != null;
        }

        private void Take(Waiting first, Batch batch)
        {
            bool wasPoked;
            lock (gate)
            {
                wasPoked = isPoked;
                isPoked = false;
                if (wasPoked)
                {
                    Queue.ResumeClaims(own);
                }
                if (batch.Count > 0)
                {
                    line.Remove(first);
                }
            }
            if (batch.Count > 0)
            {
                // Also to one that was called off at that moment: the items are claimed.
                first.End(() => first.Done.TrySetResult(batch));
                return;
            }
            batch.Dispose();
            if (batch.Status == Status.Interrupted && !wasPoked)
            {
                Waiting[] all;
                lock (gate)
                {
                    all = line.ToArray();
                    line.Clear();
                }
                foreach (Waiting each in all)
                {
                    each.End(() => each.Done.TrySetResult(queue.None(Status.Interrupted)));
                }
            }
        }

        private Waiting[] EndAll()
        {
            lock (gate)
            {
                Waiting[] all = line.ToArray();
                line.Clear();
                (own, isPoked, isServed) = (null, false, false);
                return all;
            }
        }

        private sealed class Waiting
        {
            internal readonly int MaxItems;
            internal readonly TimeSpan Until;
            internal readonly CancellationToken Cancellation;

            internal readonly TaskCompletionSource<Batch> Done =
                new TaskCompletionSource<Batch>(TaskCreationOptions.RunContinuationsAsynchronously);

            internal CancellationTokenRegistration Registration;
            internal bool IsCalledOff;

            internal Waiting(int maxItems, TimeSpan until, CancellationToken cancellation)
            {
                MaxItems = maxItems;
                Until = until;
                Cancellation = cancellation;
            }

            internal void End(Action complete)
            {
                complete();
                Registration.Dispose();
            }
        }
    }
}
