using System;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <content>A worker's log and events.</content>
    public sealed partial class QueueWorker
    {
        /// <summary>
        /// The worker's log: start and end, each failed attempt, lost items, refused results, repeated calls. No
        /// column of an item is in it. The worker's threads raise it. While it has no listener, warnings and errors
        /// go to standard error.
        /// </summary>
        /// <example>
        /// With Microsoft.Extensions.Logging, whose levels have the same numbers, and which has the fields as a state:
        /// <code>worker.Logged += entry =&gt; logger.Log(
        ///     (LogLevel)(int)entry.Level, default, entry, entry.Exception, (state, _) =&gt; state.Message);</code>
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

        internal void LogCancelled(Item item, string why, bool isInOrder)
        {
            WorkerLogLevel level = isInOrder ? WorkerLogLevel.Information : WorkerLogLevel.Warning;
            Log(level, item, null, ": the handler was cancelled: " + why);
        }

        private void LogStart()
        {
            string what = " started: threads: " + Threads + ", items a batch: " + BatchSize;
            Log(WorkerLogLevel.Information, "worker " + workerName + what);
        }

        private void LogEnd()
        {
            Exception reason = failure?.SourceException;
            Log(
                reason == null ? WorkerLogLevel.Information : WorkerLogLevel.Error,
                "worker " + workerName + (reason == null ? " stopped" : " ended: " + reason.Message), reason);
        }

        private void LogThrown(Item item, Exception exception)
        {
            string what = Library.LogText(exception.GetType() + ": " + exception.Message);
            string line = " failed: the handler threw " + what;
            Log(WorkerLogLevel.Warning, item, SettlementAction.Retry, line, exception);
        }

        /// <summary>Whether the attempt failed is what the handler says.</summary>
        private void LogFailed(Item item, Settlement settlement)
        {
            if (settlement.IsMistake)
            {
                Log(
                    WorkerLogLevel.Error, item, SettlementAction.Fail,
                    ": " + Library.LogText(settlement.Error) + "; the item is not tried again");
            }
            else if (settlement.Action == SettlementAction.Retry || settlement.Action == SettlementAction.Fail)
            {
                Log(
                    WorkerLogLevel.Warning, item, settlement.Action,
                    " failed (" + settlement.Action + "): " +
                    Library.LogText(settlement.Error ?? "the handler gave no error"));
            }
        }

        /// <summary>Passes on the library's events, until the worker is closed and none is left.</summary>
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
                Log(new WorkerLogEntry(
                    WorkerLogLevel.Warning, queueName, workerName, told.Key, told.Attempt, told.Action, told.Answer,
                    told.Line, null));
            }
            if (told.Kind == EventKind.Settled || told.Kind == EventKind.Lost)
            {
                Settled?.Invoke(new SettledItem(told.Key, told.Attempt, told.Answer, told.State));
            }
        }

        /// <summary>Logs about the worker itself.</summary>
        private void Log(WorkerLogLevel level, string line, Exception exception = null)
        {
            Status? status = (exception as QueueException)?.Status;
            Log(new WorkerLogEntry(level, queueName, workerName, null, 0, null, status, line, exception));
        }

        /// <summary>Logs about an item and its settlement.</summary>
        private void Log(
            WorkerLogLevel level, Item item, SettlementAction? action, string what, Exception exception = null)
        {
            string line = "item " + item.Key + ", attempt " + item.Attempt + what;
            Log(new WorkerLogEntry(
                level, queueName, workerName, item.Key, item.Attempt, action, null, line, exception));
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
