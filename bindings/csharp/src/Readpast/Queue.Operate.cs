using System;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <content>Operators' calls.</content>
    public sealed unsafe partial class Queue
    {
        /// <summary>
        /// Gives back up to <paramref name="maxItems"/> items whose workers died. Claims do this too, every now and
        /// then.
        /// </summary>
        /// <param name="maxItems">1 to 1000.</param>
        /// <returns>How many there were.</returns>
        public int Recover(int maxItems = 1000)
        {
            using (var use = handle.Borrow())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_recover(
                        use.Handle, maxItems, out int recovered, out Handle error), error);
                return recovered;
            }
        }

        /// <summary>Finds items, in the order of their keys. Nothing is claimed or changed.</summary>
        /// <param name="filterJson">
        /// A JSON object of which every member narrows the choice: <c>keys</c>, <c>status</c>, <c>types</c> (arrays of
        /// text), <c>before</c>, <c>after</c> (UTC times of the last change) and <c>error</c> (a part of its text).
        /// Null: all items.
        /// </param>
        /// <param name="afterKey">The last key of the page before; null: from the start.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <returns>The items; none at the end. To be disposed of.</returns>
        public Batch Find(string filterJson = null, string afterKey = null, int maxItems = 1000)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                Status status = QueueException.Check(
                    QueueMethods.readpast_queue_find(
                        use.Handle, texts.Text(filterJson, nameof(filterJson)), texts.Text(afterKey, nameof(afterKey)),
                        maxItems, out Handle batch, out Handle error), error);
                return new Batch(this, status, batch);
            }
        }

        /// <summary>
        /// Figures of which a queue has one for each step, type or attempt, as a batch of rows that is read like one of
        /// items; what each is of is its key, and the header of the library has the columns.
        /// </summary>
        /// <param name="of">
        /// <c>steps</c>, <c>types</c>, <c>trend</c> or <c>attempts</c>. <c>trend 5000</c> looks twice, 5000 ms apart,
        /// at a queue that deletes what is completed: one look cannot tell what ends there.
        /// </param>
        /// <param name="key">The key of an item, for <c>attempts</c> alone.</param>
        /// <returns>The rows. To be disposed of.</returns>
        public Batch Figures(string of, string key = null)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                Status status = QueueException.Check(
                    QueueMethods.readpast_queue_figures(
                        use.Handle, texts.Text(of, nameof(of)), texts.Text(key, nameof(key)),
                        out Handle batch, out Handle error), error);
                return new Batch(this, status, batch);
            }
        }

        /// <summary>
        /// Lets 1 to 1000 items that ended, or that wait, be worked on as if they were new, in one commit. Response,
        /// error and step stay.
        /// </summary>
        /// <param name="items">The items.</param>
        /// <param name="operation">As for <see cref="Enqueue(IEnumerable{NewItem}, string)"/>.</param>
        /// <returns>What came of each, in the same order.</returns>
        public Answers<Outcome> Redrive(IEnumerable<ItemRef> items, string operation = null)
        {
            ItemRef[] all = Array(items, nameof(items));
            var native = new ItemRefStruct[all.Length + 1];
            OutcomeStruct[] outcomes = OutcomesFor(all.Length);
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                for (int i = 0; i < all.Length; i++)
                {
                    native[i].StructSize = (UIntPtr)sizeof(ItemRefStruct);
                    native[i].Key = texts.Text(all[i].Key, "Key");
                    native[i].Token = texts.Text(all[i].Token, "Token");
                }
                fixed (ItemRefStruct* from = native)
                fixed (OutcomeStruct* to = outcomes)
                {
                    Status status = QueueException.Check(
                        QueueMethods.readpast_queue_redrive(
                            use.Handle, from, all.Length, texts.Text(operation, nameof(operation)), to,
                            out Handle error), error);
                    return Told(status, to, all.Length);
                }
            }
        }

        /// <summary>
        /// Deletes up to <paramref name="maxItems"/> finished items. Without a status the filter means Completed,
        /// PartiallyCompleted, Cancelled and Terminated; Failed items go only when they are named.
        /// </summary>
        /// <param name="filterJson">As for <see cref="Find"/>.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <returns>How many there were. Call it until there are none.</returns>
        public long Purge(string filterJson = null, int maxItems = 1000)
        {
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                QueueException.Check(
                    QueueMethods.readpast_queue_purge(
                        use.Handle, texts.Text(filterJson, nameof(filterJson)), maxItems, out long purged,
                        out Handle error), error);
                return purged;
            }
        }

        /// <summary>Counts the items and measures how long they take. Reads much of the table.</summary>
        /// <returns>The figures.</returns>
        public QueueStats Stats()
        {
            using (var use = handle.Borrow())
            {
                var stats = new StatsStruct { StructSize = (UIntPtr)sizeof(StatsStruct) };
                QueueException.Check(
                    QueueMethods.readpast_queue_stats(use.Handle, ref stats, out Handle error), error);
                return QueueStats.Of(stats);
            }
        }
    }
}
