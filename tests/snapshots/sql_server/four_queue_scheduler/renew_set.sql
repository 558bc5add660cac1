/*
Extend the leases of a worker's items, counted from now on the server's clock.
@Items is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each.
four_queue is read and not locked: it has no part in a renewal.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Renew_FourQueueScheduler_Set_trx]
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
    DECLARE @Now datetime2(7); /* UTC */
    DECLARE @At datetime2(7); /* the same moment as the table tells it */
    DECLARE @Stamp datetimeoffset(7);
    DECLARE @Offset int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] nvarchar(max) NULL,
        [id] bigint NULL,
        [Attempt] int NULL,
        UNIQUE CLUSTERED ([id], [Ordinal])
    );
    /* What the table says of them. */
    DECLARE @Seen TABLE (
        [id] bigint NOT NULL,
        [InFlight] bit NOT NULL,
        [AttemptNum] int NULL,
        [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [Token] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
    DECLARE @Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Ordinal] int NULL,
        [DueMs] bigint NULL,
        [Key] nvarchar(max) NULL,
        [id] bigint NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Renew_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'fourqueuescheduler.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'fourqueuescheduler.leaseMs'),
        600000
    );

    IF @LeaseMs < 1
        THROW 50021, N'Renew_FourQueueScheduler_Set_trx: @LeaseMs must be at least 1.', 1;

    INSERT INTO @Item ([Ordinal], [Key], [id], [Attempt])
    SELECT
        CAST(j.[key] AS int),
        r.[Key],
        TRY_CAST(NULLIF(r.[Key], N'') AS bigint),
        r.[Attempt]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key] nvarchar(max) '$.key',
        [Attempt] int '$.attempt'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Renew_FourQueueScheduler_Set_trx: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @Seen ([id], [InFlight], [AttemptNum], [LeaseOwner], [Token])
        SELECT
            i.[id],
            r.[InFlight],
            r.[AttemptNum],
            r.[LeaseOwner],
            r.[Token]
        FROM (SELECT DISTINCT d.[id] FROM @Item AS d) AS i
        /* The first only: what moves to another place of the index while it is looked for could be found twice. */
        CROSS APPLY (
            SELECT TOP (1)
                CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN 1 ELSE 0 END AS [InFlight],
                COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
                q.[app_server] AS [LeaseOwner],
                CAST(NULL AS datetime2(7)) AS [Token]
            FROM [dbo].[four_queue] AS q
            WHERE
                q.[in_process] IN (0, 1) AND q.[id] = i.[id]
        ) AS r
        OPTION (LOOP JOIN, FORCE ORDER);

        INSERT INTO @Out (
            [Seq], [Answer], [Ordinal], [Key], [id], [Token], [AttemptNum], [Status]
        )
        SELECT
            i.[Ordinal],
            CASE
                WHEN e.[InFlight] IS NULL THEN 'NOT_FOUND'
                WHEN
                    e.[InFlight] = 1
                    AND s.[Status] = 'Processing'
                    AND e.[LeaseOwner] = @Worker
                    AND e.[AttemptNum] = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal],
            i.[Key],
            i.[id],
            s.[UpdatedAt],
            e.[AttemptNum],
            s.[Status]
        FROM @Item AS i
        LEFT JOIN @Seen AS e
            ON e.[id] = i.[id]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
            ON s.[id] = e.[id]
        OPTION (LOOP JOIN, FORCE ORDER);
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @Stamp = SYSDATETIMEOFFSET();
        SET @Offset = DATEPART(TZOFFSET, @Stamp);
        SET @At = CAST(@Stamp AS datetime2(7));
        SET @Now = DATEADD(MINUTE, -@Offset, @At);

        UPDATE s
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @Now)
        FROM @Out AS o
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = o.[id]
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
        o.[Key],
        o.[Token],
        o.[AttemptNum],
        o.[Status]
    FROM @Out AS o
    ORDER BY o.[Seq];

    RETURN 0;
END;
GO