/*
Claims up to @Max due items: their Status becomes Processing, AttemptNum + 1, a lease of @Worker begins.
Called by all Next_FourQueueScheduler_ procedures, and by Modify_FourQueueScheduler_Set_ after a settlement (@Within = 2). Nobody is granted it.
In transactions of its own (@Within = 0) it goes around what the table refuses: again with half as many items, at last with one,
which is left aside for longer each time, and named in QueueRefused; one that is refused until its attempts are spent ends Failed,
where the table lets it. In the caller's transaction a refusal is an error, and after a settlement nothing is claimed while
there are such items.
Locks: of the items in their order, passing over those that others hold.
Returns the items as Next_FourQueueScheduler_Set_trx does, after the commit where it is its own; or (@Tells = 0) one item's key and token in
@Key and @Token, and 0 in @DueMs if it only ended items whose attempts are spent.
Table access order: four_queue, FourQueueScheduler_Lease, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[FourQueueScheduler_Claim]
    @Worker nvarchar(128), @Max int, @LeaseMs int, @Recover int, @Within int, @Claim bigint = NULL, @Tells bit = 1,
    @Key nvarchar(4000) = NULL OUTPUT, @Token datetime2(7) = NULL OUTPUT, @DueMs bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int;
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
    DECLARE @_Take int, @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL, [Key1] bigint NOT NULL, [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Refused] nvarchar(500) NULL, /* why the table refused it until its attempts were spent */
        [Row] bigint NULL, PRIMARY KEY CLUSTERED ([Key1])
    );
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
    DECLARE @_Kept int;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] nvarchar(max) NULL,
        [Key1] bigint NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] nvarchar(500) NULL
    );
    DECLARE @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Told TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] bigint NULL, [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Most int = @Max;
    DECLARE @_Tries int = 0;
    DECLARE @_Refuses int; /* 1: the table refuses some, in this try */
    /* Items that are left aside now. */
    DECLARE @_Aside TABLE ([Key1] bigint NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[FourQueueScheduler_Setting_V] AS s;
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N'' THROW 50021, N'Next_FourQueueScheduler: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1 THROW 50021, N'Next_FourQueueScheduler: @LeaseMs must be at least 1.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Next_FourQueueScheduler: @Max must be from 1 to 1000.', 1;
    IF @Within = 2 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler') SET @_Around = 1;

    WHILE @_Around = 0 AND @_Tries < 1000
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_Due;
        DELETE FROM @_Aside;
        SET @_Refuses = CASE WHEN EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler') THEN 1 ELSE 0 END;
        SET @_Locked = 0;
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            /* Recovery first: what it gives back is due at once. */
            IF @Recover > 0
                EXECUTE [readpast].[FourQueueScheduler_Recover] @Max = 100, @Recover = @Recover, @Worker = @Worker, @Within = 1;
            /* One look at the clock: the table's times are the server's, ours are UTC. */
            SET @_Stamp = SYSDATETIMEOFFSET();
            SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
            SET @_At = CAST(@_Stamp AS datetime2(7));
            SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

            IF @_Refuses = 1
                INSERT INTO @_Aside ([Key1])
                SELECT k.[Key1]
                FROM [readpast].[QueueRefused] AS r
                CROSS APPLY (SELECT TRY_CAST(NULLIF(r.[Key], N'') AS bigint) AS [Key1]) AS k
                WHERE r.[Queue] = 'FourQueueScheduler' AND r.[Until] > @_Now AND NOT (k.[Key1] IS NULL)
                GROUP BY k.[Key1];

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
            SELECT TOP (@_Take) q.[id], COALESCE(CAST(q.[attempts] AS int), 0), 0, NULL, DATALENGTH(q.[app_server])
            FROM [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
            WHERE
                q.[in_process] = 0 AND (q.[scheduled_start_date] IS NULL OR q.[scheduled_start_date] <= @_At)
                AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE q.[in_process] IN (0, 1) AND q.[id] = a.[Key1])
            ORDER BY q.[id]
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Take = 1));
            SET @_Locked = @@ROWCOUNT;

            IF @_Locked > 0
            BEGIN
                UPDATE d
                SET [Alone] = CASE WHEN s.[Status] IN ('Pending', 'Error') AND s.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END
                FROM @_Due AS d
                INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = d.[Key1]
                OPTION (LOOP JOIN, FORCE ORDER);

                /* Refusals have spent the attempts of these: they end, unless the table refuses that, too. */
                IF @_Refuses = 1
                    UPDATE d
                    SET
                        [AttemptNum] = CASE WHEN d.[AttemptNum] < @_MaxAttempts THEN @_MaxAttempts ELSE d.[AttemptNum] END,
                        [Refused] = CONCAT(N'The table refused it ', r.[Attempts], N' times: ', r.[Reason])
                    FROM @_Due AS d
                    INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON
                            r.[Queue] = 'FourQueueScheduler'
                            AND r.[Key] = LEFT(CAST(d.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
                    WHERE r.[Attempts] > 0 AND d.[AttemptNum] + r.[Attempts] >= @_MaxAttempts
                    OPTION (LOOP JOIN, FORCE ORDER);

                /*
                An item that came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
                such item, or with it where it is the first of all. The others are let go with the transaction.
                */
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
                    d.[Key1], 'Pending', CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN 'Failed' ELSE 'Processing' END,
                    CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN x.[AttemptNum] ELSE x.[AttemptNum] + 1 END,
                    CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END, s.[Step], s.[Response],
                    CASE
                        WHEN x.[AttemptNum] >= @_MaxAttempts
                            THEN CONCAT(N'Attempts are spent: ', x.[AttemptNum], N' of ', @_MaxAttempts, N'.', N' ' + d.[Refused])
                        ELSE s.[Error]
                    END,
                    CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN @_Now END, CASE WHEN x.[AttemptNum] >= @_MaxAttempts THEN @_Now END,
                    CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN @Worker END,
                    CASE WHEN x.[AttemptNum] < @_MaxAttempts THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END, s.[UpdatedAt],
                    CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
                FROM @_Due AS d
                LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = d.[Key1]
                CROSS APPLY (SELECT d.[AttemptNum], s.[UpdatedAt] AS [Token]) AS x
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
                WHERE q.[in_process] = 0
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
            END;

            /* The table has let them through. */
            IF @_Refuses = 1 AND @Within = 0
                DELETE r
                FROM @_Due AS d
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON r.[Queue] = 'FourQueueScheduler' AND r.[Key] = LEFT(CAST(d.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);

            IF @Within = 0
                COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @Within > 0 THROW;
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            IF [readpast].[QueueIsRefusal_fn](@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Due) THROW;

            SET @_Locked = (SELECT COUNT(*) FROM @_Due);
            IF @_Locked > 1
                SET @Max = @_Locked / 2;
            ELSE
            BEGIN
                SET @Max = @_Most;
                SELECT @_RefusedKey = LEFT(CAST(d.[Key1] AS nvarchar(36)), 400) COLLATE Latin1_General_BIN2
                FROM @_Due AS d;
                EXECUTE [readpast].[QueueNoteRefusal]
                    @Queue = 'FourQueueScheduler', @Key = @_RefusedKey, @Doing = 'claim', @Number = @_Number, @Reason = @_Reason,
                    @Times = @_Times OUTPUT;
                INSERT INTO @_Told ([Key1], [Times], [Reason])
                SELECT d.[Key1], @_Times, LEFT(CONCAT(N'claim: ', @_Reason), 500)
                FROM @_Due AS d;
            END;
            DELETE FROM @_Due;
            DELETE FROM @_Change;
        END CATCH;
    END;

    IF @Tells = 0
    BEGIN
        SELECT @Key = CAST(w.[Key1] AS nvarchar(36)), @Token = w.[Token]
        FROM @_Due AS d
        INNER JOIN @_Change AS w ON w.[Key1] = d.[Key1]
        WHERE w.[Status] = 'Processing';
        SET @DueMs = (SELECT MIN(0) FROM @_Due WHERE @Key IS NULL);
        RETURN 0;
    END;

    INSERT INTO @_Out ([Seq], [Answer], [Key], [AttemptNum], [Status])
    SELECT r.[Seq], 'REFUSED', CAST(r.[Key1] AS nvarchar(36)), r.[Times], r.[Reason]
    FROM @_Told AS r;

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        1000000 + d.[Seq], CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, @LeaseMs, CAST(w.[Key1] AS nvarchar(36)),
        w.[Key1], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Due AS d
    INNER JOIN @_Change AS w ON w.[Key1] = d.[Key1]
    WHERE w.[Status] = 'Processing';

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due
    already is in the hands of others.
    */
    IF @@ROWCOUNT = 0
        INSERT INTO @_Out ([Seq], [Answer], [DueMs])
        SELECT 1000000, 'EMPTY', MIN(x.[DueMs])
        FROM (
            /* The items here had spent their attempts, and ended: those behind them are due now. */
            SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(r.[Until])) + 1
            FROM [readpast].[QueueRefused] AS r WITH (ROWLOCK)
            WHERE r.[Queue] = 'FourQueueScheduler' AND r.[Until] > @_Now
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_At, MIN(u.[DueAt])) + 1
            FROM (
                /* Of the thousand that come next. */
                SELECT TOP (1000) q.[scheduled_start_date] AS [DueAt]
                FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([big_idea]))
                WHERE q.[in_process] = 0 AND q.[scheduled_start_date] > @_At
                ORDER BY q.[id]
            ) AS u
        ) AS x;

    /* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
        o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum], o.[Status], q.[reputation] AS [reputation], q.[id],
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
        s.[Step] AS [ItemStep], COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt], s.[Response] AS [ItemResponse],
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
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt], s.[UpdatedAt] AS [ItemToken],
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
    LEFT JOIN [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON q.[in_process] IN (0, 1) AND q.[id] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
GO
/*
Claim up to @Max due items inside the caller's transaction, to be worked on and settled there by Modify_FourQueueScheduler_Set_utx. Others
pass over them until he commits. Rolled back, they are as they were, and no attempt is spent.
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_FourQueueScheduler_Set_utx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_FourQueueScheduler */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Next_FourQueueScheduler_Set_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;

    EXECUTE [readpast].[FourQueueScheduler_Claim]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 1, @Claim = @Claim;
END;
GO
/*
Claim up to @Max due items in one commit. What the table refuses is left aside: a row REFUSED, how often, and why.
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
With @Recover = 2 it first takes up again what is in flight under this worker's own name: for a worker that has just
started, whose predecessor of that name left work behind.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_FourQueueScheduler_Set_trx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    /*
    1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. More:
    as 1, unless somebody did within so many milliseconds.
    */
    @Recover int = 1,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_FourQueueScheduler */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[FourQueueScheduler_Claim]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 0, @Claim = @Claim;
END;
GO
