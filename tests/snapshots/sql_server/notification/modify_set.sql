/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_Notification_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
items claimed by the first call are left to their lease.
Table access order: QueueOperation, Notification, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_Set_trx]
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
    DECLARE @RecoverMax int = 100;
    DECLARE @MaxAttempts int;
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
    DECLARE @Locked int;
    DECLARE @Claimed int;
    DECLARE @Alone int;
    DECLARE @Expired TABLE (
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [StartedAt] datetime2(7) NOT NULL,
        [Together] int NOT NULL DEFAULT 0 /* 1: claimed with others */
    );
    DECLARE @Recovered TABLE (
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [AttemptNum] int NOT NULL,
        [Status] varchar(20) NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        [Error] nvarchar(max) NULL
    );
    DECLARE @Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY,
        [ScheduledFor] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [UpdatedAt] datetime2(7) NOT NULL,
        [Status] varchar(20) NOT NULL,
        [Alone] int NOT NULL /* 1: came back from a dead worker */
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
        THROW 50012, N'Modify_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.leaseMs'),
        60000
    );
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Modify_Notification_Set_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_Notification_Set_trx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_Notification_Set_trx: @Max must be from 0 to 1000.', 1;

    INSERT INTO @Item (
        [Ordinal], [EnqueuedAt], [Token], [Attempt], [Status], [Step], [Response], [Error], [ScheduledFor], [DelayMs],
        [Release]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[EnqueuedAt], r.[Token], r.[Attempt], r.[Status], r.[Step], r.[Response], r.[Error], r.[ScheduledFor],
        r.[DelayMs], r.[Release]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EnqueuedAt] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status',
        [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response',
        [Error] nvarchar(max) '$.error',
        [ScheduledFor] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Release] bit '$.release'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Modify_Notification_Set_trx: at most 1000 items a call.', 1;

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

        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
        INSERT INTO @Work ([Ordinal], [EnqueuedAt], [Answer], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            i.[EnqueuedAt],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN
                    i.[Attempt] > 0
                    AND (
                        q.[Status] <> 'Processing'
                        OR q.[LeaseOwner] IS NULL
                        OR q.[LeaseOwner] <> @Worker
                        OR q.[AttemptNum] <> i.[Attempt]
                    )
                    THEN 'LEASE_LOST'
                WHEN i.[Token] IS NOT NULL AND i.[Token] <> q.[UpdatedAt] THEN 'CONFLICT'
                WHEN i.[Token] IS NULL AND i.[Attempt] > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN ROW_NUMBER() OVER (PARTITION BY i.[EnqueuedAt] ORDER BY i.[Ordinal]) > 1 THEN 'CONFLICT'
                WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN
                    (i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL)
                    AND [readpast].[QueueIsEditable_fn](q.[Status]) = 0
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END,
            CASE
                WHEN t.[ToStatus] IS NULL THEN q.[Status]
                /* A step keeps the claim, and the attempt is not over. */
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN 'Pending'
                WHEN q.[AttemptNum] >= @MaxAttempts AND t.[ToStatus] <> 'Completed' THEN 'Failed'
                ELSE t.[ToStatus]
            END,
            CASE
                WHEN @Now > q.[UpdatedAt] THEN @Now
                ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
            END,
            CASE
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN q.[AttemptNum] - 1
                /* Processing from another state is a claim of this one item. */
                WHEN q.[Status] <> 'Processing' AND i.[Status] = 'Processing' AND q.[AttemptNum] < @MaxAttempts
                    THEN q.[AttemptNum] + 1
                ELSE q.[AttemptNum]
            END
        FROM @Item AS i
        LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        LEFT JOIN [readpast].[QueueTransition] AS t
            ON t.[FromStatus] = q.[Status] AND t.[ToStatus] = i.[Status]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* What is refused shows the item as it is. */
        UPDATE w
        SET
            [Status] = q.[Status],
            [Token] = q.[UpdatedAt],
            [AttemptNum] = q.[AttemptNum]
        FROM @Work AS w
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        WHERE w.[Answer] NOT IN ('OK', 'NOT_FOUND')
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE q
        SET
            [Status] = w.[Status],
            [UpdatedAt] = w.[Token],
            [AttemptNum] = w.[AttemptNum],
            [Step] = COALESCE(i.[Step], q.[Step]),
            [Response] = COALESCE(i.[Response], q.[Response]),
            [Error] = CASE
                WHEN i.[Error] IS NOT NULL THEN i.[Error]
                WHEN w.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                    THEN CONCAT(
                        N'Attempts are spent: ', q.[AttemptNum], N' of ', @MaxAttempts,
                        N'; asked for ', i.[Status], N'.'
                    )
                /* What went wrong before is over. */
                WHEN w.[Status] = 'Completed' THEN N''
                ELSE q.[Error]
            END,
            [ScheduledFor] = COALESCE(
                i.[ScheduledFor],
                DATEADD(MILLISECOND, i.[DelayMs] % 1000, DATEADD(SECOND, i.[DelayMs] / 1000, @Now)),
                /*
                1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                */
                CASE
                    WHEN w.[Status] = 'Error' AND q.[Status] = 'Processing'
                        THEN DATEADD(
                            MILLISECOND,
                            CAST(ROUND(
                                CASE
                                    WHEN
                                        (w.[AttemptNum] - 1) * LOG(200 / 100.0)
                                        >= LOG(300000.0 / 1000)
                                        THEN 300000.0
                                    ELSE 1000 * POWER(200 / CAST(100 AS float), w.[AttemptNum] - 1)
                                END
                                * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                            ) AS int),
                            @Now
                        )
                END,
                q.[ScheduledFor]
            ),
            [StartedAt] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] <> 'Processing' THEN @Now
                ELSE q.[StartedAt]
            END,
            [Duration] = CASE
                WHEN [readpast].[QueueIsFinished_fn](w.[Status]) = 1
                    THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @Now)
                ELSE q.[Duration]
            END,
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] <> 'Processing' THEN @Worker
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = CASE WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Changed = @@ROWCOUNT;

        IF @Changed <> (SELECT COUNT(*) FROM @Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

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

        IF @Max > 0
        BEGIN
            IF @Recover > 0
            BEGIN
                /*
                Give back the items whose lease has run out, or fail them when their attempts are spent. The search
                takes no update locks: it may pass many items in flight whose leases are good, and no worker shall wait
                for it.
                */
                INSERT INTO @Expired ([EnqueuedAt], [StartedAt])
                SELECT TOP (@RecoverMax)
                    q.[EnqueuedAt],
                    q.[StartedAt]
                FROM [readpast].[Notification] AS q
                    WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                WHERE
                    q.[Status] = 'Processing'
                    AND q.[LeaseUntil] <= @Now
                ORDER BY q.[StartedAt];
                SET @Locked = @@ROWCOUNT;

                IF @Locked = @RecoverMax
                    /* All that is left of the last claim: a chunk must not split one. */
                    INSERT INTO @Expired ([EnqueuedAt], [StartedAt])
                    SELECT
                        q.[EnqueuedAt],
                        q.[StartedAt]
                    FROM [readpast].[Notification] AS q
                        WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                    WHERE
                        q.[Status] = 'Processing'
                        AND q.[StartedAt] = (SELECT MAX(e.[StartedAt]) FROM @Expired AS e)
                        AND q.[LeaseUntil] <= @Now
                        AND NOT EXISTS (SELECT 1 FROM @Expired AS e WHERE e.[EnqueuedAt] = q.[EnqueuedAt]);

                IF @Locked > 0
                BEGIN
                    /*
                    Of what was claimed together, nobody knows which was begun. Read without locks: another recovery may have
                    the rest of it in hands.
                    */
                    UPDATE e
                    SET [Together] = 1
                    FROM @Expired AS e
                    INNER JOIN [readpast].[Notification] AS q WITH (READUNCOMMITTED)
                        ON q.[EnqueuedAt] = e.[EnqueuedAt]
                    WHERE
                        q.[Status] = 'Processing'
                        AND EXISTS (
                            SELECT 1
                            FROM [readpast].[Notification] AS o WITH (READUNCOMMITTED, INDEX ([IX_Notification_InFlight]))
                            WHERE
                                o.[Status] = 'Processing'
                                AND o.[StartedAt] = q.[StartedAt]
                                AND o.[LeaseOwner] = q.[LeaseOwner]
                                AND o.[EnqueuedAt] <> q.[EnqueuedAt]
                        )
                    OPTION (LOOP JOIN, FORCE ORDER);

                    INSERT INTO @Recovered ([EnqueuedAt], [AttemptNum], [Status], [UpdatedAt], [Error])
                    SELECT
                        q.[EnqueuedAt],
                        q.[AttemptNum] - e.[Together],
                        CASE WHEN e.[Together] = 0 AND q.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Error' END,
                        CASE
                            WHEN @Now > q.[UpdatedAt] THEN @Now
                            ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
                        END,
                        CONCAT(
                            N'The lease of worker ', q.[LeaseOwner], N' ran out on attempt ', q.[AttemptNum], N' of ',
                            @MaxAttempts, N'; the worker is taken for dead.',
                            CASE
                                WHEN e.[Together] = 1
                                    THEN N' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                            END
                        )
                    FROM @Expired AS e
                    INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[EnqueuedAt] = e.[EnqueuedAt]
                    WHERE
                        q.[Status] = 'Processing'
                        AND q.[LeaseUntil] <= @Now
                    OPTION (LOOP JOIN, FORCE ORDER);

                    UPDATE q
                    SET
                        [Status] = r.[Status],
                        [UpdatedAt] = r.[UpdatedAt],
                        [Error] = r.[Error],
                        [AttemptNum] = r.[AttemptNum],
                        /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                        [LeaseUntil] = CASE
                            WHEN r.[Status] <> 'Failed' AND q.[LeaseUntil] > @Now THEN @Now
                            WHEN r.[Status] <> 'Failed' THEN q.[LeaseUntil]
                        END,
                        [Duration] = CASE
                            WHEN r.[Status] = 'Failed' THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @Now)
                            ELSE q.[Duration]
                        END
                    FROM @Recovered AS r
                    INNER JOIN [readpast].[Notification] AS q
                        ON q.[EnqueuedAt] = r.[EnqueuedAt]
                    WHERE
                        q.[Status] = 'Processing'
                        AND q.[LeaseUntil] <= @Now
                    OPTION (LOOP JOIN, FORCE ORDER);
                END;
            END;

            /*
            Choose and lock the due items, in order. The locks are update locks on rows nobody else holds, kept to the
            end of the transaction, so the updates below never wait for another worker. An item with spent attempts (the
            limit was lowered, say) ends here instead of staying at the head of the queue.
            */
            INSERT INTO @Due ([EnqueuedAt], [ScheduledFor], [AttemptNum], [UpdatedAt], [Status], [Alone])
            SELECT TOP (@Max)
                q.[EnqueuedAt],
                q.[ScheduledFor],
                q.[AttemptNum],
                CASE
                    WHEN @Now > q.[UpdatedAt] THEN @Now
                    ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
                END,
                CASE WHEN q.[AttemptNum] >= @MaxAttempts THEN 'Failed' ELSE 'Processing' END,
                /* Such a row keeps its lease that is over. */
                CASE WHEN q.[AttemptNum] < @MaxAttempts AND q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END
            FROM [readpast].[Notification] AS q
                WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
            WHERE
                q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @Now
            ORDER BY
                q.[ScheduledFor],
                q.[EnqueuedAt];
            SET @Locked = @@ROWCOUNT;

            /*
            What came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
            such item, or with it where it is the first of all. The others are let go with the transaction.
            */
            SET @Alone = (SELECT MIN(d.[Seq]) FROM @Due AS d WHERE d.[Alone] = 1);
            IF @Alone IS NOT NULL
            BEGIN
                IF EXISTS (SELECT 1 FROM @Due AS d WHERE d.[Seq] < @Alone AND d.[Status] = 'Processing')
                    SET @Alone = @Alone - 1;

                DELETE FROM @Due WHERE [Seq] > @Alone AND [Status] = 'Processing';
                SET @Locked = @Locked - @@ROWCOUNT;
            END;

            UPDATE q
            SET
                [Status] = 'Processing',
                [UpdatedAt] = d.[UpdatedAt],
                [AttemptNum] = d.[AttemptNum] + 1,
                [StartedAt] = @Now,
                [LeaseOwner] = @Worker,
                [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @Now)
            FROM @Due AS d
            INNER JOIN [readpast].[Notification] AS q
                ON q.[EnqueuedAt] = d.[EnqueuedAt]
            WHERE
                d.[Status] = 'Processing'
                AND q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @Now
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @Claimed = @@ROWCOUNT;

            IF @Claimed < @Locked
            BEGIN
                UPDATE q
                SET
                    [Status] = 'Failed',
                    [UpdatedAt] = d.[UpdatedAt],
                    [Error] = CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @MaxAttempts, N'.'),
                    [LeaseUntil] = NULL
                FROM @Due AS d
                INNER JOIN [readpast].[Notification] AS q
                    ON q.[EnqueuedAt] = d.[EnqueuedAt]
                WHERE
                    d.[Status] = 'Failed'
                    AND q.[Status] IN ('Pending', 'Error')
                    AND q.[ScheduledFor] <= @Now
                OPTION (LOOP JOIN, FORCE ORDER);

                IF @Claimed + @@ROWCOUNT <> @Locked
                    THROW 50005, N'Notification: a row that was locked for the claim changed all the same.', 1;
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
    BEGIN
        INSERT INTO @Out ([Seq], [Answer], [Ordinal], [EnqueuedAt], [Token], [AttemptNum], [Status])
        SELECT
            w.[Ordinal], w.[Answer], w.[Ordinal], w.[EnqueuedAt], w.[Token], w.[AttemptNum], w.[Status]
        FROM @Work AS w;

        IF @Max > 0
        BEGIN
            INSERT INTO @Out ([Seq], [Answer], [EnqueuedAt], [Token], [AttemptNum], [Status])
            SELECT
                1000000 + ROW_NUMBER() OVER (ORDER BY d.[ScheduledFor], d.[EnqueuedAt]),
                CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, d.[EnqueuedAt], d.[UpdatedAt], d.[AttemptNum] + 1, d.[Status]
            FROM @Due AS d
            WHERE d.[Status] = 'Processing';

            /*
            Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due
            already is in the hands of others.
            */
            IF @@ROWCOUNT = 0
                INSERT INTO @Out ([Seq], [Answer], [DueMs])
                SELECT
                    1000000,
                    'EMPTY',
                    (
                        SELECT TOP (1) DATEDIFF_BIG(MILLISECOND, @Now, q.[ScheduledFor]) + 1
                        FROM [readpast].[Notification] AS q
                            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
                        WHERE
                            q.[Status] IN ('Pending', 'Error')
                            AND q.[ScheduledFor] > @Now
                        ORDER BY
                            q.[ScheduledFor],
                            q.[EnqueuedAt]
                    );
        END;
    END;

    IF @Max = 0
    BEGIN
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

    /* After the commit, and in an order that no OUTPUT clause promises. */
    SELECT
        o.[Answer],
        o.[Ordinal],
        o.[DueMs],
        o.[EnqueuedAt] AS [Key],
        o.[Token],
        o.[AttemptNum],
        o.[Status],
        v.*
    FROM @Out AS o
    /* Applied, so that each key is sought, through all tables of the view. */
    OUTER APPLY (
        SELECT v.*
        FROM [readpast].[Worker_Notification_V] AS v
        WHERE v.[EnqueuedAt] = o.[EnqueuedAt] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    ) AS v
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);

    RETURN 0;
END;
GO