using System;
using System.Collections.Generic;
using System.Threading;
using Readpast;
using Request = System.Collections.Generic.IDictionary<string, object>;

namespace Conformance
{
    /// <summary>Runs the binding's Worker, whose handler does what a script says for each payload.</summary>
    internal static class Work
    {
        internal static Dictionary<string, object> Run(Request request)
        {
            var script = (Request)request["script"];
            int until = request.Number("until", 1), handled = 0;
            Worker worker = null;
            worker = new Worker(Verbs.QueueOf(request), item =>
            {
                try
                {
                    return Play(item, script);
                }
                finally
                {
                    if (Interlocked.Increment(ref handled) == until)
                    {
                        worker.Stop();
                    }
                }
            })
            {
                Threads = request.Number("threads", 1),
                BatchSize = request.Number("batch", 1),
            };
            worker.Run();
            return Verbs.Ok().With("handled", handled);
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
                case "raise":
                    throw new InvalidOperationException(play.Text("message"));
                default:
                    Settlement settlement = item.Settle(Requests.Action(play.Text("do")));
                    settlement.Response = play.Text("response");
                    settlement.Error = play.Text("error");
                    settlement.Delay = play.Milliseconds("delay_ms");
                    return settlement;
            }
        }
    }
}
