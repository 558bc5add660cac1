/* The server's processors, and the time on them of the sessions of one program since they were opened. */
SELECT
    MAX(i.[cpu_count]) AS [Processors],
    SUM(CAST(s.[cpu_time] AS bigint)) AS [Ms]
FROM sys.dm_exec_sessions AS s
CROSS JOIN sys.dm_os_sys_info AS i
WHERE s.[program_name] = ?
