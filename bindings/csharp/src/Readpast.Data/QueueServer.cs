namespace Readpast
{
    /// <summary>The server of a queue.</summary>
    public enum QueueServer
    {
        /// <summary>The one that the type of the connection shows: of SqlClient or Npgsql.</summary>
        OfConnection = 0,

        /// <summary>SQL Server, Azure SQL.</summary>
        SqlServer = 1,

        /// <summary>PostgreSQL.</summary>
        PostgreSql = 2,
    }
}
