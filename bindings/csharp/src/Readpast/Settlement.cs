using System;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// An action on an item. The holder of its lease makes one by an <see cref="Item"/>'s methods, an operator by
    /// <see cref="Operator"/>; <see cref="Queue.Settle(Settlement)"/> carries it out.
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
        public Settlement(string key, string token, int attempt, SettlementAction action)
        {
            Key = key;
            Token = token;
            Attempt = attempt;
            Action = action;
        }

        /// <summary>The item's key.</summary>
        public string Key { get; }

        /// <summary>The token the item had when the caller last saw it.</summary>
        public string Token { get; }

        /// <summary>The attempt of the claim, or 0.</summary>
        public int Attempt { get; }

        /// <summary>The action.</summary>
        public SettlementAction Action { get; }

        /// <summary>The step to record. Null keeps the one there is.</summary>
        public string Step { get; set; }

        /// <summary>The response to record. Null keeps the one there is.</summary>
        public string Response { get; set; }

        /// <summary>The error to record. Null keeps the one there is.</summary>
        public string Error { get; set; }

        /// <summary>When the item is due again, from now on the server's clock. Null: at <see cref="Due"/>.</summary>
        public TimeSpan? Delay { get; set; }

        /// <summary>When the item is due again, a UTC time. Null: as it was, or after <see cref="Delay"/>.</summary>
        public string Due { get; set; }

        /// <summary>
        /// Values for the item's own columns, as a JSON object in the form of <see cref="NewItem.ColumnsJson"/>, what a
        /// subtype has in an object by its name. A column that is left out keeps its value. Null: none.
        /// </summary>
        public string SetJson { get; set; }

        /// <summary>It stands for a mistake of the handler; a worker reports those in another way.</summary>
        internal bool IsMistake { get; set; }

        /// <summary>Steers an item without holding its lease: cancel, pause, resume, terminate, retry.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="action">The action.</param>
        /// <param name="token">Only if the item's token is still this one; null: whatever it is.</param>
        /// <returns>The settlement.</returns>
        public static Settlement Operator(string key, SettlementAction action, string token = null)
        {
            return new Settlement(key, token, 0, action);
        }

        /// <summary>Sets columns of the item, in place of what was to be set before.</summary>
        /// <param name="columns">Values by column, as of a <see cref="NewItem"/>.</param>
        /// <returns>This settlement.</returns>
        public Settlement SetColumns(IEnumerable<KeyValuePair<string, object>> columns)
        {
            SetJson = JsonText.Of(columns ?? throw new ArgumentNullException(nameof(columns)));
            return this;
        }

        internal Settlement Copy()
        {
            return (Settlement)MemberwiseClone();
        }

        /// <summary>The native form, for the library to judge.</summary>
        internal unsafe SettlementStruct ToNative(Arena texts)
        {
            // A delay of -1 would mean none, so delays below zero become -2 or less.
            long delay = Queue.Milliseconds(Delay ?? TimeSpan.Zero);
            delay = Delay == null ? -1 : Delay < TimeSpan.Zero ? Math.Min(delay, -2) : delay;
            return new SettlementStruct
            {
                StructSize = (UIntPtr)sizeof(SettlementStruct),
                Key = texts.Text(Key, nameof(Key)),
                Token = texts.Text(Token, nameof(Token)),
                Attempt = Attempt,
                Action = (int)Action,
                Step = texts.Any(Step, out UIntPtr step),
                StepLength = step,
                Response = texts.Any(Response, out UIntPtr response),
                ResponseLength = response,
                Error = texts.Any(Error, out UIntPtr error),
                ErrorLength = error,
                DelayMs = delay,
                Due = texts.Any(Due, out UIntPtr due),
                DueLength = due,
                SetJson = texts.Any(SetJson, out UIntPtr set),
                SetJsonLength = set,
            };
        }
    }

    /// <summary>The result for an item, and its state now.</summary>
    public sealed class Outcome
    {
        internal Outcome(Status answer, ItemState state, int attempt, string token)
        {
            Answer = answer;
            State = state;
            Attempt = attempt;
            Token = token;
        }

        /// <summary>
        /// <see cref="Status.Ok"/>, <see cref="Status.LeaseLost"/>, <see cref="Status.Conflict"/>, <see
        /// cref="Status.IllegalTransition"/> or <see cref="Status.NotFound"/>.
        /// </summary>
        public Status Answer { get; }

        /// <summary>
        /// The state the item is in then. It can be Failed although another was asked for and the answer is Ok: then
        /// its attempts are spent. A settle that is repeated with its operation is answered as the first time, whatever
        /// others have made of the item since.
        /// </summary>
        public ItemState State { get; }

        /// <summary>The item's attempt number.</summary>
        public int Attempt { get; }

        /// <summary>
        /// The item's token then: the one to go on with after a step. Empty when it was not found, or is somebody
        /// else's since.
        /// </summary>
        public string Token { get; }
    }

    /// <summary>A lease to renew.</summary>
    public struct Lease
    {
        /// <summary>The lease of a claim.</summary>
        /// <param name="key">The item's key.</param>
        /// <param name="attempt">The attempt of the claim.</param>
        public Lease(string key, int attempt)
        {
            Key = key;
            Attempt = attempt;
        }

        /// <summary>The item's key.</summary>
        public string Key { get; }

        /// <summary>The attempt of the claim.</summary>
        public int Attempt { get; }
    }
}
