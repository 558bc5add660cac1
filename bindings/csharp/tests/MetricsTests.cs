using System.Linq;
using System.Threading;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>The process's own metrics.</summary>
    public class MetricsTests
    {
        [Fact]
        public void MetricsCountTheWorkDone()
        {
            // A queue of the test's own: the figures are the whole process's.
            string name = TestQueue.Install();
            using (Queue queue = Queue.Open(TestQueue.Options, name))
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c"))
            {
                queue.Settle(new[] { batch[0].Complete(), batch[1].Fail("never") });
                string text = ReadpastLibrary.Metrics();
                string of = "{schema=\"readpast_csharp\",queue=\"" + name + "\"";
                Assert.Contains("# TYPE readpast_claimed_items_total counter\n", text);
                Assert.Contains("readpast_claimed_items_total" + of + "} 3\n", text);
                Assert.Contains("readpast_settled_items_total" + of + ",outcome=\"Completed\"} 1\n", text);
                Assert.Contains("readpast_settled_items_total" + of + ",outcome=\"Failed\"} 1\n", text);
            }
        }

        [Fact]
        public void AnyThreadMayAsk()
        {
            int told = 0;
            Thread[] threads = Enumerable.Range(0, 4).Select(number => new Thread(() =>
            {
                for (int round = 0; round < 50; round++)
                {
                    if (ReadpastLibrary.Metrics().StartsWith("# HELP ", System.StringComparison.Ordinal))
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
            Assert.Equal(200, told);
        }
    }
}
