using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using Readpast;

namespace Conformance
{
    using Answer = Dictionary<string, object>;

    /// <summary>Answers, from the library's results.</summary>
    internal static class Answers
    {
        internal static Answer Of(Status status)
        {
            return new Answer { { "status", ReadpastLibrary.NameOf(status) } };
        }

        internal static Answer Of(QueueException exception)
        {
            Answer answer = Of(exception.Status);
            answer["error"] = new Answer
            {
                { "message", exception.Message },
                { "sqlstate", exception.SqlState },
                { "native_code", exception.NativeCode },
                { "retryable", exception.IsTransient },
                { "operation", exception.Operation },
            };
            return answer;
        }

        /// <summary>A refusal by the binding, before it calls the library.</summary>
        internal static Answer Of(Status status, Exception exception)
        {
            return Of(status).With("error", new Answer
            {
                { "message", exception.Message },
                { "sqlstate", null },
                { "native_code", 0 },
                { "retryable", false },
                { "operation", null },
            });
        }

        internal static Answer With(this Answer answer, string member, object value)
        {
            answer[member] = value;
            return answer;
        }

        /// <summary>PARTIALLY_COMPLETED for PartiallyCompleted.</summary>
        internal static string Upper(Enum value)
        {
            var text = new StringBuilder();
            foreach (char c in value.ToString())
            {
                text.Append(char.IsUpper(c) && text.Length > 0 ? "_" : string.Empty).Append(char.ToUpperInvariant(c));
            }
            return text.ToString();
        }

        internal static object[] Items(IEnumerable<Item> items, IReadOnlyList<Column> columns)
        {
            return items.Select(item => (object)new Answer
            {
                { "key", item.Key },
                { "token", item.Token },
                { "attempt", item.Attempt },
                { "state", Upper(item.State) },
                { "type", item.Type },
                { "step", item.Step },
                { "due", Text(item.Due) },
                { "enqueued", Text(item.Enqueued) },
                { "lease_until", Text(item.LeaseUntil) },
                { "columns", columns.ToDictionary(column => column.Name, column => (object)Value(item, column)) },
                { "json", Program.Parse(item.ToJson()) },
                { "traceparent", item.TraceParent },
                { "tracestate", item.TraceState },
            }).ToArray();
        }

        internal static Answer Value(Item item, Column column)
        {
            return new Answer { { "type", Upper(column.Type) }, { "value", Plain(item, column) } };
        }

        /// <summary>By another name of a column of the life cycle, whose type no column has.</summary>
        internal static Answer Unnamed(Item item, string name)
        {
            object value = item[name];
            return new Answer { { "value", value is DateTime ? item.GetString(name) : value } };
        }

        internal static object[] Outcomes(IEnumerable<Outcome> outcomes)
        {
            return outcomes.Select(outcome => (object)new Answer
            {
                { "answer", ReadpastLibrary.NameOf(outcome.Answer) },
                { "state", Upper(outcome.State) },
                { "attempt", outcome.Attempt },
                { "token", outcome.Token },
            }).ToArray();
        }

        private static string Text(DateTime? time)
        {
            return time?.ToString("o", CultureInfo.InvariantCulture);
        }

        private static object Plain(Item item, Column column)
        {
            if (item.IsNull(column.Name))
            {
                return null;
            }
            switch (column.Type)
            {
                case ColumnType.Boolean:
                case ColumnType.Integer:
                case ColumnType.Float:
                    return item[column.Name];
                case ColumnType.Binary:
                    return string.Concat(
                        item.GetBytes(column.Name).Select(each => each.ToString("x2", CultureInfo.InvariantCulture)));
                default:
                    return item.GetString(column.Name);
            }
        }
    }
}
