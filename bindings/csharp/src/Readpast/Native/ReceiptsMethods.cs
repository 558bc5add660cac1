using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_receipts.</summary>
    internal static class ReceiptsMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_receipts_count(Handle receipts);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_receipts_get(
            Handle receipts, int index, ref ReceiptStruct receipt, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_receipts_free(Handle receipts);
    }
}
