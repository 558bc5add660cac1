/*
The plans that statements of the procedures of a schema have had within a day, by the Query Store: the procedure, how
often the statement ran, its logical reads, the plan. Takes VIEW DATABASE STATE, and the Query Store to be on.
*/
SELECT
    OBJECT_NAME(g.[object_id]) AS [Procedure], CAST(s.[count_executions] AS bigint) AS [Calls],
    CAST(s.[avg_logical_io_reads] AS bigint) AS [Reads], x.[query_plan] AS [Plan]
FROM sys.query_store_query AS g
INNER JOIN sys.query_store_plan AS x ON x.[query_id] = g.[query_id]
INNER JOIN sys.query_store_runtime_stats AS s ON s.[plan_id] = x.[plan_id]
WHERE
    OBJECT_SCHEMA_NAME(g.[object_id]) = ? AND s.[count_executions] > 0
    AND s.[last_execution_time] > DATEADD(DAY, -1, SYSDATETIMEOFFSET())
