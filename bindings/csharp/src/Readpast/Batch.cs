using System;
using System.Collections;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// The items of one claim, in the order they were due; empty when nothing was due. Any number of threads may read
    /// it. Its items read from it until it is disposed of; it does not need its queue, which may be closed or disposed
    /// of before. Disposing of it leaves its items claimed.
    /// </summary>
    public sealed class Batch : IReadOnlyList<Item>, IDisposable
    {
        private readonly BatchHandle handle;
        private readonly Item[] items;
        private ColumnLayout layout;

        internal Batch(Queue queue, Status status, Handle native)
        {
            Queue = queue;
            Status = status;
            handle = new BatchHandle(native);
            items = new Item[BatchMethods.readpast_batch_count(native)];
        }

        /// <summary>
        /// Items that no queue handed out, for the test of a handler. Nothing is sent to a server; a step recorded with
        /// such an item is answered with <see cref="Status.Ok"/> and kept nowhere.
        /// </summary>
        /// <param name="itemsJson">
        /// An array like <c>[{"columns": {"Recipient": "a@example.org"}}]</c>; an item may have besides <c>key</c>,
        /// <c>token</c>, <c>attempt</c> (1 when left out) and <c>state</c>.
        /// </param>
        /// <param name="spec">
        /// The description of the queue whose columns and types they have; null: the values give the types.
        /// </param>
        /// <returns>The items, to be disposed of.</returns>
        /// <exception cref="QueueException">An item cannot be made; the message names it.</exception>
        public static Batch FromJson(string itemsJson, string spec = null)
        {
            Library.Check();
            using (var texts = new Arena())
            {
                IntPtr items = texts.Text(itemsJson, nameof(itemsJson)), description = texts.Text(spec, nameof(spec));
                Status status = QueueException.Check(
                    BatchMethods.readpast_batch_from_json(items, description, out Handle batch, out Handle error),
                    error);
                return new Batch(null, status, batch);
            }
        }

        /// <summary>
        /// Such an item by itself; what it holds is freed when it is forgotten.
        /// </summary>
        /// <param name="columns">Values by column, as for <see cref="NewItem"/>.</param>
        /// <param name="attempt">Which attempt it is to be.</param>
        /// <param name="spec">As for <see cref="FromJson"/>.</param>
        /// <returns>The item.</returns>
        public static Item ItemOf(
            IEnumerable<KeyValuePair<string, object>> columns, int attempt = 1, string spec = null)
        {
            var item = new Dictionary<string, object> { { "columns", columns }, { "attempt", attempt } };
            return FromJson("[" + JsonText.Of(item) + "]", spec)[0];
        }

        /// <summary>
        /// <see cref="Status.Ok"/> when there are items, else <see cref="Status.Empty"/> or
        /// <see cref="Status.Interrupted"/>.
        /// </summary>
        public Status Status { get; }

        /// <inheritdoc/>
        public int Count
        {
            get { return items.Length; }
        }

        /// <summary>The columns that all items have.</summary>
        /// <exception cref="ObjectDisposedException">The batch was disposed of.</exception>
        public IReadOnlyList<Column> Columns
        {
            get { return Layout.Columns; }
        }

        private ColumnLayout Layout
        {
            get { return layout ?? (layout = ReadLayout()); }
        }

        internal Queue Queue { get; }

        /// <summary>The worker that has taken the items, or null.</summary>
        internal Engine Engine { get; set; }

        /// <inheritdoc/>
        public Item this[int index]
        {
            get
            {
                // Two threads may make the same item: they are equal, and both are good.
                return items[index] ?? (items[index] = ReadItem(index));
            }
        }

        /// <inheritdoc/>
        public IEnumerator<Item> GetEnumerator()
        {
            for (int i = 0; i < items.Length; i++)
            {
                yield return this[i];
            }
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return GetEnumerator();
        }

        /// <summary>Frees what the batch holds. The items stay claimed, and what was read of them stays.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }

        internal LibraryHandle.Use Borrow()
        {
            return handle.Borrow();
        }

        /// <summary>The place of a column, or -1; case does not matter where only one column fits.</summary>
        internal int PlaceOf(string column)
        {
            return Layout.PlaceOf(column);
        }

        /// <summary>An item, whose texts are to be read while <paramref name="use"/> lasts.</summary>
        internal unsafe ItemStruct Read(LibraryHandle.Use use, int index)
        {
            var item = new ItemStruct { StructSize = (UIntPtr)sizeof(ItemStruct) };
            QueueException.Check(
                BatchMethods.readpast_batch_item(use.Handle, index, ref item, out Handle error), error);
            return item;
        }

        private Item ReadItem(int index)
        {
            using (var use = Borrow())
            {
                ItemStruct item = Read(use, index);
                return new Item(this, index, Utf8.Read(item.Key), Utf8.Read(item.Token), item.Attempt);
            }
        }

        private ColumnLayout ReadLayout()
        {
            using (var use = Borrow())
            {
                ColumnLayout known = Engine?.Layout;
                if (known != null && known.IsOf(use.Handle))
                {
                    return known;
                }
                ColumnLayout read = ColumnLayout.Read(use.Handle);
                if (Engine != null)
                {
                    Engine.Layout = read;
                }
                return read;
            }
        }
    }

    /// <summary>A column of the items.</summary>
    public sealed class Column
    {
        internal Column(string name, ColumnType type)
        {
            Name = name;
            Type = type;
        }

        /// <summary>Its name, as the worker view declares it.</summary>
        public string Name { get; }

        /// <summary>Its type.</summary>
        public ColumnType Type { get; }
    }
}
