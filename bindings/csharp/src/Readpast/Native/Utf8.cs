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

        /// <summary>
        /// The text, or as much of it as <paramref name="longest"/> says, with U+FFFD for what cannot be sent: half a
        /// character is no reason to lose the rest. Null for null.
        /// </summary>
        internal static string Sendable(string text, int longest = int.MaxValue)
        {
            if (text == null)
            {
                return null;
            }
            var told = new StringBuilder(Math.Min(text.Length, longest));
            for (int i = 0; i < text.Length && told.Length < longest; i++)
            {
                if (char.IsSurrogatePair(text, i))
                {
                    told.Append(text, i++, 2);
                }
                else
                {
                    told.Append(text[i] == '\0' || char.IsSurrogate(text[i]) ? '\uFFFD' : text[i]);
                }
            }
            return told.ToString();
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
    }
}
