using System;
using System.Collections.Generic;
using System.Data.Common;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>Many tasks at once: what they cost, and what they have in common.</summary>
    public sealed class AsyncTests : IDisposable
    {
        private static readonly TimeSpan Long = TimeSpan.FromHours(1);

        private readonly Queue queue = TestQueue.Open();

        public void Dispose()
        {
            queue.Dispose();
        }

        [Fact]
        public async Task ItemsThatAreEnqueuedAtTheSameTimeLeaveTogetherOnFewThreads()
        {
            const int Items = 2000;
            int before = Threads();
            Task<Receipt>[] all = Enumerable.Range(0, Items)
                .Select(i => queue.EnqueueAsync(TestQueue.With("Small", i))).ToArray();
            int most = 0;
            while (!all.All(each => each.IsCompleted))
            {
                most = Math.Max(most, Threads());
                await Task.Delay(1);
            }
            Receipt[] receipts = await Task.WhenAll(all);
            Assert.True(most < before + 50, most + " threads, and " + before + " before");
            Assert.Equal(Items, receipts.Select(receipt => receipt.Key).Distinct().Count());
            using (Batch found = queue.Find("{\"keys\": [\"" + receipts[1234].Key + "\"]}"))
            {
                Assert.Equal(1234, found[0].GetInt64("Small"));
            }
            using (Psql psql = Psql.Start())
            {
                string commits = psql.Ask("SELECT count(DISTINCT xmin::text) FROM readpast_csharp." + queue.Name);
                Assert.InRange(int.Parse(commits, CultureInfo.InvariantCulture), 1, Items / 10);
            }
        }

        [Fact]
        public async Task AnyNumberOfCallsWaitsInLineForAsManyThreadsAsConnections()
        {
            int before = Threads();
            Task<Answers<Receipt>>[] all = Enumerable.Range(0, 1000)
                .Select(_ => queue.EnqueueAsync(new[] { new NewItem() })).ToArray();
            int most = Threads();
            await Task.WhenAll(all);
            Assert.True(most < before + 50, most + " threads, and " + before + " before");
            Assert.Equal(1000, (await queue.StatsAsync()).Pending);
        }

        [Fact]
        public async Task ClaimsThatWaitShareAThreadAndEachGetsItsItem()
        {
            const int Claims = 300;
            int before = Threads();
            Task<Batch>[] all = Enumerable.Range(0, Claims).Select(_ => queue.ClaimAsync(1, Long)).ToArray();
            Task<Batch> brief = queue.ClaimAsync(1, TimeSpan.FromMilliseconds(50));
            Assert.Equal(Status.Empty, (await brief).Status);
            Assert.True(Threads() < before + 50);
            TestQueue.Enqueue(queue, Enumerable.Repeat("a", Claims).ToArray());
            Batch[] claimed = await Task.WhenAll(all);
            Assert.Equal(Claims, claimed.Select(batch => batch.Single().Key).Distinct().Count());
        }

        [Fact]
        public async Task ChangesAfterACallDoNotReachIt()
        {
            using (Queue narrow = Narrow())
            using (Psql psql = Psql.Start())
            {
                Hold(psql, narrow);
                Task<Receipt> first = narrow.EnqueueAsync(TestQueue.With("Payload", "first"));
                NewItem one = TestQueue.With("Payload", "a"), two = TestQueue.With("Payload", "b");
                var items = new List<NewItem> { one };
                Task<Answers<Receipt>> listed = narrow.EnqueueAsync(items);
                Task<Receipt> single = narrow.EnqueueAsync(two);
                items.Clear();
                one.ColumnsJson = two.ColumnsJson = TestQueue.With("Payload", "changed").ColumnsJson;
                psql.Ask("COMMIT; SELECT 1");
                await Task.WhenAll(first, listed, single);
                Assert.Equal(new[] { "a", "b", "first" }, TestQueue.Column(narrow, "payload").OrderBy(each => each));
            }
        }

        [Fact]
        public async Task AnItemThatIsRefusedFailsAloneAndOneThatIsCalledOffDoesNotLeave()
        {
            using (Queue narrow = Narrow())
            using (Psql psql = Psql.Start())
            using (var source = new CancellationTokenSource())
            {
                Hold(psql, narrow);
                Task<Receipt> first = narrow.EnqueueAsync(TestQueue.With("Payload", "first"));
                // It has left, so that the others wait in line.
                Until.True(() => psql.Ask("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1");
                Task<Receipt> good = narrow.EnqueueAsync(TestQueue.With("Payload", "good"));
                Task<Receipt> wrong = narrow.EnqueueAsync(TestQueue.With("Small", "no number"));
                Task<Receipt> unsendable = narrow.EnqueueAsync(new NewItem { Type = "\ud83d" });
                Task<Receipt> calledOff = narrow.EnqueueAsync(TestQueue.With("Payload", "not"), source.Token);
                source.Cancel();
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => calledOff);
                psql.Ask("COMMIT; SELECT 1");
                await Task.WhenAll(first, good);
                Assert.Equal(
                    Status.InvalidItem, (await Assert.ThrowsAsync<QueueException>(() => wrong)).Status);
                await Assert.ThrowsAsync<ArgumentException>(() => unsendable);
                Assert.Equal(new[] { "first", "good" }, TestQueue.Column(narrow, "payload").OrderBy(each => each));
            }
        }

        [Fact]
        public async Task EachCallIsATask()
        {
            string name = TestQueue.Install();
            await using (Queue opened = await Queue.OpenAsync(TestQueue.Options, name))
            {
                Receipt receipt = await opened.EnqueueAsync(TestQueue.With("Payload", "a"));
                using (Batch batch = await opened.ClaimAsync())
                {
                    Assert.Equal(receipt.Key, batch[0].Key);
                    Assert.Equal(Status.Ok, (await opened.RenewAsync(new[] { batch[0].ToLease() })).Status);
                    Assert.Equal(Status.Ok, (await batch[0].RecordStepAsync("half")).Answer);
                    Assert.Equal(ItemState.Failed, (await opened.SettleAsync(batch[0].Fail("no"))).State);
                }
                Assert.Equal(1, (await opened.StatsAsync()).Failed);
                using (Batch found = await opened.FindAsync())
                {
                    Assert.Equal("half", found[0].GetString("step"));
                    string item = "{\"items\": [{\"key\": \"" + found[0].Key + "\"}]}";
                    Assert.Contains("\"redriven\":1", await opened.AskAsync("redrive", item));
                }
                Assert.Equal("{\"purged\":0}", await opened.AskAsync("purge"));
                Assert.False(await opened.IsDoneAsync(Guid.NewGuid().ToString()));
                await opened.CloseAsync(Until.Patience);
                Assert.Equal(
                    Status.Closed, (await Assert.ThrowsAsync<QueueException>(() => opened.StatsAsync())).Status);
            }
        }

        [Fact]
        public async Task AnOpenIsCalledOffAlthoughTheServerIsSilent()
        {
            var silent = new TcpListener(IPAddress.Loopback, 0);
            silent.Start();
            var connection = new DbConnectionStringBuilder(true)
            {
                ConnectionString = Environment.GetEnvironmentVariable("READPAST_CONNECTION"),
            };
            int port = ((IPEndPoint)silent.LocalEndpoint).Port;
            connection["Server"] = connection.ContainsKey("Port") ? "127.0.0.1" : "127.0.0.1," + port;
            connection["Port"] = port;
            QueueOptions options = TestQueue.Options;
            options["connection"] = connection.ConnectionString;
            using (var source = new CancellationTokenSource())
            {
                Task<Queue> opening = Queue.OpenAsync(options, "Work", source.Token);
                using (await silent.AcceptTcpClientAsync())
                {
                    source.Cancel();
                    await Assert.ThrowsAnyAsync<OperationCanceledException>(() => opening);
                }
            }
            silent.Stop();
        }

        /// <summary>A queue whose tasks have one thread.</summary>
        private static Queue Narrow()
        {
            QueueOptions options = TestQueue.Options;
            options["pool.size"] = "1";
            return Queue.Open(options, TestQueue.Install());
        }

        /// <summary>Holds up writers to the queue, until a commit.</summary>
        private static void Hold(Psql psql, Queue queue)
        {
            psql.Ask("BEGIN; LOCK TABLE readpast_csharp." + queue.Name + " IN EXCLUSIVE MODE; SELECT 1");
        }

        private static int Threads()
        {
            using (Process self = Process.GetCurrentProcess())
            {
                return self.Threads.Count;
            }
        }
    }
}
