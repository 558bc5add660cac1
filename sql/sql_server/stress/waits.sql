/* Waits of the sessions of one program since they were opened. */
SELECT
    w.[wait_type] AS [Name],
    SUM(w.[waiting_tasks_count]) AS [Count],
    SUM(w.[wait_time_ms]) AS [Ms]
FROM sys.dm_exec_session_wait_stats AS w
INNER JOIN sys.dm_exec_sessions AS s
    ON s.[session_id] = w.[session_id]
WHERE
    s.[program_name] = ?
    AND w.[waiting_tasks_count] > 0
GROUP BY w.[wait_type]
