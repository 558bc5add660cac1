/*
Claim up to @Max due items in one commit. One row per item, in order, with the answer CLAIMED; or one row EMPTY with the
milliseconds until the next item is due (NULL when there is none; 0 when it only
ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_FourQueueScheduler_Set_trx]
    @Worker nvarchar(128),
    @Max int,
    @LeaseMs int = NULL,
    /*
    1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. More:
    as 1, unless somebody did within so many milliseconds.
    */
    @Recover int = 1,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_FourQueueScheduler */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7);
    DECLARE @_Offset int;
    DECLARE @_Locked int = 0;
    DECLARE @_Take int;
    DECLARE @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [Key1] bigint NOT NULL,
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Row] bigint NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_MyTurn int = 0;
    DECLARE @_Candidate TABLE (
        [Key1] bigint NOT NULL,
        [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Gone TABLE (
        [Key1] bigint NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    /* Items as they become, whatever the reason. */
    DECLARE @_Change TABLE (
        [Key1] bigint NOT NULL,
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
        [ClaimNum] bigint NULL,
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Kept int;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Ordinal] int NULL,
        [DueMs] bigint NULL,
        [Key] nvarchar(max) NULL,
        [Key1] bigint NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Next_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    SELECT
        @_MaxAttempts = MAX(CASE WHEN a.[Param] = 'fourqueuescheduler.maxAttempts' THEN a.[ValInt] END),
        @_SilentMs = MAX(CASE WHEN a.[Param] = 'fourqueuescheduler.leaseMs' THEN a.[ValInt] END)
    FROM [readpast].[AppSettings] AS a
    WHERE
        a.[Param] IN ('fourqueuescheduler.maxAttempts', 'fourqueuescheduler.leaseMs')
        /* With none or fewer, all that waits would be Failed at once: such a value does not count. */
        AND a.[ValInt] > 0;
    SET @_MaxAttempts = COALESCE(@_MaxAttempts, 3);
    SET @_SilentMs = COALESCE(@_SilentMs, 600000);
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Next_FourQueueScheduler_Set_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Next_FourQueueScheduler_Set_trx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Next_FourQueueScheduler_Set_trx: @Max must be from 1 to 1000.', 1;

    IF EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler')
    BEGIN
        /* The table refuses some: around those. */
        EXECUTE [readpast].[Next_FourQueueScheduler_Apart_trx]
            @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Claim = @Claim;
        RETURN 0;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);


        /*
        Which items are to be looked at. The searches take no update locks: they may pass many items in flight whose
        leases are good, and no worker shall wait for them.
        */
        DELETE FROM @_Change;
        DELETE FROM @_Candidate;

        IF @Recover > 2
        BEGIN
            /*
            One of all who claim looks for the items of dead workers, once in @Recover milliseconds; who comes meanwhile
            neither waits for it nor looks.
            */
            UPDATE r
            SET [RecoveredAt] = @_Now
            FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE
                r.[Queue] = 'FourQueueScheduler'
                AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) >= @Recover;
            SET @_MyTurn = @@ROWCOUNT;

            /* Also as it is not committed yet. Whoever keeps its transaction open for longer holds nobody up. */
            IF @_MyTurn = 0
                AND EXISTS (
                    SELECT 1
                    FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED)
                    WHERE
                        r.[Queue] = 'FourQueueScheduler'
                        AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) < @Recover
                )
                SET @Recover = 0;
        END;
        /* Those that are left aside are no candidates, and take the place of none. */
        SET @_RecoverMax = 100 + (
            SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler' AND r.[Until] > @_Now
        );
        IF @Recover > 0
        BEGIN
            INSERT INTO @_Candidate ([Key1], [StartedAt])
            SELECT TOP (@_RecoverMax) s.[id], s.[StartedAt]
            FROM [readpast].[FourQueueScheduler_Lease] AS s
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
            WHERE
                s.[Status] = 'Processing'
                AND s.[LeaseUntil] <= @_Now
                AND (
                    EXISTS (
                        SELECT 1
                        FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        WHERE
                            q.[in_process] IN (0, 1)
                            AND s.[id] = q.[id]
                    )
                    OR NOT EXISTS (
                        SELECT 1
                        FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED)
                        WHERE
                            q.[in_process] IN (0, 1)
                            AND s.[id] = q.[id]
                    )
                )
            ORDER BY s.[StartedAt];

            IF @@ROWCOUNT = @_RecoverMax
                /* All that is left of the last claim: a chunk must not split one. */
                INSERT INTO @_Candidate ([Key1], [StartedAt])
                SELECT s.[id], s.[StartedAt]
                FROM [readpast].[FourQueueScheduler_Lease] AS s
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
            WHERE
                s.[Status] = 'Processing'
                    AND s.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c)
                    AND s.[LeaseUntil] <= @_Now
                AND (
                    EXISTS (
                        SELECT 1
                        FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        WHERE
                            q.[in_process] IN (0, 1)
                            AND s.[id] = q.[id]
                    )
                    OR NOT EXISTS (
                        SELECT 1
                        FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED)
                        WHERE
                            q.[in_process] IN (0, 1)
                            AND s.[id] = q.[id]
                    )
                )
                    AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE s.[id] = c.[Key1])
                OPTION (LOOP JOIN, FORCE ORDER);

            /* Items that somebody else took, so that no row beside the table has it in work, and left for a lease's time. */
            INSERT INTO @_Candidate ([Key1])
            SELECT TOP (@_RecoverMax) q.[id]
            FROM [dbo].[four_queue] AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
            WHERE
                q.[in_process] = 1 AND q.[end_date] IS NULL
                AND q.[start_date] <= CAST(DATEADD(MILLISECOND, -@_SilentMs, @_At) AS datetime)
                AND NOT EXISTS (
                    SELECT 1 FROM [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE s.[id] = q.[id] AND s.[Status] <> 'Pending'
                )
                AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE q.[in_process] IN (0, 1) AND q.[id] = c.[Key1])
            ORDER BY q.[start_date]
            OPTION (LOOP JOIN, FORCE ORDER);

            /* There may be more of them: the next who comes goes on at once. */
            IF @_MyTurn = 1 AND (SELECT COUNT(*) FROM @_Candidate) >= @_RecoverMax
                UPDATE r
                SET [RecoveredAt] = '0001-01-01'
                FROM [readpast].[QueueRecovery] AS r WITH (ROWLOCK)
                WHERE r.[Queue] = 'FourQueueScheduler';
        END;

        /* A worker that begins anew takes up at once what it left. */
        IF @Recover = 2
        BEGIN
            INSERT INTO @_Candidate ([Key1])
            SELECT TOP (1000) s.[id]
            FROM [readpast].[FourQueueScheduler_Lease] AS s
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
            WHERE
                s.[Status] = 'Processing'
                AND s.[LeaseOwner] = @Worker
                AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE s.[id] = c.[Key1])
            ORDER BY s.[StartedAt]
            OPTION (LOOP JOIN, FORCE ORDER);

            INSERT INTO @_Candidate ([Key1])
            SELECT TOP (1000) q.[id]
            FROM [dbo].[four_queue] AS q
                WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
            WHERE
                q.[in_process] = 1 AND q.[end_date] IS NULL
                AND q.[app_server] = @Worker
                AND NOT EXISTS (
                    SELECT 1 FROM [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE s.[id] = q.[id] AND s.[Status] <> 'Pending'
                )
                AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE q.[in_process] IN (0, 1) AND q.[id] = c.[Key1])
            OPTION (LOOP JOIN, FORCE ORDER);
        END;
        DELETE c
        FROM @_Candidate AS c
        INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
            ON
                r.[Queue] = 'FourQueueScheduler'
                AND r.[Key] = LEFT(CAST(c.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
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
            INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (READUNCOMMITTED)
                ON s.[id] = c.[Key1]
            WHERE
                s.[Status] = 'Processing'
                AND EXISTS (
                    SELECT 1
                    FROM [readpast].[FourQueueScheduler_Lease] AS o WITH (READUNCOMMITTED, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                    WHERE
                        o.[Status] = 'Processing'
                        AND o.[StartedAt] = s.[StartedAt]
                        AND o.[LeaseOwner] = s.[LeaseOwner]
                        AND NOT (o.[id] = s.[id])
                )
            OPTION (LOOP JOIN, FORCE ORDER);

        IF @_Searched > 0
        BEGIN
            /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
            INSERT INTO @_Change (
                [Key1], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
            )
            SELECT
                x.[Key1],
                x.[Is],
                CASE
                    WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 AND x.[Ends] = 1 THEN 'Failed'
                    WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 THEN 'Error'
                    ELSE x.[Is]
                END,
                x.[AttemptNum] - CASE WHEN x.[Is] = 'Processing' THEN x.[Together] ELSE 0 END,
                CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END,
                x.[Step],
                x.[Response],
                CASE
                    WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                        THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                    WHEN x.[Is] = 'Processing'
                        THEN CONCAT(
                            CASE
                                WHEN x.[LeaseUntil] > @_Now THEN N'Worker ' + x.[LeaseOwner] + N' began anew on attempt '
                                ELSE N'The lease of worker ' + x.[LeaseOwner] + N' ran out on attempt '
                            END,
                            x.[AttemptNum], N' of ',
                            @_MaxAttempts, N'; the worker is taken for dead.',
                            CASE
                                WHEN x.[Together] = 1
                                    THEN N' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                            END
                        )
                    ELSE x.[Error]
                END,
                x.[StartedAt],
                CASE WHEN x.[Ends] = 1 AND (x.[Is] = 'Processing' OR x.[Refusals] > 0) THEN @_Now END,
                CASE WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @_Now) END,
                CASE WHEN x.[Is] = 'Processing' THEN CAST(NULL AS datetime2(7)) END,
                x.[LeaseOwner],
                /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                CASE
                    WHEN x.[Ends] = 1 AND (x.[Is] = 'Processing' OR x.[Refusals] > 0) THEN NULL
                    WHEN x.[Is] = 'Processing' AND x.[LeaseUntil] < @_Now THEN x.[LeaseUntil]
                    WHEN x.[Is] = 'Processing' THEN @_Now
                    WHEN x.[Died] = 1 THEN x.[LeaseUntil]
                END,
                x.[Before]
            FROM (
                SELECT
                    q.[id] AS [Key1],
                    c.[Together],
                    CASE
                        WHEN c.[Together] = 0 AND COALESCE(CAST(q.[attempts] AS int), 0) + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                        ELSE 0
                    END AS [Ends],
                    r.[Attempts] AS [Refusals],
                    r.[Reason] AS [Refused],
                    CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END AS [Died],
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
                    WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                        THEN s.[Status]
                    ELSE 'Processing'
                END
            WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
            ELSE 'Processing'
        END AS [Is],
                    CASE
                        WHEN CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, @_SilentMs, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END <= @_Now THEN 1
                        WHEN @Recover = 2 AND CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 = @Worker THEN 1
                        ELSE 0
                    END AS [GivenUp],
                    COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
                    s.[UpdatedAt] AS [Token],
                    s.[Step] AS [Step],
                    s.[Response] AS [Response],
                    s.[Error] AS [Error],
                    COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [StartedAt],
                    s.[DueAt],
                    CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [LeaseOwner],
                    s.[UpdatedAt] AS [Before]
                FROM @_Candidate AS c
                INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON q.[in_process] IN (0, 1) AND q.[id] = c.[Key1]
                LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
                    ON s.[id] = c.[Key1]
                LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'FourQueueScheduler'
                        AND r.[Key] = LEFT(CAST(c.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
            ) AS x
            WHERE NOT (x.[Is] = 'Processing' AND x.[GivenUp] = 0)
            OPTION (LOOP JOIN, FORCE ORDER);

            IF @@ROWCOUNT < @_Searched
            BEGIN
                /*
                Items that are in the table no more leave nothing behind. Most that were passed over are there, and locked:
                a look without locks finds them, and waits for nobody. Of the rest, another look makes sure.
                */
                INSERT INTO @_Gone ([Key1])
                SELECT c.[Key1]
                FROM @_Candidate AS c
                WHERE
                    NOT EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED) WHERE q.[in_process] IN (0, 1) AND q.[id] = c.[Key1])
                    AND NOT EXISTS (SELECT 1 FROM @_Gone AS g WHERE g.[Key1] = c.[Key1])
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE g
                FROM @_Gone AS g
                WHERE EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1) AND q.[id] = g.[Key1])
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE s
                FROM @_Gone AS g
                INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
                    ON s.[id] = g.[Key1]
                WHERE
                    /* A new item of this key may have come meanwhile: its row is of a later time. */
                    (s.[Status] = 'Processing' AND (s.[LeaseUntil] IS NULL OR s.[LeaseUntil] <= @_Now))
                    OR (s.[Status] = 'Error' AND (s.[DueAt] IS NULL OR s.[DueAt] <= @_Now))
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF EXISTS (SELECT 1 FROM @_Change AS w WHERE w.[Status] = w.[Was])
            BEGIN
                /* Somebody has set the table by hand: it is right, and what stands beside it follows. */
                UPDATE s
                SET
                    [Status] = w.[Status],
                    [DueAt] = NULL,
                    [LeaseUntil] = NULL
                FROM @_Change AS w
                INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
                    ON s.[id] = w.[Key1]
                WHERE
                    w.[Status] = w.[Was]
                    AND s.[Status] <> w.[Status]
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE FROM @_Change WHERE [Status] = [Was];
            END;

            /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
            UPDATE q
            SET
                [scheduled_start_date] = COALESCE(DATEADD(MINUTE, @_Offset, w.[DueAt]), q.[scheduled_start_date]),
                [start_date] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[start_date] END,
                [end_date] = CASE
                    WHEN w.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted', 'Pending', 'Error')
                        THEN NULL
                    WHEN w.[Status] IN ('Completed')
                        THEN COALESCE(DATEADD(MINUTE, @_Offset, w.[FinishedAt]), @_At)
                    ELSE COALESCE(DATEADD(MINUTE, @_Offset, w.[FinishedAt]), q.[end_date])
                END,
                [attempts] = w.[AttemptNum],
                [app_server] = CASE
                    WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                    ELSE CAST(q.[app_server] AS nvarchar(max)) COLLATE DATABASE_DEFAULT
                END,
                [in_process] = CASE
                    WHEN w.[Status] IN ('Pending', 'Error')
                        THEN 0
                    WHEN w.[Status] IN ('Processing', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                        THEN 1
                    ELSE q.[in_process]
                END
            FROM @_Change AS w
            INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK)
                ON q.[in_process] IN (0, 1) AND q.[id] = w.[Key1]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;

            IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;
            SET @_Kept = 0;

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
                [LeaseUntil] = w.[LeaseUntil],
                [ClaimNum] = w.[ClaimNum]
            FROM @_Change AS w
            INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
                ON s.[id] = w.[Key1]
            WHERE s.[UpdatedAt] = w.[Before]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Kept = @_Kept + @@ROWCOUNT;

            IF @_Kept <> (SELECT COUNT(*) FROM @_Change AS w WHERE w.[Before] IS NOT NULL)
                THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

            IF @_Kept < @_Written
                INSERT INTO [readpast].[FourQueueScheduler_Lease] (
                    [id], [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [FinishedAt],
                    [Duration], [DueAt], [UpdatedAt], [LeaseOwner], [LeaseUntil], [ClaimNum]
                )
                SELECT
                    w.[Key1], w.[Status], w.[Step], w.[AttemptNum], w.[Response], w.[Error], w.[StartedAt],
                    w.[FinishedAt], w.[Duration], w.[DueAt], w.[Token], w.[LeaseOwner], w.[LeaseUntil], w.[ClaimNum]
                FROM @_Change AS w
                WHERE
                    w.[Before] IS NULL
                OPTION (LOOP JOIN, FORCE ORDER);

            /* The table has let them through. */
            DELETE r
            FROM @_Change AS w
            INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = 'FourQueueScheduler'
                    AND r.[Key] = LEFT(CAST(w.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
            OPTION (LOOP JOIN, FORCE ORDER);
        END;

        /*
        Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
        update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
        another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
        take.
        app_server is in no index: reading it visits the row itself and so locks it, not just a key of the index.
        */
        DELETE FROM @_Change;
        SET @_Take = @Max;
        INSERT INTO @_Due ([Key1], [AttemptNum], [Alone], [Token], [Row])
        SELECT TOP (@_Take)
            q.[id],
            COALESCE(CAST(q.[attempts] AS int), 0),
            0,
            NULL,
            DATALENGTH(q.[app_server])
        FROM [dbo].[four_queue] AS q
            WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
        WHERE
            q.[in_process] = 0
            AND (q.[scheduled_start_date] IS NULL OR q.[scheduled_start_date] <= @_At)
        ORDER BY q.[id]
        OPTION (OPTIMIZE FOR (@_Take = 1));
        SET @_Locked = @@ROWCOUNT;

        IF @_Locked > 0
        BEGIN
            /*
            An item that came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
            such item, or with it where it is the first of all. The others are let go with the transaction.
            */
            UPDATE d
            SET
                [Alone] = CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END
            FROM @_Due AS d
            INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s
                ON s.[id] = d.[Key1]
            OPTION (LOOP JOIN, FORCE ORDER);

            SET @_Alone = (SELECT MIN(d.[Seq]) FROM @_Due AS d WHERE d.[Alone] = 1 AND d.[AttemptNum] < @_MaxAttempts);
            IF @_Alone IS NOT NULL
            BEGIN
                IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[Seq] < @_Alone AND d.[AttemptNum] < @_MaxAttempts)
                    SET @_Alone = @_Alone - 1;

                DELETE FROM @_Due WHERE [Seq] > @_Alone AND [AttemptNum] < @_MaxAttempts;
            END;

            /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
            INSERT INTO @_Change (
                [Key1], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
                [FinishedAt], [LeaseOwner], [LeaseUntil], [Before], [ClaimNum]
            )
            SELECT
                d.[Key1],
                'Pending',
                CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN 'Failed' ELSE 'Processing' END,
                CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN x.[AttemptNum] ELSE x.[AttemptNum] + 1 END,
                CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END,
                s.[Step],
                s.[Response],
                CASE
                    WHEN x.[AttemptNum] >= @_MaxAttempts
                        THEN CONCAT(N'Attempts are spent: ', x.[AttemptNum], N' of ', @_MaxAttempts, N'.')
                    ELSE s.[Error]
                END,
                CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN @_Now END,
                CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN @_Now END,
                CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN @Worker END,
                CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
                s.[UpdatedAt],
                CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
            FROM @_Due AS d
            LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
                ON s.[id] = d.[Key1]
            CROSS APPLY (
                SELECT
                    d.[AttemptNum] AS [AttemptNum],
                    s.[UpdatedAt] AS [Token]
            ) AS x
            OPTION (LOOP JOIN, FORCE ORDER);

            /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
            UPDATE q
            SET
                [scheduled_start_date] = COALESCE(DATEADD(MINUTE, @_Offset, w.[DueAt]), q.[scheduled_start_date]),
                [start_date] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[start_date] END,
                [end_date] = CASE
                    WHEN w.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted', 'Pending', 'Error')
                        THEN NULL
                    WHEN w.[Status] IN ('Completed')
                        THEN COALESCE(DATEADD(MINUTE, @_Offset, w.[FinishedAt]), @_At)
                    ELSE COALESCE(DATEADD(MINUTE, @_Offset, w.[FinishedAt]), q.[end_date])
                END,
                [attempts] = w.[AttemptNum],
                [app_server] = CASE
                    WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                    ELSE CAST(q.[app_server] AS nvarchar(max)) COLLATE DATABASE_DEFAULT
                END,
                [in_process] = CASE
                    WHEN w.[Status] IN ('Pending', 'Error')
                        THEN 0
                    WHEN w.[Status] IN ('Processing', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                        THEN 1
                    ELSE q.[in_process]
                END
            FROM @_Change AS w
            INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK)
                ON q.[in_process] IN (0, 1) AND q.[id] = w.[Key1]
            WHERE q.[in_process] = 0
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;

            IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;
            SET @_Kept = 0;

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
                [LeaseUntil] = w.[LeaseUntil],
                [ClaimNum] = w.[ClaimNum]
            FROM @_Change AS w
            INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
                ON s.[id] = w.[Key1]
            WHERE s.[UpdatedAt] = w.[Before]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Kept = @_Kept + @@ROWCOUNT;

            IF @_Kept <> (SELECT COUNT(*) FROM @_Change AS w WHERE w.[Before] IS NOT NULL)
                THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

            IF @_Kept < @_Written
                INSERT INTO [readpast].[FourQueueScheduler_Lease] (
                    [id], [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [FinishedAt],
                    [Duration], [DueAt], [UpdatedAt], [LeaseOwner], [LeaseUntil], [ClaimNum]
                )
                SELECT
                    w.[Key1], w.[Status], w.[Step], w.[AttemptNum], w.[Response], w.[Error], w.[StartedAt],
                    w.[FinishedAt], w.[Duration], w.[DueAt], w.[Token], w.[LeaseOwner], w.[LeaseUntil], w.[ClaimNum]
                FROM @_Change AS w
                WHERE
                    w.[Before] IS NULL
                OPTION (LOOP JOIN, FORCE ORDER);
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        1000000 + d.[Seq],
        CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        @LeaseMs,
        CAST(w.[Key1] AS nvarchar(36)),
        w.[Key1],
        w.[Token],
        w.[AttemptNum],
        w.[Status]
    FROM @_Due AS d
    INNER JOIN @_Change AS w
        ON w.[Key1] = d.[Key1]
    WHERE w.[Status] = 'Processing';

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due
    already is in the hands of others.
    */
    IF @@ROWCOUNT = 0
        INSERT INTO @_Out ([Seq], [Answer], [DueMs])
        SELECT
            1000000,
            'EMPTY',
            MIN(x.[DueMs])
        FROM (
            /* The items here had spent their attempts, and ended: those behind them are due now. */
            SELECT (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) AS [DueMs]
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_At, MIN(u.[DueAt])) + 1
            FROM (
                /* Of the thousand that come next. */
                SELECT TOP (1000) q.[scheduled_start_date] AS [DueAt]
                FROM [dbo].[four_queue] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
                WHERE
                    q.[in_process] = 0
                    AND q.[scheduled_start_date] > @_At
                ORDER BY q.[id]
            ) AS u
        ) AS x;

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
                        WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN s.[Status]
                        ELSE 'Processing'
                    END
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                ELSE 'Processing'
            END AS [ItemStatus],
        s.[Step] AS [ItemStep],
        COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt],
        s.[Response] AS [ItemResponse],
        s.[Error] AS [ItemError],
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
        COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS [ItemDuration],
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt],
        s.[UpdatedAt] AS [ItemToken],
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
        CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE
                WHEN
                    s.[UpdatedAt] IS NULL
                    OR s.[Status] = 'Pending'
                    OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                    THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
                ELSE s.[LeaseUntil]
            END END AS [ItemLeaseUntil]
    FROM @_Out AS o
    LEFT JOIN [dbo].[four_queue] AS q
        ON q.[in_process] IN (0, 1) AND q.[id] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);

    RETURN 0;
END;
GO
