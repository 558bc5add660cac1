/*
Delete up to @Max finished items that fit @Filter, oldest key first. @Filter is that of Find_Notification; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_Notification_trx]
    @Filter nvarchar(max) = NULL,
    @Max int = 1000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Purged int = 0;
    DECLARE @Found TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Locked TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Keys nvarchar(max);
    DECLARE @Statuses nvarchar(max);
    DECLARE @Types nvarchar(max);
    DECLARE @Before datetime2(7);
    DECLARE @Since datetime2(7);
    DECLARE @Error nvarchar(4000);
    DECLARE @Key TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);

    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts types
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
        THROW 50021, N'Purge_Notification_trx: @Filter takes keys, status, types (arrays), before, after, error (text), once.', 1;

    SET @Keys = JSON_QUERY(@Filter, '$.keys');
    SET @Statuses = JSON_QUERY(@Filter, '$.status');
    SET @Types = JSON_QUERY(@Filter, '$.types');
    SET @Error = JSON_VALUE(@Filter, '$.error');
    SET @Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));

    IF
        (@Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Purge_Notification_trx: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF EXISTS (SELECT 1 FROM OPENJSON(@Keys) AS k WHERE TRY_CONVERT(datetime2(7), k.[value]) IS NULL)
        THROW 50021, N'Purge_Notification_trx: one of the keys is not a key of Notification.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Purge_Notification_trx: status names one that there is not.', 1;

    INSERT INTO @Key ([EnqueuedAt])
    SELECT DISTINCT CAST(k.[value] AS datetime2(7)) FROM OPENJSON(@Keys) AS k;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Purge_Notification_trx: at most 1000 keys a call.', 1;

    INSERT INTO @Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@Statuses) AS j);

    IF @@TRANCOUNT > 0
        THROW 50012, N'Purge_Notification_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Purge_Notification_trx: @Max must be from 1 to 1000.', 1;

    IF @Statuses IS NULL
        DELETE FROM @Wanted WHERE [Status] = 'Failed' OR [readpast].[QueueIsFinished_fn]([Status]) = 0;
    IF EXISTS (SELECT 1 FROM @Wanted AS w WHERE [readpast].[QueueIsFinished_fn](w.[Status]) = 0)
        THROW 50021, N'Purge_Notification_trx: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        INSERT INTO @Found ([EnqueuedAt])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q WITH (READPAST, READCOMMITTEDLOCK)
        WHERE
            (@Keys IS NULL OR q.[EnqueuedAt] IN (SELECT k.[EnqueuedAt] FROM @Key AS k))
            AND q.[Status] IN (SELECT w.[Status] FROM @Wanted AS w)
            AND (@Types IS NULL OR q.[Type] IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
            AND (@Before IS NULL OR q.[UpdatedAt] < @Before)
            AND (@Since IS NULL OR q.[UpdatedAt] >= @Since)
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, q.[Error]) > 0)
        ORDER BY q.[EnqueuedAt];

        INSERT INTO @Locked ([EnqueuedAt])
        SELECT q.[EnqueuedAt]
        FROM @Found AS f
        INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[EnqueuedAt] = f.[EnqueuedAt]
        WHERE
            q.[EnqueuedAt] = f.[EnqueuedAt]
            AND q.[Status] IN (SELECT w.[Status] FROM @Wanted AS w)
            AND (@Types IS NULL OR q.[Type] IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
            AND (@Before IS NULL OR q.[UpdatedAt] < @Before)
            AND (@Since IS NULL OR q.[UpdatedAt] >= @Since)
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, q.[Error]) > 0)
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @Locked AS l
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = l.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Purged = @@ROWCOUNT;

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