using System;
using System.Collections.Generic;

namespace Readpast
{
    /// <summary>
    /// An action on an item. The holder of its lease makes one by an item's methods (<see cref="ClaimedItem"/>), an
    /// operator by <see cref="Operator"/>; a settle carries it out.
    /// </summary>
    public sealed class Settlement
    {
        /// <summary>A settlement with all its terms.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="token">
        /// The token the item had when the caller last saw it. Required with an attempt; null without one: whatever it
        /// is.
        /// </param>
        /// <param name="attempt">The attempt of the claim; 0 steers an item without holding its lease.</param>
        /// <param name="action">The action.</param>
        public Settlement(string key, string? token, int attempt, SettlementAction action)
        {
            Key = key;
            Token = token;
            Attempt = attempt;
            Action = action;
        }

        /// <summary>The item's key.</summary>
        public string Key { get; }

        /// <summary>The token the item had when the caller last saw it.</summary>
        public string? Token { get; }

        /// <summary>The attempt of the claim, or 0.</summary>
        public int Attempt { get; }

        /// <summary>The action.</summary>
        public SettlementAction Action { get; }

        /// <summary>The step to record. Null keeps the one there is.</summary>
        public string? Step { get; set; }

        /// <summary>The response to record. Null keeps the one there is.</summary>
        public string? Response { get; set; }

        /// <summary>The error to record. Null keeps the one there is.</summary>
        public string? Error { get; set; }

        /// <summary>When the item is due again, from now on the server's clock. Null: at <see cref="Due"/>.</summary>
        public TimeSpan? Delay { get; set; }

        /// <summary>When the item is due again. Null: as it was, or after <see cref="Delay"/>.</summary>
        public DateTimeOffset? Due
        {
            get { return JsonText.Time(DueText); }
            set { DueText = JsonText.Of(value); }
        }

        /// <summary>
        /// Values for the item's own columns, as a JSON object in the form of <see cref="NewItem.ColumnsJson"/>, what a
        /// subtype has in an object by its name. A column that is left out keeps its value. Null: none.
        /// </summary>
        public string? SetJson { get; set; }

        /// <summary>The items that follow, as they are sent.</summary>
        internal string? ThenJson { get; private set; }

        /// <summary><see cref="Due"/> as it is sent.</summary>
        internal string? DueText { get; set; }

        /// <summary>It stands for a mistake of the handler; a worker reports those in another way.</summary>
        internal bool IsMistake { get; set; }

        /// <summary>Steers an item without holding its lease: cancel, pause, resume, terminate, retry.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="action">The action.</param>
        /// <param name="token">Only if the item's token is still this one; null: whatever it is.</param>
        /// <returns>The settlement.</returns>
        public static Settlement Operator(string key, SettlementAction action, string? token = null)
        {
            return new Settlement(key, token, 0, action);
        }

        /// <summary>Sets columns of the item, in place of what was to be set before.</summary>
        /// <param name="columns">Values by column, as of a <see cref="NewItem"/>.</param>
        /// <returns>This settlement.</returns>
        public Settlement SetColumns(IEnumerable<KeyValuePair<string, object?>> columns)
        {
            SetJson = JsonText.Of(columns ?? throw new ArgumentNullException(nameof(columns)));
            return this;
        }

        /// <summary>
        /// Puts items into a queue of the same schema in the commit that settles this one, and none where the
        /// settlement is not accepted. More calls add more. An item that cannot be put in keeps this one from being
        /// done: a worker makes it Failed, with the reason.
        /// </summary>
        /// <param name="queue">The name of the queue.</param>
        /// <param name="items">The items.</param>
        /// <returns>This settlement.</returns>
        /// <remarks>Not for a caller's own transaction, which can enqueue the items itself.</remarks>
        public Settlement Then(string queue, params NewItem[] items)
        {
            _ = queue ?? throw new ArgumentNullException(nameof(queue));
            ThenJson = ItemsJson.Following(ThenJson, queue, items ?? throw new ArgumentNullException(nameof(items)));
            return this;
        }

        internal Settlement Copy()
        {
            return (Settlement)MemberwiseClone();
        }
    }
}
