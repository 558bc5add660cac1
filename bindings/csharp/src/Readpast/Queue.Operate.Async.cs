using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <content>Operators' calls, as tasks.</content>
    public sealed partial class Queue
    {
        /// <summary><see cref="Ask"/> as a task.</summary>
        /// <param name="what">The question.</param>
        /// <param name="argumentsJson">A JSON object; null: no arguments.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The answer.</returns>
        public Task<string> AskAsync(
            string what, string argumentsJson = null, CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Ask(what, argumentsJson), cancellation);
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

        /// <summary><see cref="Stats"/> as a task.</summary>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The figures.</returns>
        public Task<QueueStats> StatsAsync(CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => Stats(), cancellation);
        }
    }
}
