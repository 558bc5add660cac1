using System;

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

    /// <summary>Something that <see cref="Worker.Logged"/> tells of.</summary>
    public sealed class WorkerLogEntry
    {
        internal WorkerLogEntry(WorkerLogLevel level, string key, int attempt, string message, Exception exception)
        {
            Level = level;
            Key = key;
            Attempt = attempt;
            Message = message;
            Exception = exception;
        }

        /// <summary>How much it matters.</summary>
        public WorkerLogLevel Level { get; }

        /// <summary>What happened, with the item's key and attempt.</summary>
        public string Message { get; }

        /// <summary>The key of the item that it is about, or null.</summary>
        public string Key { get; }

        /// <summary>The attempt that it is about, or 0.</summary>
        public int Attempt { get; }

        /// <summary>What was thrown, or null.</summary>
        public Exception Exception { get; }

        /// <inheritdoc/>
        public override string ToString()
        {
            return (Level == WorkerLogLevel.Information ? "info: " : Level == WorkerLogLevel.Warning ? "warning: " :
                "error: ") + Message;
        }
    }
}
