using System;

namespace Readpast
{
    /// <content>What a worker tells.</content>
    public sealed partial class Worker
    {
        /// <summary>
        /// What a person may want to know: start and end, each attempt that failed, what was lost or refused, calls
        /// that are tried again. No column of an item is in it. Raised on the worker's threads. While nobody listens,
        /// warnings and errors go to standard error.
        /// </summary>
        /// <example>
        /// With Microsoft.Extensions.Logging, whose levels have the same numbers:
        /// <code>worker.Logged += entry =&gt;
        ///     logger.Log((LogLevel)(int)entry.Level, entry.Exception, "{Message}", entry.Message);</code>
        /// </example>
        public event Action<WorkerLogEntry> Logged;

        /// <summary>
        /// For what no handler may give: the item is Failed, since work that was done is not to be done again.
        /// </summary>
        internal static Settlement Mistaken(Item item, string what)
        {
            Settlement failed = item.Fail(what);
            failed.IsMistake = true;
            return failed;
        }

        internal void LogCancelled(Item item, string why)
        {
            Log(WorkerLogLevel.Warning, item.Key, item.Attempt, ": the handler was cancelled: " + why);
        }

        /// <summary>What a settlement holds, by kind and length: its texts are nobody's business.</summary>
        private static string Extent(Settlement given)
        {
            string extent = Length("step", given.Step) + Length("response", given.Response);
            extent += Length("error", given.Error);
            extent += given.Delay == null ? string.Empty : ", delay";
            extent += given.Due == null ? string.Empty : ", due";
            return extent.Length == 0 ? "nothing but the action" : extent.Substring(2);
        }

        private static string Length(string name, string text)
        {
            return string.IsNullOrEmpty(text) ? string.Empty : ", " + name + " of " + text.Length + " characters";
        }

        private void LogStart()
        {
            Log(
                WorkerLogLevel.Information, null, 0,
                "worker " + own.Worker + " started: threads: " + Threads + ", items a batch: " + BatchSize);
        }

        private void LogEnd()
        {
            Exception reason = failure?.SourceException;
            Log(
                reason == null ? WorkerLogLevel.Information : WorkerLogLevel.Error, null, 0,
                "worker " + own.Worker + (reason == null ? " stopped" : " ended: " + reason.Message), reason);
        }

        private void LogThrown(Item item, Exception exception)
        {
            string what = Storable(exception.GetType() + ": " + exception.Message, LongestError);
            Log(WorkerLogLevel.Warning, item.Key, item.Attempt, " failed: the handler threw " + what, exception);
        }

        /// <summary>Whether the attempt failed is what the handler says.</summary>
        private void LogFailed(Settlement settlement)
        {
            if (settlement.IsMistake)
            {
                Log(
                    WorkerLogLevel.Error, settlement.Key, settlement.Attempt,
                    ": " + settlement.Error + "; the item is not tried again");
            }
            else if (settlement.Action == SettlementAction.Retry || settlement.Action == SettlementAction.Fail)
            {
                Log(
                    WorkerLogLevel.Warning, settlement.Key, settlement.Attempt,
                    " failed (" + settlement.Action + "): " + settlement.Error);
            }
        }

        private void LogUnsettled(Settlement settlement, Outcome outcome)
        {
            Log(
                WorkerLogLevel.Warning, settlement.Key, settlement.Attempt,
                " could not be settled as " + settlement.Action + " (" + outcome.Answer + "): it is " + outcome.State +
                " now, and left to whoever has it");
        }

        private void LogRefused(Settlement given, QueueException exception)
        {
            Log(
                WorkerLogLevel.Warning, given.Key, given.Attempt,
                ": what the handler gave (" + Extent(given) + ") was refused, and is left out of its " + given.Action +
                ": " + exception.Message + "; shorten or correct it, or widen its column", exception);
        }

        private void LogTrouble(string doing, QueueException exception)
        {
            Log(
                WorkerLogLevel.Warning, null, 0, doing + " failed and is tried again: " + exception.Message,
                exception);
        }

        private void Log(WorkerLogLevel level, string key, int attempt, string what, Exception exception = null)
        {
            var entry = new WorkerLogEntry(level, key, attempt, what, exception);
            Action<WorkerLogEntry> listeners = Logged;
            if (listeners != null)
            {
                listeners(entry);
            }
            else if (level >= WorkerLogLevel.Warning)
            {
                Console.Error.WriteLine("readpast: " + entry);
            }
        }
    }
}
