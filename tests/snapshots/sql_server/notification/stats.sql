/*
Figures about the queue, one row each: its name and its value. One pass over the table gives the counts; rows that
somebody holds at that moment are not in them, so that nobody is waited for. Means and percentiles are of the 10,000
newest items that a worker has started and finished. Times in milliseconds: wait is from when an item was due, or
enqueued, to the start of its last attempt, claimed from there to its end, with the wait in the worker's hand.
workers.needed is Little's law: the arrivals of the last hour per millisecond, times the mean time claimed, divided by 0.8 so that
workers are idle for a fifth of their time and waits stay short; at least one while items are due or in flight.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Stats_Notification]
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that only looks gives way. */
    SET DEADLOCK_PRIORITY LOW;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count bigint, @_Arrivals bigint, @_ClaimedMean float, @_WaitMean float;
    DECLARE @_State TABLE (
        [Status] varchar(20) NOT NULL PRIMARY KEY, [Items] bigint NOT NULL,
        [Late] bigint NULL, /* in work, the lease over */
        [Due] bigint NULL,
        [Oldest] datetime2(7) NULL, /* of those that are due, as the table tells times */
        [Arrived] bigint NULL /* within the last hour */
    );
    DECLARE @_Recent TABLE ([WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL);
    DECLARE @_Sample TABLE ([Metric] varchar(10) NOT NULL, [Ms] bigint NOT NULL, [Rank] bigint NOT NULL, [Of] bigint NOT NULL);

    SET @_Now = SYSUTCDATETIME();

    INSERT INTO @_State ([Status], [Items], [Late], [Due], [Oldest], [Arrived])
    SELECT
        x.[Status], COUNT_BIG(*), SUM(CASE WHEN x.[Status] = 'Processing' AND x.[Until] <= @_Now THEN 1 ELSE 0 END),
        SUM(x.[IsDue]), MIN(CASE WHEN x.[IsDue] = 1 THEN x.[Began] END), SUM(x.[IsNew])
    FROM (
        SELECT
            q.[Status] AS [Status], q.[LeaseUntil] AS [Until],
            CASE WHEN q.[Status] IN ('Pending', 'Error') AND (q.[ScheduledFor] IS NULL OR q.[ScheduledFor] <= @_Now) THEN 1 ELSE 0 END AS [IsDue],
            CAST(q.[ScheduledFor] AS datetime2(7)) AS [Began],
            CASE WHEN q.[EnqueuedAt] > DATEADD(HOUR, -1, @_Now) AND q.[EnqueuedAt] <= DATEADD(MINUTE, 1, @_Now) THEN 1 ELSE 0 END AS [IsNew]
        FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    ) AS x
    GROUP BY x.[Status];
    SET @_Arrivals = COALESCE((SELECT SUM(s.[Arrived]) FROM @_State AS s), 0);

    INSERT INTO @_Recent ([WaitMs], [ClaimedMs])
    SELECT TOP (10000)
        CASE
            WHEN x.[StartedAt] > x.[Began] THEN DATEDIFF_BIG(MILLISECOND, x.[Began], x.[StartedAt])
            WHEN x.[Began] IS NOT NULL THEN 0
        END,
        x.[Duration]
    FROM (
        SELECT
            q.[Status] AS [Status], q.[EnqueuedAt], q.[StartedAt] AS [StartedAt],
            CAST(q.[Duration] AS bigint) AS [Duration], q.[ScheduledFor] AS [Began]
        FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    ) AS x
    WHERE x.[Duration] IS NOT NULL AND x.[StartedAt] IS NOT NULL AND x.[Duration] >= 0
    ORDER BY x.[EnqueuedAt] DESC;

    SELECT
        @_Count = COUNT_BIG(*), @_ClaimedMean = AVG(CAST(r.[ClaimedMs] AS float)),
        @_WaitMean = AVG(CAST(r.[WaitMs] AS float))
    FROM @_Recent AS r;

    INSERT INTO @_Sample ([Metric], [Ms], [Rank], [Of])
    SELECT 'wait', r.[WaitMs], ROW_NUMBER() OVER (ORDER BY r.[WaitMs]), COUNT_BIG(*) OVER ()
    FROM @_Recent AS r
    WHERE r.[WaitMs] IS NOT NULL;

    INSERT INTO @_Sample ([Metric], [Ms], [Rank], [Of])
    SELECT 'claimed', r.[ClaimedMs], ROW_NUMBER() OVER (ORDER BY r.[ClaimedMs]), COUNT_BIG(*) OVER ()
    FROM @_Recent AS r;

    SELECT CONCAT('count.', s.[Status]) AS [Name], CAST(COALESCE(i.[Items], 0) AS bigint) AS [Value]
    FROM [readpast].[QueueStatus] AS s
    LEFT JOIN @_State AS i ON i.[Status] = s.[Status]
    UNION ALL
    SELECT 'due.count', COALESCE(SUM(i.[Due]), 0) FROM @_State AS i
    UNION ALL
    SELECT 'due.oldest_ms', DATEDIFF_BIG(MILLISECOND, MIN(i.[Oldest]), @_Now) FROM @_State AS i
    UNION ALL
    SELECT 'lease.expired', COALESCE(SUM(i.[Late]), 0) FROM @_State AS i
    UNION ALL
    SELECT 'sample.items', @_Count
    UNION ALL
    SELECT 'claimed.mean_ms', CAST(@_ClaimedMean AS bigint)
    UNION ALL
    SELECT 'wait.mean_ms', CAST(@_WaitMean AS bigint)
    UNION ALL
    SELECT 'arrivals.last_hour', @_Arrivals
    UNION ALL
    SELECT 'claimed.count', COALESCE(SUM(i.[Items] - i.[Late]), 0) FROM @_State AS i WHERE i.[Status] = 'Processing'
    UNION ALL
    SELECT
        'workers.needed',
        CASE
            WHEN @_Arrivals IS NULL THEN NULL
            WHEN CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) >= 1
                THEN CAST(CEILING(@_Arrivals / 3600000.0 * COALESCE(@_ClaimedMean, 0) / 0.8) AS bigint)
            WHEN EXISTS (SELECT 1 FROM @_State AS i WHERE i.[Status] = 'Processing' OR i.[Due] > 0) THEN 1
            ELSE 0
        END
    UNION ALL
    SELECT CONCAT(s.[Metric], '.', p.[Name], '_ms'), s.[Ms]
    FROM (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent])
    INNER JOIN @_Sample AS s ON s.[Rank] = (s.[Of] * p.[Percent] + 99) / 100;
END;
GO
