/*
Delete up to @Max finished items that fit @Filter, in the order of their keys, and as many rows of FourQueueScheduler_Lease
whose items are gone. @Filter is that of Find_FourQueueScheduler; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_FourQueueScheduler_trx]
    @Filter nvarchar(max) = NULL,
    @Max int = 1000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7);
    DECLARE @_Offset int;
    DECLARE @_Purged int = 0;
    DECLARE @_Found TABLE (
        [Key1] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Locked TABLE (
        [Key1] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
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
        THROW 50021, N'Purge_FourQueueScheduler_trx: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;
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
        THROW 50021, N'Purge_FourQueueScheduler_trx: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;

    SET @_Keys = JSON_QUERY(@Filter, '$.keys');
    SET @_Statuses = JSON_QUERY(@Filter, '$.status');
    SET @_Types = JSON_QUERY(@Filter, '$.types');
    SET @_Error = JSON_VALUE(@Filter, '$.error');
    SET @_Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @_Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
    SET @_Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));

    IF @_Longer < 0 OR (@_Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
        THROW 50021, N'Purge_FourQueueScheduler_trx: longer_ms is a whole number of milliseconds.', 1;
    IF
        (@_Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@_Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Purge_FourQueueScheduler_trx: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@_Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Purge_FourQueueScheduler_trx: status names one that there is not.', 1;

    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT
        CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS bigint)
    FROM OPENJSON(@_Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Purge_FourQueueScheduler_trx: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Purge_FourQueueScheduler_trx: one of the keys is not a key of FourQueueScheduler.', 1;

    INSERT INTO @_Key ([Key1])
    SELECT DISTINCT g.[Key1] FROM @_Given AS g;

    INSERT INTO @_Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @_Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@_Statuses) AS j);

    INSERT INTO @_WantedType ([Ordinal], [Type])
    SELECT CAST(j.[key] AS int), j.[value] FROM OPENJSON(@_Types) AS j WHERE j.[value] IS NOT NULL;

    IF @@TRANCOUNT > 0
        THROW 50012, N'Purge_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Purge_FourQueueScheduler_trx: @Max must be from 1 to 1000.', 1;

    IF @_Statuses IS NULL
        DELETE FROM @_Wanted WHERE [Status] = 'Failed' OR NOT ([Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused'));
    IF EXISTS (SELECT 1 FROM @_Wanted AS w WHERE NOT (w.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')))
        THROW 50021, N'Purge_FourQueueScheduler_trx: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        IF @_Keys IS NOT NULL
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[id]
            FROM @_Key AS k
            INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON q.[in_process] IN (0, 1) AND q.[id] = k.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
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
            ORDER BY k.[Key1]
            OPTION (LOOP JOIN, FORCE ORDER);
        ELSE
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[id]
            FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
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
            ORDER BY q.[id]
            OPTION (RECOMPILE);

        INSERT INTO @_Locked ([Key1])
        SELECT q.[id]
        FROM @_Found AS f
        INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[in_process] IN (0, 1) AND q.[id] = f.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
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
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @_Locked AS l
        INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK)
            ON q.[in_process] IN (0, 1) AND q.[id] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Purged = @@ROWCOUNT;

        DELETE s
        FROM @_Locked AS l
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
            ON s.[id] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* Items that are gone from the table leave nothing behind. A look without locks waits for nobody; another makes sure. */
        DELETE FROM @_Found;
        INSERT INTO @_Found ([Key1])
        SELECT TOP (@Max) s.[id]
        FROM [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE
            s.[UpdatedAt] < DATEADD(MINUTE, -10, @_Now)
            AND NOT EXISTS (
                SELECT 1 FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED)
                WHERE q.[in_process] IN (0, 1) AND s.[id] = q.[id]
            )
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE f
        FROM @_Found AS f
        WHERE EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1) AND q.[id] = f.[Key1])
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE s
        FROM @_Found AS f
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
            ON s.[id] = f.[Key1]
        WHERE s.[UpdatedAt] < DATEADD(MINUTE, -10, @_Now)
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        'purged' AS [Name],
        CAST(@_Purged AS bigint) AS [Value];

    RETURN 0;
END;
GO
