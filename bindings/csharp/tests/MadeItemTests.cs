using System;
using System.Collections.Generic;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Items for tests of handlers, which need no server; and how delays are given.</summary>
    public class MadeItemTests
    {
        private const string Spec =
            "queue = \"Letters\"\ncolumns = [{ name = \"To\", type = \"text\" }, " +
            "{ name = \"Sum\", type = \"decimal(9, 2)\" }, { name = \"Body\", type = \"json\" }]";

        [Fact]
        public void AHandlerIsTestedWithoutAServer()
        {
            Item item = Batch.ItemOf(new Dictionary<string, object> { { "To", "a" } });
            Settlement settlement = Handle(item);
            Assert.Equal(SettlementAction.Complete, settlement.Action);
            Assert.Equal("sent to a", settlement.Response);
            Item third = Batch.ItemOf(new Dictionary<string, object> { { "To", "b" } }, attempt: 3);
            Assert.Equal("b does not answer", Handle(third).Error);
        }

        [Fact]
        public void ADescriptionGivesColumnsAndTypes()
        {
            const string Items = "[{\"key\": \"7\", \"columns\": {\"sum\": 12.50, \"Body\": {\"n\": 1.10}}}, {}]";
            using (Batch batch = Batch.FromJson(Items, Spec))
            {
                Assert.Equal(2, batch.Count);
                Assert.Equal("7", batch[0].Key);
                Assert.Equal(12.50m, batch[0].GetDecimal("Sum"));
                Assert.Equal(ColumnType.Json, batch.Columns[2].Type);
                Assert.Equal("{\"n\": 1.10}", batch[0].GetString("body"));
                Assert.Equal("{\"To\":null,\"Sum\":\"12.50\",\"Body\":{\"n\": 1.10}}", batch[0].ToJson());
                Assert.True(batch[1].IsNull("Body"));
            }
        }

        [Fact]
        public void AnItemHasItsLifeCycleByPropertyAndByAnyName()
        {
            const string Items = "[{\"type\": \"Mail\", \"step\": \"sent\", \"due\": \"2026-11-21T08:30:00Z\", " +
                "\"enqueued\": \"2026-11-20\", \"lease_until\": \"2026-11-22\", \"state\": \"Error\"}, {}]";
            var due = new DateTime(2026, 11, 21, 8, 30, 0, DateTimeKind.Utc);
            using (Batch batch = Batch.FromJson(Items))
            {
                Item item = batch[0], bare = batch[1];
                Assert.Equal(("Mail", "sent", ItemState.Error), (item.Type, item.Step, item.State));
                Assert.Equal(due, item.Due);
                Assert.Equal(DateTimeKind.Utc, item.Due.Value.Kind);
                Assert.Equal(new DateTime(2026, 11, 20), item.Enqueued);
                Assert.Equal(new DateTime(2026, 11, 22), item.LeaseUntil);
                Assert.Equal(due, item["scheduled_for"]);
                Assert.Equal(due, item.GetDateTime("ITEM_DUE_AT"));
                Assert.Throws<KeyNotFoundException>(() => item["due"]);
                Assert.Null(bare.Type ?? bare.Step);
                Assert.Null(bare.Due ?? bare.Enqueued ?? bare.LeaseUntil);
            }
        }

        [Fact]
        public void NamesMatchInAnyCase()
        {
            using (Batch batch = Batch.FromJson("[{\"columns\": {\"Ref\": 1, \"Other\": 2}}]"))
            {
                Assert.Equal(1, batch[0].GetInt64("REF"));
                Assert.Throws<KeyNotFoundException>(() => batch[0].GetInt64("Re"));
            }
        }

        [Fact]
        public void AnErrorNamesTheItemThatCannotBeMade()
        {
            var refused = Assert.Throws<QueueException>(() => Batch.FromJson("[{}, {\"colums\": {}}]"));
            Assert.Equal(Status.InvalidItem, refused.Status);
            Assert.Contains("item 1: there is no member \"colums\" (did you mean \"columns\"?)", refused.Message);
            Assert.Throws<QueueException>(() => Batch.FromJson(null));
            Assert.Equal(Status.Empty, Batch.FromJson("[]").Status);
        }

        [Fact]
        public void ADelayIsNamedAsItWasGiven()
        {
            using (Queue queue = TestQueue.Open())
            {
                foreach (long ticks in new[] { -50000000, -10000, -1 })
                {
                    TimeSpan delay = TimeSpan.FromTicks(ticks);
                    var refused = Assert.Throws<ArgumentOutOfRangeException>(
                        () => queue.Enqueue(new NewItem { Delay = delay }));
                    Assert.Equal("Delay", refused.ParamName);
                    var settled = Assert.Throws<QueueException>(
                        () => queue.Settle(Batch.FromJson("[{}]")[0].Release(delay)));
                    Assert.Equal(Status.InvalidArgument, settled.Status);
                }
            }
        }

        private static Settlement Handle(Item item)
        {
            if (item.Attempt > 2)
            {
                return item.Fail(item.GetString("To") + " does not answer");
            }
            Assert.Equal(Status.Ok, item.RecordStep("sent").Answer);
            item.Progress(100, "sent");
            return item.Complete("sent to " + item.GetString("To"));
        }
    }
}
