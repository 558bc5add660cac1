namespace Readpast
{
    /// <summary>The state an item is in.</summary>
    public enum ItemState
    {
        /// <summary>It was not found, so it has no state; or which one it has is not known.</summary>
        None = 0,

        /// <summary>Waits for a worker.</summary>
        Pending = 1,

        /// <summary>A worker holds its lease.</summary>
        Processing = 2,

        /// <summary>An attempt failed; it will be tried again when it is due.</summary>
        Error = 3,

        /// <summary>Attempts are spent, or the worker gave up. Final.</summary>
        Failed = 4,

        /// <summary>Done. Final.</summary>
        Completed = 5,

        /// <summary>Called off before it was done. Final.</summary>
        Cancelled = 6,

        /// <summary>Set aside until somebody resumes it.</summary>
        Paused = 7,

        /// <summary>Stopped by an operator. Final.</summary>
        Terminated = 8,

        /// <summary>Done as far as it could be. Final.</summary>
        PartiallyCompleted = 9,
    }
}
