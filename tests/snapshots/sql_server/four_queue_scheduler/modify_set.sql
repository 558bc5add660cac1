/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_FourQueueScheduler_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
items claimed by the first call are left to their lease.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_Set_trx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0
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
    DECLARE @Locked int;
    DECLARE @Alone int;
    DECLARE @MaxAttempts int;
    DECLARE @SilentMs int;
    DECLARE @Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [id] bigint NOT NULL,
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Row] bigint NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
    DECLARE @RecoverMax int = 100;
    DECLARE @Searched int = 0;
    DECLARE @Candidate TABLE (
        [id] bigint NOT NULL,
        [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([id])
    );
    DECLARE @Gone TABLE (
        [id] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([id])
    );
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
        THROW 50012, N'Modify_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'fourqueuescheduler.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'fourqueuescheduler.leaseMs'),
        600000
    );
    SET @SilentMs = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'fourqueuescheduler.leaseMs'), 600000
    );
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: @Max must be from 0 to 1000.', 1;

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
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: at most 1000 items a call.', 1;

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
                    WHEN
                        x.[Attempt] > 0
                        AND (
                            x.[Is] <> 'Processing'
                            OR x.[LeaseOwner] IS NULL
                            OR x.[LeaseOwner] <> @Worker
                            OR x.[AttemptNum] <> x.[Attempt]
                        )
                        THEN 'LEASE_LOST'
                    WHEN x.[Given] IS NOT NULL AND (x.[Token] IS NULL OR x.[Given] <> x.[Token]) THEN 'CONFLICT'
                    WHEN x.[Given] IS NULL AND x.[Attempt] > 0 THEN 'CONFLICT'
                    /* The same item twice in one call: the first of them counts. */
                    WHEN x.[Place] > 1 THEN 'CONFLICT'
                    WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                    /* Response and error data do not go to an item that its status closes to workers. */
                    WHEN x.[HasData] = 1 AND [readpast].[QueueIsEditable_fn](x.[Is]) = 0 THEN 'ILLEGAL_TRANSITION'
                    ELSE 'OK'
                END,
                x.[Is],
                CASE
                    /* A step keeps the claim, and the attempt is not over. */
                    WHEN x.[Is] = 'Processing' AND t.[ToStatus] = 'Processing' THEN 'Processing'
                    /* An item given back unworked gets its attempt back too, so none is spent. */
                    WHEN
                        x.[AttemptNum] >= @MaxAttempts
                        AND t.[ToStatus] <> 'Completed'
                        AND NOT (x.[Is] = 'Processing' AND t.[ToStatus] = 'Pending' AND x.[Release] = 1)
                        THEN 'Failed'
                    ELSE t.[ToStatus]
                END,
                x.[Token],
                CASE
                    WHEN x.[Is] = 'Processing' AND t.[ToStatus] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                    /* Processing from another state is a claim of this one item. */
                    WHEN x.[Is] <> 'Processing' AND t.[ToStatus] = 'Processing' AND x.[AttemptNum] < @MaxAttempts
                        THEN x.[AttemptNum] + 1
                    ELSE x.[AttemptNum]
                END
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
            LEFT JOIN [readpast].[QueueTransition] AS t
                ON t.[FromStatus] = x.[Is] AND t.[ToStatus] = x.[To]
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

        DELETE FROM @Change;
        INSERT INTO @Change (
            [id], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
            [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
        )
        SELECT
            x.[id], x.[Was], x.[Status], x.[AttemptNum], x.[Token], x.[Step], x.[Response], x.[Error],
            x.[StartedAt],
            CASE WHEN x.[Finished] = 1 THEN @Now END,
            CASE WHEN x.[Finished] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @Now) END,
            x.[DueAt],
            x.[LeaseOwner],
            x.[LeaseUntil],
            x.[Before]
        FROM (
            SELECT
                i.[id],
                s.[UpdatedAt] AS [Before],
                w.[Was],
                w.[Status],
                w.[AttemptNum],
                w.[Token],
                COALESCE(i.[Step], s.[Step]) AS [Step],
                COALESCE(i.[Response], s.[Response]) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN w.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', w.[AttemptNum], N' of ', @MaxAttempts,
                            N'; asked for ', i.[Status], N'.'
                        )
                    /* What went wrong before is over. */
                    WHEN w.[Status] = 'Completed' THEN NULL
                    ELSE s.[Error]
                END AS [Error],
                CASE
                    WHEN w.[Status] = 'Processing' AND w.[Was] <> 'Processing' THEN @Now
                    ELSE COALESCE(s.[StartedAt], DATEADD(MINUTE, -@Offset, CAST(q.[start_date] AS datetime2(7))))
                END AS [StartedAt],
                [readpast].[QueueIsFinished_fn](w.[Status]) AS [Finished],
                COALESCE(
                    i.[DueAt],
                    /*
                    5000 ms after the first attempt, 200 per cent of the delay before after each further one,
                    at most 3600000 ms; up to 50 per cent less by chance, for each item anew.
                    The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                    */
                    CASE
                        WHEN w.[Status] = 'Error' AND w.[Was] = 'Processing'
                            THEN DATEADD(
                                MILLISECOND,
                                CAST(ROUND(
                                    CASE
                                        WHEN
                                            (w.[AttemptNum] - 1) * LOG(200 / 100.0)
                                            >= LOG(3600000.0 / 5000)
                                            THEN 3600000.0
                                        ELSE 5000 * POWER(200 / CAST(100 AS float), w.[AttemptNum] - 1)
                                    END
                                    * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                                ) AS int),
                                @Now
                            )
                    END,
                    NULL
                ) AS [DueAt],
                CASE
                    WHEN w.[Status] = 'Processing' AND w.[Was] <> 'Processing' THEN @Worker
                    ELSE CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                END AS [LeaseOwner],
                CASE WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END AS [LeaseUntil]
            FROM @Item AS i
            INNER JOIN @Work AS w
                ON w.[Ordinal] = i.[Ordinal]
            INNER JOIN [dbo].[four_queue] AS q
                ON q.[in_process] IN (0, 1) AND q.[id] = i.[id]
            LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
                ON s.[id] = i.[id]
            WHERE w.[Answer] = 'OK'
        ) AS x
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

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

        DELETE s
        FROM @Change AS w
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = w.[id]
        WHERE
            w.[Status] = 'Completed'
            AND s.[UpdatedAt] = w.[Before]
            /* What the table has a column for, or nobody gave, is not kept twice. */
            AND w.[Step] IS NULL
            AND w.[Response] IS NULL
            AND w.[Error] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Kept = @@ROWCOUNT;

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
                AND (
                    w.[Status] <> 'Completed'
                    OR w.[Step] IS NOT NULL
                    OR w.[Response] IS NOT NULL
                    OR w.[Error] IS NOT NULL
                )
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

        IF @Max > 0
        BEGIN
            /*
            Which items are to be looked at. The searches take no update locks: they may pass many items in flight whose
            leases are good, and no worker shall wait for them.
            */
            DELETE FROM @Change;
            DELETE FROM @Candidate;
            IF @Recover > 0
            BEGIN
                INSERT INTO @Candidate ([id], [StartedAt])
                SELECT TOP (@RecoverMax) s.[id], s.[StartedAt]
                FROM [readpast].[FourQueueScheduler_Lease] AS s
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                WHERE
                    s.[Status] = 'Processing'
                    AND s.[LeaseUntil] <= @Now
                ORDER BY s.[StartedAt];

                IF @@ROWCOUNT = @RecoverMax
                    /* All that is left of the last claim: a chunk must not split one. */
                    INSERT INTO @Candidate ([id], [StartedAt])
                    SELECT s.[id], s.[StartedAt]
                    FROM [readpast].[FourQueueScheduler_Lease] AS s
                        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                    WHERE
                        s.[Status] = 'Processing'
                        AND s.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @Candidate AS c)
                        AND s.[LeaseUntil] <= @Now
                        AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE c.[id] = s.[id]);

                /* What somebody else took, so that no row beside the table has it in work, and left for a lease's time.
                */
                INSERT INTO @Candidate ([id])
                SELECT TOP (@RecoverMax) q.[id]
                FROM [dbo].[four_queue] AS q
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
                WHERE
                    q.[in_process] = 1 AND q.[end_date] IS NULL
                    AND q.[start_date] <= CAST(DATEADD(MILLISECOND, -@SilentMs, @At) AS datetime)
                    AND NOT EXISTS (
                        SELECT 1 FROM [readpast].[FourQueueScheduler_Lease] AS s
                        WHERE s.[id] = q.[id] AND s.[Status] <> 'Pending'
                    )
                    AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE c.[id] = q.[id])
                ORDER BY q.[start_date];
            END;

            /* A worker that begins anew takes up at once what it left. */
            IF @Recover = 2
            BEGIN
                INSERT INTO @Candidate ([id])
                SELECT TOP (1000) s.[id]
                FROM [readpast].[FourQueueScheduler_Lease] AS s
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                WHERE
                    s.[Status] = 'Processing'
                    AND s.[LeaseOwner] = @Worker
                    AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE c.[id] = s.[id])
                ORDER BY s.[StartedAt];

                INSERT INTO @Candidate ([id])
                SELECT TOP (1000) q.[id]
                FROM [dbo].[four_queue] AS q
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
                WHERE
                    q.[in_process] = 1 AND q.[end_date] IS NULL
                    AND q.[app_server] = @Worker
                    AND NOT EXISTS (
                        SELECT 1 FROM [readpast].[FourQueueScheduler_Lease] AS s
                        WHERE s.[id] = q.[id] AND s.[Status] <> 'Pending'
                    )
                    AND NOT EXISTS (SELECT 1 FROM @Candidate AS c WHERE c.[id] = q.[id]);
            END;
            SET @Searched = (SELECT COUNT(*) FROM @Candidate);
            IF @Searched > 0 AND @Recover > 0
                /*
                Of what was claimed together, nobody knows which was begun. Read without locks: another recovery may
                have
                the rest of it in hands.
                */
                UPDATE c
                SET [Together] = 1
                FROM @Candidate AS c
                INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (READUNCOMMITTED)
                    ON s.[id] = c.[id]
                WHERE
                    s.[Status] = 'Processing'
                    AND EXISTS (
                        SELECT 1
                        FROM [readpast].[FourQueueScheduler_Lease] AS o WITH (READUNCOMMITTED,
                            INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                        WHERE
                            o.[Status] = 'Processing'
                            AND o.[StartedAt] = s.[StartedAt]
                            AND o.[LeaseOwner] = s.[LeaseOwner]
                            AND NOT (o.[id] = s.[id])
                    )
                OPTION (LOOP JOIN, FORCE ORDER);

            IF @Searched > 0
            BEGIN
                /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
                INSERT INTO @Change (
                    [id], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                    [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
                )
                SELECT
                    x.[id],
                    x.[Is],
                    CASE
                        WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 AND x.[Ends] = 1 THEN 'Failed'
                        WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 THEN 'Error'
                        ELSE x.[Is]
                    END,
                    x.[AttemptNum] - CASE WHEN x.[Is] = 'Processing' THEN x.[Together] ELSE 0 END,
                    x.[Token],
                    x.[Step],
                    x.[Response],
                    CASE
                        WHEN x.[Is] = 'Processing'
                            THEN CONCAT(
                                N'The lease of worker ', x.[LeaseOwner], N' ran out on attempt ', x.[AttemptNum],
                                    N' of ',
                                @MaxAttempts, N'; the worker is taken for dead.',
                                CASE
                                    WHEN x.[Together] = 1
                                        THEN
                                            N' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                                END
                            )
                        ELSE x.[Error]
                    END,
                    x.[StartedAt],
                    CASE WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN @Now END,
                    CASE WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt],
                        @Now) END,
                    CASE WHEN x.[Is] = 'Processing' THEN CAST(NULL AS datetime2(7)) END,
                    x.[LeaseOwner],
                    /* A lease that is over, on an item that waits, is the mark of one that came back from a dead
                    worker. */
                    CASE
                        WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN NULL
                        WHEN x.[Is] = 'Processing' AND x.[LeaseUntil] < @Now THEN x.[LeaseUntil]
                        WHEN x.[Is] = 'Processing' THEN @Now
                        WHEN x.[Died] = 1 THEN x.[LeaseUntil]
                    END,
                    x.[Before]
                FROM (
                    SELECT
                        q.[id],
                        c.[Together],
                        CASE WHEN c.[Together] = 0 AND COALESCE(CAST(q.[attempts] AS int), 0) >= @MaxAttempts THEN 1
                            ELSE 0 END AS [Ends],
                        CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END
                            AS [Died],
                        s.[LeaseUntil],
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
                        CASE
                            WHEN CASE WHEN s.[UpdatedAt] IS NULL OR s.[Status] = 'Pending' THEN DATEADD(MILLISECOND,
                                @SilentMs, DATEADD(MINUTE, -@Offset, CAST(q.[start_date] AS datetime2(7))))
                                ELSE s.[LeaseUntil] END <= @Now THEN 1
                            WHEN @Recover = 2 AND CAST(q.[app_server]
                                AS nvarchar(128)) COLLATE Latin1_General_BIN2 = @Worker THEN 1
                            ELSE 0
                        END AS [GivenUp],
                        COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
                        CASE WHEN s.[UpdatedAt] >= @Now THEN DATEADD(MICROSECOND, 1, s.[UpdatedAt]) ELSE @Now END
                            AS [Token],
                        s.[Step] AS [Step],
                        s.[Response] AS [Response],
                        s.[Error] AS [Error],
                        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@Offset, CAST(q.[start_date] AS datetime2(7))))
                            AS [StartedAt],
                        s.[DueAt],
                        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [LeaseOwner],
                        s.[UpdatedAt] AS [Before]
                    FROM @Candidate AS c
                    INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[in_process] IN (0, 1) AND q.[id] = c.[id]
                    LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
                        ON s.[id] = c.[id]
                ) AS x
                WHERE NOT (x.[Is] = 'Processing' AND x.[GivenUp] = 0)
                OPTION (LOOP JOIN, FORCE ORDER);

                IF @@ROWCOUNT < @Searched
                BEGIN
                    /* Items that are in the table no more leave nothing behind. */
                    INSERT INTO @Gone ([id])
                    SELECT c.[id]
                    FROM @Candidate AS c
                    WHERE
                        NOT EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1)
                            AND q.[id] = c.[id])
                        AND NOT EXISTS (SELECT 1 FROM @Gone AS g WHERE g.[id] = c.[id]);

                    /* What moved to another place of the index while it was looked for can be missed, once. */
                    DELETE g
                    FROM @Gone AS g
                    WHERE EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1)
                        AND q.[id] = g.[id]);

                    DELETE s
                    FROM @Gone AS g
                    INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
                        ON s.[id] = g.[id]
                    WHERE s.[Status] IN ('Processing', 'Error')
                    OPTION (LOOP JOIN, FORCE ORDER);
                END;

                IF EXISTS (SELECT 1 FROM @Change AS w WHERE w.[Status] = w.[Was])
                BEGIN
                    /* Somebody has set the table by hand: it is right, and what stands beside it follows. */
                    UPDATE s
                    SET
                        [Status] = w.[Status],
                        [DueAt] = NULL,
                        [LeaseUntil] = NULL
                    FROM @Change AS w
                    INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
                        ON s.[id] = w.[id]
                    WHERE
                        w.[Status] = w.[Was]
                        AND s.[Status] <> w.[Status]
                    OPTION (LOOP JOIN, FORCE ORDER);

                    DELETE FROM @Change WHERE [Status] = [Was];
                END;

                /* The rows are locked and in @Change: first the table, then what is kept beside it. */
                UPDATE q
                SET
                    [scheduled_start_date] = COALESCE(DATEADD(MINUTE, @Offset, w.[DueAt]), q.[scheduled_start_date]),
                    [start_date] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @At
                        ELSE q.[start_date] END,
                    [end_date] = CASE
                        WHEN w.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated',
                            'PartiallyCompleted', 'Pending', 'Error')
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
            END;

            /*
            Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
            update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait
            for
            another worker.
            app_server is in no index: reading it visits the row itself and so locks it, not just a key of the index.
            */
            DELETE FROM @Change;
            INSERT INTO @Due ([id], [AttemptNum], [Token], [Row])
            SELECT TOP (@Max)
                q.[id],
                COALESCE(CAST(q.[attempts] AS int), 0),
                NULL,
                DATALENGTH(q.[app_server])
            FROM [dbo].[four_queue] AS q
                WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
            WHERE
                q.[in_process] = 0
                AND (q.[scheduled_start_date] IS NULL OR q.[scheduled_start_date] <= @At)
            ORDER BY
                q.[id];
            SET @Locked = @@ROWCOUNT;

            IF @Locked > 0
            BEGIN
                /*
                What came back from a dead worker may have been its death: it goes alone, so the claim ends before the
                first
                such item, or with it where it is the first of all. The others are let go with the transaction. Which
                they
                are is kept beside the table, and read now that nobody changes it any more.
                */
                UPDATE d
                SET
                    [Alone] = CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1
                        ELSE 0 END
                FROM @Due AS d
                INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
                    ON s.[id] = d.[id]
                OPTION (LOOP JOIN, FORCE ORDER);

                SET @Alone = (SELECT MIN(d.[Seq]) FROM @Due AS d WHERE d.[Alone] = 1 AND d.[AttemptNum] < @MaxAttempts);
                IF @Alone IS NOT NULL
                BEGIN
                    IF EXISTS (SELECT 1 FROM @Due AS d WHERE d.[Seq] < @Alone AND d.[AttemptNum] < @MaxAttempts)
                        SET @Alone = @Alone - 1;

                    DELETE FROM @Due WHERE [Seq] > @Alone AND [AttemptNum] < @MaxAttempts;
                END;

                /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                INSERT INTO @Change (
                    [id], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                    [FinishedAt], [LeaseOwner], [LeaseUntil], [Before]
                )
                SELECT
                    x.[id],
                    'Pending',
                    CASE WHEN x.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Processing' END,
                    CASE WHEN x.[AttemptNum] >= @MaxAttempts THEN x.[AttemptNum] ELSE x.[AttemptNum] + 1 END,
                    x.[Token],
                    x.[Step],
                    x.[Response],
                    CASE
                        WHEN x.[AttemptNum] >= @MaxAttempts
                            THEN CONCAT(N'Attempts are spent: ', x.[AttemptNum], N' of ', @MaxAttempts, N'.')
                        ELSE x.[Error]
                    END,
                    CASE WHEN x.[AttemptNum] < @MaxAttempts THEN @Now END,
                    CASE WHEN x.[AttemptNum] >= @MaxAttempts THEN @Now END,
                    CASE WHEN x.[AttemptNum] < @MaxAttempts THEN @Worker END,
                    CASE WHEN x.[AttemptNum] < @MaxAttempts THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END,
                    x.[Before]
                FROM (
                    SELECT
                        d.[id],
                        d.[AttemptNum],
                        CASE WHEN s.[UpdatedAt] >= @Now THEN DATEADD(MICROSECOND, 1, s.[UpdatedAt]) ELSE @Now END
                            AS [Token],
                        s.[Step],
                        s.[Response],
                        s.[Error],
                        s.[UpdatedAt] AS [Before]
                    FROM @Due AS d
                    LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
                        ON s.[id] = d.[id]
                ) AS x
                OPTION (LOOP JOIN, FORCE ORDER);

                /* The rows are locked and in @Change: first the table, then what is kept beside it. */
                UPDATE q
                SET
                    [scheduled_start_date] = COALESCE(DATEADD(MINUTE, @Offset, w.[DueAt]), q.[scheduled_start_date]),
                    [start_date] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @At
                        ELSE q.[start_date] END,
                    [end_date] = CASE
                        WHEN w.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated',
                            'PartiallyCompleted', 'Pending', 'Error')
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
                WHERE
                    q.[in_process] = 0
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
            END;
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

    IF @Max > 0 AND @Replayed = 0
    BEGIN
        INSERT INTO @Out ([Seq], [Answer], [Key], [id], [Token], [AttemptNum], [Status])
        SELECT
            1000000 + d.[Seq], CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, CAST(w.[id]
                AS nvarchar(36)), w.[id], w.[Token], w.[AttemptNum], w.[Status]
        FROM @Due AS d
        INNER JOIN @Change AS w
            ON w.[id] = d.[id]
        WHERE w.[Status] = 'Processing';

        /*
        Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due
        already is in the hands of others.
        */
        IF @@ROWCOUNT = 0
            INSERT INTO @Out ([Seq], [Answer], [DueMs])
            SELECT
                1000000,
                'EMPTY',
                MIN(x.[DueMs])
            FROM (
                SELECT CAST(NULL AS bigint) AS [DueMs]
                UNION ALL
                SELECT DATEDIFF_BIG(MILLISECOND, @At, MIN(u.[DueAt])) + 1
                FROM (
                    /* Of the thousand that come next. */
                    SELECT TOP (1000) q.[scheduled_start_date] AS [DueAt]
                    FROM [dbo].[four_queue] AS q
                        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
                    WHERE
                        q.[in_process] = 0
                        AND q.[scheduled_start_date] > @At
                    ORDER BY q.[id]
                ) AS u
            ) AS x;
    END;

    IF @Max = 0
    BEGIN
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

    /* After the commit, and in an order that no OUTPUT clause promises. */
    SELECT
        o.[Answer],
        o.[Ordinal],
        o.[DueMs],
        o.[Key],
        o.[Token],
        o.[AttemptNum],
        o.[Status],
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
    FROM @Out AS o
    LEFT JOIN [dbo].[four_queue] AS q
        ON q.[in_process] IN (0, 1) AND q.[id] = o.[id] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
        ON s.[id] = q.[id]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);

    RETURN 0;
END;
GO