using System;
using System.Data.Common;
using System.Globalization;

namespace Readpast
{
    /// <summary>
    /// Errors that are readpast's matter, as the library throws them. Deadlocks, time-outs and lost connections are
    /// not: a caller's policy of retries knows its driver's exceptions.
    /// </summary>
    internal static class DbErrors
    {
        internal static bool IsRefusal(DbException exception, bool isPostgres)
        {
            return StatusOf(exception, isPostgres) != null;
        }

        internal static QueueException Of(DbException exception, QueueName queue, bool isPostgres)
        {
            Status status = StatusOf(exception, isPostgres) ?? Status.Database;
            string message = status == Status.UnknownQueue
                ? "the queue " + queue.Name + " is not in the schema " + queue.Schema + " of this database: " +
                    exception.Message
                : exception.Message;
            return new QueueException(
                message, status, SqlStateOf(exception), NumberOf(exception), status == Status.Deadlock, null,
                exception);
        }

        /// <summary>A SQLSTATE of PostgreSQL's as the library classifies it; null: it is the driver's matter.</summary>
        internal static Status? OfPostgres(string? state)
        {
            switch (state)
            {
                case "RP021":
                case "23502":
                case "23503":
                case "23505":
                case "23514":
                case "23P01":
                    return Status.InvalidItem;
                // The call's own function is missing: the library asks the catalog before.
                case "42883":
                case "3F000":
                    return Status.UnknownQueue;
                case "RP014":
                case "42P01":
                case "42703":
                case "42P02":
                case "42704":
                case "42830":
                case "42804":
                    return Status.SchemaMismatch;
                case "RP015":
                case "42501":
                    return Status.PermissionDenied;
                default:
                    return state != null && state.StartsWith("22", StringComparison.Ordinal)
                        ? Status.InvalidItem
                        : (Status?)null;
            }
        }

        /// <summary>A number of SQL Server's, likewise.</summary>
        internal static Status? OfSqlServer(int number)
        {
            switch (number)
            {
                case 50021:
                case 220:
                case 232:
                case 241:
                case 242:
                case 245:
                case 515:
                case 547:
                case 2601:
                case 2627:
                case 2628:
                case 8114:
                case 8115:
                case 8152:
                case 8169:
                case 13608:
                case 13609:
                    return Status.InvalidItem;
                case 50012:
                    return Status.InvalidArgument;
                // readpast's own, which no policy of retries knows.
                case 50005:
                    return Status.Deadlock;
                case 2812:
                    return Status.UnknownQueue;
                case 50014:
                case 201:
                case 207:
                case 208:
                case 1753:
                case 1757:
                case 1767:
                case 1769:
                case 1770:
                case 1776:
                case 1778:
                case 2715:
                case 8144:
                case 8145:
                    return Status.SchemaMismatch;
                case 50015:
                case 229:
                case 230:
                case 262:
                case 297:
                case 300:
                case 916:
                case 2760:
                case 15247:
                    return Status.PermissionDenied;
                default:
                    return null;
            }
        }

        private static Status? StatusOf(DbException exception, bool isPostgres)
        {
            return isPostgres ? OfPostgres(SqlStateOf(exception)) : OfSqlServer(NumberOf(exception));
        }

        private static string? SqlStateOf(DbException exception)
        {
#if NET
            return exception.SqlState;
#else
            return exception.Data["SqlState"] as string;
#endif
        }

        /// <summary>SQL Server's number, where SqlClient keeps it for those who do not know its types.</summary>
        private static int NumberOf(DbException exception)
        {
            return int.TryParse(
                exception.Data["HelpLink.EvtID"] as string, NumberStyles.Integer, CultureInfo.InvariantCulture,
                out int number) ? number : 0;
        }
    }
}
