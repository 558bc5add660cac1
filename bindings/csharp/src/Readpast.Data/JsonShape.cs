using System;

namespace Readpast
{
    /// <summary>
    /// Whether text of the caller's keeps its place within JSON of ours: it is one value, whose strings and brackets
    /// end within it. Whether it is valid beyond that, the database says.
    /// </summary>
    internal static class JsonShape
    {
        internal static bool IsObject(string text)
        {
            return text.TrimStart().StartsWith("{", StringComparison.Ordinal) && IsValue(text);
        }

        internal static bool IsValue(string text)
        {
            string value = text.Trim();
            if (value.Length == 0)
            {
                return false;
            }
            bool isNested = value[0] == '{' || value[0] == '[';
            return isNested || value[0] == '"' ? EndOf(value) == value.Length : value.IndexOfAny(Structural) < 0;
        }

        private static readonly char[] Structural = { ',', ':', '{', '}', '[', ']', '"' };

        /// <summary>The place behind the string or the brackets that the text begins with; -1 without an end.</summary>
        private static int EndOf(string text)
        {
            string open = string.Empty;
            bool isString = false;
            for (int i = 0; i < text.Length; i++)
            {
                char c = text[i];
                if (isString)
                {
                    i += c == '\\' ? 1 : 0;
                    isString = c != '"';
                }
                else if (c == '"')
                {
                    isString = true;
                }
                else if (c == '{' || c == '[')
                {
                    open += c;
                }
                else if (c == '}' || c == ']')
                {
                    if (open.Length == 0 || open[open.Length - 1] != (c == '}' ? '{' : '['))
                    {
                        return -1;
                    }
                    open = open.Substring(0, open.Length - 1);
                }
                if (!isString && open.Length == 0)
                {
                    return i + 1;
                }
            }
            return -1;
        }
    }
}
