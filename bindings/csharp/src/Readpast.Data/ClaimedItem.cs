using System;

namespace Readpast
{
    /// <summary>An item that a worker has claimed, and what can become of it.</summary>
    public abstract class ClaimedItem
    {
        internal ClaimedItem(string key, string token, int attempt)
        {
            Key = key;
            Token = token;
            Attempt = attempt;
        }

        /// <summary>The primary key, as text.</summary>
        public string Key { get; }

        /// <summary>The token that the claim, or the newest step, left on the item. A settle must carry it.</summary>
        public string Token { get; internal set; }

        /// <summary>Which attempt this is, counted from 1. A settle must carry it.</summary>
        public int Attempt { get; }

        /// <summary>To end the claim: done.</summary>
        /// <param name="response">The response to record; null: none.</param>
        /// <returns>The settlement.</returns>
        public Settlement Complete(string? response = null)
        {
            return new Settlement(Key, Token, Attempt, SettlementAction.Complete) { Response = response };
        }

        /// <summary>To end the claim: done as far as it could be.</summary>
        /// <param name="response">The response to record; null: none.</param>
        /// <returns>The settlement.</returns>
        public Settlement CompletePartially(string? response = null)
        {
            return new Settlement(Key, Token, Attempt, SettlementAction.CompletePartially) { Response = response };
        }

        /// <summary>To end the claim: given up for good.</summary>
        /// <param name="error">Why.</param>
        /// <returns>The settlement.</returns>
        public Settlement Fail(string error)
        {
            return new Settlement(Key, Token, Attempt, SettlementAction.Fail) { Error = error };
        }

        /// <summary>
        /// To end the claim: this attempt failed, try again when due. The item becomes Failed when its attempts are
        /// spent.
        /// </summary>
        /// <param name="error">Why.</param>
        /// <param name="delay">When, from now; null: as the queue's backoff says.</param>
        /// <returns>The settlement.</returns>
        public Settlement Retry(string error, TimeSpan? delay = null)
        {
            return new Settlement(Key, Token, Attempt, SettlementAction.Retry) { Error = error, Delay = delay };
        }

        /// <summary>To give the item back unworked: it is Pending again, and this attempt does not count.</summary>
        /// <param name="delay">When it is due again, from now; null: as it was.</param>
        /// <returns>The settlement.</returns>
        public Settlement Release(TimeSpan? delay = null)
        {
            return new Settlement(Key, Token, Attempt, SettlementAction.Release) { Delay = delay };
        }

        /// <summary>To end the claim in any way there is.</summary>
        /// <param name="action">The action.</param>
        /// <returns>The settlement.</returns>
        public Settlement Settle(SettlementAction action)
        {
            return new Settlement(Key, Token, Attempt, action);
        }
    }
}
