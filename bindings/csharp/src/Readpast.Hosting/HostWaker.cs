using System;
using Microsoft.Extensions.DependencyInjection;

namespace Readpast.Hosting;

/// <summary>Wakes the workers of the host's queues.</summary>
internal sealed class HostWaker(IServiceProvider services) : IQueueWaker
{
    public void Wake(string queue)
    {
        services.GetKeyedService<HostedQueue>(queue)?.Wake();
    }
}
