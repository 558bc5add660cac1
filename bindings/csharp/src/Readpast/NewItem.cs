using System;
using System.Collections.Generic;

namespace Readpast
{
    /// <summary>An item to enqueue.</summary>
    public sealed class NewItem
    {
        /// <summary>An item without values: each column has its default, or NULL.</summary>
        public NewItem()
        {
        }

        /// <summary>An item with values.</summary>
        /// <param name="columns">
        /// Values by column: null, bool, integers, double, decimal, string, char, Guid, DateTime (made UTC),
        /// DateTimeOffset, byte arrays, and dictionaries and sequences of them for JSON columns.
        /// </param>
        public NewItem(IEnumerable<KeyValuePair<string, object>> columns)
        {
            ColumnsJson = JsonText.Of(columns ?? throw new ArgumentNullException(nameof(columns)));
        }

        /// <summary>The kind of work, one of the queue's types. Null: the first of them.</summary>
        public string Type { get; set; }

        /// <summary>The step to begin with. Null: none.</summary>
        public string Step { get; set; }

        /// <summary>
        /// When it is due, from now on the server's clock, in whole milliseconds. Null: at <see cref="Due"/>.
        /// </summary>
        public TimeSpan? Delay { get; set; }

        /// <summary>
        /// When it is due, a UTC time like <c>2026-11-21T08:30:00Z</c>. Null: now, or after <see cref="Delay"/>.
        /// </summary>
        public string Due { get; set; }

        /// <summary>The queue's own columns, a JSON object. Null: each has its default, or NULL.</summary>
        public string ColumnsJson { get; set; }

        /// <summary>
        /// The W3C <c>traceparent</c> in which it is enqueued, as <c>Activity.Current.Id</c> has it, for a queue whose
        /// description has <c>trace</c>; others take no notice. What is malformed is left out, and is no error.
        /// </summary>
        public string TraceParent { get; set; }

        /// <summary>The <c>tracestate</c> that belongs to it.</summary>
        public string TraceState { get; set; }

        internal NewItem Copy()
        {
            return (NewItem)MemberwiseClone();
        }
    }

    /// <summary>The result for one item to enqueue.</summary>
    public sealed class Receipt
    {
        internal Receipt(string key, string token, Status answer)
        {
            Key = key;
            Token = token;
            Answer = answer;
        }

        /// <summary>
        /// The item's key. A duplicate has the key of the item already there if the queue returns it; else it is empty.
        /// </summary>
        public string Key { get; }

        /// <summary>
        /// The item's token, to cancel exactly this version of it. Empty for a duplicate.
        /// </summary>
        public string Token { get; }

        /// <summary><see cref="Status.Ok"/>, or <see cref="Status.Duplicate"/> when nothing was enqueued.</summary>
        public Status Answer { get; }
    }
}
