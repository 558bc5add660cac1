using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Readpast;
using Request = System.Collections.Generic.IDictionary<string, object>;

namespace Conformance
{
    /// <summary>Members of a request.</summary>
    internal static class Requests
    {
        internal static string Text(this Request request, string member)
        {
            object value;
            return request.TryGetValue(member, out value) ? (string)value : null;
        }

        internal static int Number(this Request request, string member, int otherwise)
        {
            object value;
            return request.TryGetValue(member, out value) && value != null
                ? Convert.ToInt32(value, CultureInfo.InvariantCulture)
                : otherwise;
        }

        internal static TimeSpan? Milliseconds(this Request request, string member)
        {
            object value;
            return request.TryGetValue(member, out value) && value != null
                ? TimeSpan.FromMilliseconds(Convert.ToInt64(value, CultureInfo.InvariantCulture))
                : (TimeSpan?)null;
        }

        /// <summary>An object as JSON text; null when it is not there, or null.</summary>
        internal static string Json(this Request request, string member)
        {
            object value;
            return request.TryGetValue(member, out value) && value != null ? Program.Write(value) : null;
        }

        internal static IEnumerable<Request> List(this Request request, string member)
        {
            return ((object[])request[member]).Cast<Request>();
        }

        internal static QueueOptions Options(this Request request)
        {
            var options = new QueueOptions();
            object settings;
            if (request.TryGetValue("settings", out settings))
            {
                foreach (KeyValuePair<string, object> setting in (Request)settings)
                {
                    options[setting.Key] = (string)setting.Value;
                }
            }
            return options;
        }

        internal static NewItem ToNewItem(this Request item)
        {
            return new NewItem
            {
                Type = item.Text("type"),
                Step = item.Text("step"),
                Delay = item.Milliseconds("delay_ms"),
                DueText = item.Text("due"),
                ColumnsJson = item.Json("columns"),
                TraceParent = item.Text("traceparent"),
                TraceState = item.Text("tracestate"),
                After = item.After<string>(),
                AfterItems = item.After<int>(),
                OnFailed = (OnFailed)Enum.Parse(typeof(OnFailed), item.Text("on_failed") ?? "fail", true),
            };
        }

        /// <summary>The keys, or the places, among what an item waits for.</summary>
        private static T[] After<T>(this Request item)
        {
            return item.ContainsKey("after")
                ? ((IEnumerable<object>)item["after"]).Select(AsInt).OfType<T>().ToArray()
                : null;
        }

        private static object AsInt(object value)
        {
            return value is string ? value : Convert.ToInt32(value, CultureInfo.InvariantCulture);
        }

        internal static Settlement ToSettlement(this Request item)
        {
            var made = new Settlement(
                item.Text("key"), item.Text("token"), item.Number("attempt", 0), Action(item["action"]))
            {
                Step = item.Text("step"),
                Response = item.Text("response"),
                Error = item.Text("error"),
                Delay = item.Milliseconds("delay_ms"),
                DueText = item.Text("due"),
                SetJson = item.Json("set"),
            };
            return made.Followed(item);
        }

        internal static Settlement Followed(this Settlement settlement, Request given)
        {
            IEnumerable<Request> then = given.ContainsKey("then") ? given.List("then") : Enumerable.Empty<Request>();
            foreach (Request each in then)
            {
                settlement.Then(each.Text("queue"), each.ToNewItem());
            }
            return settlement;
        }

        internal static SettlementAction Action(object action)
        {
            string name = action as string;
            // A number stands for itself, so that one which is none can be asked for.
            return name == null
                ? (SettlementAction)Convert.ToInt32(action, CultureInfo.InvariantCulture)
                : Enum.GetValues(typeof(SettlementAction)).Cast<SettlementAction>()
                    .First(each => Answers.Upper(each) == name.ToUpperInvariant());
        }
    }
}
