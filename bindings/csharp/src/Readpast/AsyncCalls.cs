using System;
using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Runs calls, which block, as tasks: on at most as many threads of its own as there are connections, since more
    /// would only wait for one. Calls wait in line while all threads are at work, and a caller that awaits goes on
    /// on the thread pool.
    /// </summary>
    internal sealed class AsyncCalls
    {
        /// <summary>As long a thread waits for more to do.</summary>
        private static readonly TimeSpan Idle = TimeSpan.FromSeconds(5);

        private readonly int most;
        private readonly object gate = new object();
        private readonly LinkedList<Action> line = new LinkedList<Action>();
        private int threads;
        private int idle;

        internal AsyncCalls(int most)
        {
            this.most = most;
        }

        /// <summary>For a queue of these options.</summary>
        internal static AsyncCalls For(QueueOptions options)
        {
            // The library's own default; what is no number it has refused.
            const int Connections = 8;
            string size = options["pool.size"];
            return new AsyncCalls(size == null ? Connections : int.Parse(size, CultureInfo.InvariantCulture));
        }

        /// <summary>Runs a call; cancelling does so only before it begins.</summary>
        internal Task<T> Run<T>(Func<T> call, CancellationToken cancellation)
        {
            if (cancellation.IsCancellationRequested)
            {
                return Task.FromCanceled<T>(cancellation);
            }
            var done = new TaskCompletionSource<T>(TaskCreationOptions.RunContinuationsAsynchronously);
            var registration = default(CancellationTokenRegistration);
            LinkedListNode<Action> place = null;
            void Begin()
            {
                registration.Dispose();
                try
                {
                    done.TrySetResult(call());
                }
                catch (Exception exception)
                {
                    done.TrySetException(exception);
                }
            }
            lock (gate)
            {
                place = line.AddLast(Begin);
                if (cancellation.CanBeCanceled)
                {
                    registration = cancellation.Register(() =>
                    {
                        if (Leave(place))
                        {
                            done.TrySetCanceled(cancellation);
                        }
                    });
                }
                // One that was woken a moment ago is idle until it gets the lock.
                if (idle >= line.Count)
                {
                    Monitor.Pulse(gate);
                }
                else if (threads < most)
                {
                    threads++;
                    QueueWorker.Start("readpast calls", Serve);
                }
            }
            return done.Task;
        }

        /// <summary>As <see cref="Run{T}"/>, for a call that gives nothing.</summary>
        internal Task Run(Action call, CancellationToken cancellation)
        {
            return Run(
                () =>
                {
                    call();
                    return true;
                },
                cancellation);
        }

        /// <summary>Whether it had not begun.</summary>
        private bool Leave(LinkedListNode<Action> place)
        {
            lock (gate)
            {
                if (place.List == null)
                {
                    return false;
                }
                line.Remove(place);
                return true;
            }
        }

        private void Serve()
        {
            while (true)
            {
                Action call;
                lock (gate)
                {
                    while (line.Count == 0)
                    {
                        idle++;
                        bool isWoken = Monitor.Wait(gate, Idle);
                        idle--;
                        if (!isWoken && line.Count == 0)
                        {
                            threads--;
                            return;
                        }
                    }
                    call = line.First.Value;
                    line.RemoveFirst();
                }
                call();
            }
        }
    }
}
