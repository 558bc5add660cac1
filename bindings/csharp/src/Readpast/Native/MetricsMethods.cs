using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_metrics, and the readpast_text that it makes.</summary>
    internal static class MetricsMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_metrics(out Handle text, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_text_get(Handle text);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_text_free(Handle text);
    }
}
