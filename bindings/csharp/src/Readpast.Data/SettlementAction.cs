namespace Readpast
{
    /// <summary>An action on an item.</summary>
    public enum SettlementAction
    {
        /// <summary>Done.</summary>
        Complete = 1,

        /// <summary>Done as far as it could be.</summary>
        CompletePartially = 2,

        /// <summary>Give up for good.</summary>
        Fail = 3,

        /// <summary>
        /// This attempt failed: try again when due. The item becomes Failed when its attempts are spent.
        /// </summary>
        Retry = 4,

        /// <summary>
        /// Give the item back unworked: it is Pending again, and this attempt does not count. From a handler it is due
        /// after poll.interval_ms at the earliest.
        /// </summary>
        Release = 5,

        /// <summary>Call it off.</summary>
        Cancel = 6,

        /// <summary>Set it aside.</summary>
        Pause = 7,

        /// <summary>Let a paused item, or one that waits for its next attempt, be picked up again.</summary>
        Resume = 8,

        /// <summary>Stop it for good; a worker that holds it finds its lease lost.</summary>
        Terminate = 9,

        /// <summary>Record progress and keep the claim; the lease starts anew.</summary>
        Step = 10,
    }
}
