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
                throw DbErrors.Of(exception, Queue, IsPostgres);
            }
        }
    }
}
