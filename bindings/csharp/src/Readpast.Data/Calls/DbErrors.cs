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
                message, status, SqlStateOf(exception), NumberOf(exception), false, null, exception);
        }

        private static Status? StatusOf(DbException exception, bool isPostgres)
        {
            return isPostgres ? OfPostgres(SqlStateOf(exception)) : OfSqlServer(NumberOf(exception));
        }

        private static Status? OfPostgres(string? state)
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
                case "42883":
                case "3F000":
                    return Status.UnknownQueue;
                case "42501":
                    return Status.PermissionDenied;
                default:
                    return null;
            }
        }

        private static Status? OfSqlServer(int number)
        {
            switch (number)
            {
                case 50021:
                case 515:
                case 547:
                case 2601:
                case 2627:
                case 2628:
                case 8115:
                case 8152:
                case 13608:
                case 13609:
                    return Status.InvalidItem;
                case 50012:
                    return Status.InvalidArgument;
                case 2812:
                    return Status.UnknownQueue;
                case 201:
                case 8144:
                case 8145:
                    return Status.SchemaMismatch;
                case 229:
                    return Status.PermissionDenied;
                default:
                    return null;
            }
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
