#if NET
using System;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Globalization;

namespace Readpast
{
    /// <summary>The arguments of the procedure for one item. What is left out has its default.</summary>
    internal sealed class OneItemArguments : IDisposable
    {
        private readonly DbCall call;
        private readonly DbCommand command;

        /// <summary>PostgreSQL's: each names its parameter.</summary>
        private readonly List<string> named = new();

        internal OneItemArguments(DbCall call)
        {
            this.call = call;
            command = call.IsPostgres ? call.Statement(string.Empty) : call.Procedure("Add_{0}_utx");
        }

        public void Dispose()
        {
            command.Dispose();
        }

        internal DbCommand Command()
        {
            if (call.IsPostgres)
            {
                command.CommandText = "SELECT * FROM " + call.Queue.Function("add_{0}_utx") + "(" +
                    string.Join(", ", named) + ")";
            }
            return command;
        }

        /// <summary>A type or a step; null leaves it out.</summary>
        internal void PutText(string name, string? value)
        {
            if (value != null)
            {
                Add(name, name.ToLowerInvariant() + "_", "text", DbType.String, value).Size = 60;
            }
        }

        /// <summary>The due time; null leaves it out.</summary>
        internal void PutTime(string name, DateTimeOffset? due)
        {
            if (due is DateTimeOffset time)
            {
                Add(name, "scheduled_for_", "timestamptz", DbType.DateTime2, time.UtcDateTime);
            }
        }

        /// <summary>The value of a column, if it is surely one that the column keeps whole.</summary>
        internal bool Put(ColumnDescription column, object? value)
        {
            // NULL of any type is taken by any parameter but one of bytes.
            DbType? type = value != null ? column.TypeFor(value) : column.IsBinary ? DbType.Binary : DbType.String;
            // Drivers for PostgreSQL refuse half a pair, which JSON can have.
            if (type == null || (call.IsPostgres && value is string text && HasHalfPair(text)))
            {
                return false;
            }
            DbParameter parameter = Add(
                column.Name, column.Name + "_", column.PostgresType, type.Value,
                value is DateTimeOffset time ? time.UtcDateTime : value);
            if (type == DbType.String || type == DbType.Binary)
            {
                parameter.Size = -1;
            }
            return true;
        }

        private static bool HasHalfPair(string text)
        {
            for (int i = 0; i < text.Length; i++)
            {
                if (char.IsSurrogate(text[i]))
                {
                    if (i + 1 == text.Length || !char.IsSurrogatePair(text[i], text[i + 1]))
                    {
                        return true;
                    }
                    i++;
                }
            }
            return false;
        }

        private DbParameter Add(string name, string argument, string postgresType, DbType type, object? value)
        {
            if (!call.IsPostgres)
            {
                return command.Add(name, type, value);
            }
            string place = "p" + named.Count.ToString(CultureInfo.InvariantCulture);
            named.Add(QueueName.QuotedForPostgres(argument) + " => CAST(@" + place + " AS " + postgresType + ")");
            // As text: which type of the server a time becomes depends on the driver's settings.
            return value switch
            {
                DateTime time => command.Add(place, DbType.String, time.ToString("O", CultureInfo.InvariantCulture)),
                DateOnly day => command.Add(place, DbType.String, day.ToString("O", CultureInfo.InvariantCulture)),
                _ => command.Add(place, type, value),
            };
        }
    }
}
#endif
