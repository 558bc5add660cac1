using System;
using Readpast;

class MinimalWorker
{
    static void Main()
    {
        var options = new QueueOptions(Environment.GetEnvironmentVariable("READPAST_CONNECTION"));
        using (var queue = Queue.Open(options, "Notification"))
            for (Batch batch; (batch = queue.Claim(wait: TimeSpan.FromSeconds(5))).Count > 0; batch.Dispose())
            {
                Console.WriteLine(batch[0].ToJson()); // the work
                queue.Settle(batch[0].Complete());
            }
    }
}
