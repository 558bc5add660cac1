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

        /// <summary>Any text; half a surrogate pair is written as if it were a character.</summary>
        /// <returns>How many bytes there are.</returns>
        internal static int WriteAny(string text, byte* to, int room)
        {
            byte* end = to;
            fixed (char* from = text)
            {
                for (int i = 0; i < text.Length;)
                {
                    int whole = i;
                    while (i < text.Length && !IsHalf(text, i))
                    {
                        i += char.IsSurrogate(text[i]) ? 2 : 1;
                    }
                    end += i == whole ? 0 : Encoding.GetBytes(from + whole, i - whole, end, room - (int)(end - to));
                    for (; i < text.Length && IsHalf(text, i); i++)
                    {
                        *end++ = 0xED;
                        *end++ = (byte)(0x80 | ((text[i] >> 6) & 0x3F));
                        *end++ = (byte)(0x80 | (text[i] & 0x3F));
                    }
                }
            }
            return (int)(end - to);
        }

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

        private static bool IsHalf(string text, int i)
        {
            return char.IsSurrogate(text[i]) && !char.IsSurrogatePair(text, i);
        }
    }
}
