#nullable enable
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Readpast.Hosting;
using Xunit;

namespace Readpast.Tests.Hosting;

/// <summary>Logs, traces, metrics and health of a host's queues.</summary>
public class ObservingTests
{
    [Fact]
    public async Task ATraceGoesFromTheProducerThroughTheItemToItsHandler()
    {
        string name = TestQueue.Install("\"trace\": true");
        var ended = new ConcurrentQueue<Activity>();
        using var listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == ReadpastTelemetry.Name,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = ended.Enqueue,
        };
        ActivitySource.AddActivityListener(listener);
        using IHost host = TestHost.Build(services => services.AddReadpastWorker<FailingOnce>(name));
        await host.StartAsync();
        await TestHost.QueueOf(host, name).EnqueueAsync(TestQueue.With("Payload", "x"));
        Until.True(() => ended.Count(activity => activity.OperationName == "process " + name) == 2);
        await host.StopAsync();
        Activity send = ended.Single(activity => activity.OperationName == "send " + name);
        Activity[] process = ended.Where(activity => activity.OperationName == "process " + name).ToArray();
        Assert.All(process, each => Assert.Equal((send.TraceId, send.SpanId), (each.TraceId, each.ParentSpanId)));
        Assert.Equal(ActivityKind.Producer, send.Kind);
        Assert.All(process, each => Assert.Equal(ActivityKind.Consumer, each.Kind));
        Assert.Equal(
            new[] { ActivityStatusCode.Error, ActivityStatusCode.Unset }, process.Select(each => each.Status));
        Assert.Equal("System.InvalidOperationException", process[0].GetTagItem("error.type"));
        Assert.Equal("readpast", process[1].GetTagItem("messaging.system"));
        Assert.Equal(name, process[1].GetTagItem("messaging.destination.name"));
        Assert.Equal(new object[] { 1, 2 }, process.Select(
            each => each.GetTagItem("messaging.readpast.message.delivery_attempt")));
        Assert.Equal(send.GetTagItem("messaging.message.id"), process[0].GetTagItem("messaging.message.id"));
        Assert.Single(process[0].Events, each => each.Name == "exception");
    }

    [Fact]
    public async Task AQueueWithoutTraceHasNoActivities()
    {
        string name = TestQueue.Install();
        var begun = new ConcurrentQueue<string>();
        using var listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == ReadpastTelemetry.Name,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStarted = activity => begun.Enqueue(activity.OperationName),
        };
        ActivitySource.AddActivityListener(listener);
        using IHost host = TestHost.Build(services => services.AddReadpastWorker<Doing>(name));
        await host.StartAsync();
        HostedQueue queue = TestHost.QueueOf(host, name);
        await queue.EnqueueAsync(TestQueue.With("Payload", "x"));
        Queue opened = await queue.OpenAsync();
        Until.True(() => opened.Stats().Completed == 1);
        await host.StopAsync();
        Assert.DoesNotContain(begun, operation => operation.EndsWith(name, StringComparison.Ordinal));
    }

    [Fact]
    public async Task FiguresHaveTheNamesOfMessaging()
    {
        string name = TestQueue.Install();
        var measured = new ConcurrentQueue<string>();
        using var listener = new MeterListener();
        listener.InstrumentPublished = (instrument, to) =>
        {
            if (instrument.Meter.Name == ReadpastTelemetry.Name)
            {
                to.EnableMeasurementEvents(instrument);
            }
        };
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) => Note(instrument, tags, value));
        listener.SetMeasurementEventCallback<double>((instrument, _, tags, _) => Note(instrument, tags, 1));
        listener.Start();
        using IHost host = TestHost.Build(services => services.AddReadpastWorker<Doing>(name));
        await host.StartAsync();
        await TestHost.QueueOf(host, name).EnqueueAsync(
            new[] { TestQueue.With("Payload", "a"), TestQueue.With("Payload", "b") });
        Until.True(() => measured.Count(each => each == "messaging.process.duration process 1") == 2);
        await host.StopAsync();
        Assert.Contains("messaging.client.sent.messages send 2", measured);
        Assert.Contains("messaging.client.operation.duration send 1", measured);
        Assert.Equal(2, measured.Count(each => each == "messaging.client.consumed.messages process 1"));

        void Note(Instrument instrument, ReadOnlySpan<KeyValuePair<string, object?>> tags, long value)
        {
            Dictionary<string, object?> all = new(tags.ToArray());
            if (name.Equals(all["messaging.destination.name"]))
            {
                measured.Enqueue(instrument.Name + " " + all["messaging.operation.name"] + " " + value);
            }
        }
    }

    [Fact]
    public async Task MessagesHaveNumbersThatStayAndAProviderThatThrowsEndsNoWorker()
    {
        string name = TestQueue.Install();
        var log = new Provider();
        using IHost host = TestHost.Build(services => services
            .AddSingleton<ILoggerProvider>(log).AddReadpastWorker<FailingOnce>(name));
        await host.StartAsync();
        HostedQueue queue = TestHost.QueueOf(host, name);
        await queue.EnqueueAsync(TestQueue.With("Payload", "x"));
        Queue opened = await queue.OpenAsync();
        Until.True(() => opened.Stats().Completed == 1);
        await host.StopAsync();
        Assert.Contains((1, "Opened"), log.Seen);
        Assert.Contains((10, "OfItem"), log.Seen);
        Assert.Contains((11, "OfWorker"), log.Seen);
    }

    [Fact]
    public async Task TheEndOfAWorkerIsLoggedUnderItsNumber()
    {
        TestQueue.Install();
        var log = new Provider();
        using IHost host = TestHost.Build(services => services
            .AddSingleton<ILoggerProvider>(log).AddReadpastWorker<Doing>("Nonesuch"));
        await host.StartAsync();
        await host.WaitForShutdownAsync();
        Assert.Contains((3, "CannotOpen"), log.Seen);
        Assert.Contains((4, "WorkerEnded"), log.Seen);
    }

    [Fact]
    public async Task AQueueIsUnwellWhenNobodyWorksAndWhenItLags()
    {
        string name = TestQueue.Install();
        using IHost host = TestHost.Build(services => services.AddReadpastQueue(name).AddHealthChecks()
            .AddReadpast(name)
            .AddReadpast(name, o => o.NobodyWorks = o.MaxLag = TimeSpan.FromTicks(1), "strict")
            .AddReadpast(name, null, "lag").Services
            // Options of the host's, as any others are.
            .PostConfigure<ReadpastHealthOptions>("lag", o => o.MaxLag = TimeSpan.FromTicks(1)));
        var health = host.Services.GetRequiredService<HealthCheckService>();
        Assert.Equal(HealthStatus.Unhealthy, (await health.CheckHealthAsync()).Status);
        HostedQueue queue = TestHost.QueueOf(host, name);
        Queue opened = await queue.OpenAsync();
        Assert.Equal(HealthStatus.Healthy, (await health.CheckHealthAsync()).Status);
        await queue.EnqueueAsync(new NewItem { Due = DateTimeOffset.UtcNow.AddSeconds(-30) });
        HealthReport report = await health.CheckHealthAsync();
        Assert.Equal(HealthStatus.Healthy, report.Entries["readpast-" + name].Status);
        Assert.Equal(HealthStatus.Degraded, report.Entries["lag"].Status);
        Assert.Equal(HealthStatus.Unhealthy, report.Entries["strict"].Status);
        Assert.Contains("nobody works", report.Entries["strict"].Description);
        Assert.Equal(1L, report.Entries["lag"].Data["due"]);
        await queue.EnqueueAsync(new NewItem { Due = DateTimeOffset.UtcNow.AddSeconds(-60) });
        using (opened.Claim())
        {
            Assert.Equal(HealthStatus.Degraded, (await health.CheckHealthAsync()).Entries["strict"].Status);
        }
    }

    private sealed class FailingOnce : IItemHandler
    {
        public Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
        {
            return item.Attempt == 1
                ? throw new InvalidOperationException("the first time")
                : Task.FromResult<Settlement?>(null);
        }
    }

    private sealed class Doing : IItemHandler
    {
        public Task<Settlement?> HandleAsync(Item item, CancellationToken cancellation)
        {
            return Task.FromResult<Settlement?>(null);
        }
    }

    private sealed class Provider : ILoggerProvider, ILogger
    {
        internal ConcurrentBag<(int Id, string? Name)> Seen { get; } = new();

        public ILogger CreateLogger(string categoryName)
        {
            return this;
        }

        public void Dispose()
        {
        }

        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
        {
            return null;
        }

        public bool IsEnabled(LogLevel logLevel)
        {
            return true;
        }

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter)
        {
            Seen.Add((eventId.Id, eventId.Name));
            if (eventId.Id >= 10)
            {
                throw new InvalidOperationException("a provider that is ill");
            }
        }
    }
}
