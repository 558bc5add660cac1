using System;
using System.Collections.Generic;

namespace Readpast
{
    /// <summary>An item claimed in the caller's transaction, with its columns as the driver gives them.</summary>
    public sealed class TransactionItem : ClaimedItem
    {
        internal TransactionItem(string key, string token, int attempt, List<KeyValuePair<string, object?>> columns)
            : base(key, token, attempt)
        {
            Columns = columns;
        }

        /// <summary>The columns with their values: null for NULL, and times in UTC.</summary>
        public IReadOnlyList<KeyValuePair<string, object?>> Columns { get; }

        /// <summary>The value of a column; null for NULL.</summary>
        /// <param name="column">Its name. The case matters only where several differ in nothing else.</param>
        /// <exception cref="KeyNotFoundException">There is no such column.</exception>
        [System.Runtime.CompilerServices.IndexerName("Value")]
        public object? this[string column]
        {
            get
            {
                KeyValuePair<string, object?>? found = null;
                foreach (KeyValuePair<string, object?> each in Columns)
                {
                    if (each.Key == column)
                    {
                        return each.Value;
                    }
                    if (string.Equals(each.Key, column, StringComparison.OrdinalIgnoreCase))
                    {
                        found = found == null ? each : throw NotFound(column);
                    }
                }
                return (found ?? throw NotFound(column)).Value;
            }
        }

        private static KeyNotFoundException NotFound(string column)
        {
            return new KeyNotFoundException("the item has no column \"" + column + "\", or several of that name");
        }
    }
}
