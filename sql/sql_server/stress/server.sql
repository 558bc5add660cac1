/* Waits of everybody on the server since it was started: locks, latches of pages, the log. */
SELECT
    w.[wait_type] AS [Name],
    w.[waiting_tasks_count] AS [Count],
    w.[wait_time_ms] AS [Ms]
FROM sys.dm_os_wait_stats AS w
WHERE
    w.[waiting_tasks_count] > 0
    AND (
        w.[wait_type] LIKE N'LCK[_]%'
        OR w.[wait_type] LIKE N'PAGE%LATCH[_]%'
        OR w.[wait_type] IN (N'WRITELOG', N'HADR_SYNC_COMMIT', N'THREADPOOL', N'RESOURCE_SEMAPHORE', N'LOG_RATE_GOVERNOR')
    )
