using System;
using Readpast.Native;

namespace Readpast
{
    /// <summary>Why a call failed. Expected outcomes are values; this is for what is wrong.</summary>
    public class QueueException : Exception
    {
        /// <summary>A failure as the library reports it; for tests of code that handles one.</summary>
        /// <param name="message">One line for a person.</param>
        /// <param name="status">A status below 0.</param>
        /// <param name="sqlState">The SQLSTATE, or null.</param>
        /// <param name="nativeCode">The server's own number, or 0.</param>
        /// <param name="isTransient">Whether another try may succeed.</param>
        /// <param name="operation">The identity of a call whose outcome is unknown, or null.</param>
        public QueueException(
            string message, Status status, string sqlState, int nativeCode, bool isTransient, string operation)
            : base(message)
        {
            Status = status;
            SqlState = sqlState;
            NativeCode = nativeCode;
            IsTransient = isTransient;
            Operation = operation;
        }

        /// <summary>The call's status, below 0.</summary>
        public Status Status { get; }

        /// <summary>The five characters of the SQLSTATE; null when neither driver nor server gave one.</summary>
        public string SqlState { get; }

        /// <summary>The server's own number of the error, on SQL Server; 0 when there is none.</summary>
        public int NativeCode { get; }

        /// <summary>
        /// Whether the same call may succeed when it is made again a little later. The library has retried already, for
        /// as long as the setting <c>retry.budget_ms</c> says.
        /// </summary>
        public bool IsTransient { get; }

        /// <summary>
        /// With <see cref="Status.OutcomeUnknown"/>, the identity of the call; else null. Make the same call with it as
        /// its operation to learn what became of the first: it is not applied twice.
        /// </summary>
        public string Operation { get; }

        /// <summary>Throws if a call failed; takes the error over.</summary>
        internal static Status Check(int status, Handle error)
        {
            if (status >= 0)
            {
                return (Status)status;
            }
            try
            {
                string message = Utf8.Read(ErrorMethods.readpast_error_message(error));
                throw new QueueException(
                    message ?? Library.NameOf(status),
                    (Status)status,
                    Utf8.Read(ErrorMethods.readpast_error_sqlstate(error)),
                    ErrorMethods.readpast_error_native_code(error),
                    ErrorMethods.readpast_error_is_retryable(error) != 0,
                    Utf8.Read(ErrorMethods.readpast_error_operation(error)));
            }
            finally
            {
                ErrorMethods.readpast_error_free(error);
            }
        }
    }
}
