/* All that a worker may see of FourQueueScheduler: its columns, and where each item is. Times of the item are UTC. */
CREATE OR ALTER VIEW [readpast].[Worker_FourQueueScheduler_V]
AS
SELECT
    q.[reputation] AS [reputation], q.[id],
    CASE
        WHEN q.[in_process] = 0
            THEN CASE
                WHEN s.[Status] IN ('Pending', 'Error')
                    THEN s.[Status]
                ELSE 'Pending'
            END
        WHEN q.[in_process] = 1 AND q.[end_date] IS NULL
            THEN CASE
                WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                    THEN s.[Status]
                ELSE 'Processing'
            END
        WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
        ELSE 'Processing'
    END AS [ItemStatus],
    s.[Step] AS [ItemStep], COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt], s.[Response] AS [ItemResponse],
    s.[Error] AS [ItemError],
    COALESCE(s.[StartedAt], DATEADD(MINUTE, -DATEPART(TZOFFSET, SYSDATETIMEOFFSET()), CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
    COALESCE(
        s.[Duration],
        /* Nothing of completed items is kept beside the table, which has both times. */
        CASE
            WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
        END
    ) AS [ItemDuration],
    DATEADD(MINUTE, -DATEPART(TZOFFSET, SYSDATETIMEOFFSET()), CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt],
    s.[UpdatedAt] AS [ItemToken], CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
    CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE
        WHEN
            s.[UpdatedAt] IS NULL
            OR s.[Status] = 'Pending'
            OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
            THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -DATEPART(TZOFFSET, SYSDATETIMEOFFSET()), CAST(q.[start_date] AS datetime2(7))))
        ELSE s.[LeaseUntil]
    END END AS [ItemLeaseUntil]
FROM [dbo].[four_queue] AS q
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = q.[id];
GO
/* The limits in force, in one row. With none or fewer, all that waits would be Failed at once: such a value does not count. */
CREATE OR ALTER VIEW [readpast].[FourQueueScheduler_Setting_V]
AS
SELECT
    COALESCE(MAX(CASE WHEN a.[Param] = 'fourqueuescheduler.maxAttempts' THEN a.[ValInt] END), 3) AS [MaxAttempts],
    COALESCE(MAX(CASE WHEN a.[Param] = 'fourqueuescheduler.leaseMs' THEN a.[ValInt] END), 600000) AS [LeaseMs]
FROM [readpast].[AppSettings] AS a
WHERE a.[Param] IN ('fourqueuescheduler.maxAttempts', 'fourqueuescheduler.leaseMs') AND a.[ValInt] > 0;
GO
