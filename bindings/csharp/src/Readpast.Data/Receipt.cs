namespace Readpast
{
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
        /// The item's token, to cancel exactly this version of it. Empty for a duplicate, unless the item that
        /// waits got the values of this one (<c>on_duplicate</c> in the description).
        /// </summary>
        public string Token { get; }

        /// <summary><see cref="Status.Ok"/>, or <see cref="Status.Duplicate"/> when nothing was enqueued.</summary>
        public Status Answer { get; }
    }
}
