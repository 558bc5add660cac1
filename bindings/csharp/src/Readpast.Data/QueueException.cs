using System;
using System.Data.Common;

namespace Readpast
{
    /// <summary>
    /// Why a call failed. Expected outcomes are values; this is for what is wrong. As a <see cref="DbException"/> it
    /// says to policies of retries whether it passes.
    /// </summary>
    public class QueueException : DbException
    {
        /// <summary>A failure as the library reports it; for tests of code that handles one.</summary>
        /// <param name="message">One line for a person.</param>
        /// <param name="status">A status below 0.</param>
        /// <param name="sqlState">The SQLSTATE, or null.</param>
        /// <param name="nativeCode">The server's own number, or 0.</param>
        /// <param name="isTransient">Whether another try may succeed.</param>
        /// <param name="operation">The identity of a call whose outcome is unknown, or null.</param>
        /// <param name="inner">The error of the driver, or null.</param>
        public QueueException(
            string message, Status status, string? sqlState, int nativeCode, bool isTransient, string? operation,
            Exception? inner = null)
            : base(message, inner)
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
#if NET
        public override string? SqlState { get; }
#else
        public string? SqlState { get; }
#endif

        /// <summary>The server's own number of the error, on SQL Server; 0 when there is none.</summary>
        public int NativeCode { get; }

        /// <summary>
        /// Whether the same call may succeed when it is made again a little later. The library has retried already, for
        /// as long as the setting <c>retry.budget_ms</c> says.
        /// </summary>
#if NET
        public override bool IsTransient { get; }
#else
        public bool IsTransient { get; }
#endif

        /// <summary>
        /// With <see cref="Status.OutcomeUnknown"/>, the identity of the call; else null. Make the same call with it as
        /// its operation to learn what became of the first: it is not applied twice.
        /// </summary>
        public string? Operation { get; }
    }
}
