using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Readpast.Native;

namespace Readpast
{
    /// <content>
    /// The calls as tasks. The library is synchronous, so they run on threads of the queue's own, as many as it may
    /// have connections (<c>pool.size</c>), and no thread of the pool ever waits for a server. Arguments are copied
    /// before a call returns its task.
    /// </content>
    public sealed partial class Queue
    {
        /// <summary>For calls without a queue.</summary>
        private static readonly AsyncCalls Others = new AsyncCalls(4);

        /// <summary>The pauses between two questions of <see cref="WaitForAsync"/>.</summary>
        private static readonly TimeSpan FirstPause = TimeSpan.FromMilliseconds(20);

        private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(1);

        private readonly AsyncCalls calls;
        private readonly EnqueueGroup group;
        private readonly ClaimLine line;

        /// <summary><see cref="Open"/> as a task.</summary>
        /// <param name="options">The settings; they are copied.</param>
        /// <param name="name">The queue's name.</param>
        /// <param name="cancellation">Ends the task at once; what is opened nevertheless is closed.</param>
        /// <returns>The queue, to be disposed of.</returns>
        public static async Task<Queue> OpenAsync(
            QueueOptions options, string name, CancellationToken cancellation = default(CancellationToken))
        {
            QueueOptions copy = Required(options).Copy();
            Task<Queue> opening = Others.Run(() => Open(copy, name), cancellation);
            var cancelled = new TaskCompletionSource<Queue>(TaskCreationOptions.RunContinuationsAsynchronously);
            using (cancellation.Register(() => cancelled.TrySetCanceled(cancellation)))
            {
                Task<Queue> first = await Task.WhenAny(opening, cancelled.Task).ConfigureAwait(false);
                if (first == cancelled.Task)
                {
                    Task dispose = opening.ContinueWith(
                        opened => opened.Result.Dispose(), CancellationToken.None,
                        TaskContinuationOptions.OnlyOnRanToCompletion, TaskScheduler.Default);
                }
                return await first.ConfigureAwait(false);
            }
        }

        /// <summary><see cref="Install"/> as a task.</summary>
        /// <param name="options">The connection and the schema.</param>
        /// <param name="spec">The queue's description itself, as JSON or TOML; null for no queue.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>A task that ends with the call.</returns>
        public static Task InstallAsync(
            QueueOptions options, string spec = null, CancellationToken cancellation = default(CancellationToken))
        {
            QueueOptions copy = Required(options).Copy();
            return Others.Run(() => Install(copy, spec), cancellation);
        }

        /// <summary><see cref="Claim"/> as a task. Any number of them may wait.</summary>
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
            // Arguments that cannot be are refused by the call: in line they would end the claims of others too.
            bool waits = wait > TimeSpan.Zero && wait <= Engine.Day && maxItems >= 1 && maxItems <= 1000;
            return waits
                ? ClaimWaiting(maxItems, wait, cancellation)
                : calls.Run(() => Claim(maxItems, wait), cancellation);
        }

        /// <summary><see cref="WaitFor"/> as a task. Any number of them may wait: none holds a thread.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="wait">How long to wait at most; up to a day.</param>
        /// <param name="cancellation">Ends the wait.</param>
        /// <returns>The item.</returns>
        public async Task<Batch> WaitForAsync(
            string key, TimeSpan wait, CancellationToken cancellation = default(CancellationToken))
        {
            // The call refuses a longer one.
            TimeSpan ofCall = wait > Engine.Day ? wait : TimeSpan.Zero;
            var since = Stopwatch.StartNew();
            TimeSpan pause = FirstPause;
            while (true)
            {
                TimeSpan left = wait - since.Elapsed;
                Batch batch = await calls.Run(() => WaitFor(key, ofCall), cancellation).ConfigureAwait(false);
                if (batch.Status != Status.Empty || left <= TimeSpan.Zero)
                {
                    return batch;
                }
                batch.Dispose();
                await Task.Delay(left < pause ? left : pause, cancellation).ConfigureAwait(false);
                pause = pause + pause < LongestPause ? pause + pause : LongestPause;
            }
        }

        /// <summary>
        /// <see cref="Enqueue(NewItem)"/> as a task. Those that wait at the same time leave in one call and commit: if
        /// it fails, all of them do, and the exception's operation is that of all (<see cref="IsDone"/>).
        /// </summary>
        /// <param name="item">The item.</param>
        /// <param name="cancellation">Cancels it before it leaves; after that it is brought to its end.</param>
        /// <returns>Its key, or that it was there already.</returns>
        public Task<Receipt> EnqueueAsync(NewItem item, CancellationToken cancellation = default(CancellationToken))
        {
            return group.Enqueue(Copy(item, nameof(item)), cancellation);
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
            NewItem[] all = Array(items, nameof(items)).Select(each => Copy(each, nameof(items))).ToArray();
            return calls.Run(() => Enqueue(all, operation), cancellation);
        }

        /// <summary><see cref="Settle(Settlement)"/> as a task.</summary>
        /// <param name="settlement">The settlement of the item.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The outcome.</returns>
        public Task<Outcome> SettleAsync(
            Settlement settlement, CancellationToken cancellation = default(CancellationToken))
        {
            Settlement copy = Copy(settlement, nameof(settlement));
            return calls.Run(() => Settle(copy), cancellation);
        }

        /// <summary><see cref="Settle(IEnumerable{Settlement}, string)"/> as a task.</summary>
        /// <param name="settlements">A settlement for each item.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The outcomes.</returns>
        public Task<Answers<Outcome>> SettleAsync(
            IEnumerable<Settlement> settlements, string operation = null,
            CancellationToken cancellation = default(CancellationToken))
        {
            Settlement[] all = Copies(settlements);
            return calls.Run(() => Settle(all, operation), cancellation);
        }

        /// <summary><see cref="SettleAndClaim"/> as a task.</summary>
        /// <param name="settlements">A settlement for each item.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The outcomes of the settlements, and the claimed items.</returns>
        public Task<SettledAndClaimed> SettleAndClaimAsync(
            IEnumerable<Settlement> settlements, int maxItems, string operation = null,
            CancellationToken cancellation = default(CancellationToken))
        {
            Settlement[] all = Copies(settlements);
            return calls.Run(() => SettleAndClaim(all, maxItems, operation), cancellation);
        }

        /// <summary><see cref="Renew"/> as a task.</summary>
        /// <param name="leases">The leases.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The outcomes.</returns>
        public Task<Answers<Outcome>> RenewAsync(
            IEnumerable<Lease> leases, CancellationToken cancellation = default(CancellationToken))
        {
            Lease[] all = Array(leases, nameof(leases));
            return calls.Run(() => Renew(all), cancellation);
        }

        /// <summary><see cref="IsDone"/> as a task.</summary>
        /// <param name="operation">The identity, a UUID.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>Whether it has committed.</returns>
        public Task<bool> IsDoneAsync(
            string operation, CancellationToken cancellation = default(CancellationToken))
        {
            return calls.Run(() => IsDone(operation), cancellation);
        }

        /// <summary><see cref="Close"/> as a task.</summary>
        /// <param name="timeout">How long to wait for calls under way; up to a day.</param>
        /// <returns>A task that ends when they have ended.</returns>
        public Task CloseAsync(TimeSpan timeout)
        {
            // Not behind calls that it is to wait for.
            return Others.Run(() => Close(timeout), CancellationToken.None);
        }

        internal QueueHandle ShareClaims()
        {
            return Shared(claims);
        }

        /// <summary>Whether tasks wait in line for items.</summary>
        internal bool IsClaimWaiting
        {
            get { return line.IsWaiting; }
        }

        /// <summary>A batch of nothing.</summary>
        internal Batch None(Status status)
        {
            return new Batch(this, status, default(Handle));
        }

        internal Task<Outcome> RecordStepAsync(Item item, string step, CancellationToken cancellation)
        {
            return calls.Run(() => item.RecordStep(step), cancellation);
        }

        private static NewItem Copy(NewItem item, string parameter)
        {
            return (item ?? throw new ArgumentNullException(parameter)).Copy();
        }

        private static Settlement Copy(Settlement settlement, string parameter)
        {
            return (settlement ?? throw new ArgumentNullException(parameter)).Copy();
        }

        private static Settlement[] Copies(IEnumerable<Settlement> settlements)
        {
            return Array(settlements, nameof(settlements)).Select(each => Copy(each, nameof(settlements))).ToArray();
        }

        private async Task<Batch> ClaimWaiting(int maxItems, TimeSpan wait, CancellationToken cancellation)
        {
            if (!line.IsWaiting)
            {
                Batch batch = await calls.Run(() => Claim(maxItems), cancellation).ConfigureAwait(false);
                if (batch.Status != Status.Empty)
                {
                    return batch;
                }
                batch.Dispose();
            }
            return await line.Claim(maxItems, wait, cancellation).ConfigureAwait(false);
        }
    }
}
