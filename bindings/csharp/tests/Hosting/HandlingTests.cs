#nullable enable
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Data.Common;
using System.Globalization;
using System.Linq;
using System.Text.Json.Serialization;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Readpast.Hosting;
using Xunit;

namespace Readpast.Tests.Hosting;

/// <summary>Typed work: chosen by the type of the item, read from its JSON, with middleware around it.</summary>
public class HandlingTests
{
    [Fact]
    public async Task WorkGoesToTheHandlerOfItsType()
    {
        var seen = new Seen();
        string name = Install("\"SendMail\", \"Resize\"");
        await Run(name, seen, worker => worker
            .Handle<SendMail, MailHandler>(Json.Default.SendMail, "Document")
            .Handle<Resize, ResizeHandler>(Json.Default.Resize),
            typed: new[]
            {
                NewItem.Of("Document", new SendMail("a@example.org", 3), Json.Default.SendMail).Typed("SendMail"),
                NewItem.Of(new Resize("x.png"), Json.Default.Resize).Typed("Resize"),
            },
            until: queue => queue.Stats().Completed == 2);
        Assert.Equal(new[] { "mail a@example.org 3", "resize x.png" }, seen.All.Order());
    }

    [Fact]
    public async Task WorkThatCannotBeReadIsFailedAtOnceWithThePlace()
    {
        var seen = new Seen();
        string name = Install("\"SendMail\"");
        await Run(name, seen, worker => worker.HandleAll<SendMail, MailHandler>(Json.Default.SendMail, "Document"),
            typed: new[]
            {
                TestQueue.With("Document", new RawJson("{\"To\": \"a\", \"Copies\": \"many\"}")),
                TestQueue.With("Document", null),
            },
            until: queue => queue.Stats().Failed == 2);
        using Queue opened = Queue.Open(TestQueue.Options, name);
        string[] errors = TestQueue.Column(opened, "Error");
        Assert.Contains("it cannot be read at $.Copies, byte ", errors[0]);
        Assert.All(errors, error => Assert.Contains("the item carries no SendMail", error));
        Assert.Empty(seen.All);
    }

    [Fact]
    public async Task ATypeThatThisVersionDoesNotKnowIsLeftToTheNextAttempt()
    {
        string name = Install("\"SendMail\", \"Newer\"", ", \"attempts\": {\"limit\": 9}");
        await Run(name, new Seen(), worker => worker.Handle<SendMail, MailHandler>(Json.Default.SendMail, "Document"),
            typed: new[] { new NewItem { Type = "Newer" } },
            until: queue => queue.Stats().Error == 1);
        using Queue opened = Queue.Open(TestQueue.Options, name);
        string error = TestQueue.Column(opened, "Error")[0];
        Assert.Contains("no handler for the type Newer; it has some for SendMail", error);
    }

    [Fact]
    public async Task TheFirstMiddlewareIsTheOutermostAndMayDecideAlone()
    {
        var seen = new Seen();
        string name = Install("\"SendMail\"");
        await Run(name, seen, worker => worker
            .HandleAll<SendMail, MailHandler>(Json.Default.SendMail, "Document").Use<Outer>().Use<Inner>(),
            typed: new[]
            {
                NewItem.Of("Document", new SendMail("a", 1), Json.Default.SendMail),
            },
            until: queue => queue.Stats().Completed == 1);
        Assert.Equal(new[] { "outer in", "inner in", "mail a 1", "inner out", "outer out" }, seen.All);
        await Run(name, seen, worker => worker
            .HandleAll<SendMail, MailHandler>(Json.Default.SendMail, "Document").Use<Refusing>(),
            typed: new[] { NewItem.Of("Document", new SendMail("b", 1), Json.Default.SendMail) },
            until: queue => queue.Stats().Failed == 1);
        Assert.DoesNotContain("mail b 1", seen.All);
    }

    [Fact]
    public async Task ATableOfTheUsersIsReadByItsOwnNames()
    {
        var seen = new Seen();
        string name = Describe(
            "kind text, amount numeric(9, 2), placed_at timestamptz", """
            types = ["Sale", "Return"]
            columns = [
                { name = "amount", type = "decimal(9, 2)" }, { name = "placed_at", type = "timestamp" },
            ]
            table.lifecycle = { type = "kind" }
            """);
        var item = new NewItem(new Dictionary<string, object?>
        {
            { "amount", 12.50m }, { "placed_at", new DateTime(2026, 7, 1, 12, 0, 0, DateTimeKind.Utc) },
        });
        await Run(name, seen, worker => worker
            .Handle<Sale, SaleHandler>(Json.Default.Sale)
            .Handle<Resize, ResizeHandler>(Json.Default.Resize, type: "Return"),
            typed: new[] { item.Typed("Sale") }, until: queue => queue.Stats().Completed == 1);
        Assert.Equal(new[] { "sale 12.50 2026-07-01 12:00 Utc" }, seen.All);
    }

    [Fact]
    public async Task ATableWithoutTypesHasItemsOfItsOnlyOne()
    {
        var seen = new Seen();
        string name = Describe("file text", """
            types = ["Resize"]
            columns = [{ name = "file", type = "text" }]
            """);
        await Run(name, seen, worker => worker.Handle<Resize, ResizeHandler>(Json.Default.Resize),
            typed: new[] { TestQueue.With("file", "x.png") }, until: queue => queue.Stats().Completed == 1);
        Assert.Equal(new[] { "resize x.png" }, seen.All);
    }

    [Fact]
    public void ATypeHasOneHandler()
    {
        ReadpastWorkerBuilder worker = new ServiceCollection().AddReadpastWorker("Mail")
            .Handle<SendMail, MailHandler>(Json.Default.SendMail);
        Assert.Throws<ArgumentException>(() => worker.Handle<SendMail, MailHandler>(Json.Default.SendMail));
    }

    /// <summary>Makes a table as users have one, and describes it as a queue, whose name it returns.</summary>
    private static string Describe(string columns, string description)
    {
        Assert.SkipWhen(OwnConnection.IsSqlServer, "the table is made for PostgreSQL");
        TestQueue.Install();
        string name = "Sale" + Guid.NewGuid().ToString("N").Substring(0, 8), table = "their_" + name.ToLowerInvariant();
        using DbConnection connection = OwnConnection.Open();
        using DbCommand create = connection.CreateCommand();
        create.CommandText = "CREATE TABLE readpast_csharp." + table +
            " (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text, " + columns + ")";
        create.ExecuteNonQuery();
        Queue.Install(TestQueue.Options, $$"""
            queue = "{{name}}"
            {{description}}
            table.name = "{{table}}"
            table.schema = "readpast_csharp"
            table.key = ["id"]
            table.status.column = "state"
            table.status.values = { Pending = "new", Processing = "busy", Completed = "done", Failed = "bad" }
            """);
        return name;
    }

    private static string Install(string types, string more = "")
    {
        string name = "Typed" + Guid.NewGuid().ToString("N").Substring(0, 8);
        Queue.Install(
            TestQueue.Options,
            "{\"queue\": \"" + name + "\", \"types\": [" + types + "]" + more + ", \"columns\": [" +
            "{\"name\": \"Document\", \"type\": \"json\"}, {\"name\": \"File\", \"type\": \"text\"}]}");
        return name;
    }

    private static async Task Run(
        string name, Seen seen, Action<ReadpastWorkerBuilder> handle, NewItem[] typed, Func<Queue, bool> until)
    {
        using IHost host = TestHost.Build(services => handle(services.AddSingleton(seen).AddReadpastWorker(name)));
        await host.StartAsync();
        HostedQueue queue = TestHost.QueueOf(host, name);
        await queue.EnqueueAsync(typed);
        Queue opened = await queue.OpenAsync();
        Until.True(() => until(opened));
        await host.StopAsync();
    }

    internal sealed class Seen
    {
        internal ConcurrentQueue<string> All { get; } = new();
    }

    private sealed class MailHandler(Seen seen) : IHandler<SendMail>
    {
        public Task<Settlement?> HandleAsync(SendMail work, Item item, CancellationToken cancellation)
        {
            seen.All.Enqueue("mail " + work.To + " " + work.Copies);
            return Task.FromResult<Settlement?>(null);
        }
    }

    private sealed class ResizeHandler(Seen seen) : IHandler<Resize>
    {
        public Task<Settlement?> HandleAsync(Resize work, Item item, CancellationToken cancellation)
        {
            seen.All.Enqueue("resize " + work.File);
            return Task.FromResult<Settlement?>(item.Complete("smaller"));
        }
    }

    private sealed class SaleHandler(Seen seen) : IHandler<Sale>
    {
        public Task<Settlement?> HandleAsync(Sale work, Item item, CancellationToken cancellation)
        {
            string at = work.Placed_At.ToString("yyyy-MM-dd HH:mm", CultureInfo.InvariantCulture);
            seen.All.Enqueue(
                FormattableString.Invariant($"sale {work.Amount} {at} {work.Placed_At.Kind}"));
            return Task.FromResult<Settlement?>(null);
        }
    }

    private abstract class Around(Seen seen, string name) : IItemMiddleware
    {
        public async Task<Settlement?> InvokeAsync(Item item, ItemDelegate next, CancellationToken cancellation)
        {
            seen.All.Enqueue(name + " in");
            Settlement? settlement = await next(item, cancellation);
            seen.All.Enqueue(name + " out");
            return settlement;
        }
    }

    private sealed class Outer(Seen seen) : Around(seen, "outer")
    {
    }

    private sealed class Inner(Seen seen) : Around(seen, "inner")
    {
    }

    private sealed class Refusing : IItemMiddleware
    {
        public Task<Settlement?> InvokeAsync(Item item, ItemDelegate next, CancellationToken cancellation)
        {
            return Task.FromResult<Settlement?>(item.Fail("not today"));
        }
    }
}

/// <summary>Work in a JSON column.</summary>
public sealed record SendMail(string To, int Copies);

/// <summary>Work whose properties are columns.</summary>
public sealed record Resize(string File);

/// <summary>Work whose properties are the columns of a table of the user's.</summary>
public sealed record Sale(decimal Amount, DateTime Placed_At, DateTimeOffset? Unknown);

/// <summary>How they are read and written.</summary>
[JsonSerializable(typeof(SendMail))]
[JsonSerializable(typeof(Resize))]
[JsonSerializable(typeof(Sale))]
internal sealed partial class Json : JsonSerializerContext
{
}

/// <summary>Items with a type.</summary>
internal static class Typing
{
    internal static NewItem Typed(this NewItem item, string type)
    {
        item.Type = type;
        return item;
    }
}
