/*
Claim up to @Max due items in one commit. One row per item, in the order they are due, with the answer CLAIMED; or one
row EMPTY with the milliseconds until the next item is due (NULL when there is none).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Notification_Set_trx]
    @Worker nvarchar(128),
    @Max int,
    @LeaseMs int = NULL,
    @Recover int = 1 /* 1: first give back the items of dead workers; a caller that polls often need not each time */
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
        THROW 50012, N'Next_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.leaseMs'),
        60000
    );
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Next_Notification_Set_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Next_Notification_Set_trx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Next_Notification_Set_trx: @Max must be from 1 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

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

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

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