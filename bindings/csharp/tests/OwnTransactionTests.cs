using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Data.Common;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;
using Dapper;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Calls in a transaction of the caller's, on a connection of .NET's own drivers.</summary>
    public sealed class OwnTransactionTests : IDisposable
    {
        private readonly DbConnection connection = OwnConnection.Open();
        private readonly Queue queue = TestQueue.Open();
        private readonly QueueName place;

        public OwnTransactionTests()
        {
            place = new QueueName(queue.Name, "readpast_csharp");
        }

        public void Dispose()
        {
            queue.Dispose();
            connection.Dispose();
        }

        [Theory]
        [InlineData(1)]
        [InlineData(2)]
        public async Task ItemsAreThereWhenTheTransactionHasCommittedAndNotWhenItIsUndone(int count)
        {
            NewItem[] items = Payloads(count).ToArray();
            await using (DbTransaction undone = await connection.BeginTransactionAsync())
            {
                await connection.EnqueueAsync(place, items, undone);
                await undone.RollbackAsync();
            }
            Assert.Equal(0, queue.Stats().Pending);
            Answers<Receipt> receipts;
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                receipts = await connection.EnqueueAsync(place, items, transaction);
                await transaction.CommitAsync();
            }
            using (Batch all = queue.Find())
            {
                Assert.Equal(all.Select(item => (item.Key, item.Token)), receipts.Select(one => (one.Key, one.Token)));
                Assert.Equal(count, all.Count);
            }
        }

        [Fact]
        public async Task ItemsThatFollowAreForTheTransactionItself()
        {
            queue.Enqueue(new NewItem());
            using Batch batch = queue.Claim();
            Settlement followed = batch.Single().Complete().Then(queue.Name, Payloads(2).ToArray());
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                await Assert.ThrowsAsync<ArgumentException>(
                    () => connection.SettleAsync(place, "me", followed, transaction));
                await transaction.RollbackAsync();
            }
            Assert.Equal(Status.Ok, queue.Settle(followed).Answer);
            Assert.Equal(2, queue.Stats().Pending);
        }

        [Fact]
        public void BlockingCallsDoTheSame()
        {
            using (DbTransaction transaction = connection.BeginTransaction())
            {
                Assert.Equal(Status.Ok, connection.Enqueue(place, Payloads(1).Single(), transaction).Answer);
                Assert.Equal(2, connection.Enqueue(place, Payloads(2), transaction).Count);
                transaction.Commit();
            }
            Assert.Equal(3, queue.Stats().Pending);
        }

        [Fact]
        public async Task MoreThanAThousandItemsGoInOneTransaction()
        {
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                Assert.Equal(1001, (await connection.EnqueueAsync(place, Payloads(1001), transaction)).Count);
                await Assert.ThrowsAsync<ArgumentException>(
                    () => connection.EnqueueAsync(place, Payloads(1001), transaction, Guid.NewGuid()));
                await transaction.CommitAsync();
            }
            Assert.Equal(1001, queue.Stats().Pending);
        }

        [Fact]
        public async Task ACallThatIsRepeatedWithItsOperationAddsNothing()
        {
            Guid operation = Guid.NewGuid();
            var keys = new List<string>();
            for (int i = 0; i < 2; i++)
            {
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                keys.Add((await connection.EnqueueAsync(place, Payloads(1), transaction, operation))[0].Key);
                await transaction.CommitAsync();
            }
            Assert.Equal(keys[0], keys[1]);
            Assert.Equal(1, queue.Stats().Pending);
            Assert.True(await connection.IsDoneAsync(place, operation));
            Assert.False(await connection.IsDoneAsync(place, Guid.NewGuid()));
        }

        /// <summary>One item takes another way than many do.</summary>
        [Theory]
        [InlineData(1)]
        [InlineData(2)]
        public async Task ValuesComeAsTheLibraryWouldHaveSentThem(int count)
        {
            var item = new NewItem(new Dictionary<string, object>
            {
                { "Payload", OwnConnection.IsStandIn ? "it's \U0001F600" : "it's \"\\\n \U0001F600" },
                { "Small", -7 }, { "Big", long.MaxValue },
                { "Flag", true }, { "Ratio", 0.1 }, { "Amount", 123456789.0123456789m },
                { "At", new DateTime(2026, 11, 21, 8, 30, 0, DateTimeKind.Utc).AddTicks(1234560) },
                { "Day", new DateOnly(2026, 2, 28) }, { "Id", Guid.Parse("d6513312-4dcc-4c44-b044-08b98257037c") },
            })
            {
                Type = "Second", Step = "somewhere",
                Due = new DateTimeOffset(2001, 2, 3, 5, 4, 5, TimeSpan.FromHours(1)),
            };
            queue.Enqueue(item);
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                await connection.EnqueueAsync(place, Enumerable.Repeat(item, count), transaction);
                await transaction.CommitAsync();
            }
            using (Batch all = queue.Find())
            {
                string[] same = all.Columns.Select(column => column.Name)
                    .Where(name => !name.EndsWith("At", StringComparison.Ordinal) || name == "At")
                    .Where(name => !name.EndsWith("_at", StringComparison.Ordinal)).ToArray();
                Assert.All(
                    all.Skip(1),
                    each => Assert.Equal(same.Select(name => all[0][name]), same.Select(name => each[name])));
                Assert.Equal(count + 1, all.Count);
                Assert.Equal("Second", all[1].GetString("Type"));
            }
        }

        [Fact]
        public async Task OneItemIsSentToTheFunctionForOne()
        {
            Assert.SkipWhen(OwnConnection.IsSqlServer, "Npgsql reports its statements");
            var statements = new ConcurrentQueue<string>();
            using var listener = new ActivityListener
            {
                ShouldListenTo = source => source.Name == "Npgsql",
                Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
                ActivityStopped = activity => statements.Enqueue(string.Join(' ', activity.TagObjects)),
            };
            ActivitySource.AddActivityListener(listener);
            string own = place.Function("add_{0}_");
            foreach (int count in new[] { 1, 2 })
            {
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                await connection.EnqueueAsync(place, Payloads(count), transaction);
                await transaction.CommitAsync();
            }
            string[] calls = statements.Where(text => text.Contains(own[..^1])).ToArray();
            Assert.Equal(2, calls.Length);
            Assert.Contains("_utx\"(\"Payload_\" => CAST(@p0 AS text))", calls[0]);
            Assert.Contains("_set_utx\"(", calls[1]);
        }

        [Fact]
        public async Task ItemsThatDoNotFitAreRefusedAsTheLibraryRefusesThem()
        {
            Queue.Install(
                TestQueue.Options,
                "{\"queue\": \"Narrow\", \"columns\": [{\"name\": \"Code\", \"type\": \"text(3)\"}, " +
                "{\"name\": \"Small\", \"type\": \"integer\"}, {\"name\": \"Amount\", \"type\": \"decimal(9, 2)\"}, " +
                "{\"name\": \"Flag\", \"type\": \"boolean\"}, {\"name\": \"At\", \"type\": \"timestamp\"}, " +
                "{\"name\": \"Document\", \"type\": \"json\"}]}");
            var unfit = new (string Column, object Value)[]
            {
                ("Nonesuch", 1), ("Small", 1L << 40), ("Small", "x"), ("Small", 1.5), ("Code", "four"),
                ("Amount", 1.001m), ("Amount", 12345678.5m), ("Flag", 7), ("Document", "text"), ("At", "tomorrow"),
            };
            using (Queue narrow = Queue.Open(TestQueue.Options, "Narrow"))
            {
                foreach ((string column, object value) in unfit)
                {
                    NewItem item = TestQueue.With(column, value);
                    var byLibrary = Assert.Throws<QueueException>(() => narrow.Enqueue(item));
                    await using DbTransaction transaction = await connection.BeginTransactionAsync();
                    var refused = await Assert.ThrowsAsync<QueueException>(
                        () => connection.EnqueueAsync(new QueueName("Narrow", "readpast_csharp"), item, transaction));
                    Assert.Equal(byLibrary.Status, refused.Status);
                    // The stand-in finds text too long before the procedure does.
                    Assert.True(OwnConnection.IsStandIn || refused.Message.Contains(column), refused.Message);
                    Assert.IsAssignableFrom<DbException>(refused.InnerException);
                }
                Assert.Equal(0, narrow.Stats().Pending);
            }
        }

        [Fact]
        public async Task AValueThatMustBeThereIsMissed()
        {
            Queue.Install(
                TestQueue.Options,
                "{\"queue\": \"Needy\", \"columns\": [{\"name\": \"N\", \"type\": \"integer\", \"nullable\": false}, " +
                "{\"name\": \"D\", \"type\": \"text\", \"nullable\": false, \"default\": \"given\"}]}");
            var needy = new QueueName("Needy", "readpast_csharp");
            foreach (NewItem item in new[] { new NewItem(), TestQueue.With("N", null) })
            {
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                var refused = await Assert.ThrowsAsync<QueueException>(
                    () => connection.EnqueueAsync(needy, item, transaction));
                Assert.Equal(Status.InvalidItem, refused.Status);
            }
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                await connection.EnqueueAsync(needy, TestQueue.With("N", 1), transaction);
                await transaction.CommitAsync();
            }
            using (Queue opened = Queue.Open(TestQueue.Options, "Needy"))
            {
                Assert.Equal(new[] { "given" }, TestQueue.Column(opened, "D"));
            }
        }

        [Theory]
        [InlineData("{\"Small\": 1}}, {\"columns\": {\"Small\": 2}")]
        [InlineData("{\"Small\": 1")]
        [InlineData("[1]")]
        [InlineData("")]
        public async Task TextThatIsNoObjectIsNotSent(string columns)
        {
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            var refused = await Assert.ThrowsAsync<QueueException>(() => connection.EnqueueAsync(
                place, new NewItem { ColumnsJson = columns }, transaction));
            Assert.Equal(Status.InvalidItem, refused.Status);
            Assert.Contains("item 0", refused.Message);
            await transaction.CommitAsync();
            Assert.Equal(0, queue.Stats().Pending);
        }

        [Fact]
        public async Task AnItemIsClaimedAndSettledInOneTransaction()
        {
            queue.Enqueue(TestQueue.With("Payload", "a"));
            await using (DbTransaction undone = await connection.BeginTransactionAsync())
            {
                Assert.Equal("a", (await connection.ClaimAsync(place, "me", undone)).Single()["payload"]);
                await undone.RollbackAsync();
            }
            using (Batch all = queue.Find())
            {
                Assert.Equal(0, all[0].Attempt);
            }
            await using (DbTransaction transaction = await connection.BeginTransactionAsync())
            {
                TransactionItem item = (await connection.ClaimAsync(place, "me", transaction, 10)).Single();
                Assert.Equal(1, item.Attempt);
                Settlement done = item.Complete("well").SetColumns(new Dictionary<string, object> { { "Small", 5 } });
                Outcome outcome = await connection.SettleAsync(place, "me", done, transaction);
                Assert.Equal((Status.Ok, ItemState.Completed), (outcome.Answer, outcome.State));
                Assert.Empty(await connection.ClaimAsync(place, "me", transaction));
                await transaction.CommitAsync();
            }
            Assert.Equal(1, queue.Stats().Completed);
            using (Batch all = queue.Find())
            {
                Assert.Equal(5L, all[0].GetInt64("Small"));
                Assert.Equal("well", all[0].GetString("Response"));
            }
        }

        [Fact]
        public async Task AnItemThatTheLibraryClaimedIsSettledWithTheUsualFence()
        {
            using (Batch claimed = TestQueue.Claimed(queue, "a"))
            {
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                Outcome other = await connection.SettleAsync(place, "other", claimed[0].Complete(), transaction);
                Assert.Equal(Status.LeaseLost, other.Answer);
                Settlement nobodys = Settlement.Operator("2001-01-01", SettlementAction.Cancel);
                var both = await connection.SettleAsync(
                    place, queue.Worker, new[] { claimed[0].Retry("later", TimeSpan.FromDays(1)), nobodys },
                    transaction);
                Assert.Equal(new[] { Status.Ok, Status.NotFound }, both.Select(one => one.Answer));
                Assert.Equal((Status.NotFound, ItemState.Error), (both.Status, both[0].State));
                await transaction.CommitAsync();
                Assert.Equal(Status.Conflict, queue.Settle(Settlement.Operator(
                    claimed[0].Key, SettlementAction.Cancel, claimed[0].Token)).Answer);
            }
            Assert.Equal((1, 0), (queue.Stats().Error, queue.Stats().Due));
        }

        [Fact]
        public async Task TheOrderAndItsItemAreWrittenTogetherByDapper()
        {
            string table = "readpast_csharp.orders_of_" + queue.Name.ToLowerInvariant();
            await connection.ExecuteAsync("CREATE TABLE " + table + " (id int NOT NULL)");
            foreach (bool isUndone in new[] { true, false })
            {
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                await connection.ExecuteAsync("INSERT INTO " + table + " VALUES (@id)", new { id = 1 }, transaction);
                await connection.EnqueueAsync(place, TestQueue.With("Payload", "order 1"), transaction);
                await (isUndone ? transaction.RollbackAsync() : transaction.CommitAsync());
                int orders = await connection.QuerySingleAsync<int>("SELECT CAST(COUNT(*) AS int) FROM " + table);
                Assert.Equal(isUndone ? 0 : 1, orders);
                Assert.Equal(orders, queue.Stats().Pending);
            }
        }

        [Theory]
        [InlineData(1)]
        [InlineData(2)]
        public async Task TheTraceOfTheActivityUnderWayTravelsWithItems(int count)
        {
            string name = TestQueue.Install("\"trace\": true");
            using (Queue traced = Queue.Open(TestQueue.Options, name))
            using (var activity = new Activity("checkout").SetIdFormat(ActivityIdFormat.W3C).Start())
            {
                activity.TraceStateString = "rojo=1";
                await using DbTransaction transaction = await connection.BeginTransactionAsync();
                var tracedPlace = new QueueName(name, "readpast_csharp");
                await connection.EnqueueAsync(tracedPlace, Payloads(count), transaction);
                await connection.EnqueueAsync(
                    tracedPlace, new NewItem { ColumnsJson = " { \"Payload\": \"json\" } " }, transaction);
                await connection.EnqueueAsync(tracedPlace, new NewItem { ColumnsJson = "{}" }, transaction);
                await transaction.CommitAsync();
                using (Batch batch = traced.Claim(10))
                {
                    Assert.Equal(count + 2, batch.Count);
                    Assert.All(batch, item => Assert.Equal(activity.Id, item.TraceParent));
                    Assert.All(batch, item => Assert.Equal("rojo=1", item.TraceState));
                }
            }
        }

        [Fact]
        public async Task AQueueThatIsNotThereIsNamed()
        {
            Assert.SkipWhen(OwnConnection.IsStandIn, "it has another number for a procedure that is not there");
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            var unknown = await Assert.ThrowsAsync<QueueException>(() => connection.EnqueueAsync(
                new QueueName("Nonesuch", "readpast_csharp"), new NewItem(), transaction));
            Assert.Equal(Status.UnknownQueue, unknown.Status);
            Assert.Contains("Nonesuch", unknown.Message);
        }

        [Fact]
        public async Task ErrorsThatPassAreTheDriversOwn()
        {
            await using DbConnection other = OwnConnection.Open();
            queue.Enqueue(TestQueue.With("Payload", "a"));
            await using DbTransaction holds = await other.BeginTransactionAsync();
            TransactionItem item = (await other.ClaimAsync(place, "me", holds)).Single();
            await connection.ExecuteAsync(
                OwnConnection.IsSqlServer ? "SET LOCK_TIMEOUT 1" : "SET lock_timeout = 1");
            await using DbTransaction transaction = await connection.BeginTransactionAsync();
            Settlement cancel = Settlement.Operator(item.Key, SettlementAction.Cancel);
            var error = await Assert.ThrowsAnyAsync<DbException>(
                () => connection.SettleAsync(place, "me", cancel, transaction));
            Assert.IsNotType<QueueException>(error);
        }

        [Fact]
        public async Task ACallNeedsATransaction()
        {
            await Assert.ThrowsAsync<ArgumentNullException>(
                () => connection.EnqueueAsync(place, new NewItem(), null));
            await Assert.ThrowsAsync<ArgumentNullException>(
                () => connection.EnqueueAsync((QueueName)null, new NewItem(), null));
        }

        private static IEnumerable<NewItem> Payloads(int count)
        {
            return Enumerable.Range(1, count).Select(number => TestQueue.With("Payload", "p" + number));
        }
    }
}
