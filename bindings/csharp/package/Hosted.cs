using System;
using System.Data.Common;
using System.Linq;
using System.Text.Json.Serialization;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Npgsql;
using Readpast;
using Readpast.Hosting;

// Enqueues by Npgsql in a transaction of its own, and has a host's worker do it: Hosted COUNT.
// check_package.sh compiles it ahead of time.
int count = int.Parse(args[0]);
string odbc = Environment.GetEnvironmentVariable("READPAST_CONNECTION")!;
var handled = new CountdownEvent(count);
HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
builder.Services.AddSingleton(handled);
builder.Services.AddReadpast(options => options.Connection = odbc);
builder.Services.AddReadpastWorker("Notification")
    .HandleAll<Notification, NotificationHandler>(HostedJson.Default.Notification);
using IHost host = builder.Build();
await host.StartAsync();
var queue = host.Services.GetRequiredKeyedService<HostedQueue>("Notification");
await queue.OpenAsync();

var parts = new DbConnectionStringBuilder(true) { ConnectionString = odbc };
await using var connection = new NpgsqlConnection(
    $"Host={parts["Server"]};Port={parts["Port"]};Database={parts["Database"]};Username={parts["Uid"]};" +
    $"Password={parts["Pwd"]}");
await connection.OpenAsync();
await using (DbTransaction transaction = await connection.BeginTransactionAsync())
{
    await connection.EnqueueAsync(
        "Notification", Enumerable.Range(1, count).Select(number => NewItem.Of(
            new Notification("customer-" + number), HostedJson.Default.Notification)), transaction);
    await transaction.CommitAsync();
}
queue.Wake();
handled.Wait();
await host.StopAsync();
await ((IAsyncDisposable)host).DisposeAsync();

/// <summary>The columns that the work needs.</summary>
internal sealed record Notification(string Recipient);

/// <summary>How it is read and written.</summary>
[JsonSerializable(typeof(Notification))]
internal sealed partial class HostedJson : JsonSerializerContext
{
}

/// <summary>The work.</summary>
internal sealed class NotificationHandler(CountdownEvent handled) : IHandler<Notification>
{
    public Task<Settlement?> HandleAsync(Notification work, Item item, CancellationToken cancellation)
    {
        Console.WriteLine("handled " + work.Recipient);
        handled.Signal();
        return Task.FromResult<Settlement?>(null);
    }
}
