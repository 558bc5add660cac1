using System.Globalization;
using System.Xml.Linq;

namespace Readpast
{
    /// <summary>
    /// Figures about a queue at one moment. Times are in milliseconds. Percentiles and means are of the newest items
    /// that were started and finished; -1 where there is no such item.
    /// </summary>
    public sealed class QueueStats
    {
        internal QueueStats()
        {
        }

        /// <summary>How many items are Pending.</summary>
        public long Pending { get; internal set; }

        /// <summary>How many items are Processing.</summary>
        public long Processing { get; internal set; }

        /// <summary>How many items are in Error.</summary>
        public long Error { get; internal set; }

        /// <summary>How many items are Failed.</summary>
        public long Failed { get; internal set; }

        /// <summary>How many items are Completed.</summary>
        public long Completed { get; internal set; }

        /// <summary>How many items are Cancelled.</summary>
        public long Cancelled { get; internal set; }

        /// <summary>How many items are Paused.</summary>
        public long Paused { get; internal set; }

        /// <summary>How many items are Terminated.</summary>
        public long Terminated { get; internal set; }

        /// <summary>How many items are PartiallyCompleted.</summary>
        public long PartiallyCompleted { get; internal set; }

        /// <summary>How many items are due now and wait for a worker.</summary>
        public long Due { get; internal set; }

        /// <summary>How long the longest-waiting of them has been due, in milliseconds; -1 when none is due.</summary>
        public long OldestDueMs { get; internal set; }

        /// <summary>How many items in flight have outlived their lease.</summary>
        public long Expired { get; internal set; }

        /// <summary>How many items the percentiles and means are of (at most 10000).</summary>
        public long Sample { get; internal set; }

        /// <summary>Milliseconds from due to started, 50th percentile.</summary>
        public long WaitP50Ms { get; internal set; }

        /// <summary>Milliseconds from due to started, 90th percentile.</summary>
        public long WaitP90Ms { get; internal set; }

        /// <summary>Milliseconds from due to started, 99th percentile.</summary>
        public long WaitP99Ms { get; internal set; }

        /// <summary>Milliseconds from the claim to the end, 50th percentile.</summary>
        public long ClaimedP50Ms { get; internal set; }

        /// <summary>Milliseconds from the claim to the end, 90th percentile.</summary>
        public long ClaimedP90Ms { get; internal set; }

        /// <summary>Milliseconds from the claim to the end, 99th percentile.</summary>
        public long ClaimedP99Ms { get; internal set; }

        /// <summary>Milliseconds from due to started, on average.</summary>
        public long WaitMeanMs { get; internal set; }

        /// <summary>Milliseconds from the claim to the end, on average.</summary>
        public long ClaimedMeanMs { get; internal set; }

        /// <summary>
        /// How many items were enqueued within the last hour; -1 when the queue deletes what is completed.
        /// </summary>
        public long ArrivalsLastHour { get; internal set; }

        /// <summary>How many items are claimed now: in flight, with a lease that has not run out.</summary>
        public long Claimed { get; internal set; }

        /// <summary>
        /// How many must be worked on at once to keep up (Little's law): the arrivals of the last hour per
        /// millisecond, times the mean time claimed, divided by 0.8, so that workers are idle for a fifth of their time
        /// and waits stay short. At least 1 while there is work; -1 when the arrivals are not known.
        /// </summary>
        public long WorkersNeeded { get; internal set; }

        internal static QueueStats Of(string answer)
        {
            XElement all = JsonAnswer.Read(answer);
            XElement counts = all.Element("counts");
            XElement wait = all.Element("wait_ms");
            XElement claimed = all.Element("claimed_ms");
            return new QueueStats
            {
                Pending = Figure(counts, "Pending"),
                Processing = Figure(counts, "Processing"),
                Error = Figure(counts, "Error"),
                Failed = Figure(counts, "Failed"),
                Completed = Figure(counts, "Completed"),
                Cancelled = Figure(counts, "Cancelled"),
                Paused = Figure(counts, "Paused"),
                Terminated = Figure(counts, "Terminated"),
                PartiallyCompleted = Figure(counts, "PartiallyCompleted"),
                Due = Figure(all, "due"),
                OldestDueMs = Figure(all, "oldest_due_ms"),
                Expired = Figure(all, "expired"),
                Sample = Figure(all, "sample"),
                WaitP50Ms = Figure(wait, "p50"),
                WaitP90Ms = Figure(wait, "p90"),
                WaitP99Ms = Figure(wait, "p99"),
                ClaimedP50Ms = Figure(claimed, "p50"),
                ClaimedP90Ms = Figure(claimed, "p90"),
                ClaimedP99Ms = Figure(claimed, "p99"),
                WaitMeanMs = Figure(all, "wait_mean_ms"),
                ClaimedMeanMs = Figure(all, "claimed_mean_ms"),
                ArrivalsLastHour = Figure(all, "arrivals_last_hour"),
                Claimed = Figure(all, "claimed"),
                WorkersNeeded = Figure(all, "workers_needed"),
            };
        }

        private static long Figure(XElement of, string member)
        {
            return JsonAnswer.Text(of, member) is string digits
                ? long.Parse(digits, CultureInfo.InvariantCulture)
                : -1;
        }
    }
}
