using System;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Readpast;

// A worker in a hosted service, to copy and make your own. ConnectionStrings__Readpast names the database; other
// settings of the library are Readpast__lease.ms and the like; DOTNET_SHUTDOWNTIMEOUTSECONDS says how long the host
// waits when it ends.
HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Services.AddHostedService<MailService>();
await builder.Build().RunAsync();

internal sealed class MailService : BackgroundService
{
    private readonly IConfiguration configuration;
    private readonly ILogger<MailService> logger;
    private QueueWorker? worker;

    public MailService(IConfiguration configuration, ILogger<MailService> logger)
    {
        (this.configuration, this.logger) = (configuration, logger);
    }

    public override async Task StopAsync(CancellationToken deadline)
    {
        // The host waits no longer: what handlers have goes back without an attempt.
        using (deadline.Register(() => worker?.Abandon()))
        {
            await base.StopAsync(deadline);
        }
    }

    protected override async Task ExecuteAsync(CancellationToken stopping)
    {
        await using (Queue queue = await OpenAsync(stopping))
        {
            worker = new QueueWorker(queue, SendAsync) { Threads = 20 };
            worker.Logged += entry => logger.Log(
                (LogLevel)(int)entry.Level, default, entry, entry.Exception, (state, _) => state.Message);
            await worker.RunAsync(stopping);
        }
    }

    /// <summary>A database that is away does not hold up the host, nor does it end it.</summary>
    private async Task<Queue> OpenAsync(CancellationToken stopping)
    {
        var options = new QueueOptions(configuration.GetConnectionString("Readpast"));
        foreach (IConfigurationSection setting in configuration.GetSection("Readpast").GetChildren())
        {
            options[setting.Key] = setting.Value;
        }
        while (true)
        {
            try
            {
                return await Queue.OpenAsync(options, "Mail", stopping);
            }
            catch (QueueException exception) when (exception.IsTransient)
            {
                logger.LogWarning(exception, "The queue cannot be opened yet");
                await Task.Delay(TimeSpan.FromSeconds(5), stopping);
            }
        }
    }

    /// <summary>The work itself, of which this program only pretends.</summary>
    private async Task SendAsync(Item item, CancellationToken cancellation)
    {
        logger.LogInformation("A message to {Recipient}", item.GetString("Recipient"));
        await Task.Delay(configuration.GetValue("MailMilliseconds", 100), CancellationToken.None);
    }
}
