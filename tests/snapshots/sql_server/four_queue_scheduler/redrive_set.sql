/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Redrive_FourQueueScheduler_Set_trx]
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
    DECLARE @Now datetime2(7); /* UTC */
    DECLARE @At datetime2(7); /* the same moment as the table tells it */
    DECLARE @Stamp datetimeoffset(7);
    DECLARE @Offset int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] nvarchar(max) NULL,
        [id] bigint NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL,
        [Release] bit NULL,
        UNIQUE CLUSTERED ([id], [Ordinal])
    );
    DECLARE @Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Was] varchar(20) NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );
    DECLARE @Looks int = 0;
    /* What items become: written to the table and to FourQueueScheduler_Lease in one way, whatever the reason. */
    DECLARE @Change TABLE (
        [id] bigint NOT NULL,
        [Was] varchar(20) NOT NULL,
        [Status] varchar(20) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Token] datetime2(7) NOT NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [StartedAt] datetime2(7) NULL,
        [FinishedAt] datetime2(7) NULL,
        [Duration] bigint NULL,
        [DueAt] datetime2(7) NULL,
        [LeaseOwner] nvarchar(128) NULL,
        [LeaseUntil] datetime2(7) NULL,
        /* The token that stood beside the table: it must stand there still when this is written. */
        [Before] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
    DECLARE @Written int;
    DECLARE @Kept int;
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
        THROW 50012, N'Redrive_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    INSERT INTO @Item (
        [Ordinal], [Key], [id], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt],
        [Release]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[Key],
        TRY_CAST(NULLIF(r.[Key], N'') AS bigint),
        r.[Token],
        r.[Attempt],
        r.[Status],
        r.[Step],
        r.[Response],
        r.[Error],
        COALESCE(
            r.[DueAt],
            DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, SYSUTCDATETIME()))
        ),
        r.[Release]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key] nvarchar(max) '$.key',
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status',
        [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response',
        [Error] nvarchar(max) '$.error',
        [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Release] bit '$.release'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Redrive_FourQueueScheduler_Set_trx: at most 1000 items a call.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @Stamp = SYSDATETIMEOFFSET();
        SET @Offset = DATEPART(TZOFFSET, @Stamp);
        SET @At = CAST(@Stamp AS datetime2(7));
        SET @Now = DATEADD(MINUTE, -@Offset, @At);

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

        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
        /* What moves to another place of the index while it is looked for can be missed, once. */
        WHILE @Looks = 0 OR (@Looks = 1 AND EXISTS (SELECT 1 FROM @Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
        BEGIN
            SET @Looks = @Looks + 1;
            DELETE FROM @Work WHERE [Answer] = 'NOT_FOUND';

            INSERT INTO @Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
            SELECT
                x.[Ordinal],
                CASE
                    WHEN x.[Found] = 0 THEN 'NOT_FOUND'
                    WHEN x.[Given] IS NOT NULL AND (x.[Token] IS NULL OR x.[Given] <> x.[Token]) THEN 'CONFLICT'
                    /* The same item twice in one call: the first of them counts. */
                    WHEN x.[Place] > 1 THEN 'CONFLICT'
                    WHEN x.[Is] IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
                    ELSE 'OK'
                END,
                x.[Is],
                'Pending',
                x.[Token],
                0
            FROM (
                SELECT
                    i.[Ordinal],
                    i.[Token] AS [Given],
                    i.[Status] AS [To],
                    i.[Attempt],
                    i.[Release],
                    i.[DueAt],
                    CASE WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL THEN 1 ELSE 0 END AS [HasData],
                    CASE WHEN q.[id] IS NULL THEN 0 ELSE 1 END AS [Found],
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
                    END AS [Is],
                    COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
                    CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [LeaseOwner],
                    s.[UpdatedAt] AS [Token],
                    ROW_NUMBER() OVER (PARTITION BY i.[id] ORDER BY i.[Ordinal]) AS [Place]
                FROM @Item AS i
                LEFT JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK)
                    ON q.[in_process] IN (0, 1) AND q.[id] = i.[id]
                /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
                LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
                    ON s.[id] = q.[id]
            ) AS x
            WHERE NOT EXISTS (SELECT 1 FROM @Work AS w WHERE w.[Ordinal] = x.[Ordinal])
            OPTION (LOOP JOIN, FORCE ORDER);
        END;

        UPDATE @Work
        SET
            [Status] = CASE WHEN [Answer] = 'NOT_FOUND' THEN NULL ELSE [Was] END,
            [AttemptNum] = CASE WHEN [Answer] = 'NOT_FOUND' THEN NULL ELSE [AttemptNum] END
        WHERE [Answer] <> 'OK';

        UPDATE @Work
        SET [Token] = CASE WHEN [Token] >= @Now THEN DATEADD(MICROSECOND, 1, [Token]) ELSE @Now END
        WHERE [Answer] = 'OK';

        INSERT INTO @Change (
            [id], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [DueAt], [Before]
        )
        SELECT
            i.[id], w.[Was], w.[Status], w.[AttemptNum], w.[Token],
            s.[Step],
            s.[Response],
            s.[Error],
            @Now,
            s.[UpdatedAt]
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = i.[id]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = i.[id]
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        /* The rows are locked and in @Change: first the table, then what is kept beside it. */
        UPDATE q
        SET
            [scheduled_start_date] = COALESCE(DATEADD(MINUTE, @Offset, w.[DueAt]), q.[scheduled_start_date]),
            [start_date] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @At
                ELSE q.[start_date] END,
            [end_date] = CASE
                WHEN w.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted',
                    'Pending', 'Error')
                    THEN NULL
                WHEN w.[Status] IN ('Completed')
                    THEN COALESCE(DATEADD(MINUTE, @Offset, w.[FinishedAt]), @At)
                ELSE COALESCE(DATEADD(MINUTE, @Offset, w.[FinishedAt]), q.[end_date])
            END,
            [attempts] = w.[AttemptNum],
            [app_server] = CASE WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                ELSE q.[app_server] COLLATE DATABASE_DEFAULT END,
            [in_process] = CASE
                WHEN w.[Status] IN ('Pending', 'Error')
                    THEN 0
                WHEN w.[Status] IN ('Processing', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated',
                    'PartiallyCompleted')
                    THEN 1
                ELSE q.[in_process]
            END
        FROM @Change AS w
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = w.[id]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Written = @@ROWCOUNT;

        IF @Written <> (SELECT COUNT(*) FROM @Change)
            THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;
        SET @Kept = 0;

        UPDATE s
        SET
            [Status] = w.[Status],
            [Step] = w.[Step],
            [AttemptNum] = w.[AttemptNum],
            [Response] = w.[Response],
            [Error] = w.[Error],
            [StartedAt] = w.[StartedAt],
            [FinishedAt] = w.[FinishedAt],
            [Duration] = w.[Duration],
            [DueAt] = w.[DueAt],
            [UpdatedAt] = w.[Token],
            [LeaseOwner] = w.[LeaseOwner],
            [LeaseUntil] = w.[LeaseUntil]
        FROM @Change AS w
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = w.[id]
        WHERE s.[UpdatedAt] = w.[Before]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Kept = @Kept + @@ROWCOUNT;

        IF @Kept <> (SELECT COUNT(*) FROM @Change AS w WHERE w.[Before] IS NOT NULL)
            THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

        IF @Kept < @Written
            INSERT INTO [readpast].[FourQueueScheduler_Lease] (
                [id], [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [FinishedAt],
                [Duration], [DueAt], [UpdatedAt], [LeaseOwner], [LeaseUntil]
            )
            SELECT
                w.[id], w.[Status], w.[Step], w.[AttemptNum], w.[Response], w.[Error], w.[StartedAt],
                w.[FinishedAt], w.[Duration], w.[DueAt], w.[Token], w.[LeaseOwner], w.[LeaseUntil]
            FROM @Change AS w
            WHERE
                w.[Before] IS NULL
            OPTION (LOOP JOIN, FORCE ORDER);

        /* All of them: what is answered for may be gone when it is asked for again. */
        IF @Operation IS NOT NULL
        BEGIN
            SET @Result = (
                SELECT
                    w.[Ordinal] AS [ordinal],
                    w.[Answer] AS [answer],
                    w.[Token] AS [token],
                    w.[AttemptNum] AS [attempt],
                    w.[Status] AS [status]
                FROM @Work AS w
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
        DELETE FROM @Work;
        SET @Result = (SELECT p.[Result] FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @Work ([Ordinal], [Answer], [Token], [AttemptNum], [Status])
        SELECT r.[ordinal], r.[answer], r.[token], r.[attempt], r.[status]
        FROM OPENJSON(@Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [token] datetime2(7) '$.token',
            [attempt] int '$.attempt', [status] varchar(20) '$.status'
        ) AS r;
    END;

    INSERT INTO @Out ([Seq], [Answer], [Ordinal], [Key], [Token], [AttemptNum], [Status])
    SELECT w.[Ordinal], w.[Answer], w.[Ordinal], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @Work AS w
    INNER JOIN @Item AS i
        ON i.[Ordinal] = w.[Ordinal];

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