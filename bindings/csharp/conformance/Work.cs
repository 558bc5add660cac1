using System;
using System.Collections.Generic;
using System.Threading;
using Readpast;
using Request = System.Collections.Generic.IDictionary<string, object>;

namespace Conformance
{
    /// <summary>Runs the binding's QueueWorker, whose handler does what a script says for each payload.</summary>
    internal static class Work
    {
        internal static Dictionary<string, object> Run(Request request)
        {
            var script = (Request)request["script"];
            int until = request.Number("until", 1), handled = 0, atOnce = 0, mostAtOnce = 0;
            var counting = new object();
            QueueWorker worker = null;
            worker = new QueueWorker(Verbs.QueueOf(request), item =>
            {
                lock (counting)
                {
                    mostAtOnce = Math.Max(++atOnce, mostAtOnce);
                }
                try
                {
                    return Play(item, script);
                }
                finally
                {
                    lock (counting)
                    {
                        atOnce--;
                    }
                    if (Interlocked.Increment(ref handled) == until)
                    {
                        worker.Stop();
                    }
                }
            })
            {
                Threads = request.Number("threads", 1),
                BatchSize = request.Number("batch", 1),
                UntilEmpty = until == 0,
                SettleTimeout = request.Milliseconds("settle_timeout_ms"),
            };
            string aside = null;
            worker.Logged += entry =>
            {
                if (entry.Message.Contains(" is set aside "))
                {
                    aside = entry.Key;
                }
            };
            worker.Run();
            return Verbs.Ok().With("handled", handled).With("most_at_once", mostAtOnce).With("aside", aside);
        }

        private static Settlement Play(Item item, Request script)
        {
            object found;
            if (!script.TryGetValue(item.GetString("Payload") ?? string.Empty, out found))
            {
                return null;
            }
            var play = (Request)found;
            switch (play.Text("do"))
            {
                case "step":
                    item.RecordStep(play.Text("step"));
                    return null;
                case "sleep":
                    Thread.Sleep(play.Milliseconds("ms").Value);
                    return null;
                case "progress":
                    int percent = play.Number("percent", -1);
                    item.Progress(percent - 1, "before");
                    item.Progress(percent, play.Text("text"));
                    goto case "wait_lost";
                case "wait_lost":
                    while (!item.IsLost)
                    {
                        Thread.Sleep(10);
                    }
                    return null;
                case "raise":
                    throw new InvalidOperationException(play.Text("message"));
                default:
                    Settlement settlement = item.Settle(Requests.Action(play.Text("do")));
                    settlement.Step = play.Text("step");
                    settlement.Response = Spoilt(play, "response");
                    settlement.Error = Spoilt(play, "error");
                    settlement.DueText = play.Text("due");
                    settlement.Delay = play.Milliseconds("delay_ms");
                    settlement.SetJson = play.Json("set");
                    return settlement.Followed(play);
            }
        }

        /// <summary>The text with what none may hold, if the script says so.</summary>
        private static string Spoilt(Request play, string name)
        {
            string text = play.Text(name);
            return play.Text("spoil") == name ? text + "\0\ud83d" : text;
        }
    }
}
