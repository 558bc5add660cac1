using System;
using System.Collections.Generic;
using System.Linq;
using System.Numerics;
using System.Text.Json;
using System.Text.Json.Nodes;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>The JSON that values become; and what is no value.</summary>
    public class NewItemTests
    {
        public static readonly object[] Values =
        {
            new object[] { null, "null" },
            new object[] { true, "true" },
            new object[] { ulong.MaxValue, "18446744073709551615" },
            new object[] { sbyte.MinValue, "-128" },
            new object[] { 79228162514264337593543950335m, "79228162514264337593543950335" },
            new object[] { 1.10m, "1.10" },
            new object[] { 0.1, "0.1" },
            new object[] { 'ä', "\"ä\"" },
            new object[] { "\u0000\u001f\"\\\n", "\"\\u0000\\u001f\\\"\\\\\\u000a\"" },
            new object[] { "\U0001F600", "\"\U0001F600\"" },
            new object[] { new byte[] { 0, 171 }, "\"AKs=\"" },
            new object[]
            {
                new DateTime(2026, 11, 21, 8, 30, 0, DateTimeKind.Utc).AddTicks(1), "\"2026-11-21T08:30:00.0000001Z\"",
            },
            new object[] { Guid.Empty, "\"00000000-0000-0000-0000-000000000000\"" },
            new object[] { new object[0], "[]" },
            new object[] { new object[] { 1, null, "x" }, "[1,null,\"x\"]" },
            new object[] { new Dictionary<string, object>(), "{}" },
            new object[] { new Dictionary<string, object> { { "a\"", new[] { 1.5m } } }, "{\"a\\\"\":[1.5]}" },
            new object[] { DayOfWeek.Friday, "5" },
            new object[] { new DateOnly(2026, 2, 28), "\"2026-02-28\"" },
            new object[] { new DateTime(2026, 2, 28), "\"2026-02-28\"" },
            new object[] { new DateTime(2026, 2, 28, 0, 0, 0, DateTimeKind.Utc), "\"2026-02-28T00:00:00.0000000Z\"" },
            new object[] { new object[] { new DateTime(2026, 2, 28) }, "[\"2026-02-28T00:00:00.0000000Z\"]" },
            new object[] { new TimeOnly(8, 30, 5), "\"08:30:05\"" },
            new object[] { new TimeSpan(1, 2, 3, 4), "\"1.02:03:04\"" },
            new object[] { new Uri("https://example.org/a b"), "\"https://example.org/a b\"" },
            new object[] { new Version(1, 2, 3), "\"1.2.3\"" },
            new object[] { BigInteger.Pow(10, 30), "1000000000000000000000000000000" },
            new object[] { Int128.MaxValue, "170141183460469231731687303715884105727" },
            new object[] { (Half)1.5, "1.5" },
            new object[] { new List<byte> { 0, 171 }, "\"AKs=\"" },
            new object[] { new ArraySegment<byte>(new byte[] { 9, 0, 171 }, 1, 2), "\"AKs=\"" },
            new object[] { new ReadOnlyMemory<byte>(new byte[] { 0, 171 }), "\"AKs=\"" },
            new object[] { new Dictionary<string, int> { { "a", 1 } }, "{\"a\":1}" },
            new object[] { JsonDocument.Parse("{ \"a\": 1.10 }").RootElement, "{ \"a\": 1.10 }" },
            new object[] { JsonNode.Parse("[1]"), "[1]" },
            new object[] { new RawJson("[ 1.0 ]"), "[ 1.0 ]" },
        };

        [Theory]
        [MemberData(nameof(Values))]
        public void ValuesBecomeJson(object value, string json)
        {
            Assert.Equal("{\"x\":" + json + "}", TestQueue.With("x", value).ColumnsJson);
        }

        [Fact]
        public void InvalidValuesAreRefused()
        {
            var named = Assert.Throws<ArgumentException>(() => TestQueue.With("Doc", new[] { new object() }));
            Assert.StartsWith("column \"Doc\": values of type System.Object", named.Message);
            Assert.Throws<ArgumentException>(() => TestQueue.With("x", new Dictionary<int, int> { { 1, 1 } }));
            Assert.Throws<ArgumentException>(() => TestQueue.With("x", double.NaN));
            Assert.Throws<ArgumentException>(() => TestQueue.With("x", float.NegativeInfinity));
            Assert.Throws<ArgumentNullException>(() => new NewItem(null));
            foreach (string more in new[] { "1, \"Other\": 2", "1}", "{\"a\": 1", "\"a", "", "[1}" })
            {
                Assert.Throws<ArgumentException>(() => new RawJson(more));
            }
            var cycle = new Dictionary<string, object>();
            cycle["again"] = cycle;
            Assert.Throws<ArgumentException>(() => TestQueue.With("x", cycle));
        }

        [Fact]
        public void TimesAreGivenAndReadAsTimes()
        {
            var due = new DateTimeOffset(2026, 2, 28, 8, 30, 0, TimeSpan.FromHours(2));
            Assert.Equal(due, new NewItem { Due = due }.Due);
            Assert.Equal(due, new Settlement("k", "t", 1, SettlementAction.Retry) { Due = due }.Due);
            Assert.Null(new NewItem { Due = null }.Due);
        }

        [Fact]
        public void ADateThatWasReadIsWrittenAgain()
        {
            using (Queue queue = TestQueue.Open())
            {
                queue.Enqueue(TestQueue.With("Day", new DateOnly(2026, 2, 28)));
                queue.Enqueue(TestQueue.With("At", new DateTime(2026, 2, 28)));
                using (Batch batch = queue.Claim(2))
                {
                    queue.Enqueue(TestQueue.With("Day", batch[0]["Day"]));
                    queue.Enqueue(TestQueue.With("At", batch[1]["At"]));
                }
                Assert.Equal(new[] { "2026-02-28", null, "2026-02-28", null }, TestQueue.Column(queue, "Day"));
            }
        }

        [Fact]
        public void LeasesAreEqualByTheirParts()
        {
            Assert.Equal(new Lease("a", 1), new Lease("a", 1));
            Assert.True(new Lease("a", 1) != new Lease("a", 2));
        }

        [Fact]
        public void TextThatCannotBeSentIsRefusedBeforeItIs()
        {
            using (Queue queue = TestQueue.Open())
            {
                foreach (string bad in new[] { "a\0b", "\ud83d", "\ude00\ud83d" })
                {
                    var named = Assert.Throws<ArgumentException>(() => queue.Enqueue(new NewItem { Type = bad }));
                    Assert.Equal("Type", named.ParamName);
                    Assert.Throws<ArgumentException>(
                        () => queue.Settle(new Settlement(bad, "t", 1, SettlementAction.Complete)));
                }
                // A text with a NUL would be cut short; it must not get through as JSON either.
                var refused = Assert.Throws<QueueException>(() => queue.Enqueue(TestQueue.With("Payload", "a\0b")));
                Assert.Equal(Status.InvalidItem, refused.Status);
                Assert.Equal(0, queue.Stats().Pending);
            }
        }

        [Fact]
        public void AMalformedTraceIsLeftOutWhateverItHolds()
        {
            const string Parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
            string name = TestQueue.Install("\"trace\": true");
            using (Queue queue = Queue.Open(TestQueue.Options, name))
            {
                foreach (string bad in new[] { "nonsense", Parent + "\0", "\ud83d" })
                {
                    queue.Enqueue(new NewItem { TraceParent = bad, TraceState = "rojo=1" });
                    queue.Enqueue(new NewItem { TraceParent = Parent, TraceState = bad });
                }
                using (Batch batch = queue.Claim(6))
                {
                    Assert.Equal(
                        new[] { null, Parent, null, Parent, null, Parent },
                        batch.Select(item => item.TraceParent).ToArray());
                    Assert.All(batch.Select(item => item.TraceState), Assert.Null);
                }
            }
        }
    }
}
