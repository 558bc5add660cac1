using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
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

    internal static async Task<T> Send<T>(string queue, NewItem[] items, Func<NewItem[], Task<T>> call)
    {
        using Activity? activity = Source.StartActivity("send " + queue, ActivityKind.Producer);
        Describe(activity, queue, "send");
        if (items.Length > 1)
        {
            activity?.SetTag("messaging.batch.message_count", items.Length);
        }
        TagList tags = Tags(queue, "send");
        long since = Stopwatch.GetTimestamp();
        try
        {
            T result = await call(InTrace(items)).ConfigureAwait(false);
            Sent.Add(items.Length, tags);
            return result;
        }
        catch (Exception exception)
        {
            Fail(activity, ref tags, exception.GetType().FullName!, exception.Message);
            throw;
        }
        finally
        {
            Calls.Record(Stopwatch.GetElapsedTime(since).TotalSeconds, tags);
        }
    }

    internal static async Task<Settlement?> Process(
        string queue, Item item, ItemDelegate handler, CancellationToken cancellation)
    {
        ActivityContext.TryParse(item.TraceParent, item.TraceState, true, out ActivityContext parent);
        using Activity? activity = Source.StartActivity("process " + queue, ActivityKind.Consumer, parent);
        Describe(activity, queue, "process");
        activity?.SetTag("messaging.message.id", item.Key);
        activity?.SetTag("readpast.attempt", item.Attempt);
        TagList tags = Tags(queue, "process");
        Consumed.Add(1, tags);
        long since = Stopwatch.GetTimestamp();
        try
        {
            Settlement? settlement = await handler(item, cancellation).ConfigureAwait(false);
            if (settlement?.Action is SettlementAction.Fail or SettlementAction.Retry)
            {
                Fail(activity, ref tags, settlement.Action.ToString(), settlement.Error);
            }
            return settlement;
        }
        catch (Exception exception)
        {
            Fail(activity, ref tags, exception.GetType().FullName!, exception.Message);
            throw;
        }
        finally
        {
            Handled.Record(Stopwatch.GetElapsedTime(since).TotalSeconds, tags);
        }
    }

    private static NewItem[] InTrace(NewItem[] items)
    {
        Activity? current = Activity.Current?.IdFormat == ActivityIdFormat.W3C ? Activity.Current : null;
        return current == null ? items : Array.ConvertAll(items, item => item.InTraceOf(current));
    }

    private static void Describe(Activity? activity, string queue, string operation)
    {
        if (activity != null)
        {
            foreach (KeyValuePair<string, object?> tag in Tags(queue, operation))
            {
                activity.SetTag(tag.Key, tag.Value);
            }
            activity.SetTag("messaging.operation.type", operation);
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

    private static void Fail(Activity? activity, ref TagList tags, string type, string? why)
    {
        tags.Add("error.type", type);
        activity?.SetTag("error.type", type);
        activity?.SetStatus(ActivityStatusCode.Error, why);
    }
}
