using System;
using System.Text;

namespace Readpast.Native
{
    /// <summary>
    /// Text as the library has it. Marshalling by itself would take the system's code page on some runtimes.
    /// </summary>
    internal static unsafe class Utf8
    {
        /// <summary>Refuses half a surrogate pair instead of sending something else.</summary>
        internal static readonly UTF8Encoding Encoding = new UTF8Encoding(false, true);

        /// <summary>Text that ends in NUL, or null.</summary>
        internal static string Read(IntPtr text)
        {
            return text == IntPtr.Zero ? null : Read((byte*)text);
        }

        /// <summary>Text that ends in NUL.</summary>
        internal static string Read(byte* text)
        {
            byte* end = text;
            while (*end != 0)
            {
                end++;
            }
            return Read(text, (int)(end - text));
        }

        internal static string Read(byte* text, int length)
        {
            return length == 0 ? string.Empty : Encoding.GetString(text, length);
        }
    }
}
