/*
The answers of a settlement or a redrive that was made before. Nothing is changed.
Called by Notification_Settle and Redrive_Notification_Set_trx, where QueueOperationTake says so. Nobody is granted it.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Notification_Answered]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    DECLARE @_Now datetime2(7); /* UTC: when the call was made */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL,
        [Attempt] int NULL, [Status] varchar(20) NULL
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL, [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token], [Attempt], [Status])
    SELECT CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Token], r.[Attempt], r.[Status]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key1] datetime2(7) '$.key', [Token] datetime2(7) '$.token', [Attempt] int '$.attempt', [Status] varchar(20) '$.status'
    ) AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));

    /* Those that were not OK are told as they were kept, the others are read back from the items. */
    SELECT @_Result = p.[Result], @_Now = p.[At]
    FROM [readpast].[QueueOperation] AS p
    WHERE p.[OperationId] = @Operation;

    INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
    SELECT
        i.[Ordinal], 'OK', CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN 'Pending' END,
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[Status] END, q.[UpdatedAt],
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[AttemptNum] END
    FROM @_Item AS i
    LEFT JOIN [readpast].[Notification] AS q ON q.[EnqueuedAt] = i.[Key1]
    OPTION (LOOP JOIN, FORCE ORDER);

    UPDATE k
    SET [Answer] = r.[answer]
    FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
    INNER JOIN @_Work AS k ON k.[Ordinal] = r.[ordinal]
    OPTION (LOOP JOIN, FORCE ORDER);

    /* A completed item may have left the table: it was answered for like this. */
    UPDATE k
    SET
        [Token] = CASE WHEN i.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, i.[Token]) ELSE @_Now END, [AttemptNum] = i.[Attempt],
        [Status] = 'Completed'
    FROM @_Item AS i
    INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
    WHERE k.[Answer] = 'OK' AND k.[Was] IS NULL AND i.[Status] = 'Completed'
    OPTION (LOOP JOIN, FORCE ORDER);

    SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
    ORDER BY w.[Ordinal];
END;
GO
/*
Judges settlements, whoever asks (a worker, an operator, a program), and writes those that are OK.
Called by all Modify_Notification_ procedures, in a transaction. Nobody is granted it.
Items come as a JSON array, or one of them (@IsOne = 1) in the parameters behind.
Locks: the call's row in QueueOperation; then the items, in the order of their keys, each waited for.
Returns a row per item with its answer, or (@Tells = 0) the answer of one in @Answer, and in @Is the state that it is in now.
An item whose answer is not OK is untouched.
Table access order: QueueOperation, Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Notification_Settle]
    @Operation uniqueidentifier, @Worker nvarchar(128), @LeaseMs int, @Items nvarchar(max) = NULL,
    @IsNew bit = NULL OUTPUT, /* 0: the call was made before, and nothing is changed */
    @IsOne bit = 0, @Key datetime2(7) = NULL, @Token datetime2(7) = NULL, @Attempt int = NULL, @Status varchar(20) = NULL,
    @Step nvarchar(60) = NULL, @Response nvarchar(max) = NULL, @Error nvarchar(max) = NULL, @DueAt datetime2(7) = NULL,
    @Set nvarchar(max) = NULL, @Tells bit = 1, @Answer varchar(20) = NULL OUTPUT, @Is varchar(20) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max), @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [Attempt] int NULL,
        [Status] varchar(20) NULL, [Step] nvarchar(60) NULL, [Response] nvarchar(max) NULL, [Error] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL, [Release] bit NULL,
        [Set] nvarchar(max) NULL, /* a JSON object of columns */
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL, [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    DECLARE @_Sets bit = 0;
    DECLARE @_NoSet nvarchar(2048);
    DECLARE @_Written int = 0;
    IF
        EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'token', N'attempt', N'status', N'step', N'response', N'error', N'release', N'set', N'due', N'delay_ms')
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        EXECUTE [readpast].[QueueTake] N'Modify_Notification', @Items OUTPUT, N'{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }';

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Notification_Setting_V] AS s;
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N'' THROW 50021, N'Modify_Notification: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1 THROW 50021, N'Modify_Notification: @LeaseMs must be at least 1.', 1;

    IF @IsOne = 1
        INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set])
        SELECT
            0, @Key, @Key, @Token, @Attempt, @Status, @Step, @Response, @Error, @DueAt, @Set;
    ELSE
        INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set], [Token])
        SELECT
            CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Attempt], r.[Status], r.[Step], r.[Response], r.[Error],
            COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, SYSUTCDATETIME()))),
            r.[Release], r.[Set], r.[Token]
        FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
            [Key1] datetime2(7) '$.key', [Attempt] int '$.attempt', [Status] varchar(20) '$.status', [Step] nvarchar(max) '$.step',
            [Response] nvarchar(max) '$.response', [Error] nvarchar(max) '$.error', [DueAt] datetime2(7) '$.due',
            [DelayMs] bigint '$.delay_ms', [Release] bit '$.release', [Set] nvarchar(max) '$.set' AS JSON, [Token] datetime2(7) '$.token'
        ) AS r
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = (SELECT COUNT(*) FROM @_Item);

    SET @_Sets = CASE WHEN EXISTS (SELECT 1 FROM @_Item AS i WHERE i.[Set] IS NOT NULL) THEN 1 ELSE 0 END;
    IF @_Sets = 1
    BEGIN
        SET @_NoSet = (
            SELECT MIN(x.[Why])
            FROM (
                SELECT CONCAT(N'there is no column ', n.[key], N' to set') AS [Why]
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
                /* With an end: a comparison takes no notice of blanks there. */
                WHERE CONCAT(n.[key], N'.') NOT IN (N'ResetPassword.', N'Email.', N'Sms.')
                UNION ALL
                SELECT CONCAT(N'', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
                WHERE
                    CASE
                        WHEN n.[key] IN (N'ResetPassword', N'Email', N'Sms')
                            THEN CASE WHEN n.[type] IN (0, 5) THEN 0 ELSE 1 END
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
                UNION ALL
                SELECT CONCAT(N'there is no column ResetPassword.', n.[key], N' to set')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."ResetPassword"') AS n
                WHERE CONCAT(n.[key], N'.') NOT IN (N'OTP.', N'UserID.', N'Username.')
                UNION ALL
                SELECT CONCAT(N'ResetPassword.', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."ResetPassword"') AS n
                WHERE
                    CASE
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
                UNION ALL
                SELECT CONCAT(N'there is no column Email.', n.[key], N' to set')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."Email"') AS n
                WHERE CONCAT(n.[key], N'.') NOT IN (N'EmailTo.', N'PreferredLanguage.', N'Response.', N'Error.')
                UNION ALL
                SELECT CONCAT(N'Email.', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."Email"') AS n
                WHERE
                    CASE
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
                UNION ALL
                SELECT CONCAT(N'there is no column Sms.', n.[key], N' to set')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."Sms"') AS n
                WHERE CONCAT(n.[key], N'.') NOT IN (N'PhoneNumber.', N'Response.', N'Error.')
                UNION ALL
                SELECT CONCAT(N'Sms.', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set], '$."Sms"') AS n
                WHERE
                    CASE
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
            ) AS x
        );
        IF @_NoSet IS NOT NULL
        BEGIN
            /* THROW reads a % as the start of something else; doubled, it stands for itself. */
            SET @_NoSet = CONCAT(N'Modify_Notification: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;
    SET @_Now = SYSUTCDATETIME();

    EXECUTE [readpast].[QueueOperationTake] @Operation, 'Modify_Notification_Set', @_Now, @IsNew OUTPUT;
    IF @IsNew = 0
    BEGIN
        EXECUTE [readpast].[Notification_Answered] @Operation = @Operation, @Items = @Items;
        RETURN 0;
    END;

    /* Lock the items, in the order of their keys, and judge each as it is now. */

    INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
    SELECT i.[Ordinal], j.[Answer], q.[Status], j.[Status], j.[Token], j.[AttemptNum]
    FROM (
        SELECT TOP (@_Count) o.*, ROW_NUMBER() OVER (PARTITION BY o.[Key1] ORDER BY o.[Ordinal]) AS [Place]
        FROM @_Item AS o
        ORDER BY o.[Key1], o.[Ordinal]
    ) AS i
    LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
    LEFT JOIN [readpast].[QueueTransition] AS t ON t.[FromStatus] = q.[Status] AND t.[ToStatus] = i.[Status]
    CROSS APPLY [readpast].[QueueJudge_fn](
        @_Now, @Worker, @_MaxAttempts, q.[Status], q.[AttemptNum], q.[UpdatedAt], q.[LeaseOwner], i.[Token], i.[Attempt], i.[Place],
        t.[ToStatus], CASE WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL OR i.[Set] IS NOT NULL THEN 1 ELSE 0 END, i.[Release], 0
    ) AS j
    /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
    UPDATE q
    SET
        [ScheduledFor] = COALESCE(COALESCE(
            i.[DueAt],
            CASE
                WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
                    THEN (
                        SELECT b.[RetryAt]
                        FROM [readpast].[QueueBackoff_fn](
                            @_Now, k.[AttemptNum], 1000, 2.0, 300000, 0.5, ABS(CHECKSUM(NEWID()) % 10001) / 10000.0
                        ) AS b
                    )
            END
        ), q.[ScheduledFor]),
        [StartedAt] = CASE WHEN k.[Was] <> 'Processing' AND k.[Status] = 'Processing' THEN @_Now ELSE q.[StartedAt] END,
        [Duration] = COALESCE(CASE
            WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @_Now)
        END, q.[Duration]),
        [AttemptNum] = k.[AttemptNum],
        [LeaseOwner] = CASE WHEN k.[Was] <> 'Processing' AND k.[Status] = 'Processing' THEN @Worker ELSE q.[LeaseOwner] END,
        [LeaseUntil] = CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END,
        [Step] = COALESCE(i.[Step], q.[Step]), [Response] = COALESCE(i.[Response], q.[Response]),
        [Error] = COALESCE(i.[Error], CASE
            WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                THEN CONCAT(N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.')
            WHEN k.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
            ELSE q.[Error]
        END),
        [UpdatedAt] = k.[Token], [Status] = k.[Status]
    FROM @_Item AS i
    INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
    INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
    WHERE k.[Answer] = 'OK'
    OPTION (LOOP JOIN, FORCE ORDER);
    SET @_Written = @@ROWCOUNT;

    IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
        THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

    IF @_Sets = 1
    BEGIN
        UPDATE s1
        SET
            [OTP] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE s1.[OTP] END,
            [UserID] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE s1.[UserID] END,
            [Username] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE s1.[Username] END
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification_ResetPassword] AS s1 WITH (ROWLOCK) ON s1.[EnqueuedAt] = i.[Key1]
        CROSS APPLY OPENJSON(i.[Set], '$."ResetPassword"') WITH (
            [Value1] nvarchar(max) '$."OTP"', [Value2] int '$."UserID"', [Value3] nvarchar(max) '$."Username"'
        ) AS v
        CROSS APPLY (
            SELECT
                MAX(CASE WHEN n.[key] = N'OTP' THEN 1 ELSE 0 END) AS [Value1],
                MAX(CASE WHEN n.[key] = N'UserID' THEN 1 ELSE 0 END) AS [Value2],
                MAX(CASE WHEN n.[key] = N'Username' THEN 1 ELSE 0 END) AS [Value3]
            FROM OPENJSON(i.[Set], '$."ResetPassword"') AS n
        ) AS h
        WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."ResetPassword"') IS NOT NULL
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (
            SELECT COUNT(*)
            FROM @_Item AS i
            INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
            WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."ResetPassword"') IS NOT NULL
        )
            THROW 50021, N'Modify_Notification: an item that is to get values of ResetPassword was enqueued without it.', 1;
    END;

    IF @_Sets = 1
    BEGIN
        UPDATE s2
        SET
            [EmailTo] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE s2.[EmailTo] END,
            [PreferredLanguage] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE s2.[PreferredLanguage] END,
            [Response] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE s2.[Response] END,
            [Error] = CASE WHEN h.[Value4] = 1 THEN v.[Value4] ELSE s2.[Error] END
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification_Email] AS s2 WITH (ROWLOCK) ON s2.[EnqueuedAt] = i.[Key1]
        CROSS APPLY OPENJSON(i.[Set], '$."Email"') WITH (
            [Value1] nvarchar(max) '$."EmailTo"', [Value2] nvarchar(max) '$."PreferredLanguage"', [Value3] nvarchar(max) '$."Response"',
            [Value4] nvarchar(max) '$."Error"'
        ) AS v
        CROSS APPLY (
            SELECT
                MAX(CASE WHEN n.[key] = N'EmailTo' THEN 1 ELSE 0 END) AS [Value1],
                MAX(CASE WHEN n.[key] = N'PreferredLanguage' THEN 1 ELSE 0 END) AS [Value2],
                MAX(CASE WHEN n.[key] = N'Response' THEN 1 ELSE 0 END) AS [Value3],
                MAX(CASE WHEN n.[key] = N'Error' THEN 1 ELSE 0 END) AS [Value4]
            FROM OPENJSON(i.[Set], '$."Email"') AS n
        ) AS h
        WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Email"') IS NOT NULL
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (
            SELECT COUNT(*)
            FROM @_Item AS i
            INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
            WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Email"') IS NOT NULL
        )
            THROW 50021, N'Modify_Notification: an item that is to get values of Email was enqueued without it.', 1;
    END;

    IF @_Sets = 1
    BEGIN
        UPDATE s3
        SET
            [PhoneNumber] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE s3.[PhoneNumber] END,
            [Response] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE s3.[Response] END,
            [Error] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE s3.[Error] END
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification_Sms] AS s3 WITH (ROWLOCK) ON s3.[EnqueuedAt] = i.[Key1]
        CROSS APPLY OPENJSON(i.[Set], '$."Sms"') WITH (
            [Value1] nvarchar(max) '$."PhoneNumber"', [Value2] nvarchar(max) '$."Response"', [Value3] nvarchar(max) '$."Error"'
        ) AS v
        CROSS APPLY (
            SELECT
                MAX(CASE WHEN n.[key] = N'PhoneNumber' THEN 1 ELSE 0 END) AS [Value1],
                MAX(CASE WHEN n.[key] = N'Response' THEN 1 ELSE 0 END) AS [Value2],
                MAX(CASE WHEN n.[key] = N'Error' THEN 1 ELSE 0 END) AS [Value3]
            FROM OPENJSON(i.[Set], '$."Sms"') AS n
        ) AS h
        WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Sms"') IS NOT NULL
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (
            SELECT COUNT(*)
            FROM @_Item AS i
            INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
            WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Sms"') IS NOT NULL
        )
            THROW 50021, N'Modify_Notification: an item that is to get values of Sms was enqueued without it.', 1;
    END;

    /* An item that was OK is read back from the items. */
    IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
    BEGIN
        SET @_Result = (
            SELECT w.[Ordinal] AS [ordinal], w.[Answer] AS [answer]
            FROM @_Work AS w
            WHERE w.[Answer] <> 'OK'
            FOR JSON PATH
        );
        EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
    END;

    IF @Tells = 0
        SELECT @Answer = w.[Answer], @Is = w.[Status]
        FROM @_Work AS w;
    ELSE
        SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
        FROM @_Work AS w
        INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
        ORDER BY w.[Ordinal];
END;
GO
/*
Settle many items inside the caller's transaction and, with @Max above 0, claim the next ones there: done when it
commits, undone with its other work when it does not. What is refused is an answer, and leaves the transaction as it is;
an error ends it (XACT_ABORT).
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns, of a subtype's by its name: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_Notification_Set_trx returns them. An error may follow the rows: read to the end.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Notification returns by its @Claim.
Table access order: QueueOperation, Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_Set_utx]
    @Operation uniqueidentifier, @Worker nvarchar(128), @Items nvarchar(max), @Max int = 0, @LeaseMs int = NULL, @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Notification */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_Notification_Set_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000 THROW 50021, N'Modify_Notification_Set_utx: @Max must be from 0 to 1000.', 1;

    EXECUTE [readpast].[Notification_Settle]
        @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items, @IsNew = @_IsNew OUTPUT;
    IF @Max > 0 AND @_IsNew = 1
        EXECUTE [readpast].[Notification_Claim]
            @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2, @Claim = @Claim;
END;
GO
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns, of a subtype's by its name: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_Notification_Set_trx returns them. An error may follow the rows: read to the end.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Notification returns by its @Claim.
Table access order: QueueOperation, Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_Set_trx]
    @Operation uniqueidentifier, @Worker nvarchar(128), @Items nvarchar(max), @Max int = 0, @LeaseMs int = NULL, @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Notification */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit;

    IF @@TRANCOUNT > 0 THROW 50012, N'Modify_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000 THROW 50021, N'Modify_Notification_Set_trx: @Max must be from 0 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        EXECUTE [readpast].[Notification_Settle]
            @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items, @IsNew = @_IsNew OUTPUT;
        IF @Max > 0 AND @_IsNew = 1
            EXECUTE [readpast].[Notification_Claim]
                @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2, @Claim = @Claim;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;
END;
GO
