using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_worker.</summary>
    internal static unsafe class WorkerMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_start(
            Handle queue, WorkerOptionsStruct* options, out Handle worker, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_take(
            Handle worker, int maxItems, long waitMs, out Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_begin(
            Handle worker, IntPtr key, int attempt, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_give_back(Handle worker, Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_end(
            Handle worker, SettlementStruct* settlements, int count, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_step(
            Handle worker, IntPtr key, int attempt, IntPtr step, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_progress(
            Handle worker, IntPtr key, int attempt, int percent, IntPtr text, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_is_lost(Handle worker, IntPtr key, int attempt);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_changes(
            Handle worker, long seen, long waitMs, out long news, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_renew(Handle worker, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_stop(Handle worker, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_abandon(Handle worker, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_is_stopping(Handle worker);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_close(Handle worker, long waitMs, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_get_figures(
            Handle worker, ref WorkerFiguresStruct figures, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_worker_events(
            Handle worker, int maxEvents, long waitMs, out Handle events, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_worker_free(Handle worker);
    }
}
