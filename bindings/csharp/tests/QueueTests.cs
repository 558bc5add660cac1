using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.Json;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>The calls of a queue, from one thread.</summary>
    public sealed class QueueTests : IDisposable
    {
        private Queue queue;

        public QueueTests()
        {
            queue = TestQueue.Open();
        }

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public void ABatchIsAListInTheOrderThatItemsWereDue()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c"))
            {
                Assert.Equal(Status.Ok, batch.Status);
                Assert.Equal(new[] { "a", "b", "c" }, batch.Select(item => item.GetString("Payload")));
                Assert.Equal("c", batch[2].GetString("Payload"));
                Assert.Throws<IndexOutOfRangeException>(() => batch[3].ToString());
                Assert.Throws<IndexOutOfRangeException>(() => batch[-1].ToString());
                Assert.Equal(ColumnType.Decimal, batch.Columns.Single(column => column.Name == "Amount").Type);
            }
        }

        [Theory]
        [InlineData(false, "connection", "x")]
        [InlineData(true, "places.north", "x")]
        [InlineData(true, "places.north", "x", "place", "")]
        [InlineData(false, "places.north", "x", "place", "north")]
        [InlineData(true, "places.query", "citus")]
        [InlineData(false, "places.query", "")]
        [InlineData(true, "places.query", "", "places.north", "x")]
        public void OptionsAreOfAllPlacesAsInTheLibrary(bool areOfAll, params string[] settings)
        {
            var options = new QueueOptions();
            for (int i = 0; i < settings.Length; i += 2)
            {
                options[settings[i]] = settings[i + 1];
            }
            Assert.Equal(areOfAll, options.AreOfAllPlaces);
        }

        [Fact]
        public void NothingDueIsAnEmptyBatch()
        {
            using (Batch batch = queue.Claim(10))
            {
                Assert.Equal(Status.Empty, batch.Status);
                Assert.Empty(batch);
                Assert.Empty(batch.Columns);
            }
        }

        [Fact]
        public void SettlingJudgesEachItemByItself()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b", "c", "d"))
            {
                queue.Settle(Settlement.Operator(batch[1].Key, SettlementAction.Terminate));
                Settlement late = batch[2].Complete();
                batch[2].RecordStep("half");
                var error = Assert.Throws<QueueException>(() => batch[2].Progress(42));
                Assert.Equal(Status.Unsupported, error.Status);
                Answers<Outcome> outcomes = queue.Settle(new[]
                {
                    batch[0].Complete("ok"), batch[1].Complete(), late, batch[3].Retry("no", TimeSpan.FromHours(1)),
                });
                Assert.Equal(Status.LeaseLost, outcomes.Status);
                Assert.Equal(
                    new[] { Status.Ok, Status.LeaseLost, Status.Conflict, Status.Ok },
                    outcomes.Select(outcome => outcome.Answer));
                Assert.Equal(
                    new[] { ItemState.Completed, ItemState.Terminated, ItemState.Processing, ItemState.Error },
                    outcomes.Select(outcome => outcome.State));
                Assert.Equal(Status.Ok, queue.Settle(batch[2].Complete()).Answer);
            }
            Assert.Equal(new[] { "ok", "", "", "" }, TestQueue.Column(queue, "response"));
            Assert.Equal(new[] { "", "", "", "no" }, TestQueue.Column(queue, "error"));
        }

        [Fact]
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
                Assert.Equal(Status.InvalidItem, refused.Status);
                Assert.Contains("Nope", refused.Message);
            }
            Assert.Equal(new[] { "changed", "b", "c" }, TestQueue.Column(queue, "Payload"));
            using (Batch found = queue.Find())
            {
                Assert.Equal(7, found[0].GetInt64("Small"));
                Assert.Equal(new DateTime(2026, 11, 21, 8, 30, 0), found[0].GetDateTime("At"));
                Assert.Equal("Processing", found[2].GetString("status"));
            }
        }

        [Fact]
        public void SettlingAndClaimingIsOneCall()
        {
            TestQueue.Enqueue(queue, "a", "b", "c");
            using (Batch batch = queue.Claim(2))
            {
                SettledAndClaimed both = queue.SettleAndClaim(batch.Select(item => item.Complete()), 2);
                using (both.Batch)
                {
                    Assert.Equal(Status.Ok, both.Outcomes.Status);
                    Assert.Equal("c", both.Batch.Single().GetString("Payload"));
                }
            }
        }

        [Fact]
        public void TheSameOperationIsAppliedOnce()
        {
            string operation = Guid.NewGuid().ToString();
            var items = new[] { TestQueue.With("Payload", "once") };
            Answers<Receipt> first = queue.Enqueue(items, operation), again = queue.Enqueue(items, operation);
            Assert.Equal(first[0].Key, again[0].Key);
            Assert.Equal(1, queue.Stats().Pending);
        }

        [Fact]
        public void AllItemsOrNone()
        {
            var failure = Assert.Throws<QueueException>(
                () => queue.Enqueue(new[] { TestQueue.With("Payload", "good"), TestQueue.With("Nowhere", 1) }));
            Assert.Equal(Status.InvalidItem, failure.Status);
            Assert.Contains("Nowhere", failure.Message);
            Assert.Equal(0, queue.Stats().Pending);
        }

        [Fact]
        public void QuestionsAreAnsweredAsJson()
        {
            using (TestQueue.Claimed(queue, "a", "b"))
            {
                JsonElement types = Asked("types").GetProperty("types");
                Assert.Equal(
                    new[] { "First", "Second" },
                    types.EnumerateArray().Select(each => each.GetProperty("type").GetString()));
                Assert.Equal(2, types[0].GetProperty("in_flight").GetInt64());
                JsonElement trend = Asked("trend", "{\"apart_ms\": 1}").GetProperty("trend");
                Assert.Equal(JsonValueKind.Null, trend.GetProperty("arrivals_per_hour").ValueKind);
                Assert.True(trend.GetProperty("counted").GetBoolean());
            }
            Assert.Equal("null", queue.Ask("show", "{\"key\": \"2001-01-01T00:00:00.0000000\"}"));
            foreach (string wrong in new[] { "moons", "show" })
            {
                var failure = Assert.Throws<QueueException>(() => queue.Ask(wrong));
                Assert.Equal(Status.InvalidArgument, failure.Status);
            }
            QueueStats stats = queue.Stats();
            Assert.Equal((2, 2, 2, -1), (stats.Processing, stats.Claimed, stats.ArrivalsLastHour, stats.WaitMeanMs));
        }

        [Fact]
        public void OperatorsFindRedriveAndPurge()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b"))
            {
                queue.Settle(new[] { batch[0].Fail("never"), batch[1].Complete() });
                using (Batch failed = queue.Find("{\"status\": [\"Failed\"]}"))
                {
                    Assert.Equal(batch[0].Key, failed.Single().Key);
                    string item = "{\"items\": [{\"key\": \"" + failed[0].Key + "\"}]}";
                    JsonElement redriven = Asked("redrive", item);
                    Assert.Equal(1, redriven.GetProperty("redriven").GetInt64());
                    Assert.Equal("Pending", redriven.GetProperty("outcomes")[0].GetProperty("state").GetString());
                }
                using (Batch none = queue.Find(afterKey: batch[1].Key))
                {
                    Assert.Equal(Status.Empty, none.Status);
                }
            }
            Assert.Equal("{\"purged\":1}", queue.Ask("purge"));
            Assert.Equal(1, queue.Stats().Pending);
            Assert.Equal(0, Asked("recover").GetProperty("recovered").GetInt64());
        }

        private JsonElement Asked(string what, string argumentsJson = null)
        {
            return JsonDocument.Parse(queue.Ask(what, argumentsJson)).RootElement;
        }

        [Fact]
        public void LeasesAreRenewed()
        {
            using (Batch batch = TestQueue.Claimed(queue, "a", "b"))
            using (LeaseRenewal renewal = queue.StartRenewal(batch, TimeSpan.FromMilliseconds(20)))
            {
                Assert.Equal(Status.Ok, queue.Renew(batch.Select(item => item.ToLease())).Status);
                Assert.True(renewal.Release(batch[0].Key));
                Assert.False(renewal.Release(batch[0].Key));
                queue.Settle(Settlement.Operator(batch[1].Key, SettlementAction.Terminate));
                Until.True(() => renewal.LostCount == 1);
                Assert.Equal(batch[1].Key, renewal.LostKeys.Single());
                Assert.Equal(Status.LeaseLost, queue.Renew(new[] { batch[1].ToLease() }).Status);
            }
        }

        [Fact]
        public void FailuresSayWhatIsWrong()
        {
            var unknown = Assert.Throws<QueueException>(() => Queue.Open(TestQueue.Options, "NoSuchQueue"));
            Assert.Equal(Status.UnknownQueue, unknown.Status);
            Assert.False(unknown.IsTransient);
            Assert.Null(unknown.Operation);
            Assert.Contains("NoSuchQueue", unknown.Message);

            QueueOptions options = TestQueue.Options;
            options["lease.ms"] = "soon";
            Assert.Equal(
                Status.InvalidConfig, Assert.Throws<QueueException>(() => Queue.Open(options, "Work")).Status);
            options["lease.ms"] = null;
            options["connection"] = "Driver={No Such Driver}";
            var driver = Assert.Throws<QueueException>(() => Queue.Open(options, "Work"));
            Assert.Equal(Status.DriverMissing, driver.Status);
            // The driver manager of Wine 10 gives none.
            Assert.True(driver.SqlState == null || driver.SqlState.Length == 5, driver.SqlState);

            Assert.Equal(Status.InvalidArgument, Assert.Throws<QueueException>(() => queue.Claim(0)).Status);
            Assert.Equal(
                Status.InvalidArgument,
                Assert.Throws<QueueException>(() => queue.Claim(1, TimeSpan.FromDays(2))).Status);
            Assert.Throws<ArgumentNullException>(() => queue.Settle((Settlement[])null));
            Assert.Throws<ArgumentNullException>(() => queue.Enqueue(new NewItem[] { null }));
            Assert.Throws<ArgumentNullException>(() => Queue.Open(null, "Work"));
            Assert.Throws<QueueException>(() => Queue.Open(TestQueue.Options, null));
        }

        [Fact]
        public void NoneAndMoreThanGoOutAtOnce()
        {
            Assert.Empty(queue.Enqueue(new NewItem[0]));
            Assert.Equal(Status.Ok, queue.Settle(new Settlement[0]).Status);
            Answers<Receipt> receipts = queue.Enqueue(Enumerable.Repeat(new NewItem(), 1001));
            Assert.Equal(1001, receipts.Count);
            Assert.NotEqual(receipts[0].Key, receipts[1000].Key);
            Assert.Equal(1001, queue.Stats().Pending);
        }

        [Fact]
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

        [Fact]
        public void AConnectionThatIsNotThereIsNamed()
        {
            var refused = Assert.Throws<QueueException>(() => Queue.Open(new QueueOptions(null), "Work"));
            Assert.Contains("READPAST_CONNECTION", refused.Message);
        }

        [Fact]
        public void AQueueKnowsItsWorkerAndLease()
        {
            QueueOptions options = TestQueue.Options;
            options["worker"] = "Jörg";
            options["lease.ms"] = "1500";
            using (Queue named = Queue.Open(options, TestQueue.Install()))
            {
                Assert.Equal("Jörg", named.Worker);
                Assert.Equal(TimeSpan.FromMilliseconds(1500), named.Lease);
            }
        }
    }
}
