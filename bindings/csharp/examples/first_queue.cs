using System;
using System.Collections.Generic;
using Readpast;

class FirstQueue
{
    static void Main()
    {
        var options = new QueueOptions(Environment.GetEnvironmentVariable("READPAST_CONNECTION"));
        Queue.Install(options, @"
            queue = ""Mail""
            columns = [{ name = ""Recipient"", type = ""text(254)"" }]");
        using (var queue = Queue.Open(options, "Mail"))
        {
            queue.Enqueue(new NewItem(new Dictionary<string, object> { { "Recipient", "a@example.org" } }));
            for (Batch batch; (batch = queue.Claim()).Count > 0; batch.Dispose())
            {
                Console.WriteLine("work on " + batch[0].GetString("Recipient"));
                queue.Settle(batch[0].Complete());
            }
        }
    }
}
