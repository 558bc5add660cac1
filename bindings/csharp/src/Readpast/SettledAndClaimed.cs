namespace Readpast
{
    /// <summary>Results of settling items and claiming others in the same commit.</summary>
    public sealed class SettledAndClaimed
    {
        internal SettledAndClaimed(Answers<Outcome> outcomes, Batch batch)
        {
            Outcomes = outcomes;
            Batch = batch;
        }

        /// <summary>The outcomes of the settled items.</summary>
        public Answers<Outcome> Outcomes { get; }

        /// <summary>The claimed items; empty when nothing was due. The caller disposes of it.</summary>
        public Batch Batch { get; }
    }
}
