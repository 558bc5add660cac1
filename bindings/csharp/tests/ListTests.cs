using System.Linq;
using NUnit.Framework;

namespace Readpast.Tests
{
    /// <summary>Which queues there are, and the end of one.</summary>
    [TestFixture]
    public class ListTests
    {
        [Test]
        public void QueuesAreListedAndDroppedWithTheirItems()
        {
            string name = TestQueue.Install();
            using (Queue queue = Queue.Open(TestQueue.Options, name))
            using (Batch held = TestQueue.Claimed(queue, "a"))
            {
                InstalledQueue listed = Queue.List(TestQueue.Options).Single(one => one.Name == name);
                Assert.IsTrue(listed.IsOwn);
                StringAssert.StartsWith("readpast_csharp.", listed.Table);
                StringAssert.Contains("\"Payload\"", listed.Description);
                Assert.AreEqual(name, listed.ToString());

                Assert.AreEqual(Status.UnknownQueue, Refused(name + "x"));
                Queue.Drop(TestQueue.Options, name);
                Assert.IsFalse(Queue.List(TestQueue.Options).Any(one => one.Name == name));
                Assert.AreEqual(
                    Status.UnknownQueue,
                    Assert.Throws<QueueException>(() => queue.Settle(held[0].Complete())).Status);
                Assert.AreEqual(Status.UnknownQueue, Refused(name));
            }
        }

        [Test]
        public void NothingIsInstalledElsewhere()
        {
            QueueOptions options = TestQueue.Options;
            options["schema"] = "readpast_csharp_nowhere";
            Assert.AreEqual(
                Status.SchemaMissing, Assert.Throws<QueueException>(() => Queue.List(options)).Status);
        }

        [Test]
        public void AWorkerStopsWhenNothingIsDue()
        {
            using (Queue queue = TestQueue.Open())
            {
                TestQueue.Enqueue(queue, "a", "b");
                new Worker(queue, item => { }) { UntilEmpty = true, SettleTimeout = Until.Patience }.Run();
                Assert.AreEqual(2, queue.Stats().Completed);
            }
        }

        private static Status Refused(string name)
        {
            return Assert.Throws<QueueException>(() => Queue.Drop(TestQueue.Options, name)).Status;
        }
    }
}
