using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Linq;
using System.Threading.Tasks;
#if NET
using System.Text.Json;
#endif

namespace Readpast
{
    /// <summary>
    /// The parts of a queue's description that calls need: read from the catalog, and again after a minute or a
    /// refusal. .NET Standard has no reader of JSON: there are none.
    /// </summary>
    internal sealed class QueueDescription
    {
#if NET
        private static readonly TimeSpan Lifetime = TimeSpan.FromMinutes(1);

        private static readonly ConcurrentDictionary<string, Catalog> Known = new();

        private QueueDescription(JsonElement description)
        {
            Types = Texts(description, "types");
            Steps = Texts(description, "steps");
            Trace = description.TryGetProperty("trace", out JsonElement trace) &&
                trace.ValueKind == JsonValueKind.String ? trace.GetString() : null;
            bool isTable = description.TryGetProperty("table", out JsonElement table);
            HasCompositeKey = isTable && table.TryGetProperty("key", out JsonElement key) &&
                key.ValueKind == JsonValueKind.Array && key.GetArrayLength() > 1;
            IsPlain = !isTable && !Has(description, "dedup") && !Has(description, "subtypes") &&
                !Has(description, "procedures");
            Columns = description.TryGetProperty("columns", out JsonElement columns)
                ? columns.EnumerateArray().Select(column => new ColumnDescription(column)).ToArray()
                : Array.Empty<ColumnDescription>();
        }

        /// <summary>The kinds of work.</summary>
        internal IReadOnlyList<string> Types { get; }

        /// <summary>The steps; none where any will do.</summary>
        internal IReadOnlyList<string> Steps { get; }

        /// <summary>The queue's own columns.</summary>
        internal IReadOnlyList<ColumnDescription> Columns { get; }

        /// <summary>The column for the trace context, or null.</summary>
        internal string? Trace { get; }

        /// <summary>Whether one item is an INSERT of its own in the procedure for one item.</summary>
        internal bool IsPlain { get; }
#endif

        /// <summary>Whether a key is the text of an array.</summary>
        internal bool HasCompositeKey { get; }

#if NET
        internal static async Task<QueueDescription?> Of(DbCall call)
        {
            if (!Known.TryGetValue(call.Place, out Catalog? catalog) || catalog.IsOldFor(call.Queue.Name))
            {
                Known[call.Place] = catalog = new Catalog(await Read(call).ConfigureAwait(false));
            }
            return catalog.Queues?.GetValueOrDefault(call.Queue.Name);
        }

        /// <summary>Has it read again by the next call.</summary>
        internal static void Forget(string place)
        {
            Known.TryRemove(place, out _);
        }

        /// <summary>A caller with rights one by one may lack this one, and an error would end its work.</summary>
        private static async Task<Dictionary<string, QueueDescription>?> Read(DbCall call)
        {
            DbCommand command;
            if (call.IsPostgres)
            {
                string catalog = call.Queue.Function("queue_catalog") + "()";
                DbCommand mayAsk = call.Statement(
                    "SELECT COALESCE(has_function_privilege(to_regprocedure(@name), 'EXECUTE'), FALSE)");
                mayAsk.AddText("name", catalog);
                var may = await call.Read(mayAsk, row => row.GetBoolean(0)).ConfigureAwait(false);
                if (!may[0])
                {
                    return null;
                }
                command = call.Statement("SELECT queue, spec FROM " + catalog);
            }
            else
            {
                string catalog = call.Queue.Procedure("QueueCatalog");
                command = call.Statement(
                    "IF HAS_PERMS_BY_NAME(@name, 'OBJECT', 'EXECUTE') = 1 EXECUTE " + catalog);
                command.AddText("name", catalog, 300);
            }
            var queues = new Dictionary<string, QueueDescription>();
            var rows = await call.Read(command, row => Put(queues, row)).ConfigureAwait(false);
            return rows.Count > 0 ? queues : null;
        }

        private static bool Put(Dictionary<string, QueueDescription> queues, DbDataReader row)
        {
            int name = row.GetOrdinal("queue"), description = row.GetOrdinal("spec");
            if (!row.IsDBNull(name) && !row.IsDBNull(description))
            {
                using JsonDocument document = JsonDocument.Parse(row.GetString(description));
                queues[row.GetString(name)] = new QueueDescription(document.RootElement);
            }
            return true;
        }

        private static bool Has(JsonElement description, string member)
        {
            return description.TryGetProperty(member, out JsonElement value) && value.ValueKind != JsonValueKind.Null &&
                (value.ValueKind != JsonValueKind.Array || value.GetArrayLength() > 0);
        }

        private static string[] Texts(JsonElement description, string member)
        {
            return Has(description, member)
                ? description.GetProperty(member).EnumerateArray().Select(text => text.GetString()!).ToArray()
                : Array.Empty<string>();
        }

        private sealed class Catalog
        {
            private readonly long readAt = Environment.TickCount64;

            internal Catalog(Dictionary<string, QueueDescription>? queues)
            {
                Queues = queues;
            }

            /// <summary>Null: the caller may not ask for them.</summary>
            internal Dictionary<string, QueueDescription>? Queues { get; }

            /// <summary>A queue that it does not have may have been installed since.</summary>
            internal bool IsOldFor(string queue)
            {
                return Environment.TickCount64 - readAt > Lifetime.TotalMilliseconds ||
                    (Queues != null && !Queues.ContainsKey(queue));
            }
        }
#else
        internal static Task<QueueDescription?> Of(DbCall call)
        {
            return Task.FromResult<QueueDescription?>(null);
        }

        internal static void Forget(string place)
        {
        }
#endif
    }
}
