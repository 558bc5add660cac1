using System;
using System.Collections.Generic;
using System.Data.Common;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Calls of a queue in the transaction of the caller's own connection, without the native library. All they do is
    /// there when the transaction commits, together with its other work, and undone with it.
    /// </summary>
    /// <remarks>
    /// They work on connections of Microsoft.Data.SqlClient, System.Data.SqlClient and Npgsql, and so with Dapper and
    /// EF Core. An item that the database refuses is a <see cref="QueueException"/>, as the library throws it, and
    /// undoes the transaction: on SQL Server all of it, on PostgreSQL up to the last savepoint. Deadlocks, time-outs
    /// and lost connections are the driver's own exceptions, which the caller's policy of retries knows.
    /// </remarks>
    public static class QueueConnection
    {
        /// <summary>Enqueues an item.</summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="item">The item.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <param name="cancellation">Cancels the call, by which the driver may end the transaction.</param>
        /// <returns>Its key, or that it was there already.</returns>
        public static async Task<Receipt> EnqueueAsync(
            this DbConnection connection, QueueName queue, NewItem item, DbTransaction transaction,
            CancellationToken cancellation = default)
        {
            var call = new DbCall(connection, queue, transaction, true, cancellation);
            return (await EnqueueCall.Make(call, One(item), null).ConfigureAwait(false))[0];
        }

        /// <summary>Enqueues items.</summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="items">The items.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <param name="operation">
        /// An identity for the call, by which a repetition is recognized once the transaction has committed: for at
        /// most 1,000 items. Null: none.
        /// </param>
        /// <param name="cancellation">Cancels the call, by which the driver may end the transaction.</param>
        /// <returns>A receipt for each item, in their order.</returns>
        public static Task<Answers<Receipt>> EnqueueAsync(
            this DbConnection connection, QueueName queue, IEnumerable<NewItem> items, DbTransaction transaction,
            Guid? operation = null, CancellationToken cancellation = default)
        {
            return EnqueueCall.Make(
                new DbCall(connection, queue, transaction, true, cancellation), Copies(items), operation);
        }

        /// <summary>Enqueues an item, and blocks meanwhile.</summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="item">The item.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <returns>Its key, or that it was there already.</returns>
        public static Receipt Enqueue(
            this DbConnection connection, QueueName queue, NewItem item, DbTransaction transaction)
        {
            return EnqueueCall.Make(Blocking(connection, queue, transaction), One(item), null).Result()[0];
        }

        /// <summary>Enqueues items, and blocks meanwhile.</summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="items">The items.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <param name="operation">An identity for the call, or null.</param>
        /// <returns>A receipt for each item, in their order.</returns>
        public static Answers<Receipt> Enqueue(
            this DbConnection connection, QueueName queue, IEnumerable<NewItem> items, DbTransaction transaction,
            Guid? operation = null)
        {
            return EnqueueCall.Make(
                Blocking(connection, queue, transaction), Copies(items), operation).Result();
        }

        /// <summary>
        /// Claims due items within the transaction, to be worked on and settled there. Others pass over them until it
        /// commits. Rolled back, they are as they were, and no attempt is spent.
        /// </summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="worker">The name that the claims are held under.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="cancellation">Cancels the call, by which the driver may end the transaction.</param>
        /// <returns>The items, in the order they were due; none when nothing is due.</returns>
        public static Task<IReadOnlyList<TransactionItem>> ClaimAsync(
            this DbConnection connection, QueueName queue, string worker, DbTransaction transaction, int maxItems = 1,
            CancellationToken cancellation = default)
        {
            return ClaimCall.Make(
                new DbCall(connection, queue, transaction, true, cancellation), Required(worker, nameof(worker)),
                maxItems);
        }

        /// <summary>
        /// Settles an item within the transaction. Look at the answer before you commit: where it is a lost lease or a
        /// conflict, roll back, and the work is undone with it.
        /// </summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="worker">The name that the claim is held under.</param>
        /// <param name="settlement">The settlement.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <param name="cancellation">Cancels the call, by which the driver may end the transaction.</param>
        /// <returns>The outcome.</returns>
        public static async Task<Outcome> SettleAsync(
            this DbConnection connection, QueueName queue, string worker, Settlement settlement,
            DbTransaction transaction, CancellationToken cancellation = default)
        {
            Settlement[] one = { settlement ?? throw new ArgumentNullException(nameof(settlement)) };
            var outcomes = await SettleAsync(connection, queue, worker, one, transaction, null, cancellation)
                .ConfigureAwait(false);
            return outcomes[0];
        }

        /// <summary>Settles items within the transaction. Look at each answer before you commit.</summary>
        /// <param name="connection">The connection, which is open.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="worker">The name that the claims are held under: of the library, <c>Queue.Worker</c>.</param>
        /// <param name="settlements">A settlement for each item.</param>
        /// <param name="transaction">The caller's transaction.</param>
        /// <param name="operation">As of an enqueue.</param>
        /// <param name="cancellation">Cancels the call, by which the driver may end the transaction.</param>
        /// <returns>The outcomes, in the same order.</returns>
        public static Task<Answers<Outcome>> SettleAsync(
            this DbConnection connection, QueueName queue, string worker, IEnumerable<Settlement> settlements,
            DbTransaction transaction, Guid? operation = null, CancellationToken cancellation = default)
        {
            return SettleCall.Make(
                new DbCall(connection, queue, transaction, true, cancellation), Required(worker, nameof(worker)),
                All(settlements, nameof(settlements)).ConvertAll(settlement => settlement.Copy()), operation);
        }

        /// <summary>
        /// Whether the transaction of a call with this operation has committed, for a caller who has lost the answer to
        /// its commit. One that is under way is waited for; after an hour identities are forgotten.
        /// </summary>
        /// <param name="connection">Another connection, which is open and in no transaction.</param>
        /// <param name="queue">The queue; its name will do.</param>
        /// <param name="operation">The identity.</param>
        /// <param name="cancellation">Cancels the call.</param>
        /// <returns>Whether it has.</returns>
        public static Task<bool> IsDoneAsync(
            this DbConnection connection, QueueName queue, Guid operation, CancellationToken cancellation = default)
        {
            return IsDoneCall.Make(new DbCall(connection, queue, true, cancellation), operation);
        }

        private static DbCall Blocking(DbConnection connection, QueueName queue, DbTransaction transaction)
        {
            return new DbCall(connection, queue, transaction, false, CancellationToken.None);
        }

        /// <summary>The result of a blocking call, whose task has ended.</summary>
        private static T Result<T>(this Task<T> ended)
        {
            return ended.GetAwaiter().GetResult();
        }

        private static List<NewItem> One(NewItem item)
        {
            return new List<NewItem> { Required(item, nameof(item)).Copy() };
        }

        /// <summary>Copies: a caller may change its own before the call has made use of them.</summary>
        private static List<NewItem> Copies(IEnumerable<NewItem> items)
        {
            return All(items, nameof(items)).ConvertAll(item => item.Copy());
        }

        private static List<T> All<T>(IEnumerable<T> items, string parameter)
            where T : class
        {
            var all = new List<T>(Required(items, parameter));
            return all.Contains(null!) ? throw new ArgumentNullException(parameter) : all;
        }

        private static T Required<T>(T argument, string parameter)
            where T : class
        {
            return argument ?? throw new ArgumentNullException(parameter);
        }
    }
}
