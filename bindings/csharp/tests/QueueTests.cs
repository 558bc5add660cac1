using System;
using System.Collections.Generic;
using System.Linq;
using NUnit.Framework;

namespace Readpast.Tests
{
    /// <summary>The calls of a queue, from one thread.</summary>
    [TestFixture]
    public class QueueTests
    {
        private Queue queue;

        [SetUp]
        public void Open()
        {
            queue = TestQueue.Open();
        }

        [TearDown]
        public void Close()
        {
            queue.Dispose();
        }

        [Test]
        public void ABatchIsAListInTheOrderThatItemsWereDue()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c"))
            {
                Assert.AreEqual(Status.Ok, batch.Status);
                CollectionAssert.AreEqual(new[] { "a", "b", "c" }, batch.Select(item => item.GetString("Payload")));
                Assert.AreEqual("c", batch[2].GetString("Payload"));
                Assert.Throws<IndexOutOfRangeException>(() => batch[3].ToString());
                Assert.Throws<IndexOutOfRangeException>(() => batch[-1].ToString());
                Assert.AreEqual(ColumnType.Decimal, batch.Columns.Single(column => column.Name == "Amount").Type);
            }
        }

        [Test]
        public void NothingDueIsAnEmptyBatch()
        {
            using (Batch batch = queue.Claim(10))
            {
                Assert.AreEqual(Status.Empty, batch.Status);
                CollectionAssert.IsEmpty(batch);
                CollectionAssert.IsEmpty(batch.Columns);
            }
        }

        [Test]
        public void SettlingJudgesEachItemByItself()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c", "d"))
            {
                queue.Settle(Settlement.Operator(batch[1].Key, SettlementAction.Terminate));
                Settlement late = batch[2].Complete();
                batch[2].RecordStep("half");
                Answers<Outcome> outcomes = queue.Settle(new[]
                {
                    batch[0].Complete("ok"), batch[1].Complete(), late, batch[3].Retry("no", TimeSpan.FromHours(1)),
                });
                Assert.AreEqual(Status.LeaseLost, outcomes.Status);
                CollectionAssert.AreEqual(
                    new[] { Status.Ok, Status.LeaseLost, Status.Conflict, Status.Ok },
                    outcomes.Select(outcome => outcome.Answer));
                CollectionAssert.AreEqual(
                    new[] { ItemState.Completed, ItemState.Terminated, ItemState.Processing, ItemState.Error },
                    outcomes.Select(outcome => outcome.State));
                Assert.AreEqual(Status.Ok, queue.Settle(batch[2].Complete()).Answer, "the item knows the step's token");
            }
            CollectionAssert.AreEqual(new[] { "ok", "", "", "" }, TestQueue.Column(queue, "response"));
            CollectionAssert.AreEqual(new[] { "", "", "", "no" }, TestQueue.Column(queue, "error"));
        }

        [Test]
        public void ASettlementSetsTheItemsOwnColumns()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c"))
            {
                Settlement paid = batch[0].Complete("paid").SetColumns(new Dictionary<string, object>
                {
                    { "payload", "changed" }, { "Small", 7 }, { "At", new DateTime(2026, 11, 21, 8, 30, 0) },
                });
                queue.Settle(new[] { paid, batch[1].Complete() });
                Settlement wrong = batch[2].Complete();
                wrong.SetJson = "{\"Nope\": 1}";
                var refused = Assert.Throws<QueueException>(() => queue.Settle(wrong));
                Assert.AreEqual(Status.InvalidItem, refused.Status);
                StringAssert.Contains("Nope", refused.Message);
            }
            CollectionAssert.AreEqual(new[] { "changed", "b", "c" }, TestQueue.Column(queue, "Payload"));
            using (Batch found = queue.Find())
            {
                Assert.AreEqual(7, found[0].GetInt64("Small"));
                Assert.AreEqual(new DateTime(2026, 11, 21, 8, 30, 0), found[0].GetDateTime("At"));
                Assert.AreEqual("Processing", found[2].GetString("status"));
            }
        }

        [Test]
        public void SettlingAndClaimingIsOneCall()
        {
            TestQueue.Enqueue(queue, "a", "b", "c");
            using (Batch batch = queue.Claim(2))
            {
                SettledAndClaimed both = queue.SettleAndClaim(batch.Select(item => item.Complete()), 2);
                using (both.Batch)
                {
                    Assert.AreEqual(Status.Ok, both.Outcomes.Status);
                    Assert.AreEqual("c", both.Batch.Single().GetString("Payload"));
                }
            }
        }

        [Test]
        public void TheSameOperationIsAppliedOnce()
        {
            string operation = Guid.NewGuid().ToString();
            var items = new[] { TestQueue.With("Payload", "once") };
            Answers<Receipt> first = queue.Enqueue(items, operation), again = queue.Enqueue(items, operation);
            Assert.AreEqual(first[0].Key, again[0].Key);
            Assert.AreEqual(1, queue.Stats().Pending);
        }

        [Test]
        public void AllItemsOrNone()
        {
            var failure = Assert.Throws<QueueException>(
                () => queue.Enqueue(new[] { TestQueue.With("Payload", "good"), TestQueue.With("Nowhere", 1) }));
            Assert.AreEqual(Status.InvalidItem, failure.Status);
            StringAssert.Contains("Nowhere", failure.Message);
            Assert.AreEqual(0, queue.Stats().Pending);
        }

        [Test]
        public void FiguresOfTypesAndOfTheTrend()
        {
            using (TestQueue.Claimed(queue, "a", "b"))
            using (Batch types = queue.Figures("types"))
            using (Batch trend = queue.Figures("trend"))
            {
                CollectionAssert.AreEqual(new[] { "First", "Second" }, types.Select(row => row.Key));
                Assert.AreEqual(2L, types[0]["InFlight"]);
                Assert.IsNull(trend[0]["ArrivalsPerHour"], "a rate takes ten minutes of observation");
                Assert.AreEqual(true, trend[0]["Counted"]);
            }
            using (Batch steps = queue.Figures("steps"))
            {
                Assert.AreEqual(Status.Empty, steps.Status);
            }
            var failure = Assert.Throws<QueueException>(() => queue.Figures("moons"));
            Assert.AreEqual(Status.InvalidArgument, failure.Status);
        }

        [Test]
        public void OperatorsFindRedriveAndPurge()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b"))
            {
                queue.Settle(new[] { batch[0].Fail("never"), batch[1].Complete() });
                using (Batch failed = queue.Find("{\"status\": [\"Failed\"]}"))
                {
                    Assert.AreEqual(batch[0].Key, failed.Single().Key);
                    Answers<Outcome> redriven = queue.Redrive(new[] { new ItemRef(failed[0].Key, failed[0].Token) });
                    Assert.AreEqual(ItemState.Pending, redriven.Single().State);
                }
                using (Batch none = queue.Find(afterKey: batch[1].Key))
                {
                    Assert.AreEqual(Status.Empty, none.Status);
                }
            }
            Assert.AreEqual(1, queue.Purge());
            Assert.AreEqual(1, queue.Stats().Pending);
            Assert.AreEqual(0, queue.Recover());
        }

        [Test]
        public void LeasesAreRenewed()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b"))
            using (LeaseRenewal renewal = queue.StartRenewal(batch, TimeSpan.FromMilliseconds(20)))
            {
                Assert.AreEqual(Status.Ok, queue.Renew(batch.Select(item => item.ToLease())).Status);
                Assert.IsTrue(renewal.Release(batch[0].Key));
                Assert.IsFalse(renewal.Release(batch[0].Key));
                queue.Settle(Settlement.Operator(batch[1].Key, SettlementAction.Terminate));
                Until.True(() => renewal.LostCount == 1);
                Assert.AreEqual(batch[1].Key, renewal.LostKeys.Single());
                Assert.AreEqual(Status.LeaseLost, queue.Renew(new[] { batch[1].ToLease() }).Status);
            }
        }

        [Test]
        public void FailuresSayWhatIsWrong()
        {
            var unknown = Assert.Throws<QueueException>(() => Queue.Open(TestQueue.Options, "NoSuchQueue"));
            Assert.AreEqual(Status.UnknownQueue, unknown.Status);
            Assert.IsFalse(unknown.IsTransient);
            Assert.IsNull(unknown.Operation);
            StringAssert.Contains("NoSuchQueue", unknown.Message);

            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "soon";
            Assert.AreEqual(
                Status.InvalidConfig, Assert.Throws<QueueException>(() => Queue.Open(options, "Work")).Status);
            options["lease.ms"] = null;
            options["connection"] = "Driver={No Such Driver}";
            var driver = Assert.Throws<QueueException>(() => Queue.Open(options, "Work"));
            Assert.AreEqual(Status.DriverMissing, driver.Status);
            // The driver manager of Wine 10 gives none.
            Assert.That(driver.SqlState == null || driver.SqlState.Length == 5, driver.SqlState);

            Assert.AreEqual(Status.InvalidArgument, Assert.Throws<QueueException>(() => queue.Claim(0)).Status);
            Assert.AreEqual(
                Status.InvalidArgument,
                Assert.Throws<QueueException>(() => queue.Claim(1, TimeSpan.FromDays(2))).Status);
            Assert.Throws<ArgumentNullException>(() => queue.Settle((Settlement[])null));
            Assert.Throws<ArgumentNullException>(() => queue.Enqueue(new NewItem[] { null }));
            Assert.Throws<ArgumentNullException>(() => Queue.Open(null, "Work"));
            Assert.Throws<QueueException>(() => Queue.Open(TestQueue.Options, null));
        }

        [Test]
        public void NoneAndMoreThanGoOutAtOnce()
        {
            Assert.AreEqual(0, queue.Enqueue(new NewItem[0]).Count);
            Assert.AreEqual(Status.Ok, queue.Settle(new Settlement[0]).Status);
            Answers<Receipt> receipts = queue.Enqueue(Enumerable.Repeat(new NewItem(), 1001));
            Assert.AreEqual(1001, receipts.Count);
            Assert.AreNotEqual(receipts[0].Key, receipts[1000].Key);
            Assert.AreEqual(1001, queue.Stats().Pending);
        }

        [Test]
        public void ADescriptionInAFile()
        {
            string path = System.IO.Path.GetTempFileName();
            try
            {
                System.IO.File.WriteAllText(path, "queue = \"FromFile\"");
                Queue.InstallFile(TestQueue.Options, path);
                Queue.Open(TestQueue.Options, "FromFile").Dispose();
            }
            finally
            {
                System.IO.File.Delete(path);
            }
            Assert.Throws<System.IO.FileNotFoundException>(() => Queue.InstallFile(TestQueue.Options, path));
        }

        [Test]
        public void AConnectionThatIsNotThereIsNamed()
        {
            var refused = Assert.Throws<QueueException>(() => Queue.Open(new QueueOptions(null), "Work"));
            StringAssert.Contains("READPAST_CONNECTION", refused.Message);
        }

        [Test]
        public void AQueueKnowsItsWorkerAndLease()
        {
            QueueOptions options = TestQueue.Options;
            options["worker"] = "Jörg";
            options["lease.ms"] = "1500";
            using (Queue named = Queue.Open(options, TestQueue.Install()))
            {
                Assert.AreEqual("Jörg", named.Worker);
                Assert.AreEqual(TimeSpan.FromMilliseconds(1500), named.Lease);
            }
        }
    }
}
