using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Readpast.Native
{
    /// <summary>Unmanaged memory for the texts of one call, which end with it.</summary>
    internal sealed unsafe class Arena : IDisposable
    {
        private const int ChunkSize = 16 * 1024;

        private readonly List<IntPtr> chunks = new List<IntPtr>();
        private byte* free;
        private int left;

        /// <summary>The text with a NUL behind it; no pointer for null.</summary>
        /// <exception cref="ArgumentException">It holds a NUL, or half a surrogate pair.</exception>
        internal IntPtr Text(string text, string parameter)
        {
            if (text == null)
            {
                return IntPtr.Zero;
            }
            if (text.IndexOf('\0') >= 0)
            {
                throw new ArgumentException("text for readpast cannot hold U+0000", parameter);
            }
            try
            {
                // No character takes more than three bytes for each char.
                int room = text.Length > ChunkSize ? Utf8.Encoding.GetByteCount(text) : 3 * text.Length;
                byte* to = Take(room + 1);
                fixed (char* from = text)
                {
                    int length = text.Length == 0 ? 0 : Utf8.Encoding.GetBytes(from, text.Length, to, room);
                    to[length] = 0;
                    GiveBack(room - length);
                }
                return (IntPtr)to;
            }
            catch (EncoderFallbackException half)
            {
                throw new ArgumentException("the text holds half a surrogate pair", parameter, half);
            }
        }

        /// <summary>
        /// A part of a trace's context. What is malformed is left out, also what <see cref="Text"/> refuses.
        /// </summary>
        internal IntPtr OfTrace(string text)
        {
            try
            {
                return Text(text, nameof(text));
            }
            catch (ArgumentException)
            {
                return IntPtr.Zero;
            }
        }

        /// <summary>
        /// Any text, with its length in bytes: whether it may hold a NUL, or half a surrogate pair, is for the library
        /// to judge.
        /// </summary>
        internal IntPtr Any(string text, out UIntPtr length)
        {
            if (text == null)
            {
                length = UIntPtr.Zero;
                return IntPtr.Zero;
            }
            int room = 3 * text.Length;
            byte* to = Take(room + 1);
            int used = Utf8.WriteAny(text, to, room);
            to[used] = 0;
            GiveBack(room - used);
            length = (UIntPtr)used;
            return (IntPtr)to;
        }

        public void Dispose()
        {
            foreach (IntPtr chunk in chunks)
            {
                Marshal.FreeHGlobal(chunk);
            }
            chunks.Clear();
            left = 0;
        }

        private byte* Take(int size)
        {
            if (size > left)
            {
                int room = Math.Max(size, ChunkSize);
                IntPtr chunk = Marshal.AllocHGlobal(room);
                chunks.Add(chunk);
                free = (byte*)chunk;
                left = room;
            }
            byte* taken = free;
            free += size;
            left -= size;
            return taken;
        }

        private void GiveBack(int size)
        {
            free -= size;
            left += size;
        }
    }
}
