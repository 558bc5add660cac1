using System.Data.Common;

namespace Readpast
{
    /// <summary>The answer's columns of a row, which are the first seven; an item's columns follow.</summary>
    internal static class AnswerColumns
    {
        internal const int Answer = 0;
        internal const int DueMs = 2;
        internal const int Key = 3;
        internal const int Token = 4;
        internal const int Attempt = 5;
        internal const int State = 6;
        internal const int Count = 7;

        internal static Status Status(DbDataReader row)
        {
            string answer = row.GetString(Answer);
            switch (answer)
            {
                case "OK":
                    return Readpast.Status.Ok;
                case "DUPLICATE":
                    return Readpast.Status.Duplicate;
                case "LEASE_LOST":
                    return Readpast.Status.LeaseLost;
                case "CONFLICT":
                    return Readpast.Status.Conflict;
                case "ILLEGAL_TRANSITION":
                    return Readpast.Status.IllegalTransition;
                case "NOT_FOUND":
                    return Readpast.Status.NotFound;
                default:
                    throw new QueueException(
                        "the server's answer is \"" + answer + "\"", Readpast.Status.Protocol, null, 0, false, null);
            }
        }
    }
}
