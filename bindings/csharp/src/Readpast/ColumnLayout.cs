using System;
using System.Collections.Generic;
using System.Text;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// The columns of a batch, and where each is. The batches of a worker have the same ones, so they share it.
    /// </summary>
    internal sealed class ColumnLayout
    {
        private const int Ambiguous = -1;

        private readonly Column[] columns;
        private readonly byte[][] names;
        private readonly Dictionary<string, int> places =
            new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);

        private ColumnLayout(Column[] columns)
        {
            this.columns = columns;
            names = new byte[columns.Length][];
            for (int i = 0; i < columns.Length; i++)
            {
                string name = columns[i].Name;
                names[i] = Encoding.UTF8.GetBytes(name + "\0");
                places[name] = places.ContainsKey(name) ? Ambiguous : i;
            }
        }

        internal IReadOnlyList<Column> Columns
        {
            get { return columns; }
        }

        internal static ColumnLayout Read(Handle batch)
        {
            var all = new Column[BatchMethods.readpast_batch_column_count(batch)];
            for (int i = 0; i < all.Length; i++)
            {
                ColumnStruct column = At(batch, i);
                all[i] = new Column(Utf8.Read(column.Name), (ColumnType)column.Type);
            }
            return new ColumnLayout(all);
        }

        /// <summary>Whether it is that of another batch as well: tables change. Nothing is made.</summary>
        internal unsafe bool IsOf(Handle batch)
        {
            if (BatchMethods.readpast_batch_column_count(batch) != columns.Length)
            {
                return false;
            }
            for (int i = 0; i < columns.Length; i++)
            {
                ColumnStruct column = At(batch, i);
                if ((ColumnType)column.Type != columns[i].Type || !IsName((byte*)column.Name, names[i]))
                {
                    return false;
                }
            }
            return true;
        }

        /// <summary>The place of a column, or -1; case does not matter where only one column fits.</summary>
        internal int PlaceOf(string column)
        {
            if (!places.TryGetValue(column ?? throw new ArgumentNullException(nameof(column)), out int place))
            {
                return -1;
            }
            return place != Ambiguous ? place : ExactPlaceOf(column);
        }

        private int ExactPlaceOf(string column)
        {
            return Array.FindIndex(columns, each => string.Equals(each.Name, column, StringComparison.Ordinal));
        }

        private static unsafe bool IsName(byte* given, byte[] name)
        {
            for (int i = 0; i < name.Length; i++)
            {
                if (given[i] != name[i])
                {
                    return false;
                }
            }
            return true;
        }

        private static unsafe ColumnStruct At(Handle batch, int index)
        {
            var column = new ColumnStruct { StructSize = (UIntPtr)sizeof(ColumnStruct) };
            QueueException.Check(
                BatchMethods.readpast_batch_column(batch, index, ref column, out Handle error), error);
            return column;
        }
    }
}
