/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Redrive_Notification_Set_trx]
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Now datetime2(7);
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
    DECLARE @Changed int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [EnqueuedAt] datetime2(7) NULL,
        [Ordinal] int NOT NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [ScheduledFor] datetime2(7) NULL,
        [DelayMs] bigint NULL,
        [Release] bit NULL,
        UNIQUE CLUSTERED ([EnqueuedAt], [Ordinal])
    );
    DECLARE @Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [EnqueuedAt] datetime2(7) NULL,
        [Answer] varchar(20) NOT NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
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
        THROW 50012, N'Redrive_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH ([Key] nvarchar(400) '$.key') AS r
        WHERE r.[Key] IS NOT NULL AND TRY_CONVERT(datetime2(7), r.[Key]) IS NULL
    )
        THROW 50021, N'Redrive_Notification_Set_trx: one of the keys is not a key of Notification.', 1;

    INSERT INTO @Item ([Ordinal], [EnqueuedAt], [Token])
    SELECT
        CAST(j.[key] AS int),
        r.[EnqueuedAt],
        r.[Token]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EnqueuedAt] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Redrive_Notification_Set_trx: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

        /*
        First of all: if another attempt of this very call is under way, this waits for it, and then fails (2627).
        */
        IF @Operation IS NOT NULL
        BEGIN
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [At])
            VALUES (@Operation, @Now);

            /* Answers are asked for again within minutes. One call in 64 clears what is older than an hour. */
            IF ABS(CHECKSUM(@Operation) % 64) = 0
                DELETE TOP (256) FROM [readpast].[QueueOperation] WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                WHERE [At] < DATEADD(HOUR, -1, @Now);
        END;

        INSERT INTO @Work ([Ordinal], [EnqueuedAt], [Answer], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            i.[EnqueuedAt],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN i.[Token] IS NOT NULL AND i.[Token] <> q.[UpdatedAt] THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN ROW_NUMBER() OVER (PARTITION BY i.[EnqueuedAt] ORDER BY i.[Ordinal]) > 1 THEN 'CONFLICT'
                WHEN q.[Status] IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END,
            q.[Status],
            q.[UpdatedAt],
            q.[AttemptNum]
        FROM @Item AS i
        LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE @Work
        SET
            [Status] = 'Pending',
            [AttemptNum] = 0,
            [Token] = CASE
                WHEN @Now > [Token] THEN @Now
                ELSE DATEADD(MICROSECOND, 1, [Token])
            END
        WHERE [Answer] = 'OK';

        UPDATE q
        SET
            [Status] = w.[Status],
            [UpdatedAt] = w.[Token],
            [AttemptNum] = w.[AttemptNum],
            [ScheduledFor] = @Now,
            [StartedAt] = NULL,
            [Duration] = NULL,
            [LeaseOwner] = NULL,
            [LeaseUntil] = NULL
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @Result = (
                SELECT
                    w.[Ordinal] AS [ordinal],
                    w.[Answer] AS [answer]
                FROM @Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            UPDATE [readpast].[QueueOperation]
            SET [Result] = @Result
            WHERE [OperationId] = @Operation;
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF
            ERROR_NUMBER() <> 2627
            OR NOT EXISTS (
                SELECT 1 FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation
            )
            THROW;
        SET @Replayed = 1;
    END CATCH;

    IF @Replayed = 1
    BEGIN
        SET @Result = (SELECT p.[Result] FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal], 'OK', i.[Ordinal], i.[EnqueuedAt], q.[UpdatedAt], q.[AttemptNum], q.[Status]
        FROM @Item AS i
        LEFT JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE o
        SET [Answer] = r.[answer]
        FROM OPENJSON(@Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
        INNER JOIN @Out AS o
            ON o.[Seq] = r.[ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);
    END
    ELSE
        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            w.[Ordinal], w.[Answer], w.[Ordinal], w.[EnqueuedAt], w.[Token], w.[AttemptNum], w.[Status]
        FROM @Work AS w;

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