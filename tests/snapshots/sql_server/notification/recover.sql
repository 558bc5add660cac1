/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Recover_Notification_trx]
    @Max int = 100
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @RecoverMax int = @Max;
    DECLARE @LeaseMs int;
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

    IF @@TRANCOUNT > 0
        THROW 50012, N'Recover_Notification_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.leaseMs'),
        60000
    );

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Recover_Notification_trx: @Max must be from 1 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

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

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        'RECOVERED' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        r.[EnqueuedAt] AS [Key],
        r.[UpdatedAt] AS [Token],
        r.[AttemptNum],
        r.[Status]
    FROM @Recovered AS r
    ORDER BY r.[EnqueuedAt];

    RETURN 0;
END;
GO