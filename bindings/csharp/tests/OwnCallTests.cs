#nullable enable
using System;
using System.Collections.Generic;
using System.Data.Common;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;
using Dapper;
using Xunit;

namespace Readpast.Tests;

/// <summary>The edges of calls in the caller's own transaction.</summary>
public sealed class OwnCallTests : IDisposable
{
    private readonly DbConnection connection = OwnConnection.Open();
    private readonly Queue queue = TestQueue.Open();
    private readonly QueueName place;

    public OwnCallTests()
    {
        place = new QueueName(queue.Name, "readpast_csharp");
    }

    public void Dispose()
    {
        queue.Dispose();
        connection.Dispose();
    }

    [Fact]
    public async Task ATransactionOfAnotherConnectionIsRefusedAndSoIsOneThatHasEnded()
    {
        await using DbConnection other = OwnConnection.Open();
        await using DbTransaction its = await other.BeginTransactionAsync();
        var mixed = await Assert.ThrowsAsync<ArgumentException>(
            () => connection.EnqueueAsync(place, new NewItem(), its));
        Assert.Contains("another connection", mixed.Message);
        DbTransaction ended = await connection.BeginTransactionAsync();
        await ended.DisposeAsync();
        Settlement cancel = Settlement.Operator("1", SettlementAction.Cancel);
        var late = await Assert.ThrowsAsync<ArgumentException>(
            () => connection.SettleAsync(place, "me", cancel, ended));
        Assert.Contains("has ended", late.Message);
        Assert.Equal(0, queue.Stats().Pending);
    }

    [Fact]
    public async Task TheItemOfADeadWorkerComesBackToClaimsInTransactions()
    {
        TestQueue.Enqueue(queue, "a");
        using (queue.Claim())
        {
            string lease = OwnConnection.IsSqlServer ? "LeaseUntil = StartedAt" : "lease_until = started_at";
            await connection.ExecuteAsync("UPDATE readpast_csharp." + queue.Name + " SET " + lease);
        }
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        TransactionItem item = Assert.Single(await connection.ClaimAsync(place, "me", transaction));
        Assert.Equal(2, item.Attempt);
        Assert.Equal(Status.Ok, (await connection.SettleAsync(place, "me", item.Complete(), transaction)).Answer);
        await transaction.CommitAsync();
        Assert.Equal(1, queue.Stats().Completed);
    }

    [Fact]
    public async Task ADescriptionThatHasChangedIsReadAgainAfterARefusal()
    {
        string name = TestQueue.Install("\"trace\": true");
        var its = new QueueName(name, "readpast_csharp");
        using Activity activity = new Activity("checkout").SetIdFormat(ActivityIdFormat.W3C).Start();
        await Enqueue();
        Queue.Drop(TestQueue.Options, name);
        const string Plain = "\", \"types\": [\"First\"], \"columns\": [{\"name\": \"Payload\", \"type\": \"text\"}]}";
        Queue.Install(TestQueue.Options, "{\"queue\": \"" + name + Plain);
        try
        {
            await Enqueue();
        }
        catch (QueueException refused)
        {
            // Unless a test beside this one has had the descriptions read meanwhile.
            Assert.Equal(Status.SchemaMismatch, refused.Status);
        }
        await Enqueue();

        async Task Enqueue()
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            await connection.EnqueueAsync(its, TestQueue.With("Payload", "a"), transaction);
            await transaction.CommitAsync();
        }
    }

    [Fact]
    public async Task AValueThatIsCalledLikeTheColumnOfTheTraceKeepsTheTrace()
    {
        string name = TestQueue.Install("\"trace\": true");
        using Activity activity = new Activity("checkout").SetIdFormat(ActivityIdFormat.W3C).Start();
        await using (DbTransaction transaction = await connection.BeginTransactionAsync())
        {
            var item = new NewItem { ColumnsJson = "{\"Payload\": \"TraceContext\"}" };
            await connection.EnqueueAsync(new QueueName(name, "readpast_csharp"), item, transaction);
            await transaction.CommitAsync();
        }
        using Queue traced = Queue.Open(TestQueue.Options, name);
        using Batch batch = traced.Claim();
        Assert.Equal(activity.Id, batch[0].TraceParent);
    }

    [Fact]
    public async Task ArgumentsMayChangeOnceTheCallHasReturnedItsTask()
    {
        using Activity activity = new Activity("checkout").SetIdFormat(ActivityIdFormat.W3C).Start();
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        NewItem[] items = { new() { Type = "Second" }, new() { Type = "Second" } };
        // The description of a new queue is asked for first.
        Task<Answers<Receipt>> call = connection.EnqueueAsync(place, items, transaction);
        Array.ForEach(items, item => item.Type = "Nonesuch");
        await call;
        await transaction.CommitAsync();
        Assert.Equal(new[] { "Second", "Second" }, TestQueue.Column(queue, "Type"));
    }

    [Fact]
    public void BytesOfAnItemAreThoseThatItWasMadeWith()
    {
        byte[] bytes = { 1, 2 };
        var item = new NewItem(new Dictionary<string, object?> { { "Raw", bytes } });
        bytes[0] = 9;
        Assert.Equal(new byte[] { 1, 2 }, item.Values!.Single().Value);
        Assert.Equal("{\"Raw\":\"AQI=\"}", item.ColumnsJson);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void TimesAreInUtcInBothModesOfNpgsql(bool isLegacy)
    {
        Assert.SkipWhen(OwnConnection.IsSqlServer, "the modes are Npgsql's");
        queue.Enqueue(TestQueue.With("At", new DateTime(2026, 7, 1, 12, 0, 0, DateTimeKind.Utc)));
        using Process child = Child.Start(
            "OwnCallTests.TimesInThisProcess", isLegacy ? "Npgsql.EnableLegacyTimestampBehavior" : null,
            ("TZ", "America/New_York"), ("READPAST_CHILD", queue.Name),
            ("READPAST_CHILD_IS_LEGACY", isLegacy.ToString()));
        string output = child.StandardOutput.ReadToEnd();
        Assert.True(child.WaitForExit(Until.Patience));
        Assert.True(child.ExitCode == 0, output);
        Assert.Equal(1, queue.Stats().Completed);
    }

    [Fact(Explicit = true)]
    public async Task TimesInThisProcess()
    {
        var its = new QueueName(Environment.GetEnvironmentVariable("READPAST_CHILD")!, "readpast_csharp");
        DateTime now = await connection.QuerySingleAsync<DateTime>("SELECT clock_timestamp()");
        bool isLegacy = bool.Parse(Environment.GetEnvironmentVariable("READPAST_CHILD_IS_LEGACY")!);
        Assert.Equal(isLegacy ? DateTimeKind.Local : DateTimeKind.Utc, now.Kind);
        await using DbTransaction transaction = await connection.BeginTransactionAsync();
        TransactionItem item = Assert.Single(await connection.ClaimAsync(its, "me", transaction));
        Assert.Equal(new DateTime(2026, 7, 1, 12, 0, 0, DateTimeKind.Utc), item["At"]);
        Assert.Equal(DateTimeKind.Utc, ((DateTime)item["At"]!).Kind);
        // Key and token are times too.
        Assert.Equal(Status.Ok, (await connection.SettleAsync(its, "me", item.Complete(), transaction)).Answer);
        await transaction.CommitAsync();
    }
}
