using System;
using System.Data.Common;
using System.Text;

namespace Readpast
{
    /// <summary>
    /// The place of a queue, for calls on a connection of the caller's. A string is one, of a queue in the schema
    /// <c>readpast</c>: <c>connection.EnqueueAsync("Mail", …)</c>.
    /// </summary>
    public sealed class QueueName
    {
        /// <summary>A queue.</summary>
        /// <param name="name">Its name, as its description has it.</param>
        /// <param name="schema">The schema of readpast's objects.</param>
        /// <param name="server">
        /// The server; to be named for connections that wrap those of SqlClient or Npgsql.
        /// </param>
        public QueueName(string name, string schema = "readpast", QueueServer server = QueueServer.OfConnection)
        {
            Name = NotEmpty(name, nameof(name));
            Schema = NotEmpty(schema, nameof(schema));
            Server = server;
        }

        /// <summary>The queue's name.</summary>
        public string Name { get; }

        /// <summary>The schema.</summary>
        public string Schema { get; }

        /// <summary>The server.</summary>
        public QueueServer Server { get; }

        /// <summary>A queue in the schema <c>readpast</c>.</summary>
        /// <param name="name">Its name.</param>
        public static implicit operator QueueName(string name)
        {
            return new QueueName(name);
        }

        /// <summary>Schema and name.</summary>
        /// <returns>The text.</returns>
        public override string ToString()
        {
            return Schema + "." + Name;
        }

        internal bool IsOnPostgres(DbConnection connection)
        {
            if (Server != QueueServer.OfConnection)
            {
                return Server == QueueServer.PostgreSql;
            }
            string type = connection.GetType().FullName ?? string.Empty;
            if (type == "Npgsql.NpgsqlConnection")
            {
                return true;
            }
            if (type == "Microsoft.Data.SqlClient.SqlConnection" || type == "System.Data.SqlClient.SqlConnection")
            {
                return false;
            }
            throw new NotSupportedException(
                "the server of a " + type + " is not known: name it, new QueueName(\"" + Name + "\", server: …)");
        }

        internal static string QuotedForPostgres(string name)
        {
            return Quoted(name, "\"", "\"");
        }

        /// <summary>A function of the queue's on PostgreSQL: <c>{0}</c> stands for its name.</summary>
        internal string Function(string name)
        {
            return QuotedForPostgres(Schema) + "." + QuotedForPostgres(name.Replace("{0}", SnakeCase(Name)));
        }

        /// <summary>A procedure of the queue's on SQL Server: <c>{0}</c> stands for its name.</summary>
        internal string Procedure(string name)
        {
            return Quoted(Schema, "[", "]") + "." + Quoted(name.Replace("{0}", Name), "[", "]");
        }

        /// <summary>As the library names functions: PasswordReset is password_reset, SMSOut sms_out.</summary>
        private static string SnakeCase(string name)
        {
            var snake = new StringBuilder();
            for (int i = 0; i < name.Length; i++)
            {
                char before = i > 0 ? name[i - 1] : '_';
                bool followsLower = IsLower(before) || (before >= '0' && before <= '9');
                bool endsAcronym = IsUpper(before) && i + 1 < name.Length && IsLower(name[i + 1]);
                if (IsUpper(name[i]) && (followsLower || endsAcronym))
                {
                    snake.Append('_');
                }
                snake.Append(IsUpper(name[i]) ? (char)(name[i] + ('a' - 'A')) : name[i]);
            }
            return snake.ToString();
        }

        private static bool IsLower(char c)
        {
            return c >= 'a' && c <= 'z';
        }

        private static bool IsUpper(char c)
        {
            return c >= 'A' && c <= 'Z';
        }

        private static string Quoted(string name, string open, string close)
        {
            return open + name.Replace(close, close + close) + close;
        }

        private static string NotEmpty(string text, string parameter)
        {
            if (text == null)
            {
                throw new ArgumentNullException(parameter);
            }
            return text.Length > 0 ? text : throw new ArgumentException("it is empty", parameter);
        }
    }
}
