using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_renewal.</summary>
    internal static class RenewalMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_renewal_start(
            Handle queue, Handle batch, long intervalMs, out Handle renewal, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_renewal_release(Handle renewal, IntPtr key, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_renewal_lost_count(Handle renewal);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_renewal_lost_key(Handle renewal, int index);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_renewal_free(Handle renewal);
    }
}
