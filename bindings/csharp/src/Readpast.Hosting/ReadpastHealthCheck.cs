using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Readpast.Hosting;

/// <summary>Whether a queue is open, keeps up, and has somebody who works.</summary>
internal sealed class ReadpastHealthCheck(HostedQueue queue, ReadpastHealthOptions options) : IHealthCheck
{
    public async Task<HealthCheckResult> CheckHealthAsync(
        HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        if (!queue.IsOpen)
        {
            Exception? failure = queue.Failure;
            queue.BeginOpening();
            return HealthCheckResult.Unhealthy($"the queue {queue.Name} is not open yet", failure);
        }
        try
        {
            Queue opened = await queue.OpenAsync(cancellationToken).ConfigureAwait(false);
            return Judge(await QueueLook.Of(opened, cancellationToken).ConfigureAwait(false));
        }
        catch (Exception exception) when (exception is QueueException or ObjectDisposedException)
        {
            return HealthCheckResult.Unhealthy($"the queue {queue.Name} does not answer", exception);
        }
    }

    private HealthCheckResult Judge(QueueLook look)
    {
        var data = new Dictionary<string, object>
        {
            { "due", look.Due }, { "claimed", look.Claimed }, { "lag_seconds", look.Lag.TotalSeconds },
        };
        string waits = $"{look.Due} items of {queue.Name} are due, the oldest for {look.Lag}";
        if (look.Claimed == 0 && look.Lag > options.NobodyWorks)
        {
            return HealthCheckResult.Unhealthy(waits + ", and nobody works", null, data);
        }
        return look.Lag > options.MaxLag
            ? HealthCheckResult.Degraded(waits, null, data)
            : HealthCheckResult.Healthy(null, data);
    }
}
