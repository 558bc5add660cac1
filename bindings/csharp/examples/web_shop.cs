using System;
using System.Text.Json.Serialization;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.EntityFrameworkCore;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Readpast;
using Readpast.Hosting;

// A shop that writes an order and the mail about it in one transaction, and sends the mail in the same process.
// ConnectionStrings__Shop is Npgsql's, Readpast__Connection the same database for ODBC.
WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
string? shop = builder.Configuration.GetConnectionString("Shop");
builder.Services.AddDbContext<Shop>(options => options.UseNpgsql(shop).UseReadpast());
builder.Services.AddReadpast(builder.Configuration.GetSection("Readpast"));
builder.Services.AddReadpastWorker("ShopMail", worker => worker.Threads = 4)
    .HandleAll<Confirmation, ConfirmationHandler>(ShopJson.Default.Confirmation, "Document");
builder.Services.AddHealthChecks().AddReadpast("ShopMail");
WebApplication app = builder.Build();

app.MapHealthChecks("/health");
app.MapPost("/orders/{customer}", async (string customer, Shop db, CancellationToken cancellation) =>
{
    var order = new Order { Id = Guid.NewGuid(), Customer = customer };
    db.Orders.Add(order);
    var mail = new Confirmation(order.Id, customer);
    db.Enqueue(ShopQueues.Mail, NewItem.Of("Document", mail, ShopJson.Default.Confirmation));
    await db.SaveChangesAsync(cancellation);
    return order.Id.ToString();
});
app.MapGet("/orders/{id:guid}", async (Guid id, Shop db) =>
    (await db.Orders.FindAsync(id))?.ConfirmedAt == null ? "open" : "confirmed");
await app.RunAsync();

/// <summary>An order.</summary>
internal sealed class Order
{
    public Guid Id { get; set; }

    public string Customer { get; set; } = string.Empty;

    public DateTime? ConfirmedAt { get; set; }
}

/// <summary>The shop's tables.</summary>
internal sealed class Shop(DbContextOptions<Shop> options) : DbContext(options)
{
    public DbSet<Order> Orders => Set<Order>();

    protected override void OnModelCreating(ModelBuilder model)
    {
        model.Entity<Order>().ToTable("shop_order");
    }
}

/// <summary>The work that the items of the queue carry.</summary>
internal sealed record Confirmation(Guid OrderId, string Customer);

/// <summary>How it is read and written.</summary>
[JsonSerializable(typeof(Confirmation))]
internal sealed partial class ShopJson : JsonSerializerContext
{
}

/// <summary>Sends a mail, of which this program only pretends.</summary>
internal sealed class ConfirmationHandler(Shop db) : IHandler<Confirmation>
{
    public async Task<Settlement?> HandleAsync(Confirmation work, Item item, CancellationToken cancellation)
    {
        Order? order = await db.Orders.FindAsync([work.OrderId], cancellation);
        if (order == null)
        {
            return item.Fail("there is no order " + work.OrderId);
        }
        // Done before, by an attempt whose end was lost: nothing to do again.
        order.ConfirmedAt ??= DateTime.UtcNow;
        await db.SaveChangesAsync(cancellation);
        return null;
    }
}

/// <summary>Its queues, in the schema that the library's settings name.</summary>
internal static class ShopQueues
{
    internal static readonly QueueName Mail =
        new("ShopMail", Environment.GetEnvironmentVariable("Readpast__Settings__schema") ?? "readpast");
}
