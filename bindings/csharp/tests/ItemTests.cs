using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Threading;
using Xunit;

namespace Readpast.Tests
{
    /// <summary>A column returns the value that went in, with its type.</summary>
    public sealed class ItemTests : IDisposable
    {
        private const string Digits38 = "1234567890123456789012345678.0123456789";

        private Queue queue;

        public ItemTests()
        {
            queue = TestQueue.Open();
        }

        public void Dispose()
        {
            queue.Dispose();
        }

        [Theory]
        [InlineData("")]
        [InlineData("plain")]
        [InlineData("Grüße, 世界, \U0001F600, \u0301 \u200D \uFFFD \uFEFF")]
        [InlineData("\u0001\u001f\t\r\n\"\\/\u007f\u0085\u2028")]
        public void TextStaysAsItIs(string text)
        {
            Assert.Equal(text, Through("Payload", text, item => item.GetString("Payload")));
        }

        [Fact]
        public void LongTextStaysAsItIs()
        {
            // Four bytes each in UTF-8: more than any buffer that a chunk of text begins with.
            string text = string.Concat(Enumerable.Repeat("\U0001F600", 256 * 1024));
            Assert.Equal(text, Through("Payload", text, item => item.GetString("Payload")));
        }

        [Fact]
        public void NullIsNotEmptyAndNotZero()
        {
            Through<object>("Payload", null, item =>
            {
                Assert.Null(item.GetString("Payload"));
                Assert.Null(item.GetInt64("Big"));
                Assert.Null(item.GetBoolean("Flag"));
                Assert.Null(item.GetDouble("Ratio"));
                Assert.Null(item.GetDecimal("Amount"));
                Assert.Null(item.GetDateTime("At"));
                Assert.Null(item.GetDateTime("Day"));
                Assert.Null(item.GetGuid("Id"));
                Assert.Null(item["Document"]);
                Assert.True(item.IsNull("Payload"));
                return null;
            });
            Assert.False(Through("Payload", string.Empty, item => item.IsNull("Payload")));
        }

        [Theory]
        [InlineData(long.MinValue)]
        [InlineData(-1L)]
        [InlineData(long.MaxValue)]
        public void WholeNumbersKeepAllBits(long number)
        {
            Assert.Equal(number, Through("Big", number, item => item.GetInt64("Big")));
            Assert.Equal(number, Through("Big", number, item => item["Big"]));
        }

        [Theory]
        [InlineData(0.1)]
        [InlineData(-1.7976931348623157E+308)]
        [InlineData(5E-324)]
        public void FloatsKeepAllBits(double number)
        {
            Assert.Equal(number, Through("Ratio", number, item => item.GetDouble("Ratio")));
        }

        [Fact]
        public void TruthValues()
        {
            Assert.Equal(true, Through("Flag", true, item => item.GetBoolean("Flag")));
            Assert.Equal(false, Through("Flag", false, item => item["Flag"]));
        }

        [Fact]
        public void DecimalsAreExact()
        {
            Assert.Equal(-12.5m, Through("Amount", -12.50m, item => item.GetDecimal("Amount")));
            Assert.Equal("-12.5000000000", Through("Amount", -12.50m, item => item.GetString("Amount")));
            Assert.Equal(0m, Through("Amount", 0m, item => item.GetDecimal("Amount")));
        }

        [Theory]
        [InlineData(Digits38)]
        [InlineData("123456789012345678901.0123456789")]
        [InlineData("-9999999999999999999999999999.9999999999")]
        public void ADecimalThatDoesNotFitIsNotRounded(string digits)
        {
            Assert.Equal(digits, Through("Amount", digits, item => item.GetString("Amount")));
            Assert.Throws<OverflowException>(() => Through("Amount", digits, item => item.GetDecimal("Amount")));
            Assert.Throws<OverflowException>(() => Through("Amount", digits, item => item["Amount"]));
        }

        [Fact]
        public void TimesAreUtc()
        {
            var utc = new DateTime(2026, 11, 21, 8, 30, 0, DateTimeKind.Utc).AddTicks(1234560);
            DateTime? read = Through("At", utc, item => item.GetDateTime("At"));
            Assert.Equal(utc, read);
            Assert.Equal(DateTimeKind.Utc, read.Value.Kind);
            Assert.Equal(utc, Through("At", utc.ToLocalTime(), item => item["At"]));
            DateTimeOffset elsewhere = new DateTimeOffset(utc).ToOffset(TimeSpan.FromHours(14));
            Assert.Equal(utc, Through("At", elsewhere, item => item["At"]));
        }

        [Fact]
        public void DatesAreOfNoKind()
        {
            DateTime? read = Through("Day", "2024-02-29", item => item.GetDateTime("Day"));
            Assert.Equal(new DateTime(2024, 2, 29), read);
            Assert.Equal(DateTimeKind.Unspecified, read.Value.Kind);
        }

        [Fact]
        public void Guids()
        {
            Guid id = Guid.NewGuid();
            Assert.Equal(id, Through("Id", id, item => item.GetGuid("Id")));
            Assert.Equal(id, Through("Id", id, item => item["id"]));
        }

        [Fact]
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

        /// <summary>Commas for points, another calendar.</summary>
        private static IEnumerable<CultureInfo> Cultures()
        {
            var made = (CultureInfo)CultureInfo.InvariantCulture.Clone();
            (made.NumberFormat.NumberDecimalSeparator, made.NumberFormat.NegativeSign) = (",", "\u2212");
            (made.DateTimeFormat.DateSeparator, made.DateTimeFormat.TimeSeparator) = (".", ".");
            yield return made;
            // Others come from ICU, which not each machine has.
            string[] names = { "de-DE", "ar-SA", "tr-TR", "fa-IR" };
            foreach (CultureInfo known in CultureInfo.GetCultures(CultureTypes.SpecificCultures))
            {
                if (names.Contains(known.Name))
                {
                    yield return known;
                }
            }
        }

        [Fact]
        public void ACultureChangesNothing()
        {
            CultureInfo before = Thread.CurrentThread.CurrentCulture;
            foreach (CultureInfo culture in Cultures())
            {
                Thread.CurrentThread.CurrentCulture = culture;
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

        [Fact]
        public void TheJsonHasEveryColumn()
        {
            Through("Payload", "ä\"", item =>
            {
                Assert.Contains("\"Payload\":\"ä\\\"\"", item.ToJson());
                Assert.Contains("\"Amount\":null", item.ToJson());
                return 0;
            });
        }

        private T Through<T>(string column, object value, Func<Item, T> read)
        {
            queue.Enqueue(TestQueue.With(column, value));
            using (Batch batch = queue.Claim())
            {
                Assert.Equal(Status.Ok, queue.Settle(batch[0].Complete()).Answer);
                return read(batch[0]);
            }
        }
    }
}
