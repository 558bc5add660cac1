using System;
using System.Collections.Generic;
using Readpast.Native;

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
            string what = exception.GetType() + ": " + exception.Message;
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

        /// <summary>Tells what the library tells, until the worker is closed and nothing is left to tell.</summary>
        private void Tell(Engine running)
        {
            try
            {
                for (IReadOnlyList<EngineEvent> events; (events = running.Events()) != null;)
                {
                    foreach (EngineEvent each in events)
                    {
                        Tell(each);
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
            if (told.Line != null)
            {
                Log(new WorkerLogEntry(WorkerLogLevel.Warning, told.Key, told.Attempt, told.Line, null));
            }
            if (told.Kind == EventKind.Settled || told.Kind == EventKind.Lost)
            {
                Settled?.Invoke(new SettledItem(told.Key, told.Attempt, told.Answer, told.State));
            }
        }

        private void Log(WorkerLogLevel level, string key, int attempt, string what, Exception exception = null)
        {
            string line = key == null ? what : "item " + key + ", attempt " + attempt + what;
            Log(new WorkerLogEntry(level, key, attempt, line, exception));
        }

        private void Log(WorkerLogEntry entry)
        {
            Action<WorkerLogEntry> listeners = Logged;
            if (listeners != null)
            {
                listeners(entry);
            }
            else if (entry.Level >= WorkerLogLevel.Warning)
            {
                Console.Error.WriteLine("readpast: " + entry);
            }
        }
    }
}
