using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_queues, and the end of a queue.</summary>
    internal static class QueuesMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_list(Handle config, out Handle queues, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queues_count(Handle queues);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queues_get(
            Handle queues, int index, ref InstalledStruct installed, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_queues_free(Handle queues);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_drop(Handle config, IntPtr queue, out Handle error);
    }
}
