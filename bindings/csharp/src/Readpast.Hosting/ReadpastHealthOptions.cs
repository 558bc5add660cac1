using System;

namespace Readpast.Hosting;

/// <summary>When a queue is well.</summary>
public sealed class ReadpastHealthOptions
{
    /// <summary>How long an item may wait beyond its due time before the queue is degraded.</summary>
    public TimeSpan MaxLag { get; set; } = TimeSpan.FromMinutes(5);

    /// <summary>
    /// How long an item may wait beyond its due time while no item is claimed by anybody, before the queue is
    /// unhealthy: then nobody works.
    /// </summary>
    public TimeSpan NobodyWorks { get; set; } = TimeSpan.FromMinutes(1);
}
