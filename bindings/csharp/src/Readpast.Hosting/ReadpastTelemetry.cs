using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast.Hosting;

/// <summary>
/// Activities and metrics by OpenTelemetry's conventions for messaging: <c>AddSource(ReadpastTelemetry.Name)</c>,
/// <c>AddMeter(ReadpastTelemetry.Name)</c>.
/// </summary>
public static class ReadpastTelemetry
{
    /// <summary>The name of the activity source and of the meter.</summary>
    public const string Name = "Readpast";

    private static readonly ActivitySource Source = new(Name);
    private static readonly Meter Meter = new(Name);

    private static readonly Counter<long> Sent = Meter.CreateCounter<long>(
        "messaging.client.sent.messages", "{message}", "Items that were enqueued.");

    private static readonly Counter<long> Consumed = Meter.CreateCounter<long>(
        "messaging.client.consumed.messages", "{message}", "Items that were handed to handlers.");

    private static readonly Histogram<double> Calls = Meter.CreateHistogram<double>(
        "messaging.client.operation.duration", "s", "How long an enqueue took.");

    private static readonly Histogram<double> Handled = Meter.CreateHistogram<double>(
        "messaging.process.duration", "s", "How long a handler took.");

    internal static async Task<T> Send<T>(
        Queue queue, NewItem[] items, Func<NewItem[], Task<T>> call, Func<T, string> key)
    {
        using Activity? activity = queue.IsTraced
            ? Source.StartActivity("send " + queue.Name, ActivityKind.Producer)
            : null;
        Describe(activity, queue, "send");
        if (items.Length != 1)
        {
            activity?.SetTag("messaging.batch.message_count", items.Length);
        }
        TagList tags = Tags(queue.Name, "send");
        long since = Stopwatch.GetTimestamp();
        try
        {
            T result = await call(InTrace(items)).ConfigureAwait(false);
            Sent.Add(items.Length, tags);
            if (items.Length == 1)
            {
                activity?.SetTag("messaging.message.id", key(result));
            }
            return result;
        }
        catch (Exception exception)
        {
            // Its text may quote what the items hold.
            Fail(activity, ref tags, exception.GetType().FullName!);
            throw;
        }
        finally
        {
            Calls.Record(Stopwatch.GetElapsedTime(since).TotalSeconds, tags);
        }
    }

    internal static async Task<Settlement?> Process(
        Queue queue, Item item, ItemDelegate handler, CancellationToken cancellation)
    {
        using Activity? activity = queue.IsTraced ? Begin(queue, item) : null;
        TagList tags = Tags(queue.Name, "process");
        Consumed.Add(1, tags);
        long since = Stopwatch.GetTimestamp();
        try
        {
            Settlement? settlement = await handler(item, cancellation).ConfigureAwait(false);
            if (settlement != null)
            {
                string action = JsonNamingPolicy.SnakeCaseLower.ConvertName(settlement.Action.ToString());
                activity?.SetTag("messaging.readpast.settlement", action);
                if (settlement.Action is SettlementAction.Fail or SettlementAction.Retry)
                {
                    Fail(activity, ref tags, action);
                }
            }
            return settlement;
        }
        catch (OperationCanceledException) when (cancellation.IsCancellationRequested)
        {
            // The item is given back, which is no failure of the handler's.
            throw;
        }
        catch (Exception exception)
        {
            if (exception is not QueueException)
            {
                activity?.AddException(exception);
            }
            Fail(activity, ref tags, exception.GetType().FullName!);
            throw;
        }
        finally
        {
            Handled.Record(Stopwatch.GetElapsedTime(since).TotalSeconds, tags);
        }
    }

    private static Activity? Begin(Queue queue, Item item)
    {
        bool isOfTrace = ActivityContext.TryParse(item.TraceParent, item.TraceState, true, out ActivityContext parent);
        ActivityLink[] links = isOfTrace ? [new ActivityLink(parent)] : [];
        Activity? activity = Source.StartActivity("process " + queue.Name, ActivityKind.Consumer, parent, null, links);
        Describe(activity, queue, "process");
        activity?.SetTag("messaging.message.id", item.Key);
        activity?.SetTag("messaging.readpast.message.delivery_attempt", item.Attempt);
        return activity;
    }

    private static NewItem[] InTrace(NewItem[] items)
    {
        Activity? current = Activity.Current?.IdFormat == ActivityIdFormat.W3C ? Activity.Current : null;
        return current == null ? items : Array.ConvertAll(items, item => item.InTraceOf(current));
    }

    private static void Describe(Activity? activity, Queue queue, string operation)
    {
        if (activity != null)
        {
            foreach (KeyValuePair<string, object?> tag in Tags(queue.Name, operation))
            {
                activity.SetTag(tag.Key, tag.Value);
            }
            activity.SetTag("messaging.operation.type", operation);
            activity.SetTag("messaging.client.id", queue.Worker);
        }
    }

    private static TagList Tags(string queue, string operation)
    {
        return new TagList
        {
            { "messaging.system", "readpast" },
            { "messaging.destination.name", queue },
            { "messaging.operation.name", operation },
        };
    }

    private static void Fail(Activity? activity, ref TagList tags, string type)
    {
        tags.Add("error.type", type);
        activity?.SetTag("error.type", type);
        activity?.SetStatus(ActivityStatusCode.Error);
    }
}
