using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_error.</summary>
    internal static class ErrorMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_error_status(Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_error_message(Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_error_sqlstate(Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_error_native_code(Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_error_is_retryable(Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr readpast_error_operation(Handle error);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void readpast_error_free(Handle error);
    }
}
