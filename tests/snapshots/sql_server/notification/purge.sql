/*
Delete up to @Max finished items that fit @Filter, in the order of their keys. @Filter is that of Find_Notification; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_Notification_trx]
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
    DECLARE @_Purged int = 0;
    DECLARE @_Found TABLE (
        [Key1] datetime2(7) NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Locked TABLE (
        [Key1] datetime2(7) NOT NULL,
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
        [Key1] datetime2(7) NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Key1] datetime2(7) NULL
    );
    DECLARE @_Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);
    DECLARE @_WantedType TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(4000) NOT NULL);

    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts types
    so: 0 is null, 1 text, 2 a number, 4 an array. Two steps, since the parts of one condition are evaluated in any order.
    */
    IF ISJSON(@Filter) = 0 OR CHARINDEX(N'{', @Filter) = 0
        THROW 50021, N'Purge_Notification_trx: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;
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
        THROW 50021, N'Purge_Notification_trx: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;

    SET @_Keys = JSON_QUERY(@Filter, '$.keys');
    SET @_Statuses = JSON_QUERY(@Filter, '$.status');
    SET @_Types = JSON_QUERY(@Filter, '$.types');
    SET @_Error = JSON_VALUE(@Filter, '$.error');
    SET @_Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @_Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
    SET @_Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));

    IF @_Longer < 0 OR (@_Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
        THROW 50021, N'Purge_Notification_trx: longer_ms is a whole number of milliseconds.', 1;
    IF
        (@_Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@_Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Purge_Notification_trx: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@_Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Purge_Notification_trx: status names one that there is not.', 1;

    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT
        CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS datetime2(7))
    FROM OPENJSON(@_Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Purge_Notification_trx: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Purge_Notification_trx: one of the keys is not a key of Notification.', 1;

    INSERT INTO @_Key ([Key1])
    SELECT DISTINCT g.[Key1] FROM @_Given AS g;

    INSERT INTO @_Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @_Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@_Statuses) AS j);

    INSERT INTO @_WantedType ([Ordinal], [Type])
    SELECT CAST(j.[key] AS int), j.[value] FROM OPENJSON(@_Types) AS j WHERE j.[value] IS NOT NULL;

    IF @@TRANCOUNT > 0
        THROW 50012, N'Purge_Notification_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Purge_Notification_trx: @Max must be from 1 to 1000.', 1;

    IF @_Statuses IS NULL
        DELETE FROM @_Wanted WHERE [Status] = 'Failed' OR NOT ([Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused'));
    IF EXISTS (SELECT 1 FROM @_Wanted AS w WHERE NOT (w.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')))
        THROW 50021, N'Purge_Notification_trx: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();
        SET @_At = @_Now;

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        IF @_Keys IS NOT NULL
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM @_Key AS k
            INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON q.[EnqueuedAt] = k.[Key1]
            WHERE
                q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
                AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
                AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
                AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
                AND (
                    @_Longer IS NULL
                    OR CASE
                        WHEN q.[Status] = 'Processing'
                            THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                        ELSE q.[Duration]
                    END > @_Longer
                )
                /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
                AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
            ORDER BY k.[Key1]
            OPTION (LOOP JOIN, FORCE ORDER);
        ELSE IF NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] = 'Completed')
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Ended]))
            WHERE
                q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
                AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
                AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
                AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
                AND (
                    @_Longer IS NULL
                    OR CASE
                        WHEN q.[Status] = 'Processing'
                            THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                        ELSE q.[Duration]
                    END > @_Longer
                )
                /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
                AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
                /* They have an index of their own: what is completed is not read. */
                AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            ORDER BY q.[EnqueuedAt]
            OPTION (RECOMPILE);
        ELSE
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE
                q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
                AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
                AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
                AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
                AND (
                    @_Longer IS NULL
                    OR CASE
                        WHEN q.[Status] = 'Processing'
                            THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                        ELSE q.[Duration]
                    END > @_Longer
                )
                /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
                AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
                /* An item that was enqueued later cannot have changed before. */
                AND (@_Before IS NULL OR q.[EnqueuedAt] < @_Before)
            ORDER BY q.[EnqueuedAt]
            OPTION (RECOMPILE);

        INSERT INTO @_Locked ([Key1])
        SELECT q.[EnqueuedAt]
        FROM @_Found AS f
        INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[EnqueuedAt] = f.[Key1]
        WHERE
            q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
            AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
            AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
            AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
            AND (
                @_Longer IS NULL
                OR CASE
                    WHEN q.[Status] = 'Processing'
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                    ELSE q.[Duration]
                END > @_Longer
            )
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @_Locked AS l
        INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
            ON q.[EnqueuedAt] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Purged = @@ROWCOUNT;

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
