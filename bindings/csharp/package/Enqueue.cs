using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Readpast;

/// <summary>Puts items where the minimal worker looks for them: Enqueue.exe COUNT.</summary>
internal static class Enqueue
{
    private static void Main(string[] arguments)
    {
        var options = new QueueOptions(Environment.GetEnvironmentVariable("READPAST_CONNECTION"));
        Queue.Install(
            options,
            "{\"queue\": \"Notification\", \"types\": [\"Email\", \"Sms\"], \"columns\": [" +
            "{\"name\": \"Recipient\", \"type\": \"text(254)\"}, {\"name\": \"Subject\", \"type\": \"text(200)\"}," +
            "{\"name\": \"Body\", \"type\": \"text\"}]}");
        using (Queue queue = Queue.Open(options, "Notification"))
        {
            int count = int.Parse(arguments[0], CultureInfo.InvariantCulture);
            queue.Enqueue(Enumerable.Range(1, count).Select(number => new NewItem(
                new Dictionary<string, object> { { "Recipient", "customer-" + number + "@example.com" } })));
        }
    }
}
