namespace Readpast
{
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
        /// cref="Status.IllegalTransition"/>, <see cref="Status.NotFound"/> or <see cref="Status.Duplicate"/>.
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
}
