using System;
using Readpast.Native;

namespace Readpast
{
    /// <content>Its life cycle, whatever the server or the table calls the columns.</content>
    public sealed partial class Item
    {
        /// <summary>Its type; null where a described table has none.</summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        public string Type
        {
            get { return Life(item => Utf8.Read(item.Type)); }
        }

        /// <summary>The step that was recorded last, when the item was read; null where none was.</summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        public string Step
        {
            get { return Life(item => Utf8.Read(item.Step)); }
        }

        /// <summary>The state it was in when it was read.</summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        public ItemState State
        {
            get { return Life(item => (ItemState)item.State); }
        }

        /// <summary>The time, in UTC, before which it is not claimed; null where there is none.</summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        /// <exception cref="OverflowException">It is infinite, or of a year after 9999 or before 1, which PostgreSQL
        /// has.</exception>
        public DateTime? Due
        {
            get { return Life(item => TimeOf(item.Due)); }
        }

        /// <summary>
        /// The time, in UTC, at which it was enqueued; null where a described table has no such column.
        /// </summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        /// <exception cref="OverflowException">As that of <see cref="Due"/>.</exception>
        public DateTime? Enqueued
        {
            get { return Life(item => TimeOf(item.Enqueued)); }
        }

        /// <summary>
        /// The end, in UTC, that its lease had when it was read, which renewals move on; null where nobody held it.
        /// </summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        /// <exception cref="OverflowException">As that of <see cref="Due"/>.</exception>
        public DateTime? LeaseUntil
        {
            get { return Life(item => TimeOf(item.LeaseUntil)); }
        }

        private static DateTime? TimeOf(IntPtr text)
        {
            return text == IntPtr.Zero ? (DateTime?)null : TimeOf(Utf8.Read(text), isDate: false);
        }

        /// <summary>Reads from the item while the batch cannot be freed.</summary>
        private T Life<T>(Func<ItemStruct, T> reader)
        {
            using (var use = batch.Borrow())
            {
                return reader(batch.Read(use, index));
            }
        }
    }
}
