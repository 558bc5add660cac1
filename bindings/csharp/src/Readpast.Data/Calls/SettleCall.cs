using System;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Linq;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>Settles in the caller's transaction.</summary>
    internal static class SettleCall
    {
        internal static async Task<Answers<Outcome>> Make(
            DbCall call, string worker, List<Settlement> settlements, Guid? operation)
        {
            if (operation != null && settlements.Count > EnqueueCall.Most)
            {
                throw new ArgumentException("an operation has at most 1,000 items", nameof(operation));
            }
            bool isComposite = await HasCompositeKey(call, settlements).ConfigureAwait(false);
            var outcomes = new List<Outcome>(settlements.Count);
            for (int from = 0; from < settlements.Count; from += EnqueueCall.Most)
            {
                string json = ItemsJson.Of(
                    settlements, from, Math.Min(settlements.Count, from + EnqueueCall.Most), _ => isComposite);
                DbCommand command = Command(call, worker, json, operation);
                outcomes.AddRange(await call.Read(command, OutcomeOf).ConfigureAwait(false));
            }
            if (outcomes.Count != settlements.Count)
            {
                throw EnqueueCall.Protocol(settlements.Count, outcomes.Count);
            }
            Outcome? refused = outcomes.FirstOrDefault(outcome => outcome.Answer != Status.Ok);
            return new Answers<Outcome>(refused?.Answer ?? Status.Ok, outcomes.ToArray());
        }

        /// <summary>A key of several columns is the text of an array; text of one column may look so.</summary>
        private static async Task<bool> HasCompositeKey(DbCall call, List<Settlement> settlements)
        {
            if (!settlements.All(each => each.Key.StartsWith("[", StringComparison.Ordinal) &&
                JsonShape.IsValue(each.Key)))
            {
                return false;
            }
            QueueDescription? description = await QueueDescription.Of(call).ConfigureAwait(false);
            return description == null || description.HasCompositeKey;
        }

        private static DbCommand Command(DbCall call, string worker, string json, Guid? operation)
        {
            DbCommand command = call.IsPostgres
                ? call.Statement(
                    "SELECT * FROM " + call.Queue.Function("modify_{0}_set_utx") +
                    "(CAST(@operation AS uuid), @worker, CAST(@items AS json)) ORDER BY answer_ordinal")
                : call.Procedure("Modify_{0}_Set_utx");
            command.Add("operation", DbType.Guid, operation);
            command.AddText("worker", worker, 128);
            command.AddText("items", json);
            return command;
        }

        private static Outcome OutcomeOf(DbDataReader row)
        {
            bool isFound = !row.IsDBNull(AnswerColumns.State);
            ItemState state = ItemState.None;
            if (isFound)
            {
                Enum.TryParse(row.GetString(AnswerColumns.State), out state);
            }
            return new Outcome(
                AnswerColumns.Status(row), state, isFound ? row.GetInt32(AnswerColumns.Attempt) : 0,
                row.Text(AnswerColumns.Token));
        }
    }
}
