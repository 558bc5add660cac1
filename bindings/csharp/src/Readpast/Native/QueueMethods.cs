using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_queue.</summary>
    internal static unsafe class QueueMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_open(
            Handle config, IntPtr name, out Handle queue, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_share(Handle queue, out Handle shared, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_at(
            Handle queue, IntPtr place, out Handle at, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_queue_worker(Handle queue);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_queue_name(Handle queue);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_is_traced(Handle queue);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern long readpast_queue_lease_ms(Handle queue);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern long readpast_queue_given_up(Handle queue);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_enqueue(
            Handle queue, NewItemStruct* items, int count, IntPtr operation, out Handle receipts,
            out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_claim(
            Handle queue, int maxItems, long waitMs, out Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_wait_for(
            Handle queue, IntPtr key, long waitMs, out Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_settle(
            Handle queue, SettlementStruct* settlements, int count, IntPtr operation, OutcomeStruct* outcomes,
            out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_settle_and_claim(
            Handle queue, SettlementStruct* settlements, int count, IntPtr operation, int maxItems,
            OutcomeStruct* outcomes, out Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_renew(
            Handle queue, LeaseStruct* leases, int count, OutcomeStruct* outcomes, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_find(
            Handle queue, IntPtr filterJson, IntPtr afterKey, int maxItems, out Handle batch, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_ask(
            Handle queue, IntPtr what, IntPtr argumentsJson, out Handle answer, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_interrupt(Handle queue, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_resume(Handle queue, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_wake(Handle queue, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_attach(
            Handle queue, IntPtr connection, out Handle attached, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_is_done(Handle queue, IntPtr operation, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_queue_close(Handle queue, long timeoutMs, out Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_queue_free(Handle queue);
    }
}
