using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Readpast;
using Readpast.Hosting;

// A worker in a host, to copy and make your own. Readpast__Connection names the database, Readpast__Settings__lease.ms
// and the like are settings of the library; DOTNET_SHUTDOWNTIMEOUTSECONDS says how long the host waits when it ends.
HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Services.AddReadpast(builder.Configuration.GetSection("Readpast"));
builder.Services.AddReadpastWorker<MailHandler>("Mail", worker => worker.Threads = 20);
await builder.Build().RunAsync();

/// <summary>The work, of which this program only pretends. Each item has a scope of services of its own.</summary>
internal sealed class MailHandler(IConfiguration configuration, ILogger<MailHandler> logger) : IItemHandler
{
    public async Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
    {
        logger.LogInformation("A message to {Recipient}", item.GetString("Recipient"));
        await Task.Delay(configuration.GetValue("MailMilliseconds", 100), CancellationToken.None);
        return null;
    }
}
