using System;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Readpast.Hosting;

/// <summary>Runs a worker from the host's start to its stop.</summary>
internal sealed class WorkerService : IHostedService
{
    /// <summary>How long an abandoned worker may take to give items back, beyond the host's time to stop.</summary>
    private static readonly TimeSpan LastWait = TimeSpan.FromSeconds(2);

    private readonly IServiceScopeFactory scopes;
    private readonly HostedQueue queue;
    private readonly ReadpastWorkerOptions options;
    private readonly Handling handling;
    private readonly IHostApplicationLifetime lifetime;
    private readonly ILogger logger;
    private readonly CancellationTokenSource stopping = new();
    private volatile QueueWorker? worker;
    private Task run = Task.CompletedTask;

    internal WorkerService(IServiceProvider services, Handling handling, ReadpastWorkerOptions options)
    {
        this.handling = handling;
        this.options = options;
        scopes = services.GetRequiredService<IServiceScopeFactory>();
        queue = services.GetRequiredKeyedService<HostedQueue>(handling.Queue);
        lifetime = services.GetRequiredService<IHostApplicationLifetime>();
        logger = services.GetRequiredService<ILoggerFactory>().CreateLogger("Readpast." + handling.Queue);
    }

    internal string QueueName => queue.Name;

    public Task StartAsync(CancellationToken cancellationToken)
    {
        run = Task.Run(RunAsync, CancellationToken.None);
        return Task.CompletedTask;
    }

    /// <summary>The worker stops in order. When the host waits no longer, what handlers have is given back.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        await stopping.CancelAsync().ConfigureAwait(false);
        using var end = new CancellationTokenSource();
        using (cancellationToken.Register(() => Abandon(end)))
        {
            try
            {
                await run.WaitAsync(end.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                // Its handlers go on until the process ends.
            }
        }
    }

    private void Abandon(CancellationTokenSource end)
    {
        if (worker != null && !run.IsCompleted)
        {
            Log.Abandoned(logger, queue.Name);
            worker.Abandon();
        }
        end.CancelAfter(LastWait);
    }

    private async Task RunAsync()
    {
        try
        {
            Queue opened = await queue.OpenAsync(stopping.Token).ConfigureAwait(false);
            var made = new QueueWorker(opened, Handle)
            {
                Threads = options.Threads,
                BatchSize = options.BatchSize,
                StopTimeout = options.StopTimeout,
                SettleTimeout = options.SettleTimeout,
            };
            made.Logged += entry => Log.Pass(logger, entry);
            worker = made;
            await made.RunAsync(stopping.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (stopping.IsCancellationRequested)
        {
            // The host ended before the queue was open.
        }
        catch (Exception exception)
        {
            Log.WorkerEnded(logger, exception, queue.Name);
            // Else a supervisor takes it for an orderly end, and starts no other.
            Environment.ExitCode = Environment.ExitCode == 0 ? 1 : Environment.ExitCode;
            lifetime.StopApplication();
        }
    }

    internal async Task<Settlement?> Handle(Item item, CancellationToken cancellation)
    {
        Queue opened = await queue.OpenAsync(CancellationToken.None).ConfigureAwait(false);
        AsyncServiceScope scope = scopes.CreateAsyncScope();
        await using (scope.ConfigureAwait(false))
        {
            return await ReadpastTelemetry.Process(
                opened, item, (handled, token) => handling.Handle(scope.ServiceProvider, handled, token),
                cancellation).ConfigureAwait(false);
        }
    }
}
