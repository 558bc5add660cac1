using System;
using System.Collections.Generic;
using System.Linq;
#if NET
using System.Diagnostics;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;
#endif

namespace Readpast
{
    /// <summary>An item to enqueue.</summary>
    public sealed class NewItem
    {
        private string? columnsJson;

        /// <summary>An item without values: each column has its default, or NULL.</summary>
        public NewItem()
        {
        }

        /// <summary>An item with values.</summary>
        /// <param name="columns">
        /// Values by column: null, bool, numbers, enums (as numbers), string, char, Guid, DateTime (made UTC; at
        /// midnight and of no kind also a date), DateTimeOffset, DateOnly, TimeSpan, Uri, bytes (arrays, memory,
        /// sequences of byte), and for JSON columns dictionaries with string keys, sequences, JsonElement, JsonNode
        /// and <see cref="RawJson"/>.
        /// </param>
        /// <exception cref="ArgumentException">A value is of another type; the message names its column.</exception>
        public NewItem(IEnumerable<KeyValuePair<string, object?>> columns)
        {
            Values = (columns ?? throw new ArgumentNullException(nameof(columns))).Select(Kept).ToArray();
            columnsJson = JsonText.Of(Values);
        }

        /// <summary>The kind of work, one of the queue's types. Null: the first of them.</summary>
        public string? Type { get; set; }

        /// <summary>The step to begin with. Null: none.</summary>
        public string? Step { get; set; }

        /// <summary>
        /// When it is due, from now on the server's clock, in whole milliseconds. Null: at <see cref="Due"/>.
        /// </summary>
        public TimeSpan? Delay { get; set; }

        /// <summary>When it is due. Null: now, or after <see cref="Delay"/>.</summary>
        public DateTimeOffset? Due
        {
            get { return JsonText.Time(DueText); }
            set { DueText = JsonText.Of(value); }
        }

        /// <summary>The queue's own columns, a JSON object. Null: each has its default, or NULL.</summary>
        public string? ColumnsJson
        {
            get
            {
                return columnsJson;
            }

            set
            {
                columnsJson = value;
                Values = null;
            }
        }

        /// <summary>
        /// The W3C <c>traceparent</c> in which it is enqueued, as <c>Activity.Current.Id</c> has it, for a queue whose
        /// description has <c>trace</c>; others take no notice. What is malformed is left out, and is no error.
        /// </summary>
        public string? TraceParent { get; set; }

        /// <summary>The <c>tracestate</c> that belongs to it.</summary>
        public string? TraceState { get; set; }

        /// <summary>
        /// The keys of items of the queue for which it waits: it is due when all of them are over, and not before
        /// <see cref="Due"/>. Only in a queue whose description has <c>after</c>. Null: none.
        /// </summary>
        public IReadOnlyList<string>? After { get; set; }

        /// <summary>The places of earlier items of the call for which it waits, from 0 on. Null: none.</summary>
        public IReadOnlyList<int>? AfterItems { get; set; }

        /// <summary>Its fate when one of them ends in another way than completed.</summary>
        public OnFailed OnFailed { get; set; }

        /// <summary><see cref="Due"/> as it is sent.</summary>
        internal string? DueText { get; set; }

        /// <summary>The values that <see cref="ColumnsJson"/> was made of, if it was.</summary>
        internal KeyValuePair<string, object?>[]? Values { get; private set; }

#if NET
        /// <summary>An item whose columns are the properties of a value.</summary>
        /// <typeparam name="T">The type of the value.</typeparam>
        /// <param name="value">The value.</param>
        /// <param name="type">How it is written, of a <c>JsonSerializerContext</c>.</param>
        /// <returns>The item.</returns>
        public static NewItem Of<T>(T value, JsonTypeInfo<T> type)
        {
            return new NewItem { ColumnsJson = JsonSerializer.Serialize(value, type) };
        }

        /// <summary>An item with a value in one of its JSON columns.</summary>
        /// <typeparam name="T">The type of the value.</typeparam>
        /// <param name="column">The name of the column.</param>
        /// <param name="value">The value.</param>
        /// <param name="type">How it is written, of a <c>JsonSerializerContext</c>.</param>
        /// <returns>The item.</returns>
        public static NewItem Of<T>(string column, T value, JsonTypeInfo<T> type)
        {
            string json = JsonSerializer.Serialize(value, type);
            return new NewItem(new Dictionary<string, object?> { { column, new RawJson(json) } });
        }
#endif

#if NET
        /// <summary>The item in the trace of an activity, unless it has one.</summary>
        internal NewItem InTraceOf(Activity activity)
        {
            if (TraceParent != null)
            {
                return this;
            }
            NewItem item = Copy();
            item.TraceParent = activity.Id;
            item.TraceState = activity.TraceStateString;
            return item;
        }
#endif

        /// <summary>The same item with these values in place of its own.</summary>
        internal NewItem With(IEnumerable<KeyValuePair<string, object?>> values)
        {
            NewItem item = Copy();
            item.Values = values.ToArray();
            item.columnsJson = JsonText.Of(item.Values);
            return item;
        }

#if NET
        /// <summary>The same item, given as JSON, with a column before its own; its own counts if it has it.</summary>
        internal NewItem WithColumn(string column, string value)
        {
            string own = (columnsJson ?? "{}").Trim();
            if (!JsonShape.IsObject(own) || HasMember(own, column))
            {
                return this;
            }
            string rest = own.Substring(1).TrimStart();
            NewItem item = Copy();
            item.ColumnsJson = "{" + JsonText.OfText(column) + ":" + JsonText.OfText(value) +
                (rest[0] == '}' ? string.Empty : ",") + rest;
            return item;
        }

        private static bool HasMember(string json, string name)
        {
            try
            {
                using JsonDocument document = JsonDocument.Parse(json);
                return document.RootElement.EnumerateObject()
                    .Any(member => member.Name.Equals(name, StringComparison.OrdinalIgnoreCase));
            }
            catch (JsonException)
            {
                // The database says what is wrong with it.
                return true;
            }
        }
#endif

        /// <summary>Bytes that the caller may change are copied, as the JSON of them is one.</summary>
        private static KeyValuePair<string, object?> Kept(KeyValuePair<string, object?> column)
        {
            return column.Value is byte[] bytes
                ? new KeyValuePair<string, object?>(column.Key, bytes.Clone())
                : column;
        }

        internal NewItem Copy()
        {
            return (NewItem)MemberwiseClone();
        }
    }
}
