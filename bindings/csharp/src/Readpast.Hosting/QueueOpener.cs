using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.Hosting;

namespace Readpast.Hosting;

/// <summary>Begins to open the host's queues when it starts.</summary>
internal sealed class QueueOpener(IEnumerable<HostedQueue> queues) : IHostedService
{
    public Task StartAsync(CancellationToken cancellationToken)
    {
        foreach (HostedQueue queue in queues)
        {
            queue.BeginOpening();
        }
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken cancellationToken)
    {
        return Task.CompletedTask;
    }
}
