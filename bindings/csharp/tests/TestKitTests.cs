#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Readpast.Hosting;
using Readpast.Testing;
using Readpast.Tests.Hosting;
using Xunit;

namespace Readpast.Tests;

/// <summary>The kit for tests of users' programs.</summary>
public class TestKitTests
{
    private const string Description = """
        queue = "Mail"
        columns = [{ name = "Recipient", type = "text(20)", nullable = false }]
        """;

    [Fact]
    public void AnItemIsCheckedAgainstTheDescription()
    {
        Item item = TestItem.Of(Description, 3, ("Recipient", "a@example.org"));
        Assert.Equal(("a@example.org", 3), (item.GetString("Recipient"), item.Attempt));
        Assert.Equal(Status.Ok, item.RecordStep("sent").Answer);
        Assert.Throws<QueueException>(() => TestItem.Of(Description, ("Recipient", 1)));
    }

    [Fact]
    public async Task ItemsThatWaitAreFoundAndDrained()
    {
        using Queue queue = TestQueue.Open();
        TestQueue.Enqueue(queue, "good", "bad");
        Assert.Single(await queue.RequireEnqueuedAsync(item => item.GetString("Payload") == "good"));
        await queue.RequireNotEnqueuedAsync(item => item.GetString("Payload") == "other");
        var missed = await Assert.ThrowsAsync<QueueAssertionException>(
            () => queue.RequireEnqueuedAsync(item => item.GetString("Payload") == "other"));
        Assert.Contains("there are 2", missed.Message);
        await Assert.ThrowsAsync<QueueAssertionException>(() => queue.RequireNotEnqueuedAsync());

        IReadOnlyList<SettledItem> settled = await queue.DrainAsync((item, _) => Task.FromResult<Settlement?>(
            item.GetString("Payload") == "good" ? null : item.Retry("again")));
        // The bad one has three attempts, at once.
        Assert.Equal(4, settled.Count);
        Assert.Equal(ItemState.Failed, settled.Last(item => item.Attempt == 3).State);
        await queue.RequireNotEnqueuedAsync();
    }

    [Fact]
    public async Task AHostsHandlersAreDrainedWithoutStartingIt()
    {
        string name = TestQueue.Install();
        using IHost host = TestHost.Build(services => services.AddReadpastWorker<Answering>(name).AddScoped<Helper>());
        await TestHost.QueueOf(host, name).EnqueueAsync(TestQueue.With("Payload", "x"));
        Assert.Equal(ItemState.Completed, (await host.DrainAsync(name)).Single().State);
        await Assert.ThrowsAsync<ArgumentException>(() => host.DrainAsync("Other"));
        using Queue queue = Queue.Open(TestQueue.Options, name);
        Assert.Equal(new[] { "helped" }, TestQueue.Column(queue, "Response"));
    }

    private sealed class Helper
    {
        internal string Help => "helped";
    }

    private sealed class Answering(Helper helper) : IItemHandler
    {
        public Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
        {
            return Task.FromResult<Settlement?>(item.Complete(helper.Help));
        }
    }
}
