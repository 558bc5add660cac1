using System;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast.Hosting;

/// <summary>A queue's backlog at one moment.</summary>
internal readonly record struct QueueLook(long Due, long Claimed, TimeSpan Lag)
{
    internal static async Task<QueueLook> Of(Queue queue, CancellationToken cancellation)
    {
        QueueStats stats = await queue.StatsAsync(cancellation).ConfigureAwait(false);
        return new QueueLook(stats.Due, stats.Claimed, TimeSpan.FromMilliseconds(Math.Max(0, stats.OldestDueMs)));
    }
}
