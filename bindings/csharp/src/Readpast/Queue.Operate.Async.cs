using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <content>Operators' calls, as tasks.</content>
    public sealed partial class Queue
    {
        /// <summary><see cref="Recover"/> as a task.</summary>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>How many there were.</returns>
        public Task<int> RecoverAsync(
            int maxItems = 1000, CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Recover(maxItems), cancellation);
        }

        /// <summary><see cref="Find"/> as a task.</summary>
        /// <param name="filterJson">The items to find; null: all items.</param>
        /// <param name="afterKey">The last key of the page before; null: from the start.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The items; none at the end. To be disposed of.</returns>
        public Task<Batch> FindAsync(
            string filterJson = null, string afterKey = null, int maxItems = 1000,
            CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Find(filterJson, afterKey, maxItems), cancellation);
        }

        /// <summary><see cref="Figures"/> as a task.</summary>
        /// <param name="of"><c>steps</c>, <c>types</c>, <c>trend</c> or <c>attempts</c>.</param>
        /// <param name="key">The key of an item, for <c>attempts</c> alone.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The rows. To be disposed of.</returns>
        public Task<Batch> FiguresAsync(
            string of, string key = null, CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Figures(of, key), cancellation);
        }

        /// <summary><see cref="Redrive"/> as a task.</summary>
        /// <param name="items">The items.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>What came of each.</returns>
        public Task<Answers<Outcome>> RedriveAsync(
            IEnumerable<ItemRef> items, string operation = null,
            CancellationToken cancellation = default(CancellationToken))
        {
            ItemRef[] all = Array(items, nameof(items));
            return calls.Run(() => Redrive(all, operation), cancellation);
        }

        /// <summary><see cref="Purge"/> as a task.</summary>
        /// <param name="filterJson">The items to delete; null: those that have ended, but for Failed ones.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>How many there were. Call it until there are none.</returns>
        public Task<long> PurgeAsync(
            string filterJson = null, int maxItems = 1000, CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Purge(filterJson, maxItems), cancellation);
        }

        /// <summary><see cref="Stats"/> as a task.</summary>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The figures.</returns>
        public Task<QueueStats> StatsAsync(CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Stats(), cancellation);
        }
    }
}
