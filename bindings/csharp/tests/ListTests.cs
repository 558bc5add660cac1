using System.Linq;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Which queues there are, and the end of one.</summary>
    public class ListTests
    {
        [Fact]
        public void QueuesAreListedAndDroppedWithTheirItems()
        {
            string name = TestQueue.Install();
            using (Queue queue = Queue.Open(TestQueue.Options, name))
            using (Batch held = TestQueue.Claimed(queue, "a"))
            {
                InstalledQueue listed = Queue.List(TestQueue.Options).Single(one => one.Name == name);
                Assert.True(listed.IsOwn);
                Assert.StartsWith("readpast_csharp.", listed.Table);
                Assert.Contains("\"Payload\"", listed.Description);
                Assert.Equal(name, listed.ToString());

                Assert.Equal(Status.UnknownQueue, Refused(name + "x"));
                Queue.Drop(TestQueue.Options, name);
                Assert.DoesNotContain(Queue.List(TestQueue.Options), one => one.Name == name);
                Assert.Equal(
                    Status.UnknownQueue,
                    Assert.Throws<QueueException>(() => queue.Settle(held[0].Complete())).Status);
                Assert.Equal(Status.UnknownQueue, Refused(name));
            }
        }

        [Fact]
        public void NothingIsInstalledElsewhere()
        {
            QueueOptions options = TestQueue.Options;
            options["schema"] = "readpast_csharp_nowhere";
            Assert.Equal(
                Status.SchemaMissing, Assert.Throws<QueueException>(() => Queue.List(options)).Status);
        }

        [Fact]
        public void AWorkerStopsWhenNothingIsDue()
        {
            using (Queue queue = TestQueue.Open())
            {
                TestQueue.Enqueue(queue, "a", "b");
                new QueueWorker(queue, item => { }) { UntilEmpty = true, SettleTimeout = Until.Patience }.Run();
                Assert.Equal(2, queue.Stats().Completed);
            }
        }

        private static Status Refused(string name)
        {
            return Assert.Throws<QueueException>(() => Queue.Drop(TestQueue.Options, name)).Status;
        }
    }
}
