using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Readpast.Native;

namespace Readpast
{
    /// <content>
    /// The calls as tasks. The library is synchronous, so each runs on a thread of its own, not on one of the pool: any
    /// number of waiting claims keeps nobody else from running.
    /// </content>
    public sealed partial class Queue
    {
        /// <summary><see cref="Claim"/> as a task.</summary>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="wait">How long to wait when none is due; up to a day.</param>
        /// <param name="cancellation">
        /// Ends the wait at once. If items were claimed at that very moment, the task still gives them: they are the
        /// caller's.
        /// </param>
        /// <returns>The items.</returns>
        /// <exception cref="OperationCanceledException">It was cancelled, and nothing was claimed.</exception>
        public Task<Batch> ClaimAsync(
            int maxItems = 1, TimeSpan wait = default(TimeSpan),
            CancellationToken cancellation = default(CancellationToken))
        {
            return Run(() => ClaimUntil(maxItems, wait, cancellation), cancellation);
        }

        /// <summary><see cref="Enqueue(IEnumerable{NewItem}, string)"/> as a task.</summary>
        /// <param name="items">The items.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The receipts.</returns>
        public Task<Answers<Receipt>> EnqueueAsync(
            IEnumerable<NewItem> items, string operation = null,
            CancellationToken cancellation = default(CancellationToken))
        {
            return Run(() => Enqueue(items, operation), cancellation);
        }

        /// <summary><see cref="Settle(IEnumerable{Settlement}, string)"/> as a task.</summary>
        /// <param name="settlements">What to do with each.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>What came of each.</returns>
        public Task<Answers<Outcome>> SettleAsync(
            IEnumerable<Settlement> settlements, string operation = null,
            CancellationToken cancellation = default(CancellationToken))
        {
            return Run(() => Settle(settlements, operation), cancellation);
        }

        /// <summary><see cref="SettleAndClaim"/> as a task.</summary>
        /// <param name="settlements">What to do with each.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>What came of the settlements, and what was claimed.</returns>
        public Task<SettledAndClaimed> SettleAndClaimAsync(
            IEnumerable<Settlement> settlements, int maxItems, string operation = null,
            CancellationToken cancellation = default(CancellationToken))
        {
            return Run(() => SettleAndClaim(settlements, maxItems, operation), cancellation);
        }

        private static Task<T> Run<T>(Func<T> call, CancellationToken cancellation)
        {
            // A thread of its own is what LongRunning asks for.
            return Task.Factory.StartNew(
                call, cancellation, TaskCreationOptions.LongRunning | TaskCreationOptions.DenyChildAttach,
                TaskScheduler.Default);
        }

        /// <summary>On a handle of its own, which is interrupted for itself alone.</summary>
        private Batch ClaimUntil(int maxItems, TimeSpan wait, CancellationToken cancellation)
        {
            if (!cancellation.CanBeCanceled)
            {
                return Claim(maxItems, wait);
            }
            using (QueueHandle own = Shared(claims))
            using (cancellation.Register(() => InterruptClaims(own)))
            {
                Batch batch = ClaimOn(own, maxItems, wait);
                if (batch.Status == Status.Interrupted)
                {
                    cancellation.ThrowIfCancellationRequested();
                }
                return batch;
            }
        }
    }
}
