using System;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// The library's worker, of which a <see cref="QueueWorker"/> is the threads. Any number of threads may use it.
    /// </summary>
    internal sealed unsafe class Engine : IDisposable
    {
        /// <summary>How many events are kept until they are read, and how many are read at once.</summary>
        private const int MostEvents = 1000;

        /// <summary>A wait without end; who waited looks again.</summary>
        internal static readonly TimeSpan Day = TimeSpan.FromDays(1);

        private readonly WorkerHandle handle;

        internal Engine(Queue queue, bool untilEmpty)
        {
            var options = new WorkerOptionsStruct
            {
                StructSize = (UIntPtr)sizeof(WorkerOptionsStruct),
                UntilEmpty = untilEmpty ? 1 : 0,
                Events = MostEvents,
            };
            Queue = queue;
            using (var use = queue.Borrow())
            {
                QueueException.Check(
                    WorkerMethods.readpast_worker_start(
                        use.Handle, &options, out Handle worker, out Handle error), error);
                handle = new WorkerHandle(worker);
            }
        }

        /// <summary>The queue it works on.</summary>
        internal Queue Queue { get; }

        /// <summary>The columns of the batch before, which those of the next are likely to be.</summary>
        internal ColumnLayout Layout { get; set; }

        internal bool IsStopping
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    return WorkerMethods.readpast_worker_is_stopping(use.Handle) != 0;
                }
            }
        }

        internal WorkerFigures Figures
        {
            get
            {
                using (var use = handle.Borrow())
                {
                    var figures = new WorkerFiguresStruct { StructSize = (UIntPtr)sizeof(WorkerFiguresStruct) };
                    QueueException.Check(
                        WorkerMethods.readpast_worker_get_figures(use.Handle, ref figures, out Handle error), error);
                    return WorkerFigures.Of(figures);
                }
            }
        }

        /// <summary>Takes items, however long it takes; null when the worker is stopping.</summary>
        internal Batch Take(int max)
        {
            while (true)
            {
                using (var use = handle.Borrow())
                {
                    Status status = QueueException.Check(
                        WorkerMethods.readpast_worker_take(
                            use.Handle, max, Queue.Milliseconds(Day), out Handle batch, out Handle error), error);
                    if (status == Status.Ok)
                    {
                        return new Batch(null, status, batch) { Engine = this };
                    }
                    if (status == Status.Interrupted)
                    {
                        return null;
                    }
                }
            }
        }

        /// <summary>Whether an item begins; one that does not is not the worker's any more.</summary>
        internal bool Begin(Item item)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                return QueueException.Check(
                    WorkerMethods.readpast_worker_begin(
                        use.Handle, texts.Text(item.Key, nameof(item.Key)), item.Attempt, out Handle error),
                    error) == Status.Ok;
            }
        }

        /// <summary>Gives back the items of a batch that have not begun.</summary>
        internal void GiveBack(Batch batch)
        {
            using (var use = handle.Borrow())
            using (var items = batch.Borrow())
            {
                QueueException.Check(
                    WorkerMethods.readpast_worker_give_back(use.Handle, items.Handle, out Handle error), error);
            }
        }

        /// <summary>Ends an item as a settlement says. One that ended before is left as it is.</summary>
        internal void End(Item item, Settlement settlement)
        {
            using (var texts = new Arena())
            {
                SettlementStruct native = settlement.ToNative(texts);
                native.Attempt = item.Attempt;
                using (var use = handle.Borrow())
                {
                    QueueException.Check(
                        WorkerMethods.readpast_worker_end(use.Handle, &native, 1, out Handle error), error);
                }
            }
        }

        internal Status Step(string key, int attempt, string step)
        {
            try
            {
                using (var use = handle.Borrow())
                using (var texts = new Arena())
                {
                    return QueueException.Check(
                        WorkerMethods.readpast_worker_step(
                            use.Handle, texts.Text(key, nameof(key)), attempt, texts.Text(step, nameof(step)),
                            out Handle error), error);
                }
            }
            catch (ObjectDisposedException)
            {
                // The worker was abandoned, and its run has ended.
                return Status.NotFound;
            }
        }

        internal void Progress(string key, int attempt, int? percent, string text)
        {
            try
            {
                using (var use = handle.Borrow())
                using (var texts = new Arena())
                {
                    QueueException.Check(
                        WorkerMethods.readpast_worker_progress(
                            use.Handle, texts.Text(key, nameof(key)), attempt, percent ?? -1,
                            text == null ? IntPtr.Zero : texts.Text(text, nameof(text)), out Handle error), error);
                }
            }
            catch (ObjectDisposedException)
            {
                // The worker was abandoned, and its run has ended.
            }
        }

        /// <summary>Whether an item is not, or not any more, this worker's.</summary>
        internal bool IsLost(string key, int attempt)
        {
            try
            {
                using (var use = handle.Borrow())
                using (var texts = new Arena())
                {
                    IntPtr name = texts.Text(key, nameof(key));
                    return WorkerMethods.readpast_worker_is_lost(use.Handle, name, attempt) != 0;
                }
            }
            catch (ObjectDisposedException)
            {
                return true;
            }
        }

        /// <summary>
        /// Waits for more news than were seen, and says how many there are, as many as before if none came in time; 0
        /// were seen at first. They tell that an item was lost, or that the worker is stopping. Null: it has closed,
        /// and there will be no more.
        /// </summary>
        internal long? News(long seen, TimeSpan wait)
        {
            using (var use = handle.Borrow())
            {
                Status status = QueueException.Check(
                    WorkerMethods.readpast_worker_changes(
                        use.Handle, seen, Queue.Milliseconds(wait), out long news, out Handle error), error);
                return status == Status.Interrupted ? (long?)null : status == Status.Empty ? seen : news;
            }
        }

        internal void Stop()
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(WorkerMethods.readpast_worker_stop(use.Handle, out Handle error), error);
            }
        }

        internal void Abandon()
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(WorkerMethods.readpast_worker_abandon(use.Handle, out Handle error), error);
            }
        }

        /// <summary>Waits until all that was taken has ended and is settled, or gives it up.</summary>
        internal void Close(long timeoutMs)
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(
                    WorkerMethods.readpast_worker_close(
                        use.Handle, timeoutMs, out Handle error), error);
            }
        }

        /// <summary>
        /// Events not read yet; waits for the first. Null: no more will come.
        /// </summary>
        internal IReadOnlyList<EngineEvent> Events()
        {
            using (var use = handle.Borrow())
            {
                Status status = QueueException.Check(
                    WorkerMethods.readpast_worker_events(
                        use.Handle, MostEvents, Queue.Milliseconds(Day), out Handle events, out Handle error), error);
                using (var owned = new EventsHandle(events))
                {
                    return status == Status.Interrupted ? null : EngineEvent.Read(events);
                }
            }
        }

        public void Dispose()
        {
            handle.Dispose();
        }
    }
}
