using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Readpast;

namespace Readpast.Tests
{
    /// <summary>A queue of its own for each test, on the server that READPAST_CONNECTION names.</summary>
    internal static class TestQueue
    {
        private const string Columns =
            "{\"name\": \"Payload\", \"type\": \"text\"}, {\"name\": \"Small\", \"type\": \"integer\"}," +
            "{\"name\": \"Big\", \"type\": \"bigint\"}, {\"name\": \"Flag\", \"type\": \"boolean\"}," +
            "{\"name\": \"Ratio\", \"type\": \"float\"}, {\"name\": \"Amount\", \"type\": \"decimal(38, 10)\"}," +
            "{\"name\": \"At\", \"type\": \"timestamp\"}, {\"name\": \"Day\", \"type\": \"date\"}," +
            "{\"name\": \"Id\", \"type\": \"guid\"}, {\"name\": \"Document\", \"type\": \"json\"}";

        private static int made;

        internal static QueueOptions Options
        {
            get
            {
                return new QueueOptions(Environment.GetEnvironmentVariable("READPAST_CONNECTION"))
                {
                    { "schema", "readpast_csharp" },
                    { "poll.interval_ms", "20" },
                    { "worker.hold_ms", "3600000" },
                    // However busy the machine is, a call is given up only where a test says so.
                    { "pool.acquire_ms", "600000" },
                    { "login.timeout_ms", "600000" },
                    { "query.timeout_ms", "600000" },
                    { "lock.timeout_ms", "600000" },
                    { "retry.budget_ms", "600000" },
                };
            }
        }

        internal static string Install(string more = "\"backoff\": \"none\"")
        {
            string name = "Work" + Interlocked.Increment(ref made);
            Queue.Install(
                Options,
                "{\"queue\": \"" + name + "\", \"types\": [\"First\", \"Second\"], " + more + ", " +
                    "\"columns\": [" + Columns + "]}");
            return name;
        }

        internal static Queue Open()
        {
            return Queue.Open(Options, Install());
        }

        /// <summary>Enqueues items that differ in their payload, and claims them all.</summary>
        internal static Batch Claimed(Queue queue, params string[] payloads)
        {
            Enqueue(queue, payloads);
            return queue.Claim(payloads.Length);
        }

        internal static void Enqueue(Queue queue, params string[] payloads)
        {
            queue.Enqueue(payloads.Select(payload => With("Payload", payload)));
        }

        internal static NewItem With(string column, object value)
        {
            return new NewItem(new Dictionary<string, object> { { column, value } });
        }

        /// <summary>One column of all items, in the order of their keys.</summary>
        internal static string[] Column(Queue queue, string column)
        {
            using (Batch all = queue.Find())
            {
                return all.Select(item => item.GetString(column)).ToArray();
            }
        }
    }
}
