using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>The queues of a schema, and the end of one.</summary>
    internal static class QueuesMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_list(Handle config, out Handle queues, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_drop(Handle config, IntPtr queue, out Handle error);
    }
}
