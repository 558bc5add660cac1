using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
#if NET
using System.Diagnostics;
#endif

namespace Readpast
{
    /// <summary>
    /// The trace context of new items, in the column that the queue has for it: the item's own, or that of the activity
    /// under way.
    /// </summary>
    internal static class OwnContext
    {
#if NET
        /// <summary>So long is a <c>traceparent</c>.</summary>
        private const int ParentLength = 55;

        /// <summary>The column that <c>"trace": true</c> adds has room for this much.</summary>
        private const int Room = 568;

        internal static async Task Put(DbCall call, List<NewItem> items)
        {
            Activity? current = Activity.Current?.IdFormat == ActivityIdFormat.W3C ? Activity.Current : null;
            if (current == null && items.All(item => item.TraceParent == null))
            {
                return;
            }
            string? column = (await QueueDescription.Of(call).ConfigureAwait(false))?.Trace;
            if (column == null)
            {
                return;
            }
            for (int i = 0; i < items.Count; i++)
            {
                string? parent = items[i].TraceParent ?? current?.Id;
                string? state = items[i].TraceParent == null ? current?.TraceStateString : items[i].TraceState;
                if (ActivityContext.TryParse(parent, null, out _) && parent!.Length == ParentLength)
                {
                    items[i] = With(items[i], column, TextOf(parent, state));
                }
            }
        }

        private static string TextOf(string parent, string? state)
        {
            string all = parent + " " + state;
            bool isKept = !string.IsNullOrEmpty(state) && all.Length <= Room && state.All(c => c >= ' ' && c <= '~');
            return isKept ? all : parent;
        }

        /// <summary>The item with the column as well, unless it has it.</summary>
        private static NewItem With(NewItem item, string column, string value)
        {
            if (item.Values == null && item.ColumnsJson != null)
            {
                return item.WithColumn(column, value);
            }
            var values = item.Values ?? System.Array.Empty<KeyValuePair<string, object?>>();
            return values.Any(each => string.Equals(each.Key, column, System.StringComparison.OrdinalIgnoreCase))
                ? item
                : item.With(values.Append(new KeyValuePair<string, object?>(column, value)));
        }
#else
        internal static Task Put(DbCall call, List<NewItem> items)
        {
            return Task.CompletedTask;
        }
#endif
    }
}
