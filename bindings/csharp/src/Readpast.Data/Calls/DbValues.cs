using System;
using System.Data;
using System.Data.Common;
using System.Globalization;

namespace Readpast
{
    /// <summary>Parameters and columns of the drivers, in the form that the procedures and the callers have.</summary>
    internal static class DbValues
    {
        internal static void AddText(this DbCommand command, string name, string? value, int size = -1)
        {
            command.Add(name, DbType.String, value).Size = size;
        }

        internal static DbParameter Add(this DbCommand command, string name, DbType type, object? value)
        {
            DbParameter parameter = command.CreateParameter();
            parameter.ParameterName = name;
            parameter.DbType = type;
            parameter.Value = value ?? DBNull.Value;
            command.Parameters.Add(parameter);
            return parameter;
        }

        /// <summary>A key or a token, which is text or a time: as the library has it. Empty for NULL.</summary>
        internal static string Text(this DbDataReader row, int column)
        {
            if (row.IsDBNull(column))
            {
                return string.Empty;
            }
            object value = row.GetValue(column);
            return value is DateTime time
                ? Utc(time).ToString("yyyy-MM-ddTHH:mm:ss.fffffff", CultureInfo.InvariantCulture)
                : Convert.ToString(value, CultureInfo.InvariantCulture) ?? string.Empty;
        }

        /// <summary>A column of an item: null for NULL, and a time in UTC.</summary>
        internal static object? Value(this DbDataReader row, int column)
        {
            if (row.IsDBNull(column))
            {
                return null;
            }
            object value = row.GetValue(column);
            bool isTime = value is DateTime && row.GetDataTypeName(column) != "date";
            return isTime ? Utc((DateTime)value) : value;
        }

        /// <summary>Npgsql gives local times where <c>Npgsql.EnableLegacyTimestampBehavior</c> is set.</summary>
        private static DateTime Utc(DateTime time)
        {
            return time.Kind == DateTimeKind.Local
                ? time.ToUniversalTime()
                : DateTime.SpecifyKind(time, DateTimeKind.Utc);
        }
    }
}
