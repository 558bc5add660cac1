using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Readpast
{
    /// <summary>New items and settlements as the procedures read them: arrays of objects.</summary>
    internal static class ItemsJson
    {
        internal static string Of(List<NewItem> items, int from, int until)
        {
            var to = new StringBuilder("[");
            for (int i = from; i < until; i++)
            {
                to.Append(i == from ? "{" : ",{");
                PutItem(to, items[i], i, from);
            }
            return to.Append(']').ToString();
        }

        /// <summary>The items for which an item waits, a JSON array; null for none.</summary>
        /// <param name="item">The item.</param>
        /// <param name="from">The place of the first item of its part of the call.</param>
        internal static string? AfterOf(NewItem item, int from)
        {
            var to = new StringBuilder();
            foreach (string key in item.After ?? Array.Empty<string>())
            {
                to.Append(to.Length == 0 ? "[" : ",").Append(JsonText.OfText(key));
            }
            foreach (int place in item.AfterItems ?? Array.Empty<int>())
            {
                to.Append(to.Length == 0 ? "[" : ",").Append((place - from).ToString(CultureInfo.InvariantCulture));
            }
            return to.Length == 0 ? null : to.Append(']').ToString();
        }

        /// <summary>The word for a fate.</summary>
        internal static string WordOf(OnFailed fate)
        {
            return fate == OnFailed.Run ? "run" : fate == OnFailed.Wait ? "wait" : "fail";
        }

        /// <summary>The array of items that follow a settlement, after those that are there.</summary>
        internal static string Following(string? before, string queue, NewItem[] items)
        {
            var to = new StringBuilder(before ?? "[]");
            for (int i = 0; i < items.Length; i++)
            {
                to.Length--;
                to.Append(to.Length > 1 ? ",{" : "{");
                PutText(to, "queue", queue);
                PutText(to, "traceparent", items[i].TraceParent);
                PutText(to, "tracestate", items[i].TraceState);
                PutItem(to, items[i], i, 0);
                to.Append(']');
            }
            return to.ToString();
        }

        internal static string Of(List<Settlement> settlements, int from, int until, Func<string, bool> isComposite)
        {
            var to = new StringBuilder("[");
            for (int i = from; i < until; i++)
            {
                Settlement settlement = settlements[i];
                if (settlement.ThenJson != null)
                {
                    throw new ArgumentException("item " + i + ": enqueue what follows in the same transaction");
                }
                to.Append(i == from ? "{" : ",{");
                Put(to, "key", isComposite(settlement.Key) ? settlement.Key : JsonText.OfText(settlement.Key));
                // A table without a token column shows none for an item that was never changed.
                string? token = string.IsNullOrEmpty(settlement.Token) ? null : JsonText.OfText(settlement.Token!);
                Put(to, "token", token ?? "null");
                Put(to, "attempt", settlement.Attempt.ToString(CultureInfo.InvariantCulture));
                PutText(to, "status", StateOf(settlement.Action).ToString());
                if (settlement.Action == SettlementAction.Release)
                {
                    Put(to, "release", "true");
                }
                PutText(to, "step", settlement.Step);
                PutText(to, "response", settlement.Response);
                PutText(to, "error", settlement.Error);
                PutDue(to, settlement.Delay, settlement.DueText);
                PutObject(to, "set", settlement.SetJson, i);
                End(to);
            }
            return to.Append(']').ToString();
        }

        private static void PutItem(StringBuilder to, NewItem item, int place, int from)
        {
            string? after = AfterOf(item, from);
            if (after != null)
            {
                Put(to, "after", after);
                PutText(to, "on_failed", WordOf(item.OnFailed));
            }
            PutText(to, "type", item.Type);
            PutText(to, "step", item.Step);
            PutDue(to, item.Delay, item.DueText);
            PutObject(to, "columns", item.ColumnsJson ?? "{}", place);
            End(to);
        }

        private static ItemState StateOf(SettlementAction action)
        {
            switch (action)
            {
                case SettlementAction.Complete:
                    return ItemState.Completed;
                case SettlementAction.CompletePartially:
                    return ItemState.PartiallyCompleted;
                case SettlementAction.Fail:
                    return ItemState.Failed;
                case SettlementAction.Retry:
                    return ItemState.Error;
                case SettlementAction.Release:
                case SettlementAction.Resume:
                    return ItemState.Pending;
                case SettlementAction.Cancel:
                    return ItemState.Cancelled;
                case SettlementAction.Pause:
                    return ItemState.Paused;
                case SettlementAction.Terminate:
                    return ItemState.Terminated;
                case SettlementAction.Step:
                    return ItemState.Processing;
                default:
                    throw new ArgumentException("there is no action " + action);
            }
        }

        private static void PutDue(StringBuilder to, TimeSpan? delay, string? due)
        {
            if (delay != null && due != null)
            {
                throw new ArgumentException("give a delay or a due time, not both");
            }
            if (delay < TimeSpan.Zero)
            {
                throw new ArgumentException("the delay is negative");
            }
            if (delay != null)
            {
                Put(to, "delay_ms", Milliseconds.Of(delay.Value).ToString(CultureInfo.InvariantCulture));
            }
            PutText(to, "due", due);
        }

        private static void PutObject(StringBuilder to, string name, string? json, int item)
        {
            if (json == null)
            {
                return;
            }
            // Else it could go on behind its end, and be other items as well.
            if (!JsonShape.IsObject(json))
            {
                throw new QueueException(
                    "item " + item + ": \"" + name + "\" is no JSON object", Status.InvalidItem, null, 0, false, null);
            }
            Put(to, name, json);
        }

        private static void PutText(StringBuilder to, string name, string? text)
        {
            if (text != null)
            {
                Put(to, name, JsonText.OfText(text));
            }
        }

        private static void Put(StringBuilder to, string name, string json)
        {
            to.Append('"').Append(name).Append("\":").Append(json).Append(',');
        }

        /// <summary>In place of the last comma.</summary>
        private static void End(StringBuilder to)
        {
            to[to.Length - 1] = '}';
        }
    }
}
