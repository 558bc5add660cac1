using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Numerics;
using System.Text;
#if NET
using System.Text.Json;
using System.Text.Json.Nodes;
#endif

namespace Readpast
{
    /// <summary>Writes values as JSON, as readpast reads the columns of an item.</summary>
    internal sealed class JsonText
    {
        /// <summary>Deeper than any value; only a cycle is.</summary>
        private const int MostLevels = 64;

        private readonly StringBuilder to = new StringBuilder();

        /// <summary>The column that is being written, for messages.</summary>
        private string column = string.Empty;

        internal static string Of(IEnumerable<KeyValuePair<string, object?>> columns)
        {
            var text = new JsonText();
            text.WriteObject(columns, 0);
            return text.to.ToString();
        }

        internal static string OfText(string text)
        {
            var json = new JsonText();
            json.WriteText(text);
            return json.to.ToString();
        }

        /// <summary>
        /// A UTC time as readpast takes it, with all seven digits. Times of no kind are taken for UTC.
        /// </summary>
        internal static string Utc(DateTime time)
        {
            DateTime utc = time.Kind == DateTimeKind.Local ? time.ToUniversalTime() : time;
            return utc.ToString("yyyy-MM-ddTHH:mm:ss.fffffff'Z'", CultureInfo.InvariantCulture);
        }

        internal static string? Of(DateTimeOffset? time)
        {
            return time == null ? null : Utc(time.Value.UtcDateTime);
        }

        internal static DateTimeOffset? Time(string? text)
        {
            return text == null
                ? (DateTimeOffset?)null
                : DateTimeOffset.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal);
        }

        private void WriteObject(IEnumerable<KeyValuePair<string, object?>> members, int level)
        {
            string separator = "{";
            foreach (KeyValuePair<string, object?> member in members)
            {
                to.Append(separator);
                separator = ",";
                WriteMember(member.Key, member.Value, level);
            }
            to.Append(separator == "{" ? "{}" : "}");
        }

        private void WriteMember(string name, object? value, int level)
        {
            if (level == 0)
            {
                column = name;
            }
            WriteText(name);
            to.Append(':');
            WriteValue(value, level + 1);
        }

        private void WriteValue(object? value, int level)
        {
            if (level > MostLevels)
            {
                throw Refused("the value is nested too deeply");
            }
            if (value is Enum)
            {
                // As System.Text.Json writes it: the number, whatever it is called.
                value = Convert.ChangeType(
                    value, Enum.GetUnderlyingType(value.GetType()), CultureInfo.InvariantCulture);
            }
            switch (value == null ? TypeCode.Empty : Type.GetTypeCode(value.GetType()))
            {
                case TypeCode.Empty:
                case TypeCode.DBNull:
                    to.Append("null");
                    break;
                case TypeCode.Boolean:
                    to.Append((bool)value! ? "true" : "false");
                    break;
                case TypeCode.String:
                case TypeCode.Char:
                    WriteText(value!.ToString()!);
                    break;
                case TypeCode.Single:
                    WriteNumber((float)value!, ((float)value).ToString("R", CultureInfo.InvariantCulture));
                    break;
                case TypeCode.Double:
                    WriteNumber((double)value!, ((double)value).ToString("R", CultureInfo.InvariantCulture));
                    break;
                case TypeCode.DateTime:
                    WriteTime((DateTime)value!, level);
                    break;
                case TypeCode.Object:
                    WriteOther(value!, level);
                    break;
                default:
                    // Whole numbers of any width, and decimals.
                    to.Append(((IConvertible)value!).ToString(CultureInfo.InvariantCulture));
                    break;
            }
        }

        /// <summary>
        /// A column of dates gives midnight of no kind, which it takes again; to a column of times it is the same.
        /// </summary>
        private void WriteTime(DateTime time, int level)
        {
            bool isDate = level == 1 && time.Kind == DateTimeKind.Unspecified && time.TimeOfDay == TimeSpan.Zero;
            WriteText(isDate ? time.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture) : Utc(time));
        }

        private void WriteOther(object value, int level)
        {
            switch (value)
            {
                case Guid _:
                case Uri _:
                case Version _:
                    WriteText(value.ToString()!);
                    break;
                case TimeSpan span:
                    WriteText(span.ToString("c", CultureInfo.InvariantCulture));
                    break;
                case DateTimeOffset time:
                    WriteText(Utc(time.UtcDateTime));
                    break;
                case BigInteger number:
                    to.Append(number.ToString(CultureInfo.InvariantCulture));
                    break;
                case RawJson raw:
                    to.Append(raw);
                    break;
                case IEnumerable<byte> bytes:
                    WriteBytes(new List<byte>(bytes).ToArray());
                    break;
                default:
                    if (!WriteNewer(value))
                    {
                        WriteMany(value, level);
                    }
                    break;
            }
        }

        /// <summary>Types that .NET Standard 2.0 does not have.</summary>
        private bool WriteNewer(object value)
        {
#if NET
            switch (value)
            {
                case ReadOnlyMemory<byte> bytes:
                    WriteBytes(bytes.ToArray());
                    return true;
                case Memory<byte> bytes:
                    WriteBytes(bytes.ToArray());
                    return true;
                case DateOnly day:
                    WriteText(day.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture));
                    return true;
                case TimeOnly time:
                    WriteText(time.ToString("HH:mm:ss.FFFFFFF", CultureInfo.InvariantCulture));
                    return true;
                case Half number:
                    WriteNumber((double)number, number.ToString("R", CultureInfo.InvariantCulture));
                    return true;
                case Int128 or UInt128:
                    to.Append(((IFormattable)value).ToString(null, CultureInfo.InvariantCulture));
                    return true;
                case JsonElement element:
                    to.Append(element.GetRawText());
                    return true;
                case JsonDocument document:
                    to.Append(document.RootElement.GetRawText());
                    return true;
                case JsonNode node:
                    to.Append(node.ToJsonString());
                    return true;
            }
#endif
            return false;
        }

        private void WriteMany(object value, int level)
        {
            if (value is IEnumerable<KeyValuePair<string, object?>> members)
            {
                WriteObject(members, level);
            }
            else if (value is IDictionary dictionary)
            {
                WriteDictionary(dictionary, level);
            }
            else if (value is IEnumerable sequence)
            {
                WriteArray(sequence, level);
            }
            else
            {
                throw Refused(
                    "values of type " + value.GetType() + " cannot be put into it; give a dictionary, or its JSON as " +
                    nameof(RawJson));
            }
        }

        private void WriteDictionary(IDictionary dictionary, int level)
        {
            string separator = "{";
            foreach (DictionaryEntry entry in dictionary)
            {
                string name = entry.Key as string ??
                    throw Refused("a dictionary with keys of type " + entry.Key.GetType() + " is no JSON object");
                to.Append(separator);
                separator = ",";
                WriteMember(name, entry.Value, level);
            }
            to.Append(separator == "{" ? "{}" : "}");
        }

        private void WriteArray(IEnumerable sequence, int level)
        {
            string separator = "[";
            foreach (object? each in sequence)
            {
                to.Append(separator);
                WriteValue(each, level + 1);
                separator = ",";
            }
            to.Append(separator == "[" ? "[]" : "]");
        }

        private void WriteBytes(byte[] bytes)
        {
            WriteText(Convert.ToBase64String(bytes));
        }

        private void WriteNumber(double number, string text)
        {
            if (double.IsNaN(number) || double.IsInfinity(number))
            {
                throw Refused("JSON has no number for " + text);
            }
            to.Append(text);
        }

        private ArgumentException Refused(string why)
        {
            return new ArgumentException("column \"" + column + "\": " + why);
        }

        private void WriteText(string text)
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
