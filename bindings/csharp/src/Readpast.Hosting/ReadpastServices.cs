using System;
using System.Diagnostics.CodeAnalysis;
using System.Linq;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;
using Readpast;
using Readpast.Hosting;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>readpast's queues and workers as services.</summary>
public static class ReadpastServices
{
    /// <summary>Says for all queues of the host where they are.</summary>
    /// <param name="services">The services.</param>
    /// <param name="configure">Sets the connection and the settings.</param>
    /// <returns>The services.</returns>
    public static IServiceCollection AddReadpast(this IServiceCollection services, Action<ReadpastOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(configure);
        // Before those of one queue, which may have been added already, and behind others of all queues.
        int last = services.Select((service, place) => service.ImplementationInstance is OfAllQueues ? place : -1)
            .DefaultIfEmpty(-1).Max();
        services.AddOptions();
        services.Insert(
            last + 1,
            ServiceDescriptor.Singleton<IConfigureOptions<ReadpastOptions>>(new OfAllQueues(configure)));
        return services;
    }

    /// <summary>The same from configuration: <c>Connection</c>, and in <c>Settings</c> those of the library.</summary>
    /// <param name="services">The services.</param>
    /// <param name="section">The section.</param>
    /// <returns>The services.</returns>
    public static IServiceCollection AddReadpast(this IServiceCollection services, IConfiguration section)
    {
        ArgumentNullException.ThrowIfNull(section);
        return services.AddReadpast(options =>
        {
            options.Connection = section["Connection"] ?? options.Connection;
            foreach (IConfigurationSection setting in section.GetSection("Settings").GetChildren())
            {
                options.Settings[setting.Key] = setting.Value ?? string.Empty;
            }
        });
    }

    /// <summary>
    /// A queue, as the keyed service <see cref="HostedQueue"/>. It is opened in the background when the host starts.
    /// </summary>
    /// <param name="services">The services.</param>
    /// <param name="queue">The queue's name.</param>
    /// <param name="configure">Sets what differs from the other queues, or null.</param>
    /// <returns>The services.</returns>
    public static IServiceCollection AddReadpastQueue(
        this IServiceCollection services, string queue, Action<ReadpastOptions>? configure = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(queue);
        if (configure != null)
        {
            services.Configure(queue, configure);
        }
        if (services.Any(service => service.ServiceType == typeof(HostedQueue) && queue.Equals(service.ServiceKey)))
        {
            return services;
        }
        services.AddOptions<ReadpastOptions>(queue)
            .Validate(
                options => !string.IsNullOrWhiteSpace(options.Connection),
                $"the queue {queue} has no connection string: AddReadpast(o => o.Connection = …)")
            .ValidateOnStart();
        services.TryAddSingleton<IQueueWaker, HostWaker>();
        services.AddKeyedSingleton(queue, (provider, _) => new HostedQueue(
            queue, provider.GetRequiredService<IOptionsMonitor<ReadpastOptions>>().Get(queue).ToQueueOptions(),
            provider.GetRequiredService<ILoggerFactory>()));
        services.AddSingleton<IHostedService>(provider => new QueueOpener(
            new[] { provider.GetRequiredKeyedService<HostedQueue>(queue) }));
        return services;
    }

    /// <summary>A worker with one handler for all items of a queue.</summary>
    /// <typeparam name="THandler">The handler; each item has a scope of its own.</typeparam>
    /// <param name="services">The services.</param>
    /// <param name="queue">The queue's name; the queue is added if it is not yet.</param>
    /// <param name="configure">The worker's terms, or null.</param>
    /// <returns>The services.</returns>
    public static IServiceCollection AddReadpastWorker<
        [DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicConstructors)] THandler>(
        this IServiceCollection services, string queue, Action<ReadpastWorkerOptions>? configure = null)
        where THandler : class, IItemHandler
    {
        services.AddReadpastWorker(queue, configure).Handle<THandler>();
        return services;
    }

    /// <summary>A worker, whose handlers the builder takes.</summary>
    /// <param name="services">The services.</param>
    /// <param name="queue">The queue's name; the queue is added if it is not yet.</param>
    /// <param name="configure">The worker's terms, or null.</param>
    /// <returns>The builder.</returns>
    public static ReadpastWorkerBuilder AddReadpastWorker(
        this IServiceCollection services, string queue, Action<ReadpastWorkerOptions>? configure = null)
    {
        services.AddReadpastQueue(queue);
        var builder = new ReadpastWorkerBuilder(services, queue);
        // Several workers of one queue have terms of their own.
        string name = queue + "/" + services.Count(service => service.ServiceType == typeof(IHostedService));
        services.AddOptions<ReadpastWorkerOptions>(name)
            .Configure(configure ?? (_ => { }))
            .Validate(_ => !builder.Handling.IsEmpty, $"the worker of {queue} has no handler")
            .Validate(
                options => options.IsInRange,
                $"the worker of {queue}: Threads, BatchSize or a time-out is out of range")
            .ValidateOnStart();
        services.AddSingleton<IHostedService>(provider => new WorkerService(
            provider, builder.Handling,
            provider.GetRequiredService<IOptionsMonitor<ReadpastWorkerOptions>>().Get(name)));
        return builder;
    }

    /// <summary>A check of a queue: whether it is open, keeps up, and has somebody who works.</summary>
    /// <param name="checks">The health checks.</param>
    /// <param name="queue">The queue's name; it is one of the host's.</param>
    /// <param name="configure">When it is well, or null.</param>
    /// <param name="name">The name of the check; null: <c>readpast</c> and the queue.</param>
    /// <param name="tags">Its tags, or null.</param>
    /// <returns>The health checks.</returns>
    public static IHealthChecksBuilder AddReadpast(
        this IHealthChecksBuilder checks, string queue, Action<ReadpastHealthOptions>? configure = null,
        string? name = null, params string[] tags)
    {
        ArgumentNullException.ThrowIfNull(checks);
        string check = name ?? "readpast-" + queue;
        checks.Services.AddOptions<ReadpastHealthOptions>(check).Configure(configure ?? (_ => { }));
        return checks.Add(new HealthCheckRegistration(
            check,
            provider => new ReadpastHealthCheck(
                provider.GetRequiredKeyedService<HostedQueue>(queue),
                provider.GetRequiredService<IOptionsMonitor<ReadpastHealthOptions>>().Get(check)),
            null, tags));
    }

    private sealed class OfAllQueues(Action<ReadpastOptions> configure)
        : ConfigureNamedOptions<ReadpastOptions>(null, configure)
    {
    }
}
