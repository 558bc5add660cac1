/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table's smallest
index; percentiles and means are of the 10,000 newest items that a worker has started and finished. Times in
milliseconds: wait is from ScheduledFor to StartedAt, run is Duration.
workers.needed is how many must work at once to keep up (Little's law): arrivals per time, times the mean run, at 80 per
cent of their time, and one at least while there is work.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Stats_Notification]
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @Count bigint;
    DECLARE @Arrivals bigint;
    DECLARE @Needed bigint;
    DECLARE @Sample TABLE ([Metric] varchar(10) NOT NULL, [Ms] bigint NOT NULL, [Rank] bigint NOT NULL);
    DECLARE @Recent TABLE ([WaitMs] bigint NOT NULL, [RunMs] bigint NOT NULL);

    INSERT INTO @Recent ([WaitMs], [RunMs])
    SELECT TOP (10000)
        CASE
            WHEN q.[StartedAt] > q.[ScheduledFor] THEN DATEDIFF_BIG(MILLISECOND, q.[ScheduledFor], q.[StartedAt])
            ELSE 0
        END,
        q.[Duration]
    FROM [readpast].[Notification] AS q WITH (READPAST, READCOMMITTEDLOCK)
    WHERE
        q.[StartedAt] IS NOT NULL
        AND q.[Duration] IS NOT NULL
    ORDER BY q.[EnqueuedAt] DESC;

    SET @Count = (SELECT COUNT_BIG(*) FROM @Recent);
    SET @Arrivals = (
        SELECT COUNT_BIG(*) FROM [readpast].[Notification] AS q WHERE q.[EnqueuedAt] > DATEADD(HOUR, -1, @Now)
    );
    SET @Needed = (
        SELECT CEILING(@Arrivals * COALESCE(AVG(r.[RunMs]), 0) / (3600000 * 0.8)) FROM @Recent AS r
    );
    IF
        @Needed = 0
        AND EXISTS (
            SELECT 1 FROM [readpast].[Notification] AS q WHERE q.[Status] IN ('Pending', 'Processing', 'Error')
        )
        SET @Needed = 1;

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'wait', r.[WaitMs], ROW_NUMBER() OVER (ORDER BY r.[WaitMs]) FROM @Recent AS r;

    INSERT INTO @Sample ([Metric], [Ms], [Rank])
    SELECT 'run', r.[RunMs], ROW_NUMBER() OVER (ORDER BY r.[RunMs]) FROM @Recent AS r;

    SELECT
        CONCAT('count.', s.[Status]) AS [Name],
        CAST(COALESCE(c.[Items], 0) AS bigint) AS [Value]
    FROM [readpast].[QueueStatus] AS s
    LEFT JOIN (
        SELECT q.[Status], COUNT_BIG(*) AS [Items]
        FROM [readpast].[Notification] AS q
        GROUP BY q.[Status]
    ) AS c
        ON c.[Status] = s.[Status]
    UNION ALL
    SELECT 'due.count', COUNT_BIG(*)
    FROM [readpast].[Notification] AS q
    WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @Now
    UNION ALL
    SELECT 'due.oldest_ms', DATEDIFF_BIG(MILLISECOND, MIN(q.[ScheduledFor]), @Now)
    FROM [readpast].[Notification] AS q
    WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @Now
    UNION ALL
    SELECT 'lease.expired', COUNT_BIG(*)
    FROM [readpast].[Notification] AS q
    WHERE q.[Status] = 'Processing' AND q.[LeaseUntil] <= @Now
    UNION ALL
    SELECT 'sample.items', @Count
    UNION ALL
    SELECT CONCAT(s.[Metric], '.', p.[Name], '_ms'), s.[Ms]
    FROM (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent])
    INNER JOIN @Sample AS s
        ON s.[Rank] = (@Count * p.[Percent] + 99) / 100
    UNION ALL
    SELECT 'wait.mean_ms', AVG(r.[WaitMs]) FROM @Recent AS r
    UNION ALL
    SELECT 'run.mean_ms', AVG(r.[RunMs]) FROM @Recent AS r
    UNION ALL
    SELECT 'arrivals.last_hour', @Arrivals
    UNION ALL
    SELECT 'workers.busy', COUNT_BIG(*)
    FROM [readpast].[Notification] AS q
    WHERE q.[Status] = 'Processing' AND q.[LeaseUntil] > @Now
    UNION ALL
    SELECT 'workers.needed', @Needed;

    RETURN 0;
END;
GO