using System;
using System.Collections.Generic;
using System.Diagnostics;

namespace Readpast
{
    /// <summary>The workers of this process that run: an ordinary end of it abandons them all.</summary>
    internal static class RunningWorkers
    {
        /// <summary>How long a process that ends waits until the items of all workers are given back.</summary>
        private static readonly TimeSpan LastWait = TimeSpan.FromSeconds(2);

        private static readonly HashSet<QueueWorker> Running = new HashSet<QueueWorker>();
        private static bool isRegistered;

        internal static void Add(QueueWorker worker)
        {
            lock (Running)
            {
                Running.Add(worker);
                if (!isRegistered)
                {
                    isRegistered = true;
                    AppDomain.CurrentDomain.ProcessExit += AbandonAll;
                }
            }
        }

        internal static void Remove(QueueWorker worker)
        {
            lock (Running)
            {
                Running.Remove(worker);
            }
        }

        /// <summary>
        /// Each is abandoned before the first is waited for: the process is killed if all of it takes long.
        /// </summary>
        private static void AbandonAll(object sender, EventArgs arguments)
        {
            QueueWorker[] workers;
            lock (Running)
            {
                workers = new QueueWorker[Running.Count];
                Running.CopyTo(workers);
            }
            foreach (QueueWorker worker in workers)
            {
                worker.Abandon();
            }
            var since = Stopwatch.StartNew();
            foreach (QueueWorker worker in workers)
            {
                TimeSpan left = LastWait - since.Elapsed;
                worker.WaitForEnd(left > TimeSpan.Zero ? left : TimeSpan.Zero);
            }
        }
    }
}
