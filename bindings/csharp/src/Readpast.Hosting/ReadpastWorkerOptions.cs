using System;

namespace Readpast.Hosting;

/// <summary>The terms of a hosted worker.</summary>
public sealed class ReadpastWorkerOptions
{
    /// <summary>How many handlers run at once.</summary>
    public int Threads { get; set; } = 1;

    /// <summary>How many items a thread takes at once, 1 to 1000.</summary>
    public int BatchSize { get; set; } = 1;

    /// <summary>
    /// How long handlers may go on once the host stops, before their tokens are cancelled. The host's own
    /// <c>ShutdownTimeout</c> is the end: what then still runs is given back, and its attempt does not count.
    /// </summary>
    public TimeSpan? StopTimeout { get; set; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// How long a stopped worker waits for the database to take what has ended. Null: a lease's length.
    /// </summary>
    public TimeSpan? SettleTimeout { get; set; }

    internal bool IsInRange => Threads >= 1 && BatchSize is >= 1 and <= 1000 &&
        !(StopTimeout < TimeSpan.Zero) && !(SettleTimeout < TimeSpan.Zero);
}
