using System;

namespace Readpast
{
    /// <summary>
    /// JSON as it is, for a column of documents: it is sent as it was written. The database refuses what is none.
    /// </summary>
    public sealed class RawJson
    {
        private readonly string text;

        /// <summary>A document.</summary>
        /// <param name="text">Its text.</param>
        /// <exception cref="ArgumentException">It is more than one value, or less.</exception>
        public RawJson(string text)
        {
            this.text = text ?? throw new ArgumentNullException(nameof(text));
            if (!JsonShape.IsValue(text))
            {
                // It would go on as other columns.
                throw new ArgumentException("it is not one JSON value", nameof(text));
            }
        }

        /// <summary>The text.</summary>
        /// <returns>The text.</returns>
        public override string ToString()
        {
            return text;
        }
    }
}
