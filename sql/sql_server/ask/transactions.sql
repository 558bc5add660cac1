/* Sessions of this database that have kept a transaction open, as far as the login sees them: for how many seconds. */
SELECT
    CAST(s.[session_id] AS int) AS [Session],
    DATEDIFF_BIG(SECOND, s.[last_request_start_time], CURRENT_TIMESTAMP) AS [Seconds],
    CAST(COALESCE(s.[program_name], N'') AS nvarchar(200)) AS [Program]
FROM sys.dm_exec_sessions AS s
WHERE
    s.[database_id] = DB_ID() AND s.[open_transaction_count] > 0 AND s.[session_id] <> @@SPID
    AND s.[last_request_start_time] < DATEADD(SECOND, -300, CURRENT_TIMESTAMP)
ORDER BY s.[last_request_start_time]
