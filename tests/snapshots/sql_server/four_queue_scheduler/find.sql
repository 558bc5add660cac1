/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text). NULL is all items.
One row per item, with the answer FOUND. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_FourQueueScheduler]
    @Filter nvarchar(max) = NULL,
    @After nvarchar(4000) = NULL,
    @Max int = 100
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
    DECLARE @Keys nvarchar(max);
    DECLARE @Statuses nvarchar(max);
    DECLARE @Types nvarchar(max);
    DECLARE @Before datetime2(7);
    DECLARE @Since datetime2(7);
    DECLARE @Error nvarchar(4000);
    DECLARE @Key TABLE (
        [id] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
    DECLARE @Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [id] bigint NULL,
        [Key] nvarchar(max) NULL
    );
    DECLARE @Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);

    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts
    types
    so: 0 is null, 1 text, 4 an array.
    */
    IF
        ISJSON(@Filter) = 0
        OR CHARINDEX(N'{', @Filter) = 0
        OR EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error')
                OR j.[type] NOT IN (0, CASE WHEN j.[key] IN (N'keys', N'status', N'types') THEN 4 ELSE 1 END)
                /* What JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        THROW 50021,
            N'Find_FourQueueScheduler: @Filter takes keys, status, types (arrays), before, after, error (text), once.',
            1;

    SET @Keys = JSON_QUERY(@Filter, '$.keys');
    SET @Statuses = JSON_QUERY(@Filter, '$.status');
    SET @Types = JSON_QUERY(@Filter, '$.types');
    SET @Error = JSON_VALUE(@Filter, '$.error');
    SET @Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));

    IF
        (@Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Find_FourQueueScheduler: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Find_FourQueueScheduler: status names one that there is not.', 1;

    INSERT INTO @Given ([Ordinal], [id], [Key])
    SELECT
        CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS bigint),
        r.[value]
    FROM OPENJSON(@Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Find_FourQueueScheduler: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @Given AS g WHERE g.[id] IS NULL)
        THROW 50021, N'Find_FourQueueScheduler: one of the keys is not a key of FourQueueScheduler.', 1;

    INSERT INTO @Key ([id])
    SELECT DISTINCT g.[id] FROM @Given AS g;

    INSERT INTO @Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@Statuses) AS j);

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Find_FourQueueScheduler: @Max must be from 1 to 1000.', 1;

    SET @After = NULLIF(@After, N'');
    INSERT INTO @Given ([Ordinal], [id])
    SELECT -1,TRY_CAST(NULLIF(a.[After], N'') AS bigint)
    FROM (SELECT @After AS [After]) AS a
    WHERE a.[After] IS NOT NULL;
    IF EXISTS (SELECT 1 FROM @Given AS g WHERE g.[id] IS NULL)
        THROW 50021, N'Find_FourQueueScheduler: @After is not a key of FourQueueScheduler.', 1;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @Stamp = SYSDATETIMEOFFSET();
    SET @Offset = DATEPART(TZOFFSET, @Stamp);
    SET @At = CAST(@Stamp AS datetime2(7));
    SET @Now = DATEADD(MINUTE, -@Offset, @At);

    IF @Keys IS NOT NULL
    BEGIN
        SELECT TOP (@Max)
            'FOUND' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            CAST(q.[id] AS nvarchar(36)) AS [Key],
            s.[UpdatedAt] AS [Token],
            COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
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
            q.[reputation] AS [reputation],
            q.[id],
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
            END AS [ItemStatus],
            s.[Step] AS [ItemStep],
            COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt],
            s.[Response] AS [ItemResponse],
            s.[Error] AS [ItemError],
            COALESCE(s.[StartedAt], DATEADD(MINUTE, -@Offset, CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
            /* Of what is completed nothing is kept beside the table, which has both times. */
            COALESCE(
                s.[Duration],
                CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN DATEDIFF_BIG(MILLISECOND, q.[start_date],
                    q.[end_date]) END
            ) AS [ItemDuration],
            DATEADD(MINUTE, -@Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt],
            s.[UpdatedAt] AS [ItemToken],
            CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
            CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE WHEN s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending' THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@Offset,
                CAST(q.[start_date] AS datetime2(7)))) ELSE s.[LeaseUntil] END END AS [ItemLeaseUntil]
        FROM @Key AS k
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = k.[id]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
        WHERE
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
                END
                IN (SELECT w.[Status] FROM @Wanted AS w)
            AND (@Types IS NULL OR N'Default' IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
            AND (@Before IS NULL OR s.[UpdatedAt] < @Before)
            AND (@Since IS NULL OR s.[UpdatedAt] >= @Since)
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (
                @Error IS NULL
                OR CHARINDEX(@Error, s.[Error] COLLATE Latin1_General_BIN2) > 0
            )
            AND (@After IS NULL OR EXISTS (SELECT 1 FROM @Given AS g WHERE g.[Ordinal] = -1 AND (q.[id] > g.[id])))
        ORDER BY q.[id]
        OPTION (LOOP JOIN, FORCE ORDER);

        RETURN 0;
    END;

    SELECT TOP (@Max)
        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        CAST(q.[id] AS nvarchar(36)) AS [Key],
        s.[UpdatedAt] AS [Token],
        COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
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
        q.[reputation] AS [reputation],
        q.[id],
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
        END AS [ItemStatus],
        s.[Step] AS [ItemStep],
        COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt],
        s.[Response] AS [ItemResponse],
        s.[Error] AS [ItemError],
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@Offset, CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
        /* Of what is completed nothing is kept beside the table, which has both times. */
        COALESCE(
            s.[Duration],
            CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN DATEDIFF_BIG(MILLISECOND, q.[start_date],
                q.[end_date]) END
        ) AS [ItemDuration],
        DATEADD(MINUTE, -@Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt],
        s.[UpdatedAt] AS [ItemToken],
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
        CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE WHEN s.[UpdatedAt] IS NULL
            OR s.[Status] = 'Pending' THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@Offset, CAST(q.[start_date]
            AS datetime2(7)))) ELSE s.[LeaseUntil] END END AS [ItemLeaseUntil]
    FROM [dbo].[four_queue] AS q
    LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
        ON s.[id] = q.[id]
    WHERE
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
            END
            IN (SELECT w.[Status] FROM @Wanted AS w)
        AND (@Types IS NULL OR N'Default' IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
        AND (@Before IS NULL OR s.[UpdatedAt] < @Before)
        AND (@Since IS NULL OR s.[UpdatedAt] >= @Since)
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (
            @Error IS NULL
            OR CHARINDEX(@Error, s.[Error] COLLATE Latin1_General_BIN2) > 0
        )
        AND (@After IS NULL OR EXISTS (SELECT 1 FROM @Given AS g WHERE g.[Ordinal] = -1 AND (q.[id] > g.[id])))
    ORDER BY q.[id];

    RETURN 0;
END;
GO