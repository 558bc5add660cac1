/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text), longer_ms (its last attempt took
more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full; with @Most, no more than that many items. A second result with the
answer MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_FourQueueScheduler]
    @Filter nvarchar(max) = NULL,
    @After nvarchar(4000) = NULL,
    @Max int = 100,
    @Most int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that only looks gives way. */
    SET DEADLOCK_PRIORITY LOW;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7);
    DECLARE @_Offset int;
    DECLARE @_Keys nvarchar(max);
    DECLARE @_Statuses nvarchar(max);
    DECLARE @_Types nvarchar(max);
    DECLARE @_Before datetime2(7);
    DECLARE @_Since datetime2(7);
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Longer bigint;
    DECLARE @_Key TABLE (
        [Key1] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Key1] bigint NULL
    );
    DECLARE @_Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);
    DECLARE @_WantedType TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(4000) NOT NULL);

    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts types
    so: 0 is null, 1 text, 2 a number, 4 an array. Two steps, since the parts of one condition are evaluated in any order.
    */
    IF ISJSON(@Filter) = 0 OR CHARINDEX(N'{', @Filter) = 0
        THROW 50021, N'Find_FourQueueScheduler: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error', N'longer_ms')
                OR j.[type] NOT IN (
                    0,
                    CASE
                        WHEN j.[key] IN (N'keys', N'status', N'types') THEN 4
                        WHEN j.[key] = N'longer_ms' THEN 2
                        ELSE 1
                    END
                )
                /* A member that JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        THROW 50021, N'Find_FourQueueScheduler: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;

    SET @_Keys = JSON_QUERY(@Filter, '$.keys');
    SET @_Statuses = JSON_QUERY(@Filter, '$.status');
    SET @_Types = JSON_QUERY(@Filter, '$.types');
    SET @_Error = JSON_VALUE(@Filter, '$.error');
    SET @_Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @_Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
    SET @_Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));

    IF @_Longer < 0 OR (@_Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
        THROW 50021, N'Find_FourQueueScheduler: longer_ms is a whole number of milliseconds.', 1;
    IF
        (@_Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@_Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Find_FourQueueScheduler: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@_Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Find_FourQueueScheduler: status names one that there is not.', 1;

    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT
        CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS bigint)
    FROM OPENJSON(@_Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Find_FourQueueScheduler: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Find_FourQueueScheduler: one of the keys is not a key of FourQueueScheduler.', 1;

    INSERT INTO @_Key ([Key1])
    SELECT DISTINCT g.[Key1] FROM @_Given AS g;

    INSERT INTO @_Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @_Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@_Statuses) AS j);

    INSERT INTO @_WantedType ([Ordinal], [Type])
    SELECT CAST(j.[key] AS int), j.[value] FROM OPENJSON(@_Types) AS j WHERE j.[value] IS NOT NULL;
    DECLARE @_Further bit = 0;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Find_FourQueueScheduler: @Max must be from 1 to 1000.', 1;
    IF @Most < 1
        THROW 50021, N'Find_FourQueueScheduler: @Most must be 1 or more, or NULL.', 1;

    SET @After = NULLIF(@After, N'');
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT -1,TRY_CAST(NULLIF(a.[After], N'') AS bigint)
    FROM (SELECT @After AS [After]) AS a
    WHERE a.[After] IS NOT NULL;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Find_FourQueueScheduler: @After is not a key of FourQueueScheduler.', 1;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

    IF @_Keys IS NOT NULL
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
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
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
                            WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                                THEN s.[Status]
                            ELSE 'Processing'
                        END
                    WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                    ELSE 'Processing'
                END AS [ItemStatus],
            s.[Step] AS [ItemStep],
            COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt],
            s.[Response] AS [ItemResponse],
            s.[Error] AS [ItemError],
            COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
            COALESCE(
                s.[Duration],
                /* Nothing of completed items is kept beside the table, which has both times. */
                CASE
                    WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                        THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
                END
            ) AS [ItemDuration],
            DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt],
            s.[UpdatedAt] AS [ItemToken],
            CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
            CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE
                    WHEN
                        s.[UpdatedAt] IS NULL
                        OR s.[Status] = 'Pending'
                        OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                        THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
                    ELSE s.[LeaseUntil]
                END END AS [ItemLeaseUntil]
        FROM @_Key AS k
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = k.[Key1]
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
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                ELSE 'Processing'
            END IN (SELECT w.[Status] FROM @_Wanted AS w)
            AND (@_Types IS NULL OR N'Default' IN (SELECT y.[Type] FROM @_WantedType AS y))
            AND (@_Before IS NULL OR CASE
                        WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                            THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                        ELSE COALESCE(
                            s.[UpdatedAt],
                            DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                        )
                    END < @_Before)
            AND (@_Since IS NULL OR CASE
                        WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                            THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                        ELSE COALESCE(
                            s.[UpdatedAt],
                            DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                        )
                    END >= @_Since)
            AND (
                @_Longer IS NULL
                OR CASE
                    WHEN CASE
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
            END = 'Processing'
                        THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))), @_Now)
                    ELSE COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        )
                END > @_Longer
            )
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@_Error IS NULL OR CHARINDEX(@_Error, s.[Error] COLLATE Latin1_General_BIN2) > 0)
            AND (@After IS NULL OR (q.[id] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
        ORDER BY q.[id]
        /* For this filter: which of its members are there decides how the items are reached. */
        OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);

        RETURN 0;
    END;

    /* How far: as many items on as are to be read, else to the end. */
    IF @Most IS NOT NULL
    BEGIN
        INSERT INTO @_Given ([Ordinal], [Key1])
        SELECT -2, l.[id]
        FROM (
            SELECT q.[id]
            FROM [dbo].[four_queue] AS q
            WHERE
                (@After IS NULL OR (q.[id] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
            ORDER BY q.[id]
            OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        ) AS l
        OPTION (RECOMPILE);

        SET @_Further = @@ROWCOUNT;
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
                    WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                        THEN s.[Status]
                    ELSE 'Processing'
                END
            WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
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
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                ELSE 'Processing'
            END AS [ItemStatus],
        s.[Step] AS [ItemStep],
        COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt],
        s.[Response] AS [ItemResponse],
        s.[Error] AS [ItemError],
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
        COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS [ItemDuration],
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt],
        s.[UpdatedAt] AS [ItemToken],
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
        CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE
                WHEN
                    s.[UpdatedAt] IS NULL
                    OR s.[Status] = 'Pending'
                    OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                    THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
                ELSE s.[LeaseUntil]
            END END AS [ItemLeaseUntil]
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
                    WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                        THEN s.[Status]
                    ELSE 'Processing'
                END
            WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
            ELSE 'Processing'
        END IN (SELECT w.[Status] FROM @_Wanted AS w)
        AND (@_Types IS NULL OR N'Default' IN (SELECT y.[Type] FROM @_WantedType AS y))
        AND (@_Before IS NULL OR CASE
                    WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                        THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                    ELSE COALESCE(
                        s.[UpdatedAt],
                        DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                    )
                END < @_Before)
        AND (@_Since IS NULL OR CASE
                    WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                        THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                    ELSE COALESCE(
                        s.[UpdatedAt],
                        DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                    )
                END >= @_Since)
        AND (
            @_Longer IS NULL
            OR CASE
                WHEN CASE
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
        END = 'Processing'
                    THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))), @_Now)
                ELSE COALESCE(
        s.[Duration],
        /* Nothing of completed items is kept beside the table, which has both times. */
        CASE
            WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
        END
    )
            END > @_Longer
        )
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (@_Error IS NULL OR CHARINDEX(@_Error, s.[Error] COLLATE Latin1_General_BIN2) > 0)
        AND (@After IS NULL OR (q.[id] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
        AND (@_Further = 0 OR (q.[id] <= (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -2)))
    ORDER BY q.[id]
    /* For this filter: which of its members are there decides how the items are reached. */
    OPTION (RECOMPILE);

    IF @@ROWCOUNT < @Max AND @_Further = 1
        SELECT
            'MORE' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            CAST(g.[Key1] AS nvarchar(36)) AS [Key]
        FROM @_Given AS g
        WHERE g.[Ordinal] = -2;

    RETURN 0;
END;
GO
