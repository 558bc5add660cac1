namespace Readpast
{
    /// <summary>The outcome of a worker's item; see <see cref="QueueWorker.Settled"/>.</summary>
    public sealed class SettledItem
    {
        internal SettledItem(string key, int attempt, Status answer, ItemState state)
        {
            Key = key;
            Attempt = attempt;
            Answer = answer;
            State = state;
        }

        /// <summary>The item's key.</summary>
        public string Key { get; }

        /// <summary>The attempt of the claim.</summary>
        public int Attempt { get; }

        /// <summary>
        /// <see cref="Status.Ok"/>: it was settled. Else it was lost: <see cref="Status.LeaseLost"/>,
        /// <see cref="Status.Conflict"/>, <see cref="Status.IllegalTransition"/> or <see cref="Status.NotFound"/>.
        /// </summary>
        public Status Answer { get; }

        /// <summary>
        /// The state it is in now; Pending when it was given back. None where it is not known: a renewal found it lost.
        /// </summary>
        public ItemState State { get; }
    }
}
