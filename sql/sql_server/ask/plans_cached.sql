/*
The plans that the procedures of a schema have in the server's cache: the procedure, how often it ran, the logical reads
of one call, the plan. Takes VIEW SERVER STATE, in Azure SQL VIEW DATABASE STATE.
*/
SELECT
    OBJECT_NAME(s.[object_id]) AS [Procedure], CAST(s.[execution_count] AS bigint) AS [Calls],
    CAST(s.[total_logical_reads] / s.[execution_count] AS bigint) AS [Reads], x.[query_plan] AS [Plan]
FROM sys.dm_exec_procedure_stats AS s
CROSS APPLY sys.dm_exec_text_query_plan(s.[plan_handle], DEFAULT, DEFAULT) AS x
WHERE s.[database_id] = DB_ID() AND s.[execution_count] > 0 AND OBJECT_SCHEMA_NAME(s.[object_id]) = ?
