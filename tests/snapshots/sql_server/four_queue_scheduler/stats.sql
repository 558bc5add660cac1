/*
Figures about the queue, one row each: its name and its value. One pass over the table gives the counts; rows that
somebody holds at that moment are not in them, so that nobody is waited for. Means and percentiles are of the 10,000
newest items that a worker has started and finished. Times in milliseconds: wait is from when an item was due, or
enqueued, to the start of its last attempt, claimed from there to its end, with the wait in the worker's hand. What four_queue has no column for
is known only of items that FourQueueScheduler_Lease still keeps.
Nobody knows how many have arrived, since what is completed leaves the table: those two are NULL.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Stats_FourQueueScheduler]
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int, @_Count bigint, @_Arrivals bigint, @_ClaimedMean float, @_WaitMean float;
    DECLARE @_State TABLE (
        [Status] varchar(20) NOT NULL PRIMARY KEY, [Items] bigint NOT NULL,
        [Late] bigint NULL, /* in work, the lease over */
        [Due] bigint NULL,
        [Oldest] datetime2(7) NULL, /* of those that are due, as the table tells times */
        [Arrived] bigint NULL /* within the last hour */
    );
    DECLARE @_Recent TABLE ([WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL);

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

    INSERT INTO @_State ([Status], [Items], [Late], [Due], [Oldest], [Arrived])
    SELECT
        x.[Status], COUNT_BIG(*), SUM(CASE WHEN x.[Status] = 'Processing' AND x.[Until] <= @_Now THEN 1 ELSE 0 END), SUM(x.[IsDue]),
        MIN(CASE WHEN x.[IsDue] = 1 THEN x.[Began] END), SUM(x.[IsNew])
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
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                ELSE 'Processing'
            END AS [Status],
            CASE
                WHEN
                    s.[UpdatedAt] IS NULL
                    OR s.[Status] = 'Pending'
                    OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                    THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
                ELSE s.[LeaseUntil]
            END AS [Until],
            CASE WHEN q.[in_process] = 0 AND (q.[scheduled_start_date] IS NULL OR q.[scheduled_start_date] <= @_At) THEN 1 ELSE 0 END AS [IsDue],
            CAST(q.[scheduled_start_date] AS datetime2(7)) AS [Began], NULL AS [IsNew]
        FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    ) AS x
    GROUP BY x.[Status];

    INSERT INTO @_Recent ([WaitMs], [ClaimedMs])
    SELECT TOP (10000)
        CASE
            WHEN x.[StartedAt] > x.[Began] THEN DATEDIFF_BIG(MILLISECOND, x.[Began], x.[StartedAt])
            WHEN x.[Began] IS NOT NULL THEN 0
        END,
        x.[Duration]
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
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                ELSE 'Processing'
            END AS [Status],
            COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [Newest],
            COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [StartedAt],
            COALESCE(
                s.[Duration],
                DATEDIFF_BIG(
                    MILLISECOND, COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
                    DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                )
            ) AS [Duration],
            DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [Began]
        FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    ) AS x
    WHERE x.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') AND x.[StartedAt] IS NOT NULL AND x.[Duration] >= 0
    ORDER BY x.[Newest] DESC;

    SELECT @_Count = COUNT_BIG(*), @_ClaimedMean = AVG(CAST(r.[ClaimedMs] AS float)), @_WaitMean = AVG(CAST(r.[WaitMs] AS float))
    FROM @_Recent AS r;

    SELECT CONCAT('count.', s.[Status]) AS [Name], CAST(COALESCE(i.[Items], 0) AS bigint) AS [Value]
    FROM [readpast].[QueueStatus] AS s
    LEFT JOIN @_State AS i ON i.[Status] = s.[Status]
    UNION ALL
    SELECT v.[Name], v.[Value]
    FROM (
        SELECT
            COALESCE(SUM(i.[Due]), 0) AS [Due], MIN(i.[Oldest]) AS [Oldest], COALESCE(SUM(i.[Late]), 0) AS [Late],
            COALESCE(SUM(CASE WHEN i.[Status] = 'Processing' THEN i.[Items] - i.[Late] END), 0) AS [Held],
            MAX(CASE WHEN i.[Status] = 'Processing' OR i.[Due] > 0 THEN 1 ELSE 0 END) AS [IsWork]
        FROM @_State AS i
    ) AS a
    CROSS APPLY (VALUES
        ('due.count', a.[Due]), ('due.oldest_ms', DATEDIFF_BIG(MILLISECOND, a.[Oldest], @_At)), ('lease.expired', a.[Late]),
        ('sample.items', @_Count), ('claimed.mean_ms', CAST(@_ClaimedMean AS bigint)), ('wait.mean_ms', CAST(@_WaitMean AS bigint)),
        ('arrivals.last_hour', @_Arrivals), ('claimed.count', a.[Held]),
        (
            'workers.needed',
            CASE
                WHEN @_Arrivals IS NULL THEN NULL
                WHEN CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) >= 1
                    THEN CAST(CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) AS bigint)
                ELSE COALESCE(a.[IsWork], 0)
            END
        )
    ) AS v ([Name], [Value])
    UNION ALL
    SELECT CONCAT(r.[Metric], '.', p.[Name], '_ms'), r.[Ms]
    FROM (
        SELECT
            x.[Metric], x.[Ms], ROW_NUMBER() OVER (PARTITION BY x.[Metric] ORDER BY x.[Ms]) AS [Rank],
            COUNT_BIG(*) OVER (PARTITION BY x.[Metric]) AS [Of]
        FROM @_Recent AS m
        CROSS APPLY (VALUES ('wait', m.[WaitMs]), ('claimed', m.[ClaimedMs])) AS x ([Metric], [Ms])
        WHERE x.[Ms] IS NOT NULL
    ) AS r
    INNER JOIN (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent]) ON r.[Rank] = (r.[Of] * p.[Percent] + 99) / 100;
END;
GO
