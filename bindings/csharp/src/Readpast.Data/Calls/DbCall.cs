using System;
using System.Collections.Generic;
using System.Data;
using System.Data.Common;
using System.Threading;
using System.Threading.Tasks;

namespace Readpast
{
    /// <summary>A call of a queue's procedures on a connection of the caller's, awaited or blocking.</summary>
    internal sealed class DbCall
    {
        private readonly DbConnection connection;
        private readonly DbTransaction? transaction;
        private readonly bool isAsync;
        private readonly CancellationToken cancellation;

        internal DbCall(
            DbConnection connection, QueueName queue, DbTransaction transaction, bool isAsync,
            CancellationToken cancellation)
            : this(connection, queue, isAsync, cancellation)
        {
            this.transaction = transaction ?? throw new ArgumentNullException(nameof(transaction));
            DbConnection? its = ConnectionOf(transaction);
            if (its == null)
            {
                throw new ArgumentException("the transaction has ended; begin another", nameof(transaction));
            }
            // Npgsql would make the call outside of it. A connection that wraps another may come with the inner one's.
            if (its != connection && its.GetType() == connection.GetType())
            {
                throw new ArgumentException(
                    "the transaction is one of another connection; begin it on this one", nameof(transaction));
            }
        }

        internal DbCall(DbConnection connection, QueueName queue, bool isAsync, CancellationToken cancellation)
        {
            this.connection = connection ?? throw new ArgumentNullException(nameof(connection));
            this.isAsync = isAsync;
            this.cancellation = cancellation;
            Queue = queue ?? throw new ArgumentNullException(nameof(queue));
            IsPostgres = queue.IsOnPostgres(connection);
        }

        internal QueueName Queue { get; }

        internal bool IsPostgres { get; }

        /// <summary>The database that the connection is at, with the schema.</summary>
        internal string Place
        {
            get { return connection.DataSource + "\n" + connection.Database + "\n" + Queue.Schema; }
        }

        /// <summary>Null when it has ended, for which drivers have exceptions too.</summary>
        private static DbConnection? ConnectionOf(DbTransaction transaction)
        {
            try
            {
                return transaction.Connection;
            }
            catch (InvalidOperationException)
            {
                return null;
            }
        }

        /// <summary>Calls a procedure of SQL Server by its name.</summary>
        internal DbCommand Procedure(string name)
        {
            DbCommand command = Statement(Queue.Procedure(name));
            command.CommandType = CommandType.StoredProcedure;
            return command;
        }

        internal DbCommand Statement(string text)
        {
            DbCommand command = connection.CreateCommand();
            command.Transaction = transaction;
            command.CommandText = text;
            return command;
        }

        /// <summary>All rows of all results: an error may follow the rows.</summary>
        internal async Task<List<T>> Read<T>(DbCommand command, Func<DbDataReader, T> row)
        {
            try
            {
                using (command)
                using (DbDataReader reader = isAsync
                    ? await command.ExecuteReaderAsync(cancellation).ConfigureAwait(false)
                    : command.ExecuteReader())
                {
                    var rows = new List<T>();
                    do
                    {
                        while (isAsync ? await reader.ReadAsync(cancellation).ConfigureAwait(false) : reader.Read())
                        {
                            rows.Add(row(reader));
                        }
                    }
                    while (isAsync ? await reader.NextResultAsync(cancellation).ConfigureAwait(false) :
                        reader.NextResult());
                    return rows;
                }
            }
            catch (DbException exception) when (DbErrors.IsRefusal(exception, IsPostgres))
            {
                // Its description may have changed since it was read.
                QueueDescription.Forget(Place);
                throw DbErrors.Of(exception, Queue, IsPostgres);
            }
        }
    }
}
