using System;
using System.Collections.Generic;
using System.Linq;
using Readpast.Native;

namespace Readpast
{
    /// <content>Putting items in, taking them out, settling them.</content>
    public sealed unsafe partial class Queue
    {
        /// <summary>Enqueues one item.</summary>
        /// <param name="item">The item.</param>
        /// <returns>Its key, or that it was there already.</returns>
        public Receipt Enqueue(NewItem item)
        {
            return Enqueue(new[] { item })[0];
        }

        /// <summary>
        /// Enqueues items, 1000 in a commit: up to so many go in all or none. When a call of more fails, the thousands
        /// before are in, and the same call with the exception's operation goes on; all items are checked before the
        /// first is sent. An empty list sends nothing. A queue that knows duplicates leaves out only those.
        /// </summary>
        /// <param name="items">The items.</param>
        /// <param name="operation">
        /// An identity for the call, a GUID, by which a repetition is recognized; null: the library makes one. A caller
        /// that gives one keeps it until a call with it succeeds.
        /// </param>
        /// <returns>
        /// The receipts, in the order of the items; with <see cref="Status.Duplicate"/> if one was there.
        /// </returns>
        public Answers<Receipt> Enqueue(IEnumerable<NewItem> items, string operation = null)
        {
            NewItem[] all = Array(items, nameof(items));
            var native = new NewItemStruct[all.Length];
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                for (int i = 0; i < all.Length; i++)
                {
                    NewItem item = all[i] ?? throw new ArgumentNullException(nameof(items));
                    native[i].StructSize = (UIntPtr)sizeof(NewItemStruct);
                    native[i].Type = texts.Text(item.Type, "Type");
                    native[i].Step = texts.Text(item.Step, "Step");
                    native[i].DelayMs = OrNone("Delay", item.Delay);
                    native[i].Due = texts.Text(item.DueText, "Due");
                    native[i].ColumnsJson = texts.Text(item.ColumnsJson, "ColumnsJson");
                    native[i].Traceparent = texts.OfTrace(item.TraceParent);
                    native[i].Tracestate = texts.OfTrace(item.TraceState);
                    string after = ItemsJson.AfterOf(item, 0);
                    if (after != null)
                    {
                        native[i].AfterJson = texts.Text(after, "After");
                        native[i].OnFailed = texts.Text(ItemsJson.WordOf(item.OnFailed), "OnFailed");
                    }
                }
                fixed (NewItemStruct* from = native)
                {
                    Status status = QueueException.Check(
                        QueueMethods.readpast_queue_enqueue(
                            use.Handle, from, all.Length, texts.Text(operation, nameof(operation)),
                            out Handle receipts, out Handle error), error);
                    try
                    {
                        return new Answers<Receipt>(status, Told(receipts));
                    }
                    finally
                    {
                        ReceiptsMethods.readpast_receipts_free(receipts);
                    }
                }
            }
        }

        /// <summary>
        /// Claims up to <paramref name="maxItems"/> items that are due, in the order they were due, and waits for the
        /// first. Each is this worker's until its lease runs out, on the server's clock; settle or renew it before.
        /// </summary>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="wait">How long to wait when none is due; up to a day.</param>
        /// <returns>The items, none if <see cref="Batch.Status"/> is Empty or Interrupted. To be disposed of.</returns>
        public Batch Claim(int maxItems = 1, TimeSpan wait = default(TimeSpan))
        {
            return ClaimOn(claims, maxItems, wait);
        }

        /// <summary>
        /// Waits until the item of this key has ended, and returns a batch of it as it is then: its state, its response
        /// and its error. For a producer that needs the result of its work. Those who wait for items of one queue share
        /// one question to the server.
        /// </summary>
        /// <param name="key">The item's key.</param>
        /// <param name="wait">How long to wait at most; up to a day.</param>
        /// <returns>
        /// The item; none if <see cref="Batch.Status"/> is Empty (it has not ended in time), NotFound (it is not there:
        /// a queue with completion deletes an item, or moves it to the history, as it ends) or Interrupted. To be
        /// disposed of.
        /// </returns>
        public Batch WaitFor(string key, TimeSpan wait)
        {
            using (var use = claims.Borrow())
            using (var texts = new Arena())
            {
                Status status = QueueException.Check(
                    QueueMethods.readpast_queue_wait_for(
                        use.Handle, texts.Text(key, nameof(key)), Milliseconds(wait), out Handle batch,
                        out Handle error), error);
                return new Batch(this, status, batch);
            }
        }

        /// <summary>Settles one item.</summary>
        /// <param name="settlement">The settlement of the item.</param>
        /// <returns>The outcome: a lost lease or a conflict is an answer, not an exception.</returns>
        public Outcome Settle(Settlement settlement)
        {
            return Settle(new[] { settlement })[0];
        }

        /// <summary>
        /// Ends the claims of items, or records progress, 1000 in a commit. Each item is judged by itself.
        /// </summary>
        /// <param name="settlements">A settlement for each item.</param>
        /// <param name="operation">As for <see cref="Enqueue(IEnumerable{NewItem}, string)"/>.</param>
        /// <returns>The outcomes, in the same order.</returns>
        /// <exception cref="QueueException">
        /// With <see cref="Status.OutcomeUnknown"/>: make the same call with the exception's operation.
        /// </exception>
        public Answers<Outcome> Settle(IEnumerable<Settlement> settlements, string operation = null)
        {
            using (var texts = new Arena())
            {
                SettlementStruct[] native = Native(settlements, texts, out int count);
                OutcomeStruct[] outcomes = OutcomesFor(count);
                using (var use = handle.Borrow())
                fixed (SettlementStruct* from = native)
                fixed (OutcomeStruct* to = outcomes)
                {
                    Status status = QueueException.Check(
                        QueueMethods.readpast_queue_settle(
                            use.Handle, from, count, texts.Text(operation, nameof(operation)), to,
                            out Handle error), error);
                    return Told(status, to, count);
                }
            }
        }

        /// <summary>
        /// Settles as <see cref="Settle(IEnumerable{Settlement}, string)"/> does and, in the same round trip and
        /// commit, claims up to <paramref name="maxItems"/> items without waiting.
        /// </summary>
        /// <param name="settlements">A settlement for each item.</param>
        /// <param name="maxItems">1 to 1000.</param>
        /// <param name="operation">As for <see cref="Enqueue(IEnumerable{NewItem}, string)"/>.</param>
        /// <returns>The outcomes of the settlements, and the claimed items.</returns>
        public SettledAndClaimed SettleAndClaim(
            IEnumerable<Settlement> settlements, int maxItems, string operation = null)
        {
            using (var texts = new Arena())
            {
                SettlementStruct[] native = Native(settlements, texts, out int count);
                OutcomeStruct[] outcomes = OutcomesFor(count);
                using (var use = handle.Borrow())
                fixed (SettlementStruct* from = native)
                fixed (OutcomeStruct* to = outcomes)
                {
                    Status status = QueueException.Check(
                        QueueMethods.readpast_queue_settle_and_claim(
                            use.Handle, from, count, texts.Text(operation, nameof(operation)), maxItems, to,
                            out Handle batch, out Handle error), error);
                    Status claimed = batch.Id != 0 ? Status.Ok : Status.Empty;
                    return new SettledAndClaimed(Told(status, to, count), new Batch(this, claimed, batch));
                }
            }
        }

        /// <summary>
        /// Lets the leases of items start anew, on the server's clock. <see cref="StartRenewal"/> does this
        /// by itself.
        /// </summary>
        /// <param name="leases">The leases.</param>
        /// <returns>The outcomes, in the same order.</returns>
        public Answers<Outcome> Renew(IEnumerable<Lease> leases)
        {
            Lease[] all = Array(leases, nameof(leases));
            var native = new LeaseStruct[all.Length + 1];
            OutcomeStruct[] outcomes = OutcomesFor(all.Length);
            using (var use = handle.Borrow())
            using (var texts = new Arena())
            {
                for (int i = 0; i < all.Length; i++)
                {
                    native[i].StructSize = (UIntPtr)sizeof(LeaseStruct);
                    native[i].Key = texts.Text(all[i].Key, "Key");
                    native[i].Attempt = all[i].Attempt;
                }
                fixed (LeaseStruct* from = native)
                fixed (OutcomeStruct* to = outcomes)
                {
                    Status status = QueueException.Check(
                        QueueMethods.readpast_queue_renew(use.Handle, from, all.Length, to, out Handle error), error);
                    return Told(status, to, all.Length);
                }
            }
        }

        /// <summary>Starts to renew the leases of all items of a batch, until it is disposed of.</summary>
        /// <param name="batch">The batch.</param>
        /// <param name="interval">How often; null: every third of <see cref="Lease"/>.</param>
        /// <returns>The renewal, to be disposed of. Release each item when it is settled.</returns>
        public LeaseRenewal StartRenewal(Batch batch, TimeSpan? interval = null)
        {
            if (batch == null)
            {
                throw new ArgumentNullException(nameof(batch));
            }
            long every = interval.HasValue ? Milliseconds(interval.Value) : Math.Max(1, Milliseconds(Lease) / 3);
            using (var use = handle.Borrow())
            using (var items = batch.Borrow())
            {
                QueueException.Check(
                    RenewalMethods.readpast_renewal_start(
                        use.Handle, items.Handle, every, out Handle renewal, out Handle error), error);
                return new LeaseRenewal(renewal);
            }
        }

        internal Batch ClaimOn(QueueHandle on, int maxItems, TimeSpan wait)
        {
            using (var use = on.Borrow())
            {
                Status status = QueueException.Check(
                    QueueMethods.readpast_queue_claim(
                        use.Handle, maxItems, Milliseconds(wait), out Handle batch, out Handle error), error);
                return new Batch(this, status, batch);
            }
        }

        private static T[] Array<T>(IEnumerable<T> items, string parameter)
        {
            return (items ?? throw new ArgumentNullException(parameter)).ToArray();
        }

        private static SettlementStruct[] Native(IEnumerable<Settlement> settlements, Arena texts, out int count)
        {
            Settlement[] all = Array(settlements, nameof(settlements));
            var native = new SettlementStruct[all.Length + 1];
            for (int i = 0; i < all.Length; i++)
            {
                Settlement settlement = all[i] ?? throw new ArgumentNullException(nameof(settlements));
                native[i] = settlement.ToNative(texts);
            }
            count = all.Length;
            return native;
        }

        private static OutcomeStruct[] OutcomesFor(int count)
        {
            var outcomes = new OutcomeStruct[count + 1];
            outcomes[0].StructSize = (UIntPtr)sizeof(OutcomeStruct);
            return outcomes;
        }

        private static Receipt[] Told(Handle receipts)
        {
            var told = new Receipt[ReceiptsMethods.readpast_receipts_count(receipts)];
            for (int i = 0; i < told.Length; i++)
            {
                var receipt = new ReceiptStruct { StructSize = (UIntPtr)sizeof(ReceiptStruct) };
                QueueException.Check(
                    ReceiptsMethods.readpast_receipts_get(receipts, i, ref receipt, out Handle error), error);
                told[i] = new Receipt(Utf8.Read(receipt.Key), Utf8.Read(receipt.Token), (Status)receipt.Answer);
            }
            return told;
        }

        private static Answers<Outcome> Told(Status status, OutcomeStruct* outcomes, int count)
        {
            var told = new Outcome[count];
            for (int i = 0; i < count; i++)
            {
                told[i] = new Outcome(
                    (Status)outcomes[i].Answer, (ItemState)outcomes[i].State, outcomes[i].Attempt,
                    Utf8.Read(outcomes[i].Token));
            }
            return new Answers<Outcome>(status, told);
        }
    }
}
