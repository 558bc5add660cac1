#nullable enable
using System;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Readpast.Hosting;
using Xunit;

namespace Readpast.Tests.Hosting;

/// <summary>Queues of a host from their opening to their end.</summary>
public class HostedQueueTests
{
    [Fact]
    public async Task AQueueThatIsInstalledLaterIsOpenedByTheNextCall()
    {
        TestQueue.Install();
        string name = "Later" + Guid.NewGuid().ToString("N").Substring(0, 8);
        using IHost host = TestHost.Build(services => services.AddReadpastQueue(name));
        HostedQueue queue = TestHost.QueueOf(host, name);
        var missing = await Assert.ThrowsAsync<QueueException>(() => queue.OpenAsync());
        Assert.Same(missing, queue.Failure);
        Queue.Install(TestQueue.Options, "{\"queue\": \"" + name + "\", \"columns\": []}");
        Assert.Equal(Status.Ok, (await queue.EnqueueAsync(new NewItem())).Answer);
        Assert.Equal((true, null), (queue.IsOpen, queue.Failure));
    }

    [Fact]
    public async Task ADisposedQueueIsClosedForGood()
    {
        string name = TestQueue.Install();
        using IHost host = TestHost.Build(services => services.AddReadpastQueue(name));
        HostedQueue queue = TestHost.QueueOf(host, name);
        Queue opened = await queue.OpenAsync();
        await queue.DisposeAsync();
        await queue.DisposeAsync();
        Assert.False(queue.IsOpen);
        queue.Wake();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => queue.OpenAsync());
        Assert.Throws<ObjectDisposedException>(() => opened.Stats());
    }

    [Fact]
    public async Task ADisposalEndsAnOpeningHoweverItEnds()
    {
        string name = TestQueue.Install();
        using IHost host = TestHost.Build(services => services
            .AddReadpastQueue(name).AddReadpastQueue("Away", options => options.Connection = WorkerServiceTests.Away())
            .AddReadpastQueue("Zero", options => options.Settings["worker"] = "\0"));
        HostedQueue away = TestHost.QueueOf(host, "Away"), zero = TestHost.QueueOf(host, "Zero");
        Task<Queue> opening = away.OpenAsync();
        await away.DisposeAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => opening);
        // Its text cannot be sent: an exception that is not the library's.
        await Assert.ThrowsAsync<ArgumentException>(() => zero.OpenAsync());
        await zero.DisposeAsync();
        // One that was never opened.
        await TestHost.QueueOf(host, name).DisposeAsync();
    }

    [Fact]
    public async Task OptionsOfOneQueueCountBeforeThoseOfAllAndPostConfigureBeforeBoth()
    {
        var services = new ServiceCollection();
        services.AddLogging();
        services.AddReadpastQueue("Mail", options => options.Connection = "of Mail");
        services.AddReadpast(options => options.Connection = "first of all");
        services.AddReadpast(options => options.Connection = "second of all");
        services.AddReadpastQueue("Sms").AddReadpastQueue("Fax");
        services.PostConfigure<ReadpastOptions>("Fax", options => options.Connection = " ");
        await using ServiceProvider provider = services.BuildServiceProvider();
        var options = provider.GetRequiredService<IOptionsMonitor<ReadpastOptions>>();
        Assert.Equal("of Mail", options.Get("Mail").Connection);
        Assert.Equal("second of all", options.Get("Sms").Connection);
        Assert.Contains(
            "no connection string", Assert.Throws<OptionsValidationException>(() => options.Get("Fax")).Message);
    }
}
