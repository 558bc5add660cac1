/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
@Most rows and one by an index, and passes over rows that somebody holds at that moment. Looks: what waits, in the order
of the claim; what is in flight; and the newest items of all.
A row is a figure, with its value and, if that is so, Capped: there are as many or more.
worker: how many items it holds (Value), and for how long the oldest of them (Ms); its name is Detail.
error.<state>: how many of the items looked at say Detail as the first line of their error, and the key of one of them.
window.items: how many of the newest items the figures count and arrivals are of; Capped says that there are more. wait,
claimed: of those of them that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (Ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (Ms). due.within_hour: how many are due later, within an hour.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Watch_FourQueueScheduler]
    @Most int = 10000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int;
    DECLARE @_Seen TABLE (
        [Look] char(1) NOT NULL, /* Waiting, Flying, Stopped, Newest of all, Before what was taken, of the History */
        [Key] nvarchar(4000) NULL, [Status] varchar(20) NOT NULL, [Detail] nvarchar(200) NULL, [EnqueuedAt] datetime2(7) NULL,
        [StartedAt] datetime2(7) NULL, [ClaimedMs] bigint NULL, [DueAt] datetime2(7) NULL, [Owner] nvarchar(128) NULL,
        [Until] datetime2(7) NULL
    );
    DECLARE @_Measured TABLE ([WaitMs] bigint NULL, [ClaimedMs] bigint NOT NULL, [EndedAt] datetime2(7) NOT NULL);
    DECLARE @_Look TABLE ([Look] char(1) NOT NULL PRIMARY KEY, [Capped] bit NOT NULL);

    IF @Most IS NULL OR @Most < 1 OR @Most > 1000000 THROW 50021, N'Watch_FourQueueScheduler: @Most must be from 1 to 1000000.', 1;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until])
    SELECT TOP (@Most + 1)
        'W', CAST(q.[id] AS nvarchar(36)),
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
        END,
        LEFT(s.[Error], 200), CAST(NULL AS datetime2(7)),
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
        CAST(COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS bigint),
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))),
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2,
        CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END
    FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    WHERE q.[in_process] = 0
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until])
    SELECT TOP (@Most + 1)
        'F', CAST(q.[id] AS nvarchar(36)),
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
        END,
        LEFT(s.[Error], 200), CAST(NULL AS datetime2(7)),
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
        CAST(COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS bigint),
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))),
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2,
        CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END
    FROM [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
    INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[in_process] IN (0, 1) AND s.[id] = q.[id]
    WHERE s.[Status] = 'Processing'
    OPTION (LOOP JOIN, FORCE ORDER);

    /* Items that somebody else took, so that no row beside the table has it in work. */
    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until])
    SELECT TOP (@Most + 1)
        'F', CAST(q.[id] AS nvarchar(36)),
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
        END,
        LEFT(s.[Error], 200), CAST(NULL AS datetime2(7)),
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
        CAST(COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS bigint),
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))),
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2,
        CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END
    FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    WHERE q.[in_process] = 1 AND q.[end_date] IS NULL AND (s.[Status] IS NULL OR s.[Status] = 'Pending')
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO @_Seen ([Look], [Key], [Status], [Detail], [EnqueuedAt], [StartedAt], [ClaimedMs], [DueAt], [Owner], [Until])
    SELECT TOP (@Most + 1)
        'N', CAST(q.[id] AS nvarchar(36)),
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
        END,
        LEFT(s.[Error], 200), CAST(NULL AS datetime2(7)),
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
        CAST(COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS bigint),
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))),
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2,
        CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END
    FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    ORDER BY q.[id] DESC;

    INSERT INTO @_Look ([Look], [Capped])
    SELECT s.[Look], CASE WHEN COUNT(*) > @Most THEN 1 ELSE 0 END
    FROM @_Seen AS s
    GROUP BY s.[Look];

    INSERT INTO @_Measured ([WaitMs], [ClaimedMs], [EndedAt])
    SELECT
        CASE
            WHEN s.[StartedAt] > COALESCE(s.[DueAt], s.[EnqueuedAt])
                THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[DueAt], s.[EnqueuedAt]), s.[StartedAt])
            WHEN COALESCE(s.[DueAt], s.[EnqueuedAt]) IS NOT NULL THEN 0
        END,
        s.[ClaimedMs], DATEADD(MILLISECOND, s.[ClaimedMs] % 1000, DATEADD(SECOND, s.[ClaimedMs] / 1000, s.[StartedAt]))
    FROM @_Seen AS s
    WHERE
        s.[Look] IN ('N', 'B', 'H') AND s.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') AND s.[StartedAt] IS NOT NULL
        AND s.[ClaimedMs] BETWEEN 0 AND 1000000000000;

    SELECT
        f.[Name], CASE WHEN l.[Capped] = 1 AND f.[Name] <> 'due.oldest_ms' AND f.[Value] > @Most THEN @Most ELSE f.[Value] END AS [Value],
        CASE WHEN l.[Capped] = 1 OR f.[Look] = '+' THEN CAST(1 AS bit) ELSE CAST(0 AS bit) END AS [Capped], f.[Ms], f.[Detail], f.[Key]
    FROM (
        SELECT
            CAST(CONCAT('count.', q.[Status]) AS varchar(40)) AS [Name], CAST(COALESCE(c.[Items], 0) AS bigint) AS [Value], g.[Look],
            CAST(NULL AS bigint) AS [Ms], CAST(NULL AS nvarchar(200)) AS [Detail], CAST(NULL AS nvarchar(4000)) AS [Key]
        FROM [readpast].[QueueStatus] AS q
        CROSS APPLY (
            SELECT CASE
                WHEN q.[Status] IN ('Pending', 'Error') THEN 'W'
                WHEN q.[Status] = 'Processing' THEN 'F'
                ELSE 'N'
            END AS [Look]
        ) AS g
        LEFT JOIN (
            SELECT s.[Look], s.[Status], COUNT_BIG(*) AS [Items]
            FROM @_Seen AS s
            GROUP BY s.[Look], s.[Status]
        ) AS c ON c.[Status] = q.[Status] AND c.[Look] = g.[Look]
        UNION ALL
        SELECT v.[Name], v.[Value], v.[Look], v.[Ms], NULL, NULL
        FROM (
            SELECT
                COUNT_BIG(CASE WHEN w.[Waits] = 1 AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now) THEN 1 END) AS [Due],
                COUNT_BIG(CASE WHEN w.[Waits] = 1 AND s.[DueAt] > @_Now AND s.[DueAt] <= DATEADD(HOUR, 1, @_Now) THEN 1 END) AS [Soon],
                MIN(CASE WHEN w.[Waits] = 1 AND w.[Began] <= @_Now THEN w.[Began] END) AS [Oldest],
                COUNT_BIG(CASE WHEN w.[Flies] = 1 AND s.[Until] <= @_Now THEN 1 END) AS [Late],
                COUNT_BIG(CASE WHEN w.[Flies] = 1 AND (s.[Until] IS NULL OR s.[Until] > @_Now) THEN 1 END) AS [Held],
                COUNT_BIG(CASE WHEN s.[Look] = 'N' THEN 1 END) AS [Newest],
                COUNT_BIG(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN 1 END) AS [Came],
                MIN(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN s.[EnqueuedAt] END) AS [CameFirst],
                MAX(CASE WHEN s.[Look] = 'W' AND s.[EnqueuedAt] <= @_Now THEN s.[EnqueuedAt] END) AS [CameLast]
            FROM @_Seen AS s
            CROSS APPLY (
                SELECT
                    CASE WHEN s.[Look] = 'W' AND s.[Status] IN ('Pending', 'Error') THEN 1 ELSE 0 END AS [Waits],
                    CASE WHEN s.[Look] = 'F' AND s.[Status] = 'Processing' THEN 1 ELSE 0 END AS [Flies],
                    COALESCE(s.[DueAt], s.[EnqueuedAt]) AS [Began]
            ) AS w
        ) AS a
        CROSS JOIN (
            SELECT
                COUNT_BIG(*) AS [Items], CAST(AVG(CAST(m.[WaitMs] AS float)) AS bigint) AS [WaitMs],
                CAST(AVG(CAST(m.[ClaimedMs] AS float)) AS bigint) AS [ClaimedMs],
                COUNT_BIG(CASE WHEN m.[EndedAt] > DATEADD(MINUTE, -1, @_Now) THEN 1 END) AS [Minute],
                MIN(CASE WHEN m.[EndedAt] > DATEADD(MINUTE, -1, @_Now) THEN m.[EndedAt] END) AS [MinuteFirst]
            FROM @_Measured AS m
        ) AS m
        CROSS APPLY (VALUES
            ('due.count', a.[Due], 'W', CAST(NULL AS bigint)), ('due.within_hour', a.[Soon], 'W', NULL),
            ('due.oldest_ms', DATEDIFF_BIG(MILLISECOND, a.[Oldest], @_Now), 'W', NULL), ('lease.expired', a.[Late], 'F', NULL),
            ('claimed.count', a.[Held], 'F', NULL), ('window.items', a.[Newest], 'N', NULL),
            (
                'came.waiting', a.[Came], 'W',
                DATEDIFF_BIG(MILLISECOND, a.[CameFirst], CASE WHEN a.[Came] > @Most THEN a.[CameLast] ELSE @_Now END)
            ),
            ('sample.items', m.[Items], '', NULL), ('wait.mean_ms', m.[WaitMs], '', NULL), ('claimed.mean_ms', m.[ClaimedMs], '', NULL),
            (
                'ended.last_minute', m.[Minute], CASE WHEN m.[Minute] >= @Most THEN '+' ELSE '' END,
                DATEDIFF_BIG(MILLISECOND, m.[MinuteFirst], @_Now)
            )
        ) AS v ([Name], [Value], [Look], [Ms])

        UNION ALL
        SELECT CONCAT(r.[Metric], '.', p.[Name], '_ms'), r.[Ms], '', NULL, NULL, NULL
        FROM (
            SELECT
                x.[Metric], x.[Ms], ROW_NUMBER() OVER (PARTITION BY x.[Metric] ORDER BY x.[Ms]) AS [Rank],
                COUNT_BIG(*) OVER (PARTITION BY x.[Metric]) AS [Of]
            FROM @_Measured AS m
            CROSS APPLY (VALUES ('wait', m.[WaitMs]), ('claimed', m.[ClaimedMs])) AS x ([Metric], [Ms])
            WHERE x.[Ms] IS NOT NULL
        ) AS r
        INNER JOIN (VALUES ('p50', 50), ('p90', 90), ('p99', 99)) AS p ([Name], [Percent]) ON r.[Rank] = (r.[Of] * p.[Percent] + 99) / 100
        UNION ALL
        SELECT 'worker', w.[Items], '', DATEDIFF_BIG(MILLISECOND, w.[Began], @_Now), w.[Owner], NULL
        FROM (
            SELECT TOP (100) s.[Owner], COUNT_BIG(*) AS [Items], MIN(s.[StartedAt]) AS [Began]
            FROM @_Seen AS s
            WHERE s.[Look] = 'F' AND s.[Status] = 'Processing'
            GROUP BY s.[Owner]
            ORDER BY COUNT_BIG(*) DESC, s.[Owner]
        ) AS w
        UNION ALL
        SELECT 'refused', x.[Times], '', DATEDIFF_BIG(MILLISECOND, @_Now, x.[Until]), CONCAT(x.[Doing], N': ', x.[Reason]), x.[Key]
        FROM (
            SELECT TOP (50) r.[Key], r.[Doing], r.[Reason], r.[Times], r.[Until]
            FROM [readpast].[QueueRefused] AS r
            WHERE r.[Queue] = 'FourQueueScheduler'
            ORDER BY r.[Since]
        ) AS x
        UNION ALL
        SELECT CONCAT('error.', e.[Status]), e.[Items], '', NULL, e.[Detail], e.[Key]
        FROM (
            SELECT TOP (50) p.[Status], p.[Detail], COUNT_BIG(*) AS [Items], MAX(p.[Key]) AS [Key]
            FROM (
                SELECT s.[Status], s.[Key], LEFT(s.[Detail], CHARINDEX(NCHAR(10), CONCAT(s.[Detail], NCHAR(10))) - 1) AS [Detail]
                FROM @_Seen AS s
                WHERE s.[Detail] <> N'' AND ((s.[Look] = 'W' AND s.[Status] = 'Error') OR (s.[Look] = 'N' AND s.[Status] = 'Failed'))
            ) AS p
            GROUP BY p.[Status], p.[Detail]
            ORDER BY COUNT_BIG(*) DESC, p.[Detail]
        ) AS e
    ) AS f
    LEFT JOIN @_Look AS l ON l.[Look] = f.[Look];
END;
GO
