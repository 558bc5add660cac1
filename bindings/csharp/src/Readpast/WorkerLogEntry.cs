using System;
using System.Collections;
using System.Collections.Generic;

namespace Readpast
{
    /// <summary>
    /// How much something matters. The numbers are those of Microsoft.Extensions.Logging.LogLevel.
    /// </summary>
    public enum WorkerLogLevel
    {
        /// <summary>In order: the worker started, or stopped.</summary>
        Information = 2,

        /// <summary>An attempt failed, an item was lost, a call is tried again; the worker goes on.</summary>
        Warning = 3,

        /// <summary>A mistake of the program, or what ended the worker.</summary>
        Error = 4,
    }

    /// <summary>
    /// An entry of <see cref="QueueWorker.Logged"/>. As a list it is its fields, those that apply:
    /// <c>Queue</c>, <c>Worker</c>, <c>Key</c>, <c>Attempt</c>, <c>Action</c>, <c>Status</c>. Providers of
    /// Microsoft.Extensions.Logging keep these as the state of an entry.
    /// </summary>
    public sealed class WorkerLogEntry : IReadOnlyList<KeyValuePair<string, object>>
    {
        private readonly List<KeyValuePair<string, object>> fields = new List<KeyValuePair<string, object>>();

        internal WorkerLogEntry(
            WorkerLogLevel level, string queue, string worker, string key, int attempt, SettlementAction? action,
            Status? status, string message, Exception exception)
        {
            Level = level;
            Queue = queue;
            Worker = worker;
            Key = key;
            Attempt = attempt;
            Action = action;
            Status = status;
            Message = message;
            Exception = exception;
            Put("Queue", queue);
            Put("Worker", worker);
            Put("Key", key);
            Put("Attempt", attempt == 0 ? null : (object)attempt);
            Put("Action", action);
            Put("Status", status);
        }

        /// <summary>The name of the worker's queue.</summary>
        public string Queue { get; }

        /// <summary>The name that the worker's leases are held under.</summary>
        public string Worker { get; }

        /// <summary>The action that was to settle the item, or null.</summary>
        public SettlementAction? Action { get; }

        /// <summary>
        /// The library's or the database's answer; null for a handler's result or exception, and when all is in order.
        /// </summary>
        public Status? Status { get; }

        /// <summary>How many fields it has.</summary>
        public int Count
        {
            get { return fields.Count; }
        }

        /// <summary>How much it matters.</summary>
        public WorkerLogLevel Level { get; }

        /// <summary>The event, with the item's key and attempt.</summary>
        public string Message { get; }

        /// <summary>The key of the item that it is about, or null.</summary>
        public string Key { get; }

        /// <summary>The attempt that it is about, or 0.</summary>
        public int Attempt { get; }

        /// <summary>The exception, or null.</summary>
        public Exception Exception { get; }

        /// <summary>A field and its name.</summary>
        /// <param name="index">Counted from 0.</param>
        public KeyValuePair<string, object> this[int index]
        {
            get { return fields[index]; }
        }

        /// <inheritdoc/>
        public IEnumerator<KeyValuePair<string, object>> GetEnumerator()
        {
            return fields.GetEnumerator();
        }

        /// <inheritdoc/>
        IEnumerator IEnumerable.GetEnumerator()
        {
            return GetEnumerator();
        }

        /// <inheritdoc/>
        public override string ToString()
        {
            return (Level == WorkerLogLevel.Information ? "info: " : Level == WorkerLogLevel.Warning ? "warning: " :
                "error: ") + Message;
        }

        private void Put(string name, object value)
        {
            if (value != null)
            {
                fields.Add(new KeyValuePair<string, object>(name, value));
            }
        }
    }
}
