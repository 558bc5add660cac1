using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_batch.</summary>
    internal static class BatchMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_from_json(
            IntPtr itemsJson, IntPtr spec, out Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_count(Handle batch);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_item(Handle batch, int index, ref ItemStruct item, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_batch_json(Handle batch, int index);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_batch_traceparent(Handle batch, int index);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_batch_tracestate(Handle batch, int index);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_column_count(Handle batch);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_column(
            Handle batch, int index, ref ColumnStruct column, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_value(
            Handle batch, int index, int column, ref ValueStruct value, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_batch_value_by_name(
            Handle batch, int index, IntPtr name, ref ValueStruct value, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_batch_free(Handle batch);
    }
}
