using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>The kind of a worker's event.</summary>
    internal enum EventKind
    {
        /// <summary>An item was settled: handled, or given back.</summary>
        Settled = 1,

        /// <summary>An item was found not to be the worker's any more.</summary>
        Lost = 2,

        /// <summary>A part of what was given with an item was refused.</summary>
        Refused = 3,

        /// <summary>A call failed, and is made again.</summary>
        Trouble = 4,

        /// <summary>An item is left aside for a while: its table refused to have it claimed or given back.</summary>
        SetAside = 5,

        /// <summary>An item was given back although its handler had not ended.</summary>
        Abandoned = 6,
    }

    /// <summary>readpast_events.</summary>
    internal static class EventsMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_events_count(Handle events);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_events_get(
            Handle events, int index, ref EventStruct told, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_events_free(Handle events);
    }
}
