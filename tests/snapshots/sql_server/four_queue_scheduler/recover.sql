/*
Gives the items of dead workers back, or ends them as Failed when their attempts are spent.
Called by Recover_FourQueueScheduler_trx, and by FourQueueScheduler_Claim, first of all (@Within = 1). Nobody is granted it.
Locks: rows that others hold are passed over, so nobody is waited for.
Returns a row per item, as Recover_FourQueueScheduler_trx does; within a claim nothing.
Table access order: QueueRecovery, four_queue, FourQueueScheduler_Lease, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[FourQueueScheduler_Recover]
    @Max int, @Recover int,
    @Worker nvarchar(128), /* with @Recover = 2: whose items come back, too */
    @Within bit /* 1: in the caller's transaction; 0: in transactions of its own, around what the table refuses */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int, @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_MyTurn int = 0;
    DECLARE @_Candidate TABLE (
        [Key1] bigint NOT NULL, [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Gone TABLE ([Key1] bigint NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    /* Items as they become. */
    DECLARE @_Change TABLE (
        [Key1] bigint NOT NULL, [Was] varchar(20) NOT NULL, [Status] varchar(20) NOT NULL, [AttemptNum] int NOT NULL,
        [Token] datetime2(7) NOT NULL, [Error] nvarchar(max) NULL, [Step] nvarchar(60) NULL, [StartedAt] datetime2(7) NULL,
        [LeaseOwner] nvarchar(128) NULL, [FinishedAt] datetime2(7) NULL, [Duration] bigint NULL, [Response] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL, [ClaimNum] bigint NULL,
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
        [LeaseUntil] datetime2(7) NULL, PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Kept int, @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Told TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] bigint NULL, [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Each int = 0; /* 1: one by one */
    DECLARE @_Left TABLE ([Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] bigint NOT NULL, [Together] int NOT NULL);
    DECLARE @_Back TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] bigint NOT NULL, [Token] datetime2(7) NOT NULL, [AttemptNum] int NOT NULL,
        [Status] varchar(20) NOT NULL
    );

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[FourQueueScheduler_Setting_V] AS s;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            /* One look at the clock: the table's times are the server's, ours are UTC. */
            SET @_Stamp = SYSDATETIMEOFFSET();
            SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
            SET @_At = CAST(@_Stamp AS datetime2(7));
            SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

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
                    EXECUTE [readpast].[QueueRecoveryTurn] 'FourQueueScheduler', @_Now, @Recover OUTPUT, @_MyTurn OUTPUT;
                /* Those that are left aside are no candidates, and take the place of none. */
                SET @_RecoverMax = @Max + (
                    SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler' AND r.[Until] > @_Now
                );
                IF @Recover > 0
                BEGIN
                    INSERT INTO @_Candidate ([Key1], [StartedAt])
                    SELECT TOP (@_RecoverMax) s.[id], s.[StartedAt]
                    FROM [readpast].[FourQueueScheduler_Lease] AS s
                        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                    WHERE
                        s.[Status] = 'Processing' AND s.[LeaseUntil] <= @_Now
                        AND (
                            EXISTS (
                                SELECT 1
                                FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                                WHERE q.[in_process] IN (0, 1) AND s.[id] = q.[id]
                            )
                            OR NOT EXISTS (
                                SELECT 1
                                FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED)
                                WHERE q.[in_process] IN (0, 1) AND s.[id] = q.[id]
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
                            AND s.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c) AND s.[LeaseUntil] <= @_Now
                        AND (
                            EXISTS (
                                SELECT 1
                                FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                                WHERE q.[in_process] IN (0, 1) AND s.[id] = q.[id]
                            )
                            OR NOT EXISTS (
                                SELECT 1
                                FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED)
                                WHERE q.[in_process] IN (0, 1) AND s.[id] = q.[id]
                            )
                        )
                            AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE s.[id] = c.[Key1])
                        OPTION (LOOP JOIN, FORCE ORDER);

                    /* Items that somebody else took, so that no row beside the table has it in work, and left for a lease's time. */
                    INSERT INTO @_Candidate ([Key1])
                    SELECT TOP (@_RecoverMax) q.[id]
                    FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
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
                        s.[Status] = 'Processing' AND s.[LeaseOwner] = @Worker
                        AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE s.[id] = c.[Key1])
                    ORDER BY s.[StartedAt]
                    OPTION (LOOP JOIN, FORCE ORDER);

                    INSERT INTO @_Candidate ([Key1])
                    SELECT TOP (1000) q.[id]
                    FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_InFlight]))
                    WHERE
                        q.[in_process] = 1 AND q.[end_date] IS NULL AND q.[app_server] = @Worker
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
                        r.[Queue] = 'FourQueueScheduler' AND r.[Key] = LEFT(CAST(c.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
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
                    INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (READUNCOMMITTED) ON s.[id] = c.[Key1]
                    WHERE
                        s.[Status] = 'Processing'
                        AND EXISTS (
                            SELECT 1
                            FROM [readpast].[FourQueueScheduler_Lease] AS o WITH (READUNCOMMITTED, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
                            WHERE
                                o.[Status] = 'Processing' AND o.[StartedAt] = s.[StartedAt] AND o.[LeaseOwner] = s.[LeaseOwner]
                                AND NOT (o.[id] = s.[id])
                        )
                    OPTION (LOOP JOIN, FORCE ORDER);
            END;

            IF @_Searched > 0
            BEGIN
                /* Lock them, the table first, and judge each as it is now; rows that others hold are passed over. */
                INSERT INTO @_Change (
                    [Key1], [Was], [Response], [DueAt], [Before], [Status], [AttemptNum], [Token], [Error], [Step], [StartedAt],
                    [LeaseOwner], [FinishedAt], [Duration], [LeaseUntil]
                )
                SELECT
                    x.[Key1], x.[Is], x.[Response], CASE WHEN x.[Is] = 'Processing' THEN CAST(NULL AS datetime2(7)) END, x.[Before],
                    CASE
                        WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 AND x.[Ends] = 1 THEN 'Failed'
                        WHEN x.[Is] = 'Processing' AND x.[GivenUp] = 1 THEN 'Error'
                        ELSE x.[Is]
                    END,
                    x.[AttemptNum] - CASE WHEN x.[Is] = 'Processing' THEN x.[Together] ELSE 0 END,
                    CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END,
                    CASE
                        WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                            THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                        WHEN x.[Is] = 'Processing'
                            THEN CONCAT(
                                CASE
                                    WHEN x.[LeaseUntil] > @_Now THEN N'Worker ' + x.[LeaseOwner] + N' began anew on attempt '
                                    ELSE N'The lease of worker ' + x.[LeaseOwner] + N' ran out on attempt '
                                END,
                                x.[AttemptNum], N' of ', @_MaxAttempts, N'; the worker is taken for dead.',
                                CASE
                                    WHEN x.[Together] = 1
                                        THEN N' It was claimed together with others: this attempt does not count, '
                                            + N'and the next claim of it is of it alone.'
                                END
                            )
                        ELSE x.[Error]
                    END,
                    x.[Step], x.[StartedAt], x.[LeaseOwner],
                    CASE WHEN x.[Ends] = 1 AND (x.[Is] = 'Processing' OR x.[Refusals] > 0) THEN @_Now END,
                    CASE WHEN x.[Is] = 'Processing' AND x.[Ends] = 1 THEN DATEDIFF_BIG(MILLISECOND, x.[StartedAt], @_Now) END,
                    /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                    CASE
                        WHEN x.[Ends] = 1 AND (x.[Is] = 'Processing' OR x.[Refusals] > 0) THEN NULL
                        WHEN x.[Is] = 'Processing' AND x.[LeaseUntil] < @_Now THEN x.[LeaseUntil]
                        WHEN x.[Is] = 'Processing' THEN @_Now
                        WHEN x.[Died] = 1 THEN x.[LeaseUntil]
                    END
                FROM (
                    SELECT
                        q.[id] AS [Key1], c.[Together],
                        CASE
                            WHEN c.[Together] = 0 AND COALESCE(CAST(q.[attempts] AS int), 0) + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                            ELSE 0
                        END AS [Ends],
                        r.[Attempts] AS [Refusals], r.[Reason] AS [Refused], s.[LeaseUntil],
                        CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END AS [Died],
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
                        s.[Response] AS [Response], s.[Error] AS [Error], s.[UpdatedAt] AS [Before], s.[DueAt],
                        CASE WHEN CASE
                            WHEN
                                s.[UpdatedAt] IS NULL
                                OR s.[Status] = 'Pending'
                                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                                THEN DATEADD(MILLISECOND, @_SilentMs, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
                            ELSE s.[LeaseUntil]
                        END <= @_Now OR (@Recover = 2 AND CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 = @Worker) THEN 1 ELSE 0 END AS [GivenUp],
                        s.[Step] AS [Step], COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum], s.[UpdatedAt] AS [Token],
                        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [StartedAt],
                        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [LeaseOwner]
                    FROM @_Candidate AS c
                    INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[in_process] IN (0, 1) AND q.[id] = c.[Key1]
                    LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK) ON s.[id] = c.[Key1]
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
                    INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = g.[Key1]
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
                    SET [Status] = w.[Status], [DueAt] = NULL, [LeaseUntil] = NULL
                    FROM @_Change AS w
                    INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = w.[Key1]
                    WHERE w.[Status] = w.[Was] AND s.[Status] <> w.[Status]
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
                    [app_server] = CASE WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner] ELSE CAST(q.[app_server] AS nvarchar(max)) COLLATE DATABASE_DEFAULT END,
                    [in_process] = CASE
                        WHEN w.[Status] IN ('Pending', 'Error')
                            THEN 0
                        WHEN w.[Status] IN ('Processing', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                            THEN 1
                        ELSE q.[in_process]
                    END
                FROM @_Change AS w
                INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK) ON q.[in_process] IN (0, 1) AND q.[id] = w.[Key1]
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                    THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;
                SET @_Kept = 0;

                UPDATE s
                SET
                    [Status] = w.[Status], [Step] = w.[Step], [AttemptNum] = w.[AttemptNum], [Response] = w.[Response], [Error] = w.[Error],
                    [StartedAt] = w.[StartedAt], [FinishedAt] = w.[FinishedAt], [Duration] = w.[Duration], [DueAt] = w.[DueAt],
                    [UpdatedAt] = w.[Token], [LeaseOwner] = w.[LeaseOwner], [LeaseUntil] = w.[LeaseUntil], [ClaimNum] = w.[ClaimNum]
                FROM @_Change AS w
                INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = w.[Key1]
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
                    WHERE w.[Before] IS NULL
                    OPTION (LOOP JOIN, FORCE ORDER);

                /* The table has let them through. */
                DELETE r
                FROM @_Change AS w
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON r.[Queue] = 'FourQueueScheduler' AND r.[Key] = LEFT(CAST(w.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
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

            SELECT @_RefusedKey = LEFT(CAST(c.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
            FROM @_Candidate AS c;
            EXECUTE [readpast].[QueueNoteRefusal]
                @Queue = 'FourQueueScheduler', @Key = @_RefusedKey, @Doing = 'recover', @Number = @_Number, @Reason = @_Reason,
                @Times = @_Times OUTPUT;
            INSERT INTO @_Told ([Key1], [Times], [Reason])
            SELECT c.[Key1], @_Times, LEFT(CONCAT(N'recover: ', @_Reason), 500)
            FROM @_Candidate AS c;
        END CATCH;
        IF @Within = 1 RETURN 0;

        INSERT INTO @_Back ([Key1], [Token], [AttemptNum], [Status])
        SELECT w.[Key1], w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Change AS w
        WHERE w.[Was] = 'Processing'
        ORDER BY w.[Key1];

        DELETE l
        FROM @_Left AS l
        WHERE l.[Seq] = (SELECT MIN(m.[Seq]) FROM @_Left AS m);
        IF NOT EXISTS (SELECT 1 FROM @_Left) BREAK;
    END;

    SELECT
        'RECOVERED' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], CAST(w.[Key1] AS nvarchar(36)) AS [Key],
        w.[Token], w.[AttemptNum], CAST(w.[Status] AS nvarchar(500)) AS [Status]
    FROM @_Back AS w
    UNION ALL
    SELECT 'REFUSED', NULL, NULL, CAST(r.[Key1] AS nvarchar(36)), NULL, r.[Times], r.[Reason]
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
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Recover_FourQueueScheduler_trx]
    @Max int = 100,
    @Recover int = 1 /* 3 or more: unless somebody did within so many milliseconds */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that tidies up gives way. */
    SET DEADLOCK_PRIORITY LOW;

    IF @@TRANCOUNT > 0 THROW 50012, N'Recover_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Recover_FourQueueScheduler_trx: @Max must be from 1 to 1000.', 1;

    EXECUTE [readpast].[FourQueueScheduler_Recover] @Max = @Max, @Recover = @Recover, @Worker = NULL, @Within = 0;
END;
GO
