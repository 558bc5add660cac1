using System;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Linq;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>Enqueues in the caller's transaction.</summary>
    internal static class EnqueueCall
    {
        /// <summary>So many items the procedures take at once.</summary>
        internal const int Most = 1000;

        internal static async Task<Answers<Receipt>> Make(DbCall call, List<NewItem> items, Guid? operation)
        {
            if (operation != null && items.Count > Most)
            {
                throw new ArgumentException("an operation has at most 1,000 items", nameof(operation));
            }
            await OwnContext.Put(call, items).ConfigureAwait(false);
            if (items.Count == 1 && operation == null)
            {
                Receipt? receipt = await OneItem.Enqueue(call, items[0]).ConfigureAwait(false);
                if (receipt != null)
                {
                    return AnswersOf(new[] { receipt });
                }
            }
            var receipts = new List<Receipt>(items.Count);
            for (int from = 0; from < items.Count; from += Most)
            {
                string json = ItemsJson.Of(items, from, Math.Min(items.Count, from + Most));
                receipts.AddRange(await call.Read(Command(call, json, operation), ReceiptOf).ConfigureAwait(false));
            }
            return receipts.Count == items.Count
                ? AnswersOf(receipts.ToArray())
                : throw Protocol(items.Count, receipts.Count);
        }

        internal static QueueException Protocol(int sent, int came)
        {
            return new QueueException(
                sent + " items were sent, and " + came + " answers came back", Status.Protocol, null, 0, false, null);
        }

        private static DbCommand Command(DbCall call, string json, Guid? operation)
        {
            DbCommand command = call.IsPostgres
                ? call.Statement(
                    "SELECT * FROM " + call.Queue.Function("add_{0}_set_utx") +
                    "(CAST(@items AS json), CAST(@operation AS uuid)) ORDER BY answer_ordinal")
                : call.Procedure("Add_{0}_Set_utx");
            command.AddText("items", json);
            command.Add("operation", DbType.Guid, operation);
            return command;
        }

        internal static Receipt ReceiptOf(DbDataReader row)
        {
            return new Receipt(
                row.Text(AnswerColumns.Key), row.Text(AnswerColumns.Token), AnswerColumns.Status(row));
        }

        private static Answers<Receipt> AnswersOf(Receipt[] receipts)
        {
            Receipt? refused = receipts.FirstOrDefault(receipt => receipt.Answer != Status.Ok);
            return new Answers<Receipt>(refused?.Answer ?? Status.Ok, receipts);
        }
    }
}
