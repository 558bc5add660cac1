/*
Delete up to @Max finished items that fit @Filter, in the order of their keys, and as many rows of
FourQueueScheduler_Lease
whose items are gone. @Filter is that of Find_FourQueueScheduler; without a status it means Completed,
PartiallyCompleted,
Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to see to them;
unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_FourQueueScheduler_trx]
    @Filter nvarchar(max) = NULL,
    @Max int = 1000
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
    DECLARE @Purged int = 0;
    DECLARE @Found TABLE (
        [id] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
    DECLARE @Locked TABLE (
        [id] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
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
            N'Purge_FourQueueScheduler_trx: @Filter takes keys, status, types (arrays), before, after, error (text), once.',
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
        THROW 50021, N'Purge_FourQueueScheduler_trx: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Purge_FourQueueScheduler_trx: status names one that there is not.', 1;

    INSERT INTO @Given ([Ordinal], [id], [Key])
    SELECT
        CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS bigint),
        r.[value]
    FROM OPENJSON(@Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Purge_FourQueueScheduler_trx: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @Given AS g WHERE g.[id] IS NULL)
        THROW 50021, N'Purge_FourQueueScheduler_trx: one of the keys is not a key of FourQueueScheduler.', 1;

    INSERT INTO @Key ([id])
    SELECT DISTINCT g.[id] FROM @Given AS g;

    INSERT INTO @Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@Statuses) AS j);

    IF @@TRANCOUNT > 0
        THROW 50012, N'Purge_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Purge_FourQueueScheduler_trx: @Max must be from 1 to 1000.', 1;

    IF @Statuses IS NULL
        DELETE FROM @Wanted WHERE [Status] = 'Failed' OR [readpast].[QueueIsFinished_fn]([Status]) = 0;
    IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE [readpast].[QueueIsFinished_fn](w.[Status]) = 0)
        THROW 50021,
            N'Purge_FourQueueScheduler_trx: only finished items can be purged; cancel or terminate others first.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @Stamp = SYSDATETIMEOFFSET();
        SET @Offset = DATEPART(TZOFFSET, @Stamp);
        SET @At = CAST(@Stamp AS datetime2(7));
        SET @Now = DATEADD(MINUTE, -@Offset, @At);

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        INSERT INTO @Found ([id])
        SELECT TOP (@Max) q.[id]
        FROM [dbo].[four_queue] AS q WITH (READPAST, READCOMMITTEDLOCK)
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
        WHERE
            (@Keys IS NULL OR EXISTS (SELECT 1 FROM @Key AS k WHERE k.[id] = q.[id]))
            AND 
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
        ORDER BY q.[id];

        INSERT INTO @Locked ([id])
        SELECT q.[id]
        FROM @Found AS f
        INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[in_process] IN (0, 1) AND q.[id] = f.[id]
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
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @Locked AS l
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = l.[id]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Purged = @@ROWCOUNT;

        DELETE s
        FROM @Locked AS l
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = l.[id]
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE FROM @Found;
        INSERT INTO @Found ([id])
        SELECT TOP (@Max) s.[id]
        FROM [readpast].[FourQueueScheduler_Lease] AS s WITH (READPAST, READCOMMITTEDLOCK)
        WHERE
            s.[UpdatedAt] < DATEADD(MINUTE, -10, @Now)
            AND NOT EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1) AND q.[id] = s.[id]);

        /* What moved to another place of the index while it was looked for can be missed, once. */
        DELETE f
        FROM @Found AS f
        WHERE EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1) AND q.[id] = f.[id]);

        DELETE s
        FROM @Found AS f
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = f.[id]
        WHERE s.[UpdatedAt] < DATEADD(MINUTE, -10, @Now)
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
        CAST(@Purged AS bigint) AS [Value];

    RETURN 0;
END;
GO