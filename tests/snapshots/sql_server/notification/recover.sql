/*
Gives the items of dead workers back, or ends them as Failed when their attempts are spent.
Called by Recover_Notification_trx, and by Notification_Claim, first of all (@Within = 1). Nobody is granted it.
Locks: rows that others hold are passed over, so nobody is waited for.
Returns a row per item, as Recover_Notification_trx does; within a claim nothing.
Table access order: QueueRecovery, Notification, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[Notification_Recover]
    @Max int, @Recover int,
    @Within bit /* 1: in the caller's transaction; 0: in transactions of its own, around what the table refuses */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_MyTurn int = 0;
    DECLARE @_Candidate TABLE (
        [Key1] datetime2(7) NOT NULL, [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    /* Items as they become. */
    DECLARE @_Change TABLE (
        [Key1] datetime2(7) NOT NULL, [Status] varchar(20) NOT NULL, [AttemptNum] int NOT NULL, [Token] datetime2(7) NOT NULL,
        [Error] nvarchar(max) NULL, [Duration] bigint NULL, [LeaseUntil] datetime2(7) NULL, PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Told TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL, [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Each int = 0; /* 1: one by one */
    DECLARE @_Left TABLE ([Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NOT NULL, [Together] int NOT NULL);
    DECLARE @_Back TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NOT NULL, [Token] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL, [Status] varchar(20) NOT NULL
    );

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Notification_Setting_V] AS s;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            SET @_Now = SYSUTCDATETIME();

            IF @_Each = 1
            BEGIN
                /* Those that the table refused together, one by one. */
                DELETE FROM @_Change;
                DELETE FROM @_Candidate;
                INSERT INTO @_Candidate ([Key1], [Together])
                SELECT TOP (1) l.[Key1], l.[Together]
                FROM @_Left AS l
                ORDER BY l.[Seq];
                SET @_Searched = @@ROWCOUNT;
            END
            ELSE
            BEGIN
                /*
                Which items are to be looked at. The searches take no update locks: they may pass many items in flight whose
                leases are good, and no worker shall wait for them.
                */
                DELETE FROM @_Change;
                DELETE FROM @_Candidate;
                IF @Recover > 2
                    EXECUTE [readpast].[QueueRecoveryTurn] 'Notification', @_Now, @Recover OUTPUT, @_MyTurn OUTPUT;
                /* Those that are left aside are no candidates, and take the place of none. */
                SET @_RecoverMax = @Max + (
                    SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification' AND r.[Until] > @_Now
                );
                IF @Recover > 0
                BEGIN
                    INSERT INTO @_Candidate ([Key1], [StartedAt])
                    SELECT TOP (@_RecoverMax) q.[EnqueuedAt], q.[StartedAt]
                    FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                    WHERE q.[Status] = 'Processing' AND q.[LeaseUntil] <= @_Now
                    ORDER BY q.[StartedAt];

                    IF @@ROWCOUNT = @_RecoverMax
                        /* All that is left of the last claim: a chunk must not split one. */
                        INSERT INTO @_Candidate ([Key1], [StartedAt])
                        SELECT q.[EnqueuedAt], q.[StartedAt]
                        FROM [readpast].[Notification] AS q
                        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                    WHERE
                        q.[Status] = 'Processing'
                            AND q.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c) AND q.[LeaseUntil] <= @_Now
                            AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE q.[EnqueuedAt] = c.[Key1])
                        OPTION (LOOP JOIN, FORCE ORDER);

                    /* There may be more of them: the next who comes goes on at once. */
                    IF @_MyTurn = 1 AND (SELECT COUNT(*) FROM @_Candidate) >= @_RecoverMax
                        UPDATE r
                        SET [RecoveredAt] = '0001-01-01'
                        FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK)
                        WHERE r.[Queue] = 'Notification';
                END;
                DELETE c
                FROM @_Candidate AS c
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'Notification' AND r.[Key] = CONVERT(nvarchar(30), c.[Key1], 126) COLLATE Latin1_General_BIN2
                        AND r.[Until] > @_Now
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Searched = (SELECT COUNT(*) FROM @_Candidate);
                IF @_Searched > 0 AND @Recover > 0
                    /*
                    Items that were claimed together: nobody knows which was begun. Read without locks: another recovery may have
                    the rest of them in hands.
                    */
                    UPDATE c
                    SET [Together] = 1
                    FROM @_Candidate AS c
                    INNER JOIN [readpast].[Notification] AS q WITH (READUNCOMMITTED) ON q.[EnqueuedAt] = c.[Key1]
                    WHERE
                        q.[Status] = 'Processing'
                        AND EXISTS (
                            SELECT 1
                            FROM [readpast].[Notification] AS o WITH (READUNCOMMITTED, INDEX ([IX_Notification_InFlight]))
                            WHERE
                                o.[Status] = 'Processing' AND o.[StartedAt] = q.[StartedAt] AND o.[LeaseOwner] = q.[LeaseOwner]
                                AND NOT (o.[EnqueuedAt] = q.[EnqueuedAt])
                        )
                    OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF @_Searched > 0
            BEGIN
                /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
                INSERT INTO @_Change ([Key1], [Status], [AttemptNum], [Token], [Error], [Duration], [LeaseUntil])
                SELECT
                    x.[Key1], CASE WHEN x.[Ends] = 1 THEN 'Failed' ELSE 'Error' END, x.[AttemptNum] - x.[Together],
                    CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END,
                    CASE
                        WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                            THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                        ELSE CONCAT(
                            N'The lease of worker ', x.[LeaseOwner], N' ran out on attempt ', x.[AttemptNum], N' of ',
                            @_MaxAttempts, N'; the worker is taken for dead.',
                            CASE
                                WHEN x.[Together] = 1
                                    THEN N' It was claimed together with others: this attempt does not count, '
                                        + N'and the next claim of it is of it alone.'
                            END
                        )
                    END,
                    CASE WHEN x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @_Now) END,
                    /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                    CASE
                        WHEN x.[Ends] = 1 THEN NULL
                        WHEN x.[LeaseUntil] < @_Now THEN x.[LeaseUntil]
                        ELSE @_Now
                    END
                FROM (
                    SELECT
                        q.[EnqueuedAt] AS [Key1], c.[Together],
                        CASE
                            WHEN c.[Together] = 0 AND q.[AttemptNum] + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                            ELSE 0
                        END AS [Ends],
                        r.[Attempts] AS [Refusals], r.[Reason] AS [Refused], q.[LeaseUntil] AS [LeaseUntil], q.[AttemptNum] AS [AttemptNum],
                        q.[UpdatedAt] AS [Token], q.[StartedAt] AS [StartedAt], q.[LeaseOwner] AS [LeaseOwner]
                    FROM @_Candidate AS c
                    INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[EnqueuedAt] = c.[Key1]
                    LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON r.[Queue] = 'Notification' AND r.[Key] = CONVERT(nvarchar(30), c.[Key1], 126) COLLATE Latin1_General_BIN2
                    WHERE q.[Status] = 'Processing' AND q.[LeaseUntil] <= @_Now
                ) AS x
                OPTION (LOOP JOIN, FORCE ORDER);

                /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
                UPDATE q
                SET
                    [Duration] = COALESCE(w.[Duration], q.[Duration]), [AttemptNum] = w.[AttemptNum], [LeaseUntil] = w.[LeaseUntil],
                    [Error] = w.[Error], [UpdatedAt] = w.[Token], [Status] = w.[Status]
                FROM @_Change AS w
                INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = w.[Key1]
                WHERE q.[Status] = 'Processing'
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                    THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

                /* The table has let them through. */
                DELETE r
                FROM @_Change AS w
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON r.[Queue] = 'Notification' AND r.[Key] = CONVERT(nvarchar(30), w.[Key1], 126) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF @Within = 0
                COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF @Within = 1 THROW;
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            IF [readpast].[QueueIsRefusal_fn](@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Candidate) THROW;

            DELETE FROM @_Change;
            IF @_Each = 0 AND (SELECT COUNT(*) FROM @_Candidate) > 1
            BEGIN
                SET @_Each = 1;
                INSERT INTO @_Left ([Key1], [Together])
                SELECT c.[Key1], c.[Together]
                FROM @_Candidate AS c
                ORDER BY c.[StartedAt];
                CONTINUE;
            END;

            SELECT @_RefusedKey = CONVERT(nvarchar(30), c.[Key1], 126) COLLATE Latin1_General_BIN2
            FROM @_Candidate AS c;
            EXECUTE [readpast].[QueueNoteRefusal]
                @Queue = 'Notification', @Key = @_RefusedKey, @Doing = 'recover', @Number = @_Number, @Reason = @_Reason,
                @Times = @_Times OUTPUT;
            INSERT INTO @_Told ([Key1], [Times], [Reason])
            SELECT c.[Key1], @_Times, LEFT(CONCAT(N'recover: ', @_Reason), 500)
            FROM @_Candidate AS c;
        END CATCH;
        IF @Within = 1 RETURN 0;

        INSERT INTO @_Back ([Key1], [Token], [AttemptNum], [Status])
        SELECT w.[Key1], w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Change AS w
        ORDER BY w.[Key1];

        DELETE l
        FROM @_Left AS l
        WHERE l.[Seq] = (SELECT MIN(m.[Seq]) FROM @_Left AS m);
        IF NOT EXISTS (SELECT 1 FROM @_Left) BREAK;
    END;

    SELECT
        'RECOVERED' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], w.[Key1] AS [Key], w.[Token],
        w.[AttemptNum], CAST(w.[Status] AS nvarchar(500)) AS [Status]
    FROM @_Back AS w
    UNION ALL
    SELECT 'REFUSED', NULL, NULL, r.[Key1], NULL, r.[Times], r.[Reason]
    FROM @_Told AS r
    ORDER BY [Answer], [Key];
END;
GO
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than @Max of them, if
need be.
Where the table refuses, they come back one by one, and what it refuses is left aside: a row with the answer REFUSED, how often
it was refused, and why.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Recover_Notification_trx]
    @Max int = 100,
    @Recover int = 1 /* 3 or more: unless somebody did within so many milliseconds */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;

    IF @@TRANCOUNT > 0 THROW 50012, N'Recover_Notification_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Recover_Notification_trx: @Max must be from 1 to 1000.', 1;

    EXECUTE [readpast].[Notification_Recover] @Max = @Max, @Recover = @Recover, @Within = 0;
END;
GO
