using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Readpast
{
    /// <summary>Writes values as JSON, as the library reads the columns of a new item.</summary>
    internal static class JsonText
    {
        /// <summary>Deeper than any value; only a cycle is.</summary>
        private const int MostLevels = 64;

        internal static string Of(IEnumerable<KeyValuePair<string, object>> members)
        {
            var to = new StringBuilder();
            WriteObject(to, members, 0);
            return to.ToString();
        }

        /// <summary>
        /// A UTC time as the library takes it, with all seven digits. Times of no kind are taken for UTC.
        /// </summary>
        internal static string Utc(DateTime time)
        {
            DateTime utc = time.Kind == DateTimeKind.Local ? time.ToUniversalTime() : time;
            return utc.ToString("yyyy-MM-ddTHH:mm:ss.fffffff'Z'", CultureInfo.InvariantCulture);
        }

        private static void WriteObject(
            StringBuilder to, IEnumerable<KeyValuePair<string, object>> members, int level)
        {
            string separator = "{";
            foreach (KeyValuePair<string, object> member in members)
            {
                to.Append(separator);
                WriteText(to, member.Key);
                to.Append(':');
                WriteValue(to, member.Value, level + 1);
                separator = ",";
            }
            to.Append(separator == "{" ? "{}" : "}");
        }

        private static void WriteValue(StringBuilder to, object value, int level)
        {
            if (level > MostLevels)
            {
                throw new ArgumentException("the value is nested too deeply");
            }
            switch (value == null ? TypeCode.Empty : Type.GetTypeCode(value.GetType()))
            {
                case TypeCode.Empty:
                case TypeCode.DBNull:
                    to.Append("null");
                    break;
                case TypeCode.Boolean:
                    to.Append((bool)value ? "true" : "false");
                    break;
                case TypeCode.String:
                case TypeCode.Char:
                    WriteText(to, value.ToString());
                    break;
                case TypeCode.Single:
                    WriteNumber(to, (float)value, ((float)value).ToString("R", CultureInfo.InvariantCulture));
                    break;
                case TypeCode.Double:
                    WriteNumber(to, (double)value, ((double)value).ToString("R", CultureInfo.InvariantCulture));
                    break;
                case TypeCode.DateTime:
                    WriteText(to, Utc((DateTime)value));
                    break;
                case TypeCode.Object:
                    WriteOther(to, value, level);
                    break;
                default:
                    // Whole numbers of any width, and decimals.
                    to.Append(((IConvertible)value).ToString(CultureInfo.InvariantCulture));
                    break;
            }
        }

        private static void WriteOther(StringBuilder to, object value, int level)
        {
            if (value is Guid)
            {
                WriteText(to, value.ToString());
            }
            else if (value is DateTimeOffset)
            {
                WriteText(to, Utc(((DateTimeOffset)value).UtcDateTime));
            }
            else if (value is byte[])
            {
                WriteText(to, Convert.ToBase64String((byte[])value));
            }
            else if (value is IEnumerable<KeyValuePair<string, object>>)
            {
                WriteObject(to, (IEnumerable<KeyValuePair<string, object>>)value, level);
            }
            else if (value is IEnumerable)
            {
                WriteArray(to, (IEnumerable)value, level);
            }
            else
            {
                throw new ArgumentException("values of type " + value.GetType() + " cannot be put into a column");
            }
        }

        private static void WriteArray(StringBuilder to, IEnumerable sequence, int level)
        {
            string separator = "[";
            foreach (object each in sequence)
            {
                to.Append(separator);
                WriteValue(to, each, level + 1);
                separator = ",";
            }
            to.Append(separator == "[" ? "[]" : "]");
        }

        private static void WriteNumber(StringBuilder to, double number, string text)
        {
            if (double.IsNaN(number) || double.IsInfinity(number))
            {
                throw new ArgumentException("JSON has no number for " + text);
            }
            to.Append(text);
        }

        private static void WriteText(StringBuilder to, string text)
        {
            to.Append('"');
            foreach (char c in text)
            {
                switch (c)
                {
                    case '"':
                        to.Append("\\\"");
                        break;
                    case '\\':
                        to.Append("\\\\");
                        break;
                    default:
                        if (c < ' ')
                        {
                            to.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                        }
                        else
                        {
                            to.Append(c);
                        }
                        break;
                }
            }
            to.Append('"');
        }
    }
}
