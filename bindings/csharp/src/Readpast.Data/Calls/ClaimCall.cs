using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>
    /// Claims in the caller's transaction. Now and then one gives back the items of dead workers first, as the
    /// library's claims do: where all workers claim so, nobody else would.
    /// </summary>
    internal static class ClaimCall
    {
        /// <summary>As the library's setting <c>recover.interval_ms</c> is by default.</summary>
        private static readonly TimeSpan RecoverEvery = TimeSpan.FromSeconds(5);

        private static readonly Stopwatch Clock = Stopwatch.StartNew();

        /// <summary>When this process recovered last, by the place and name of the queue.</summary>
        private static readonly ConcurrentDictionary<string, TimeSpan> Recovered =
            new ConcurrentDictionary<string, TimeSpan>();

        internal static async Task<IReadOnlyList<TransactionItem>> Make(DbCall call, string worker, int maxItems)
        {
            bool recovers = MustRecover(call.Place + "\n" + call.Queue.Name);
            while (true)
            {
                var rows = await call.Read(Command(call, worker, maxItems, recovers), Row.Of).ConfigureAwait(false);
                // It may only have ended items whose attempts are spent; then what comes behind them is due.
                if (!rows.Any(row => row.Answer == "EMPTY" && row.DueMs == 0))
                {
                    return rows.Where(row => row.Item != null).Select(row => row.Item!).ToArray();
                }
            }
        }

        private static bool MustRecover(string queue)
        {
            TimeSpan now = Clock.Elapsed;
            bool isKnown = Recovered.TryGetValue(queue, out TimeSpan last);
            if (isKnown && now - last < RecoverEvery)
            {
                return false;
            }
            return isKnown ? Recovered.TryUpdate(queue, now, last) : Recovered.TryAdd(queue, now);
        }

        private static DbCommand Command(DbCall call, string worker, int maxItems, bool recovers)
        {
            DbCommand command = call.IsPostgres
                ? call.Statement(
                    "SELECT * FROM " + call.Queue.Function("next_{0}_set_trx") + "(@worker, @max, NULL, @recover)")
                : call.Procedure("Next_{0}_Set_utx");
            command.AddText("worker", worker, 128);
            command.Add("max", DbType.Int32, maxItems);
            command.Add("recover", DbType.Int32, recovers ? 1 : 0);
            return command;
        }

        private sealed class Row
        {
            internal string Answer = string.Empty;
            internal long? DueMs;
            internal TransactionItem? Item;

            internal static Row Of(DbDataReader from)
            {
                var row = new Row { Answer = from.GetString(AnswerColumns.Answer) };
                if (!from.IsDBNull(AnswerColumns.DueMs))
                {
                    row.DueMs = Convert.ToInt64(from.GetValue(AnswerColumns.DueMs), CultureInfo.InvariantCulture);
                }
                if (row.Answer == "CLAIMED" || row.Answer == "CLAIMED_ALONE")
                {
                    row.Item = ItemOf(from);
                }
                return row;
            }

            private static TransactionItem ItemOf(DbDataReader from)
            {
                var columns = new List<KeyValuePair<string, object?>>();
                for (int i = AnswerColumns.Count; i < from.FieldCount; i++)
                {
                    columns.Add(new KeyValuePair<string, object?>(from.GetName(i), from.Value(i)));
                }
                return new TransactionItem(
                    from.Text(AnswerColumns.Key), from.Text(AnswerColumns.Token),
                    from.GetInt32(AnswerColumns.Attempt), columns);
            }
        }
    }
}
