using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Threading;
using NUnit.Framework;

namespace Readpast.Tests
{
    /// <summary>What goes into a column comes out of it, and nothing is taken for something else.</summary>
    [TestFixture]
    public class ItemTests
    {
        private const string Digits38 = "1234567890123456789012345678.0123456789";

        private Queue queue;

        [TestFixtureSetUp]
        public void Open()
        {
            queue = TestQueue.Open();
        }

        [TestFixtureTearDown]
        public void Close()
        {
            queue.Dispose();
        }

        [TestCase("")]
        [TestCase("plain")]
        [TestCase("Grüße, 世界, \U0001F600, \u0301 \u200D \uFFFD \uFEFF")]
        [TestCase("\u0001\u001f\t\r\n\"\\/\u007f\u0085\u2028")]
        public void TextStaysAsItIs(string text)
        {
            Assert.AreEqual(text, Through("Payload", text, item => item.GetString("Payload")));
        }

        [Test]
        public void LongTextStaysAsItIs()
        {
            // Four bytes each in UTF-8: more than any buffer that a chunk of text begins with.
            string text = string.Concat(Enumerable.Repeat("\U0001F600", 256 * 1024));
            Assert.AreEqual(text, Through("Payload", text, item => item.GetString("Payload")));
        }

        [Test]
        public void NullIsNotEmptyAndNotZero()
        {
            Through<object>("Payload", null, item =>
            {
                Assert.IsNull(item.GetString("Payload"));
                Assert.IsNull(item.GetInt64("Big"));
                Assert.IsNull(item.GetBoolean("Flag"));
                Assert.IsNull(item.GetDouble("Ratio"));
                Assert.IsNull(item.GetDecimal("Amount"));
                Assert.IsNull(item.GetDateTime("At"));
                Assert.IsNull(item.GetDateTime("Day"));
                Assert.IsNull(item.GetGuid("Id"));
                Assert.IsNull(item["Document"]);
                Assert.IsTrue(item.IsNull("Payload"));
                return null;
            });
            Assert.IsFalse(Through("Payload", string.Empty, item => item.IsNull("Payload")));
        }

        [TestCase(long.MinValue)]
        [TestCase(-1L)]
        [TestCase(long.MaxValue)]
        public void WholeNumbersKeepAllBits(long number)
        {
            Assert.AreEqual(number, Through("Big", number, item => item.GetInt64("Big")));
            Assert.AreEqual(number, Through("Big", number, item => item["Big"]));
        }

        [TestCase(0.1)]
        [TestCase(-1.7976931348623157E+308)]
        [TestCase(5E-324)]
        public void FloatsKeepAllBits(double number)
        {
            Assert.AreEqual(number, Through("Ratio", number, item => item.GetDouble("Ratio")));
        }

        [Test]
        public void TruthValues()
        {
            Assert.AreEqual(true, Through("Flag", true, item => item.GetBoolean("Flag")));
            Assert.AreEqual(false, Through("Flag", false, item => item["Flag"]));
        }

        [Test]
        public void DecimalsAreExact()
        {
            Assert.AreEqual(-12.5m, Through("Amount", -12.50m, item => item.GetDecimal("Amount")));
            Assert.AreEqual("-12.5000000000", Through("Amount", -12.50m, item => item.GetString("Amount")));
            Assert.AreEqual(0m, Through("Amount", 0m, item => item.GetDecimal("Amount")));
        }

        [TestCase(Digits38)]
        [TestCase("123456789012345678901.0123456789")]
        [TestCase("-9999999999999999999999999999.9999999999")]
        public void ADecimalThatDoesNotFitIsNotRounded(string digits)
        {
            Assert.AreEqual(digits, Through("Amount", digits, item => item.GetString("Amount")));
            Assert.Throws<OverflowException>(() => Through("Amount", digits, item => item.GetDecimal("Amount")));
            Assert.Throws<OverflowException>(() => Through("Amount", digits, item => item["Amount"]));
        }

        [Test]
        public void TimesAreUtc()
        {
            var utc = new DateTime(2026, 11, 21, 8, 30, 0, DateTimeKind.Utc).AddTicks(1234560);
            DateTime? read = Through("At", utc, item => item.GetDateTime("At"));
            Assert.AreEqual(utc, read);
            Assert.AreEqual(DateTimeKind.Utc, read.Value.Kind);
            Assert.AreEqual(utc, Through("At", utc.ToLocalTime(), item => item["At"]));
            DateTimeOffset elsewhere = new DateTimeOffset(utc).ToOffset(TimeSpan.FromHours(14));
            Assert.AreEqual(utc, Through("At", elsewhere, item => item["At"]));
        }

        [Test]
        public void DatesAreOfNoKind()
        {
            DateTime? read = Through("Day", "2024-02-29", item => item.GetDateTime("Day"));
            Assert.AreEqual(new DateTime(2024, 2, 29), read);
            Assert.AreEqual(DateTimeKind.Unspecified, read.Value.Kind);
        }

        [Test]
        public void Guids()
        {
            Guid id = Guid.NewGuid();
            Assert.AreEqual(id, Through("Id", id, item => item.GetGuid("Id")));
            Assert.AreEqual(id, Through("Id", id, item => item["id"]), "the case of a column's name does not matter");
        }

        [Test]
        public void NothingIsTakenForSomethingElse()
        {
            Through("Big", 1L, item =>
            {
                Assert.Throws<InvalidCastException>(() => item.GetString("Big"));
                Assert.Throws<InvalidCastException>(() => item.GetBoolean("Big"));
                Assert.Throws<InvalidCastException>(() => item.GetDateTime("Big"));
                Assert.Throws<InvalidCastException>(() => item.GetBytes("Big"));
                Assert.Throws<KeyNotFoundException>(() => item.GetInt64("Bigger"));
                Assert.Throws<ArgumentNullException>(() => item.GetInt64(null));
                return 0;
            });
        }

        [Test]
        public void ACultureChangesNothing()
        {
            CultureInfo before = Thread.CurrentThread.CurrentCulture;
            // Commas for points, another calendar.
            foreach (string name in new[] { "de-DE", "ar-SA", "tr-TR", "fa-IR" })
            {
                Thread.CurrentThread.CurrentCulture = new CultureInfo(name);
                try
                {
                    DecimalsAreExact();
                    TimesAreUtc();
                    FloatsKeepAllBits(0.1);
                    ADecimalThatDoesNotFitIsNotRounded(Digits38);
                    Guids();
                }
                finally
                {
                    Thread.CurrentThread.CurrentCulture = before;
                }
            }
        }

        [Test]
        public void TheJsonHasEveryColumn()
        {
            Through("Payload", "ä\"", item =>
            {
                StringAssert.Contains("\"Payload\":\"ä\\\"\"", item.ToJson());
                StringAssert.Contains("\"Amount\":null", item.ToJson());
                return 0;
            });
        }

        private T Through<T>(string column, object value, Func<Item, T> read)
        {
            queue.Enqueue(TestQueue.With(column, value));
            using (Batch batch = queue.Claim())
            {
                Assert.AreEqual(Status.Ok, queue.Settle(batch[0].Complete()).Answer);
                return read(batch[0]);
            }
        }
    }
}
