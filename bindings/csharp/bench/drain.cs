using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using Readpast;

/// <summary>
/// Claims and completes items as fast as one thread can, in batches of 100, and says how long it took; the same as
/// bindings/c/bench/drain.c.
///
///   READPAST_CONNECTION='Driver={...};Server=...;' drain [-o key=value]... queue count
/// </summary>
internal static class Drain
{
    private const int BatchSize = 100, Warm = 50000;

    private static int Main(string[] args)
    {
        var options = new QueueOptions(Environment.GetEnvironmentVariable("READPAST_CONNECTION"));
        int at = 0;
        for (; at + 1 < args.Length && args[at] == "-o"; at += 2)
        {
            string[] setting = args[at + 1].Split(new[] { '=' }, 2);
            options[setting[0]] = setting[1];
        }
        if (args.Length - at != 2)
        {
            Console.Error.WriteLine("usage: drain [-o key=value]... queue count");
            return 2;
        }
        long wanted = long.Parse(args[at + 1], CultureInfo.InvariantCulture);
        using (Queue queue = Queue.Open(options, args[at]))
        {
            return Run(queue, wanted);
        }
    }

    private static int Run(Queue queue, long wanted)
    {
        long done = 0, read = 0, rssBegin = ResidentKb();
        TimeSpan cpu = Cpu();
        Stopwatch clock = Stopwatch.StartNew();
        Batch batch = queue.Claim(BatchSize);
        while (batch.Count > 0)
        {
            var settlements = new Settlement[batch.Count];
            for (int i = 0; i < settlements.Length; i++)
            {
                read += batch[i].GetString("Payload").Length;
                settlements[i] = batch[i].Complete();
            }
            SettledAndClaimed next = queue.SettleAndClaim(settlements, BatchSize);
            if (next.Outcomes.Status != Status.Ok)
            {
                Console.Error.WriteLine("drain: an item was refused");
                return 1;
            }
            batch.Dispose();
            batch = next.Batch;
            if (done < Warm && done + settlements.Length >= Warm)
            {
                rssBegin = ResidentKb();
            }
            done += settlements.Length;
        }
        double seconds = clock.Elapsed.TotalSeconds, used = (Cpu() - cpu).TotalSeconds;
        if (done != wanted || read == 0)
        {
            Console.Error.WriteLine("drain: there were " + done + " items");
            return 1;
        }
        Console.WriteLine(string.Format(
            CultureInfo.InvariantCulture,
            "{{\"items\":{0},\"seconds\":{1:F6},\"cpu_seconds\":{2:F6},\"rss_begin_kb\":{3},\"rss_end_kb\":{4}}}",
            done, seconds, used, rssBegin, ResidentKb()));
        return 0;
    }

    private static TimeSpan Cpu()
    {
        return Process.GetCurrentProcess().TotalProcessorTime;
    }

    private static long ResidentKb()
    {
        // The garbage that happens to lie about is not what is looked for.
        GC.Collect();
        string pages = File.ReadAllText("/proc/self/statm").Split(' ')[1];
        return long.Parse(pages, CultureInfo.InvariantCulture) * Environment.SystemPageSize / 1024;
    }
}
