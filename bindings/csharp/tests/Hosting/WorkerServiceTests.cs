#nullable enable
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Readpast.Hosting;
using Xunit;

namespace Readpast.Tests.Hosting;

/// <summary>Workers from the start of their host to its end.</summary>
public class WorkerServiceTests
{
    [Fact]
    public async Task EachItemHasAScopeOfItsOwn()
    {
        string name = TestQueue.Install();
        var seen = new Seen();
        using IHost host = TestHost.Build(services => services
            .AddSingleton(seen).AddScoped<Scoped>()
            .AddReadpastWorker<ScopedHandler>(name, options => options.Threads = 2));
        await host.StartAsync();
        HostedQueue queue = TestHost.QueueOf(host, name);
        await queue.EnqueueAsync(Enumerable.Range(1, 20).Select(n => TestQueue.With("Payload", "p" + n)));
        Until.True(() => seen.Scopes.Count == 20);
        await host.StopAsync();
        Assert.Equal(20, seen.Scopes.Distinct().Count());
        Assert.All(seen.Scopes, scope => Assert.True(scope.IsDisposed));
        using Queue opened = Queue.Open(TestQueue.Options, name);
        Assert.Equal(20, opened.Stats().Completed);
    }

    [Fact]
    public async Task AHandlerThatOutlastsTheHostSpendsNoAttempt()
    {
        string name = TestQueue.Install();
        var blocking = new Blocking();
        using IHost host = TestHost.Build(services => services
            .AddSingleton(blocking).AddReadpastWorker<BlockingHandler>(name, options => options.StopTimeout = null));
        await host.StartAsync();
        await TestHost.QueueOf(host, name).EnqueueAsync(TestQueue.With("Payload", "slow"));
        Assert.True(blocking.Begun.Wait(Until.Patience));
        // The host's time to stop is over at once.
        await host.StopAsync(new CancellationToken(true)).ContinueWith(_ => { }, TaskScheduler.Default);
        using Queue opened = Queue.Open(TestQueue.Options, name);
        Until.True(() => opened.Stats().Pending == 1);
        using (Batch all = opened.Find())
        {
            Assert.Equal(0, all[0].Attempt);
        }
        blocking.MayEnd.Set();
    }

    [Fact]
    public async Task AHandlerWhoseTokenEndsIsGivenBack()
    {
        string name = TestQueue.Install();
        var blocking = new Blocking();
        using IHost host = TestHost.Build(services => services
            .AddSingleton(blocking)
            .AddReadpastWorker<WaitingHandler>(name, options => options.StopTimeout = TimeSpan.Zero));
        await host.StartAsync();
        await TestHost.QueueOf(host, name).EnqueueAsync(TestQueue.With("Payload", "slow"));
        Assert.True(blocking.Begun.Wait(Until.Patience));
        await host.StopAsync();
        using Queue opened = Queue.Open(TestQueue.Options, name);
        using Batch all = opened.Find();
        Assert.Equal((1L, 0), (opened.Stats().Pending, all[0].Attempt));
    }

    [Fact]
    public async Task ADatabaseThatIsAwayHoldsUpNeitherStartNorStop()
    {
        using IHost host = TestHost.Build(services => services
            .AddSingleton(new Seen()).AddScoped<Scoped>()
            .AddReadpastWorker<ScopedHandler>("Away")
            .AddReadpastQueue("Away", options => options.Connection = Away()));
        await host.StartAsync();
        Assert.False(TestHost.QueueOf(host, "Away").IsOpen);
        await host.StopAsync();
        var lifetime = host.Services.GetRequiredService<IHostApplicationLifetime>();
        Assert.True(lifetime.ApplicationStopped.IsCancellationRequested);
    }

    [Fact]
    public async Task AQueueThatIsNotThereEndsTheHostOfItsWorker()
    {
        TestQueue.Install();
        using IHost host = TestHost.Build(services => services
            .AddSingleton(new Seen()).AddScoped<Scoped>().AddReadpastWorker<ScopedHandler>("Nonesuch"));
        await host.StartAsync();
        await host.WaitForShutdownAsync();
        var failure = Assert.IsType<QueueException>(TestHost.QueueOf(host, "Nonesuch").Failure);
        Assert.Equal(Status.UnknownQueue, failure.Status);
    }

    [Fact]
    public async Task MistakesInOptionsEndTheStart()
    {
        foreach ((string part, Action<IServiceCollection> add) in new (string, Action<IServiceCollection>)[]
        {
            ("no connection string", services => services.AddReadpastQueue("Mail", o => o.Connection = " ")),
            ("out of range", services => services.AddSingleton(new Seen()).AddScoped<Scoped>()
                .AddReadpastWorker<ScopedHandler>("Mail", o => o.Threads = 0)),
            ("out of range", services => services.AddSingleton(new Seen()).AddScoped<Scoped>()
                .AddReadpastWorker<ScopedHandler>("Mail", o => o.StopTimeout = TimeSpan.FromSeconds(-1))),
            ("no handler", services => services.AddReadpastWorker("Mail")),
        })
        {
            using IHost host = TestHost.Build(add);
            var mistake = await Assert.ThrowsAsync<OptionsValidationException>(() => host.StartAsync());
            Assert.Contains(part, mistake.Message);
        }
    }

    [Fact]
    public async Task TwoWorkersOfAQueueHaveTermsOfTheirOwn()
    {
        string name = TestQueue.Install();
        var seen = new Seen();
        using IHost host = TestHost.Build(services => services
            .AddSingleton(seen).AddScoped<Scoped>().AddSingleton(new Blocking())
            .AddReadpastWorker<ScopedHandler>(name, options => options.Threads = 3)
            .AddReadpastWorker<ScopedHandler>(name, options => options.BatchSize = 10));
        await host.StartAsync();
        await TestHost.QueueOf(host, name).EnqueueAsync(
            Enumerable.Range(1, 50).Select(n => TestQueue.With("Payload", "p" + n)));
        Until.True(() => seen.Scopes.Count == 50);
        await host.StopAsync();
    }

    internal static string Away()
    {
        return OwnConnection.IsSqlServer
            ? "Driver={ODBC Driver 18 for SQL Server};Server=127.0.0.1,1;Uid=x;Pwd=x;Encrypt=no"
            : "Driver={PostgreSQL Unicode};Server=127.0.0.1;Port=1;Database=x;Uid=x;Pwd=x;";
    }

    private sealed class Seen
    {
        internal ConcurrentBag<Scoped> Scopes { get; } = new();
    }

    private sealed class Scoped : IDisposable
    {
        internal bool IsDisposed { get; private set; }

        public void Dispose()
        {
            IsDisposed = true;
        }
    }

    private sealed class ScopedHandler(Scoped scoped, Seen seen) : IItemHandler
    {
        public async Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
        {
            await Task.Yield();
            Assert.False(scoped.IsDisposed);
            seen.Scopes.Add(scoped);
            return null;
        }
    }

    private sealed class Blocking
    {
        internal ManualResetEventSlim Begun { get; } = new();

        internal ManualResetEventSlim MayEnd { get; } = new();
    }

    private sealed class BlockingHandler(Blocking blocking) : IItemHandler
    {
        public Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
        {
            blocking.Begun.Set();
            blocking.MayEnd.Wait(CancellationToken.None);
            return Task.FromResult<Settlement?>(null);
        }
    }

    private sealed class WaitingHandler(Blocking blocking) : IItemHandler
    {
        public async Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
        {
            blocking.Begun.Set();
            await Task.Delay(Timeout.Infinite, cancellation);
            return null;
        }
    }
}
