/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan; means and percentiles
are of the 10,000 newest items that a worker has started and finished. Times in milliseconds: wait is from when an item
was due, or enqueued, to the start of its last attempt, run from there to its end. What four_queue has no column
for is known only of items that FourQueueScheduler_Lease still keeps.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Stats_FourQueueScheduler]
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Now datetime2(7); /* UTC */
    DECLARE @At datetime2(7); /* the same moment as the table tells it */
    DECLARE @Stamp datetimeoffset(7);
    DECLARE @Offset int;
    DECLARE @Count bigint;
    DECLARE @DueCount bigint;
    DECLARE @OldestMs bigint;
    DECLARE @Expired bigint;
    DECLARE @Busy bigint;
    DECLARE @Arrivals bigint;
    DECLARE @RunMean float;
    DECLARE @WaitMean float;
    DECLARE @Now_Items TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY, [Items] bigint NOT NULL,
        [Late] bigint NOT NULL);
    DECLARE @Recent TABLE ([WaitMs] bigint NULL, [RunMs] bigint NOT NULL);
    DECLARE @Sample TABLE ([Metric] varchar(10) NOT NULL, [Ms] bigint NOT NULL, [Rank] bigint NOT NULL);

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @Stamp = SYSDATETIMEOFFSET();
    SET @Offset = DATEPART(TZOFFSET, @Stamp);
    SET @At = CAST(@Stamp AS datetime2(7));
    SET @Now = DATEADD(MINUTE, -@Offset, @At);

    INSERT INTO @Now_Items ([Status], [Items], [Late])
    SELECT
        v.[Status],
        COUNT_BIG(*),
        SUM(CASE WHEN v.[Status] = 'Processing' AND v.[Until] <= @Now THEN 1 ELSE 0 END)
    FROM (
        SELECT
            CASE
                WHEN q.[in_process] = 0
                    THEN CASE
                        WHEN s.[Status] IN ('Pending', 'Error')
                            THEN s.[Status]
                        ELSE 'Pending'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NULL
                    THEN CASE
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated',
                            'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN 'Completed'
                ELSE 'Processing'
            END AS [Status],
            CASE WHEN s.[UpdatedAt] IS NULL OR s.[Status] = 'Pending' THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE,
                -@Offset, CAST(q.[start_date] AS datetime2(7)))) ELSE s.[LeaseUntil] END AS [Until]
        FROM [dbo].[four_queue] AS q
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
    ) AS v
    GROUP BY v.[Status];
    SET @Expired = COALESCE((SELECT SUM(i.[Late]) FROM @Now_Items AS i), 0);
    SET @Busy = COALESCE((SELECT SUM(i.[Items] - i.[Late]) FROM @Now_Items AS i WHERE i.[Status] = 'Processing'), 0);

    SELECT
        @DueCount = COUNT_BIG(*),
        @OldestMs = DATEDIFF_BIG(MILLISECOND, MIN(q.[scheduled_start_date]), @At)
    FROM [dbo].[four_queue] AS q
    WHERE
        q.[in_process] = 0
        AND (q.[scheduled_start_date] IS NULL OR q.[scheduled_start_date] <= @At);

    INSERT INTO @Recent ([WaitMs], [RunMs])
    SELECT TOP (10000)
        CASE WHEN x.[StartedAt] > x.[Began] THEN DATEDIFF_BIG(MILLISECOND, x.[Began], x.[StartedAt])
            WHEN x.[Began] IS NOT NULL THEN 0 END,
        COALESCE(x.[Duration], DATEDIFF_BIG(MILLISECOND, x.[StartedAt], x.[FinishedAt]))
    FROM (
        SELECT
            CASE
                WHEN q.[in_process] = 0
                    THEN CASE
                        WHEN s.[Status] IN ('Pending', 'Error')
                            THEN s.[Status]
                        ELSE 'Pending'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NULL
                    THEN CASE
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated',
                            'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN 'Completed'
                ELSE 'Processing'
            END AS [Status],
            COALESCE(s.[StartedAt], DATEADD(MINUTE, -@Offset, CAST(q.[start_date] AS datetime2(7)))) AS [StartedAt],
            DATEADD(MINUTE, -@Offset, CAST(q.[end_date] AS datetime2(7))) AS [FinishedAt],
            s.[Duration] AS [Duration],
            DATEADD(MINUTE, -@Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [Began]
        FROM [dbo].[four_queue] AS q WITH (READPAST, READCOMMITTEDLOCK)
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
    ) AS x
    WHERE
        [readpast].[QueueIsFinished_fn](x.[Status]) = 1
        AND x.[StartedAt] IS NOT NULL
        AND COALESCE(x.[Duration], DATEDIFF_BIG(MILLISECOND, x.[StartedAt], x.[FinishedAt])) >= 0
    ORDER BY x.[StartedAt] DESC;

    SELECT
        @Count = COUNT_BIG(*),
        @RunMean = AVG(CAST(r.[RunMs] AS float)),
        @WaitMean = AVG(CAST(r.[WaitMs] AS float))
    FROM @Recent AS r;

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'wait', r.[WaitMs], ROW_NUMBER() OVER (ORDER BY r.[WaitMs]) FROM @Recent AS r WHERE r.[WaitMs] IS NOT NULL;

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'run', r.[RunMs], ROW_NUMBER() OVER (ORDER BY r.[RunMs]) FROM @Recent AS r;

    SELECT
        CONCAT('count.', s.[Status]) AS [Name],
        CAST(COALESCE(i.[Items], 0) AS bigint) AS [Value]
    FROM [readpast].[QueueStatus] AS s
    LEFT JOIN @Now_Items AS i
        ON i.[Status] = s.[Status]
    UNION ALL
    SELECT 'due.count', @DueCount
    UNION ALL
    SELECT 'due.oldest_ms', @OldestMs
    UNION ALL
    SELECT 'lease.expired', @Expired
    UNION ALL
    SELECT 'sample.items', @Count
    UNION ALL
    SELECT 'run.mean_ms', CAST(@RunMean AS bigint)
    UNION ALL
    SELECT 'wait.mean_ms', CAST(@WaitMean AS bigint)
    UNION ALL
    SELECT 'arrivals.last_hour', @Arrivals
    UNION ALL
    SELECT 'workers.busy', @Busy
    UNION ALL
    SELECT
        'workers.needed',
        CASE
            WHEN @Arrivals IS NULL THEN NULL
            WHEN
                CEILING(@Arrivals / 3600000.0 * COALESCE(@RunMean, 0) / 0.8) < 1
                THEN CASE WHEN @DueCount + @Busy + @Expired > 0 THEN 1 ELSE 0 END
            ELSE CAST(CEILING(@Arrivals / 3600000.0 * COALESCE(@RunMean, 0) / 0.8) AS bigint)
        END
    UNION ALL
    SELECT CONCAT(s.[Metric], '.', p.[Name], '_ms'), s.[Ms]
    FROM (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent])
    INNER JOIN @Sample AS s
        ON s.[Rank] = (
            (SELECT COUNT_BIG(*) FROM @Sample AS o WHERE o.[Metric] = s.[Metric]) * p.[Percent] + 99
        ) / 100;

    RETURN 0;
END;
GO