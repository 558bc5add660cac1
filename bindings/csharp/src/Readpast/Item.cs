using System;
using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// A claimed item. Any number of threads may read it. Key, token and attempt stay when its batch is disposed of;
    /// columns do not.
    /// </summary>
    public sealed partial class Item : ClaimedItem
    {
        private const string TimestampForm = "yyyy-MM-ddTHH:mm:ss.FFFFFFF";
        private const string DateForm = "yyyy-MM-dd";
        private const DateTimeStyles Utc = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;

        private readonly Batch batch;
        private readonly int index;

        internal Item(Batch batch, int index, string key, string token, int attempt)
            : base(key, token, attempt)
        {
            this.batch = batch;
            this.index = index;
        }

        private delegate T Reader<T>(ref ValueStruct value);

        /// <summary>
        /// Whether a worker's item was found lost: its lease ran out, an operator took it, or it was worked on for
        /// longer than <c>worker.max_run_ms</c>. Work on it is in vain, after that time once the lease has run out.
        /// True also once the handler has ended; always false of items that no worker has taken.
        /// </summary>
        public bool IsLost
        {
            get { return batch.Engine != null && batch.Engine.IsLost(Key, Attempt); }
        }

        /// <summary>Whether the worker that has taken it is to end.</summary>
        internal bool IsWorkerStopping
        {
            get { return batch.Engine.IsStopping; }
        }

        /// <summary>
        /// The value of a column as its <see cref="ColumnType"/> says; null for NULL. A decimal with more digits than
        /// <see cref="decimal"/> has is an <see cref="OverflowException"/>; <see cref="GetString"/> gives it whole.
        /// </summary>
        /// <param name="column">
        /// The name of the column, in any case. One of the life cycle has its name on the other server and in other
        /// tables too: <c>ScheduledFor</c>, <c>scheduled_for</c> and <c>ItemDueAt</c> are one.
        /// </param>
        /// <exception cref="KeyNotFoundException">There is no such column.</exception>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        [System.Runtime.CompilerServices.IndexerName("Value")]
        public object this[string column]
        {
            get { return Read(column, ValueOf); }
        }

        /// <summary>Whether a column is NULL.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>True for NULL; false for empty text.</returns>
        public bool IsNull(string column)
        {
            return Read(column, (ref ValueStruct value) => value.IsNull == 0 ? this : null) == null;
        }

        /// <summary>
        /// The text of a column; of decimals, times, dates, GUIDs and JSON their exact text, as the library has it.
        /// </summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>The text; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is a truth value, a number or bytes.</exception>
        public string GetString(string column)
        {
            return Read(column, TextOf);
        }

        /// <summary>The whole number in a column.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>The number; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        public long? GetInt64(string column)
        {
            return Read(column, (ref ValueStruct value) => (long?)Of(ColumnType.Integer, ref value).Integer);
        }

        /// <summary>The truth value in a column.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>True or false; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        public bool? GetBoolean(string column)
        {
            return Read(column, (ref ValueStruct value) => (bool?)(Of(ColumnType.Boolean, ref value).Integer != 0));
        }

        /// <summary>The floating point number in a column.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>The number; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        public double? GetDouble(string column)
        {
            return Read(column, (ref ValueStruct value) => (double?)Of(ColumnType.Float, ref value).Number);
        }

        /// <summary>The decimal number in a column.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>The number; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        /// <exception cref="OverflowException">It has more digits than <see cref="decimal"/> keeps.</exception>
        public decimal? GetDecimal(string column)
        {
            return Read(column, (ref ValueStruct value) => (decimal?)DecimalOf(ref value));
        }

        /// <summary>The time or date in a column: times in UTC, dates at midnight and of no kind.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>The time; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        /// <exception cref="OverflowException">It is infinite, or of a year after 9999 or before 1, which
        /// PostgreSQL has; <see cref="GetString"/> gives it as it is.</exception>
        public DateTime? GetDateTime(string column)
        {
            return Read(column, (ref ValueStruct value) => (DateTime?)TimeOf(ref value));
        }

        /// <summary>The GUID in a column.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>The GUID; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        public Guid? GetGuid(string column)
        {
            return Read(column, (ref ValueStruct value) => (Guid?)Guid.Parse(TextOf(Of(ColumnType.Guid, ref value))));
        }

        /// <summary>The bytes in a column.</summary>
        /// <param name="column">The name of the column, in any case.</param>
        /// <returns>A copy of them; null for NULL.</returns>
        /// <exception cref="InvalidCastException">The column is of another type.</exception>
        public byte[] GetBytes(string column)
        {
            return Read(column, (ref ValueStruct value) => BytesOf(Of(ColumnType.Binary, ref value)));
        }

        /// <summary>
        /// The whole item as one JSON object, a member per column. JSON in a column stands there as it is stored; times
        /// are text in UTC, decimals text with all their digits, bytes base64.
        /// </summary>
        /// <returns>The text.</returns>
        public string ToJson()
        {
            using (var use = batch.Borrow())
            {
                return Utf8.Read(BatchMethods.readpast_batch_json(use.Handle, index));
            }
        }

        /// <summary>
        /// The W3C <c>traceparent</c> in which it was enqueued: what the activity around its handler has as its parent.
        /// Null where the queue's description has no <c>trace</c>, and where the item has none.
        /// </summary>
        public string TraceParent
        {
            get
            {
                using (var use = batch.Borrow())
                {
                    return Utf8.Read(BatchMethods.readpast_batch_traceparent(use.Handle, index));
                }
            }
        }

        /// <summary>The <c>tracestate</c> that belongs to it.</summary>
        public string TraceState
        {
            get
            {
                using (var use = batch.Borrow())
                {
                    return Utf8.Read(BatchMethods.readpast_batch_tracestate(use.Handle, index));
                }
            }
        }

        /// <summary>The lease of the claim, for <see cref="Queue.Renew"/>.</summary>
        /// <returns>The lease.</returns>
        public Lease ToLease()
        {
            return new Lease(Key, Attempt);
        }

        /// <summary>
        /// Records at once how far the work has come, and keeps the claim; the lease starts anew. A later attempt finds
        /// the step in the item's column.
        /// </summary>
        /// <param name="step">Where the work is.</param>
        /// <returns>
        /// The outcome; with <see cref="Status.Ok"/>, <see cref="ClaimedItem.Token"/> is the new one. The token of
        /// a worker's item stays, since the worker keeps the newest for itself.
        /// </returns>
        public Outcome RecordStep(string step)
        {
            if (batch.Engine != null)
            {
                Status answer = batch.Engine.Step(Key, Attempt, step);
                return new Outcome(
                    answer, answer == Status.Ok ? ItemState.Processing : ItemState.None, Attempt, Token);
            }
            var settlement = new Settlement(Key, Token, Attempt, SettlementAction.Step) { Step = step };
            if (batch.Queue == null)
            {
                // Items of Batch.FromJson have no queue to ask.
                return new Outcome(Status.Ok, ItemState.Processing, Attempt, Token);
            }
            Outcome outcome = batch.Queue.Settle(settlement);
            if (outcome.Answer == Status.Ok)
            {
                Token = outcome.Token;
            }
            return outcome;
        }

        /// <summary><see cref="RecordStep"/> as a task.</summary>
        /// <param name="step">Where the work is.</param>
        /// <param name="cancellation">Cancels it before it begins; after that it is brought to its end.</param>
        /// <returns>The outcome.</returns>
        public Task<Outcome> RecordStepAsync(
            string step, CancellationToken cancellation = default(CancellationToken))
        {
            Queue queue = batch.Queue ?? batch.Engine?.Queue;
            return queue == null
                ? Task.FromResult(RecordStep(step))
                : queue.RecordStepAsync(this, step, cancellation);
        }

        /// <summary>
        /// Reports how far the work is: a percentage, a line of text, or both, each in place of the one before. It is
        /// for the handlers of a worker: operators see it while they run. Returns at once; it is written a moment
        /// later, at most one in a second, and a report may be lost.
        /// </summary>
        /// <param name="percent">From 0 to 100; what is above counts as 100, what is below as none. Null: none.</param>
        /// <param name="text">A line, which is cut after 200 characters. Null: none.</param>
        /// <exception cref="QueueException">
        /// <see cref="Status.Unsupported"/>: the queue's description has no <c>progress</c>, or no worker has taken it.
        /// </exception>
        public void Progress(int? percent, string text = null)
        {
            if (batch.Engine != null)
            {
                batch.Engine.Progress(Key, Attempt, percent, text);
            }
            else if (batch.Queue != null)
            {
                // Items of Batch.FromJson have no queue, and keep no progress.
                throw new QueueException(
                    "progress is reported by the handlers of a worker", Status.Unsupported, null, 0, false, null);
            }
        }

        private static object ValueOf(ref ValueStruct value)
        {
            switch ((ColumnType)value.Type)
            {
                case ColumnType.Boolean:
                    return value.Integer != 0;
                case ColumnType.Integer:
                    return value.Integer;
                case ColumnType.Float:
                    return value.Number;
                case ColumnType.Decimal:
                    return DecimalOf(ref value);
                case ColumnType.Binary:
                    return BytesOf(value);
                case ColumnType.Timestamp:
                case ColumnType.Date:
                    return TimeOf(ref value);
                case ColumnType.Guid:
                    return Guid.Parse(TextOf(value));
                default:
                    return TextOf(value);
            }
        }

        private static ValueStruct Of(ColumnType type, ref ValueStruct value)
        {
            if ((ColumnType)value.Type == type)
            {
                return value;
            }
            throw new InvalidCastException("the column is of type " + (ColumnType)value.Type + ", not " + type);
        }

        private static string TextOf(ref ValueStruct value)
        {
            return TextOf(value);
        }

        private static unsafe string TextOf(ValueStruct value)
        {
            if (value.Text == IntPtr.Zero)
            {
                throw new InvalidCastException(
                    "the column is of type " + (ColumnType)value.Type + ", which is no text");
            }
            return Utf8.Read((byte*)value.Text, checked((int)value.Length));
        }

        private static decimal DecimalOf(ref ValueStruct value)
        {
            string text = TextOf(Of(ColumnType.Decimal, ref value));
            decimal number = decimal.Parse(text, NumberStyles.Number, CultureInfo.InvariantCulture);
            // Digits that do not fit behind the point are rounded away without a word.
            if (number.ToString(CultureInfo.InvariantCulture) != text)
            {
                throw new OverflowException(text + " has more digits than System.Decimal keeps");
            }
            return number;
        }

        private static DateTime TimeOf(ref ValueStruct value)
        {
            string text = TextOf(value);
            bool isDate = (ColumnType)value.Type == ColumnType.Date;
            if (!isDate && (ColumnType)value.Type != ColumnType.Timestamp)
            {
                throw new InvalidCastException(
                    "the column is of type " + (ColumnType)value.Type + ", which is no time");
            }
            return TimeOf(text, isDate);
        }

        private static DateTime TimeOf(string text, bool isDate)
        {
            string form = isDate ? DateForm : TimestampForm;
            DateTimeStyles styles = isDate ? DateTimeStyles.None : Utc;
            if (DateTime.TryParseExact(text, form, CultureInfo.InvariantCulture, styles, out DateTime time))
            {
                return time;
            }
            // PostgreSQL's, in a table that others fill.
            throw new OverflowException(text + " is no time that System.DateTime keeps");
        }

        private static byte[] BytesOf(ValueStruct value)
        {
            var bytes = new byte[checked((int)value.Length)];
            if (bytes.Length > 0)
            {
                System.Runtime.InteropServices.Marshal.Copy(value.Bytes, bytes, 0, bytes.Length);
            }
            return bytes;
        }

        /// <summary>Reads a value while the batch cannot be freed; the type's default for NULL.</summary>
        private unsafe T Read<T>(string column, Reader<T> reader)
        {
            int place = batch.PlaceOf(column);
            using (var use = batch.Borrow())
            {
                var value = new ValueStruct { StructSize = (UIntPtr)sizeof(ValueStruct) };
                if (place < 0)
                {
                    ReadOther(use, column, ref value);
                }
                else
                {
                    QueueException.Check(
                        BatchMethods.readpast_batch_value(use.Handle, index, place, ref value, out Handle error),
                        error);
                }
                return value.IsNull != 0 ? default(T) : reader(ref value);
            }
        }

        /// <summary>Reads the value of a column of the life cycle by another of its names.</summary>
        private void ReadOther(LibraryHandle.Use use, string column, ref ValueStruct value)
        {
            using (var texts = new Arena())
            {
                IntPtr name = texts.Text(column, nameof(column));
                Status found = QueueException.Check(
                    BatchMethods.readpast_batch_value_by_name(use.Handle, index, name, ref value, out Handle error),
                    error);
                if (found == Status.NotFound)
                {
                    throw new KeyNotFoundException("the items have no column \"" + column + "\"");
                }
            }
        }
    }
}
