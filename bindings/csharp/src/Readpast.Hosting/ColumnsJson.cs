using System;
using System.Globalization;
using System.Text.Json;
using System.Text.Json.Serialization;
using System.Text.Json.Serialization.Metadata;

namespace Readpast.Hosting;

/// <summary>
/// Reads work whose properties are columns. Columns have the names of their table, which may differ in case; decimals
/// are text with all their digits, and times are UTC without a mark of it.
/// </summary>
internal static class ColumnsJson
{
    internal static JsonTypeInfo<T> Of<T>(JsonTypeInfo<T> json)
    {
        if (json.Options.TypeInfoResolver == null)
        {
            return json;
        }
        var options = new JsonSerializerOptions(json.Options) { PropertyNameCaseInsensitive = true };
        options.NumberHandling |= JsonNumberHandling.AllowReadingFromString;
        options.Converters.Add(new UtcTime());
        options.Converters.Add(new UtcOffsetTime());
        return (JsonTypeInfo<T>)options.GetTypeInfo(typeof(T));
    }

    private sealed class UtcTime : JsonConverter<DateTime>
    {
        private const int DateLength = 10;

        public override DateTime Read(ref Utf8JsonReader reader, Type type, JsonSerializerOptions options)
        {
            DateTime time = reader.GetDateTime();
            bool isKnown = time.Kind != DateTimeKind.Unspecified || reader.GetString()!.Length == DateLength;
            return isKnown ? time : DateTime.SpecifyKind(time, DateTimeKind.Utc);
        }

        public override void Write(Utf8JsonWriter writer, DateTime value, JsonSerializerOptions options)
        {
            writer.WriteStringValue(value);
        }
    }

    private sealed class UtcOffsetTime : JsonConverter<DateTimeOffset>
    {
        public override DateTimeOffset Read(ref Utf8JsonReader reader, Type type, JsonSerializerOptions options)
        {
            // It refuses what is no time in the form of ISO 8601, and takes one without an offset for local.
            reader.GetDateTimeOffset();
            return DateTimeOffset.Parse(
                reader.GetString()!, CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal);
        }

        public override void Write(Utf8JsonWriter writer, DateTimeOffset value, JsonSerializerOptions options)
        {
            writer.WriteStringValue(value);
        }
    }
}
