using System.Linq;
using System.Threading;
using NUnit.Framework;

namespace Readpast.Tests
{
    /// <summary>What the process tells of itself.</summary>
    [TestFixture]
    public class MetricsTests
    {
        [Test]
        public void WhatWasDoneIsTold()
        {
            // A queue of the test's own: the figures are the whole process's.
            string name = TestQueue.Install();
            using (Queue queue = Queue.Open(TestQueue.Options, name))
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c"))
            {
                queue.Settle(new[] { batch[0].Complete(), batch[1].Fail("never") });
                string text = NativeLibrary.Metrics();
                string of = "{schema=\"readpast_csharp\",queue=\"" + name + "\"";
                StringAssert.Contains("# TYPE readpast_claimed_items_total counter\n", text);
                StringAssert.Contains("readpast_claimed_items_total" + of + "} 3\n", text);
                StringAssert.Contains("readpast_settled_items_total" + of + ",outcome=\"Completed\"} 1\n", text);
                StringAssert.Contains("readpast_settled_items_total" + of + ",outcome=\"Failed\"} 1\n", text);
            }
        }

        [Test]
        public void AnyThreadMayAsk()
        {
            int told = 0;
            Thread[] threads = Enumerable.Range(0, 4).Select(number => new Thread(() =>
            {
                for (int round = 0; round < 50; round++)
                {
                    if (NativeLibrary.Metrics().StartsWith("# HELP ", System.StringComparison.Ordinal))
                    {
                        Interlocked.Increment(ref told);
                    }
                }
            })).ToArray();
            foreach (Thread thread in threads)
            {
                thread.Start();
            }
            foreach (Thread thread in threads)
            {
                thread.Join();
            }
            Assert.AreEqual(200, told);
        }
    }
}
