#if NET
using System;
using System.Data;
using System.Globalization;
using System.Text.Json;

namespace Readpast
{
    /// <summary>A column of a queue's description, and which values are surely right for it as they are.</summary>
    internal sealed class ColumnDescription
    {
        private readonly string kind;
        private readonly int most;
        private readonly int scale;

        internal ColumnDescription(JsonElement column)
        {
            Name = column.GetProperty("name").GetString()!;
            IsNullable = !column.TryGetProperty("nullable", out JsonElement nullable) || nullable.GetBoolean();
            HasDefault = column.TryGetProperty("default", out JsonElement other) &&
                other.ValueKind != JsonValueKind.Null;
            HasOwnType = column.TryGetProperty("sql_type", out JsonElement own) && own.ValueKind != JsonValueKind.Null;
            // decimal(9, 2)
            string[] parts = column.GetProperty("type").GetString()!.Split('(', ',', ')');
            kind = parts[0];
            most = parts.Length > 1 ? int.Parse(parts[1], CultureInfo.InvariantCulture) : int.MaxValue;
            scale = parts.Length > 2 && parts[2].Length > 0 ? int.Parse(parts[2], CultureInfo.InvariantCulture) : 0;
        }

        internal string Name { get; }

        internal bool IsNullable { get; }

        internal bool HasDefault { get; }

        /// <summary>Whether a type of the user's may change what it gets.</summary>
        internal bool HasOwnType { get; }

        internal bool IsBinary
        {
            get { return kind == "binary"; }
        }

        /// <summary>The type of its parameter on PostgreSQL.</summary>
        internal string PostgresType
        {
            get
            {
                return kind switch
                {
                    "float" => "double precision",
                    "decimal" => "numeric",
                    "timestamp" => "timestamptz",
                    "guid" => "uuid",
                    "binary" => "bytea",
                    _ => kind,
                };
            }
        }

        /// <summary>
        /// The type of a parameter that keeps this value whole, or null: a procedure cuts and rounds what is too long
        /// for its parameters, and says nothing.
        /// </summary>
        internal DbType? TypeFor(object value)
        {
            return (kind, value) switch
            {
                ("text", string text) when text.Length <= most && !text.Contains('\0') => DbType.String,
                ("integer", int or short or byte) => DbType.Int32,
                ("bigint", long or int or short or byte) => DbType.Int64,
                ("boolean", bool) => DbType.Boolean,
                ("float", double number) when double.IsFinite(number) => DbType.Double,
                ("decimal", decimal number) when Keeps(number) => DbType.Decimal,
                ("timestamp", DateTimeOffset) => DbType.DateTime2,
                ("timestamp", DateTime { Kind: DateTimeKind.Utc }) => DbType.DateTime2,
                ("date", DateOnly) => DbType.Date,
                ("guid", Guid) => DbType.Guid,
                ("binary", byte[] bytes) when bytes.Length <= most => DbType.Binary,
                _ => null,
            };
        }

        private bool Keeps(decimal number)
        {
            return decimal.Round(number, Math.Min(scale, 28)) == number &&
                (most - scale >= 29 || Math.Abs(number) < (decimal)Math.Pow(10, most - scale));
        }
    }
}
#endif
