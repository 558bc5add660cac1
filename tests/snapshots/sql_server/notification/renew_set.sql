/*
Extend the leases of a worker's items, counted from now on the server's clock. @Items is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Renew_Notification_Set_trx]
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @LeaseMs int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [EnqueuedAt] datetime2(7) NULL,
        [Ordinal] int NOT NULL,
        [Attempt] int NULL,
        UNIQUE CLUSTERED ([EnqueuedAt], [Ordinal])
    );
    DECLARE @Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Ordinal] int NULL,
        [DueMs] bigint NULL,
        [EnqueuedAt] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Renew_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.leaseMs'),
        60000
    );

    IF @LeaseMs < 1
        THROW 50021, N'Renew_Notification_Set_trx: @LeaseMs must be at least 1.', 1;

    INSERT INTO @Item ([Ordinal], [EnqueuedAt], [Attempt])
    SELECT
        CAST(j.[key] AS int),
        r.[EnqueuedAt],
        r.[Attempt]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EnqueuedAt] datetime2(7) '$.key',
        [Attempt] int '$.attempt'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Renew_Notification_Set_trx: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN q.[Status] = 'Processing' AND q.[LeaseOwner] = @Worker AND q.[AttemptNum] = i.[Attempt] THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal],
            i.[EnqueuedAt],
            q.[UpdatedAt],
            q.[AttemptNum],
            q.[Status]
        FROM @Item AS i
        LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);

        SET @Now = SYSUTCDATETIME();
        UPDATE q
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @Now)
        FROM @Out AS o
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = o.[EnqueuedAt]
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        o.[Answer],
        o.[Ordinal],
        o.[DueMs],
        o.[EnqueuedAt] AS [Key],
        o.[Token],
        o.[AttemptNum],
        o.[Status]
    FROM @Out AS o
    ORDER BY o.[Seq];

    RETURN 0;
END;
GO