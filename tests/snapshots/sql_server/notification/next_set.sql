/*
Claims up to @Max due items: their Status becomes Processing, AttemptNum + 1, a lease of @Worker begins.
Called by all Next_Notification_ procedures, and by Modify_Notification_Set_ after a settlement (@Within = 2). Nobody is granted it.
In transactions of its own (@Within = 0) it goes around what the table refuses: again with half as many items, at last with one,
which is left aside for longer each time, and named in QueueRefused; one that is refused until its attempts are spent ends Failed,
where the table lets it. In the caller's transaction a refusal is an error, and after a settlement nothing is claimed while
there are such items.
Locks: of the items in their order, passing over those that others hold.
Returns the items as Next_Notification_Set_trx does, after the commit where it is its own; or (@Tells = 0) one item's key and token in
@Key and @Token, and 0 in @DueMs if it only ended items whose attempts are spent.
Table access order: Notification, QueueRefused.
*/
CREATE OR ALTER PROCEDURE [readpast].[Notification_Claim]
    @Worker nvarchar(128), @Max int, @LeaseMs int, @Recover int, @Within int, @Claim bigint = NULL, @Tells bit = 1,
    @Key datetime2(7) = NULL OUTPUT, @Token datetime2(7) = NULL OUTPUT, @DueMs bigint = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
    DECLARE @_Take int, @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL, [Key1] datetime2(7) NOT NULL, [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Refused] nvarchar(500) NULL, /* why the table refused it until its attempts were spent */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] nvarchar(500) NULL
    );
    DECLARE @_Number int, @_Severity int, @_Reason nvarchar(4000), @_RefusedKey nvarchar(400), @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Told TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL, [Times] int NOT NULL, [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Most int = @Max;
    DECLARE @_Tries int = 0;
    DECLARE @_Refuses int; /* 1: the table refuses some, in this try */
    /* Items that are left aside now. */
    DECLARE @_Aside TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Notification_Setting_V] AS s;
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N'' THROW 50021, N'Next_Notification: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1 THROW 50021, N'Next_Notification: @LeaseMs must be at least 1.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Next_Notification: @Max must be from 1 to 1000.', 1;
    IF @Within = 2 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification') SET @_Around = 1;

    WHILE @_Around = 0 AND @_Tries < 1000
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_Due;
        DELETE FROM @_Aside;
        SET @_Refuses = CASE WHEN EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification') THEN 1 ELSE 0 END;
        SET @_Locked = 0;
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            /* Recovery first: what it gives back is due at once. */
            IF @Recover > 0
                EXECUTE [readpast].[Notification_Recover] @Max = 100, @Recover = @Recover, @Within = 1;
            SET @_Now = SYSUTCDATETIME();

            IF @_Refuses = 1
                INSERT INTO @_Aside ([Key1])
                SELECT k.[Key1]
                FROM [readpast].[QueueRefused] AS r
                CROSS APPLY (SELECT TRY_CAST(NULLIF(r.[Key], N'') AS datetime2(7)) AS [Key1]) AS k
                WHERE r.[Queue] = 'Notification' AND r.[Until] > @_Now AND NOT (k.[Key1] IS NULL)
                GROUP BY k.[Key1];

            /*
            Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
            update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
            another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
            take.
            */
            SET @_Take = @Max;
            INSERT INTO @_Due ([Key1], [AttemptNum], [Alone], [Token])
            SELECT TOP (@_Take) q.[EnqueuedAt], q.[AttemptNum], CASE WHEN q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END, q.[UpdatedAt]
            FROM [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
            WHERE
                q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] <= @_Now
                AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE q.[EnqueuedAt] = a.[Key1])
            ORDER BY q.[ScheduledFor], q.[EnqueuedAt]
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Take = 1));
            SET @_Locked = @@ROWCOUNT;

            IF @_Locked > 0
            BEGIN
                /* Refusals have spent the attempts of these: they end, unless the table refuses that, too. */
                IF @_Refuses = 1
                    UPDATE d
                    SET
                        [AttemptNum] = CASE WHEN d.[AttemptNum] < @_MaxAttempts THEN @_MaxAttempts ELSE d.[AttemptNum] END,
                        [Refused] = CONCAT(N'The table refused it ', r.[Attempts], N' times: ', r.[Reason])
                    FROM @_Due AS d
                    INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON r.[Queue] = 'Notification' AND r.[Key] = CONVERT(nvarchar(30), d.[Key1], 126) COLLATE Latin1_General_BIN2
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

                UPDATE @_Due SET [Token] = CASE WHEN [Token] >= @_Now THEN DATEADD(MICROSECOND, 1, [Token]) ELSE @_Now END;

                UPDATE q
                SET
                    [StartedAt] = @_Now, [AttemptNum] = d.[AttemptNum] + 1, [LeaseOwner] = @Worker,
                    [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @_Now), [UpdatedAt] = d.[Token], [Status] = 'Processing',
                    [ClaimNum] = CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
                FROM @_Due AS d
                INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = d.[Key1]
                WHERE d.[AttemptNum] < @_MaxAttempts AND q.[Status] IN ('Pending', 'Error')
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] >= @_MaxAttempts)
                BEGIN
                    /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                    UPDATE q
                    SET
                        [LeaseUntil] = NULL,
                        [Error] = CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.', N' ' + d.[Refused]),
                        [UpdatedAt] = d.[Token], [Status] = 'Failed'
                    FROM @_Due AS d
                    INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = d.[Key1]
                    WHERE d.[AttemptNum] >= @_MaxAttempts AND q.[Status] IN ('Pending', 'Error')
                    OPTION (LOOP JOIN, FORCE ORDER);
                    SET @_Written = @_Written + @@ROWCOUNT;
                END;

                IF @_Written <> (SELECT COUNT(*) FROM @_Due)
                    THROW 50005, N'Notification: a row that was locked for the claim changed all the same.', 1;
            END;

            /* The table has let them through. */
            IF @_Refuses = 1 AND @Within = 0
                DELETE r
                FROM @_Due AS d
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON r.[Queue] = 'Notification' AND r.[Key] = CONVERT(nvarchar(30), d.[Key1], 126) COLLATE Latin1_General_BIN2
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
                SELECT @_RefusedKey = CONVERT(nvarchar(30), d.[Key1], 126) COLLATE Latin1_General_BIN2
                FROM @_Due AS d;
                EXECUTE [readpast].[QueueNoteRefusal]
                    @Queue = 'Notification', @Key = @_RefusedKey, @Doing = 'claim', @Number = @_Number, @Reason = @_Reason,
                    @Times = @_Times OUTPUT;
                INSERT INTO @_Told ([Key1], [Times], [Reason])
                SELECT d.[Key1], @_Times, LEFT(CONCAT(N'claim: ', @_Reason), 500)
                FROM @_Due AS d;
            END;
            DELETE FROM @_Due;
        END CATCH;
    END;

    IF @Tells = 0
    BEGIN
        SELECT @Key = d.[Key1], @Token = d.[Token]
        FROM @_Due AS d
        WHERE d.[AttemptNum] < @_MaxAttempts;
        SET @DueMs = (SELECT MIN(0) FROM @_Due WHERE @Key IS NULL);
        RETURN 0;
    END;

    INSERT INTO @_Out ([Seq], [Answer], [Key], [AttemptNum], [Status])
    SELECT r.[Seq], 'REFUSED', r.[Key1], r.[Times], r.[Reason]
    FROM @_Told AS r;

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        1000000 + d.[Seq], CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, @LeaseMs, d.[Key1], d.[Key1], d.[Token],
        d.[AttemptNum] + 1, 'Processing'
    FROM @_Due AS d
    WHERE d.[AttemptNum] < @_MaxAttempts;

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
            WHERE r.[Queue] = 'Notification' AND r.[Until] > @_Now
            UNION ALL
            SELECT DATEDIFF_BIG(MILLISECOND, @_Now, MIN(u.[DueAt])) + 1
            FROM (
                /* The first of them. */
                SELECT TOP (1) q.[ScheduledFor] AS [DueAt]
                FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
                WHERE q.[Status] IN ('Pending', 'Error') AND q.[ScheduledFor] > @_Now
                ORDER BY q.[ScheduledFor]
            ) AS u
        ) AS x;

    /* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
        o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum] AS [AnswerAttemptNum], o.[Status] AS [AnswerStatus],
        q.[EnqueuedAt], q.[Type], q.[Status], q.[Step], q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration],
        q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner], q.[LeaseUntil], s1.[OTP] AS [ResetPassword_OTP],
        s1.[UserID] AS [ResetPassword_UserID], s1.[Username] AS [ResetPassword_Username], s2.[EmailTo] AS [Email_EmailTo],
        s2.[PreferredLanguage] AS [Email_PreferredLanguage], s2.[Response] AS [Email_Response], s2.[Error] AS [Email_Error],
        s3.[PhoneNumber] AS [Sms_PhoneNumber], s3.[Response] AS [Sms_Response], s3.[Error] AS [Sms_Error]
    FROM @_Out AS o
    LEFT JOIN [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON q.[EnqueuedAt] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1 ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2 ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3 ON s3.[EnqueuedAt] = q.[EnqueuedAt]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
GO
/*
Claim up to @Max due items inside the caller's transaction, to be worked on and settled there by Modify_Notification_Set_utx. Others
pass over them until he commits. Rolled back, they are as they were, and no attempt is spent.
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Notification_Set_utx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Notification */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Next_Notification_Set_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;

    EXECUTE [readpast].[Notification_Claim]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 1, @Claim = @Claim;
END;
GO
/*
Claim up to @Max due items in one commit. What the table refuses is left aside: a row REFUSED, how often, and why.
One row per item, in order, with the answer CLAIMED; or one row EMPTY with the milliseconds until the next item is due (NULL
when there is none; 0 when it only ended items whose attempts are spent: ask again).
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Notification_Set_trx]
    @Worker nvarchar(128), @Max int, @LeaseMs int = NULL,
    /*
    1: first give back the items of dead workers. 2: and what this worker left, who begins anew under its name. More:
    as 1, unless somebody did within so many milliseconds.
    */
    @Recover int = 1,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Notification */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Next_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Notification_Claim]
        @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 0, @Claim = @Claim;
END;
GO
