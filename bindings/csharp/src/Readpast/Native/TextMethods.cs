using System;
using System.Runtime.InteropServices;

namespace Readpast.Native
{
    /// <summary>readpast_text, and the process's figures.</summary>
    internal static class TextMethods
    {
        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int readpast_metrics(out Handle text, out Handle error);

        /// <summary>A copy of a text that a call made; it is freed.</summary>
        internal static string Take(Handle text)
        {
            try
            {
                return Utf8.Read(readpast_text_get(text));
            }
            finally
            {
                readpast_text_free(text);
            }
        }

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        private static extern IntPtr readpast_text_get(Handle text);

        [DllImport(Library.Name, CallingConvention = CallingConvention.Cdecl)]
        private static extern void readpast_text_free(Handle text);
    }
}
