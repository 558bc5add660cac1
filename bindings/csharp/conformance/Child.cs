using System;
using System.Reflection;
using System.Runtime.InteropServices;
using Readpast;

namespace Conformance
{
    /// <summary>
    /// The status a forked child process gets when it uses its parent's queue. A managed runtime cannot run in such a
    /// child, whose other threads are gone; so the child makes one native call, compiled beforehand, and ends.
    /// </summary>
    internal static class Child
    {
        internal static Status Claim(Queue queue)
        {
            ulong id = IdOf(queue);
            ulong batch;
            // Compiled now, by calls with the null handle and with no process: the child must not compile anything.
            readpast_queue_claim(0, 1, 0, out batch, IntPtr.Zero);
            int ended;
            waitpid(-1, out ended, NoHang);
            getpid();

            int child = fork();
            if (child == 0)
            {
                _exit(-readpast_queue_claim(id, 1, 0, out batch, IntPtr.Zero));
            }
            if (child < 0 || waitpid(child, out ended, 0) != child || (ended & 0x7f) != 0)
            {
                throw new InvalidOperationException("the child did not end as it should");
            }
            return (Status)(-((ended >> 8) & 0xff));
        }

        private const int NoHang = 1;

        private static ulong IdOf(Queue queue)
        {
            const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;
            object handle = typeof(Queue).GetField("handle", Hidden).GetValue(queue);
            object native = handle.GetType().BaseType.GetField("native", Hidden).GetValue(handle);
            return (ulong)native.GetType().GetField("Id").GetValue(native);
        }

        // A struct of one 64-bit number is passed as that number is.
        [DllImport("libreadpast", CallingConvention = CallingConvention.Cdecl)]
        private static extern int readpast_queue_claim(
            ulong queue, int maxItems, long waitMs, out ulong batch, IntPtr error);

        [DllImport("libc")]
        private static extern int fork();

        [DllImport("libc")]
        private static extern int getpid();

        [DllImport("libc")]
        private static extern int waitpid(int process, out int status, int options);

        [DllImport("libc")]
        private static extern void _exit(int status);
    }
}
