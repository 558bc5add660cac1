using System;
using Microsoft.Extensions.Logging;

namespace Readpast.Hosting;

/// <summary>The messages of the log. Their numbers stay.</summary>
internal static partial class Log
{
    /// <summary>An entry of the worker's own about an item.</summary>
    internal static readonly EventId OfItem = new(10, nameof(OfItem));

    /// <summary>An entry of the worker's own about itself: it started, it stopped, a call is tried again.</summary>
    internal static readonly EventId OfWorker = new(11, nameof(OfWorker));

    [LoggerMessage(1, LogLevel.Information, "The queue {Queue} is open")]
    internal static partial void Opened(ILogger logger, string queue);

    [LoggerMessage(2, LogLevel.Warning, "The queue {Queue} cannot be opened yet; it is tried again after {Pause}")]
    internal static partial void CannotOpenYet(ILogger logger, Exception exception, string queue, TimeSpan pause);

    [LoggerMessage(3, LogLevel.Error, "The queue {Queue} cannot be opened")]
    internal static partial void CannotOpen(ILogger logger, Exception exception, string queue);

    [LoggerMessage(4, LogLevel.Critical, "The worker of {Queue} has ended, and the host ends")]
    internal static partial void WorkerEnded(ILogger logger, Exception exception, string queue);

    [LoggerMessage(
        5, LogLevel.Warning, "The worker of {Queue} is abandoned: its handlers outlast the host's time to stop")]
    internal static partial void Abandoned(ILogger logger, string queue);

    /// <summary>An entry with its fields. A provider that throws must not end the worker.</summary>
    internal static void Pass(ILogger logger, WorkerLogEntry entry)
    {
        try
        {
            logger.Log(
                (LogLevel)(int)entry.Level, entry.Key == null ? OfWorker : OfItem, entry, entry.Exception,
                static (state, _) => state.Message);
        }
        catch (AggregateException)
        {
            // The factory collects the exceptions of providers here; there is no other place to log them.
        }
    }
}
