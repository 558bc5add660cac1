using Readpast.Native;

namespace Readpast
{
    /// <summary>A worker's figures so far.</summary>
    public sealed class WorkerFigures
    {
        internal WorkerFigures()
        {
        }

        /// <summary>Items in flight that no handler has begun.</summary>
        public long Ready { get; private set; }

        /// <summary>Items that threads have taken and that have not ended.</summary>
        public long Begun { get; private set; }

        /// <summary>Items that have ended and are not settled yet.</summary>
        public long Ended { get; private set; }

        /// <summary>Items claimed so far.</summary>
        public long Claimed { get; private set; }

        /// <summary>Items settled so far as was asked for.</summary>
        public long Settled { get; private set; }

        /// <summary>Items given back unworked so far, which cost no attempt.</summary>
        public long Released { get; private set; }

        /// <summary>Items found not to be this worker's any more.</summary>
        public long Lost { get; private set; }

        /// <summary>Items of which the library or the database refused a part of what was given.</summary>
        public long Refused { get; private set; }

        /// <summary>Calls answered so far that settled or claimed.</summary>
        public long Calls { get; private set; }

        /// <summary>Calls that failed in a way that may pass.</summary>
        public long Troubles { get; private set; }

        /// <summary>
        /// The median of how long the answered calls took, in microseconds, to within a factor of 1.5.
        /// </summary>
        public long CallUsP50 { get; private set; }

        /// <summary>The same of the 99th percentile.</summary>
        public long CallUsP99 { get; private set; }

        internal static WorkerFigures Of(WorkerFiguresStruct from)
        {
            return new WorkerFigures
            {
                Ready = from.Ready,
                Begun = from.Begun,
                Ended = from.Ended,
                Claimed = from.Claimed,
                Settled = from.Settled,
                Released = from.Released,
                Lost = from.Lost,
                Refused = from.Refused,
                Calls = from.Calls,
                Troubles = from.Troubles,
                CallUsP50 = from.CallUsP50,
                CallUsP99 = from.CallUsP99,
            };
        }
    }
}
