using System;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <content>What a worker tells.</content>
    public sealed partial class Worker
    {
        /// <summary>Between two looks at whether the worker is closed, while nothing happens.</summary>
        private static readonly TimeSpan Look = TimeSpan.FromMilliseconds(200);

        private volatile bool isClosed;

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

        private void LogStart(string name)
        {
            Log(
                WorkerLogLevel.Information, null, 0,
                "worker " + name + " started: threads: " + Threads + ", items a batch: " + BatchSize);
        }

        private void LogEnd(string name)
        {
            Exception reason = failure?.SourceException;
            Log(
                reason == null ? WorkerLogLevel.Information : WorkerLogLevel.Error, null, 0,
                "worker " + name + (reason == null ? " stopped" : " ended: " + reason.Message), reason);
        }

        private void LogThrown(Item item, Exception exception)
        {
            string what = Utf8.Sendable(exception.GetType() + ": " + exception.Message, LongestError);
            Log(WorkerLogLevel.Warning, item.Key, item.Attempt, " failed: the handler threw " + what, exception);
        }

        /// <summary>Whether the attempt failed is what the handler says.</summary>
        private void LogFailed(Item item, Settlement settlement)
        {
            if (settlement.IsMistake)
            {
                Log(
                    WorkerLogLevel.Error, item.Key, item.Attempt,
                    ": " + settlement.Error + "; the item is not tried again");
            }
            else if (settlement.Action == SettlementAction.Retry || settlement.Action == SettlementAction.Fail)
            {
                Log(
                    WorkerLogLevel.Warning, item.Key, item.Attempt,
                    " failed (" + settlement.Action + "): " + settlement.Error);
            }
        }

        private void LogLost(EngineEvent lost)
        {
            Log(
                WorkerLogLevel.Warning, lost.Key, lost.Attempt,
                " was lost (" + lost.Answer + "): " +
                (lost.State == ItemState.None
                    ? "its lease ran out, or an operator took it"
                    : "it could not be settled, and is " + lost.State + " now") +
                "; it is left to whoever has it");
        }

        private void LogRefused(string key, int attempt, string why)
        {
            Log(
                WorkerLogLevel.Warning, key, attempt,
                ": what the handler gave was refused, and is left out: " + why +
                "; shorten or correct it, or widen its column");
        }

        /// <summary>Tells what the library tells, until the worker is closed and nothing is left to tell.</summary>
        private void Tell(Engine running)
        {
            try
            {
                while (true)
                {
                    // To be asked before: what happened until then is among what is read.
                    bool isLast = isClosed;
                    IReadOnlyList<EngineEvent> events = running.Events(isLast ? TimeSpan.Zero : Look);
                    foreach (EngineEvent each in events)
                    {
                        Tell(each);
                    }
                    if (isLast && events.Count == 0)
                    {
                        return;
                    }
                }
            }
            catch (Exception exception)
            {
                // A listener's.
                EndBy(exception);
            }
        }

        private void Tell(EngineEvent told)
        {
            switch (told.Kind)
            {
                case EventKind.Settled:
                    Settled?.Invoke(new SettledItem(told.Key, told.Attempt, told.Answer, told.State));
                    break;
                case EventKind.Lost:
                    LogLost(told);
                    Settled?.Invoke(new SettledItem(told.Key, told.Attempt, told.Answer, told.State));
                    break;
                case EventKind.Refused:
                    LogRefused(told.Key, told.Attempt, told.Message);
                    break;
                case EventKind.Trouble:
                    Log(WorkerLogLevel.Warning, null, 0, "a call failed and is made again: " + told.Message);
                    break;
            }
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
