/*
Settle many items inside the caller's transaction and, with @Max above 0, claim the next ones there: done when it
commits, undone with its other work when it does not. What is refused is an answer, and leaves the transaction as it is;
an error ends it (XACT_ABORT).
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns, of a subtype's by its name: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_Notification_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Notification returns by its @Claim.
Table access order: QueueOperation, Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_Set_utx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Notification */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* The caller's level comes back at the end. Under SNAPSHOT, items would be judged as they were at its beginning. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Replayed bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Place uniqueidentifier = NEWID();
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL,
        [Release] bit NULL,
        [Set] nvarchar(max) NULL, /* a JSON object of columns */
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Was] varchar(20) NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Sets bit = 0;
    DECLARE @_NoSet nvarchar(2048);
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
    DECLARE @_Take int;
    DECLARE @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [Key1] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_Candidate TABLE (
        [Key1] datetime2(7) NOT NULL,
        [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    /* Items as they become, whatever the reason. */
    DECLARE @_Change TABLE (
        [Key1] datetime2(7) NOT NULL,
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
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Ordinal] int NULL,
        [DueMs] bigint NULL,
        [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Status] varchar(20) NULL
    );

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_Notification_Set_utx works inside the transaction of its caller; begin one first.', 1;
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
        EXECUTE [readpast].[QueueTake] N'Modify_Notification_Set_utx', @Items OUTPUT, N'{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }';

    SELECT
        @_MaxAttempts = MAX(CASE WHEN a.[Param] = 'notification.maxAttempts' THEN a.[ValInt] END),
        @_SilentMs = MAX(CASE WHEN a.[Param] = 'notification.leaseMs' THEN a.[ValInt] END)
    FROM [readpast].[AppSettings] AS a
    WHERE
        a.[Param] IN ('notification.maxAttempts', 'notification.leaseMs')
        /* With none or fewer, all that waits would be Failed at once: such a value does not count. */
        AND a.[ValInt] > 0;
    SET @_MaxAttempts = COALESCE(@_MaxAttempts, 3);
    SET @_SilentMs = COALESCE(@_SilentMs, 60000);
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Modify_Notification_Set_utx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_Notification_Set_utx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_Notification_Set_utx: @Max must be from 0 to 1000.', 1;

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[Key1],
        r.[Key1],
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
        r.[Release],
        r.[Set]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key1] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status',
        [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response',
        [Error] nvarchar(max) '$.error',
        [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Release] bit '$.release',
        [Set] nvarchar(max) '$.set' AS JSON
    ) AS r;
    SET @_Count = @@ROWCOUNT;


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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'ResetPassword.', N'Email.', N'Sms.'
                    )
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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'OTP.', N'UserID.', N'Username.'
                    )
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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'EmailTo.', N'PreferredLanguage.', N'Response.', N'Error.'
                    )
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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'PhoneNumber.', N'Response.', N'Error.'
                    )
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
            SET @_NoSet = CONCAT(N'Modify_Notification_Set_utx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    SET @_Now = SYSUTCDATETIME();
    SET @_At = @_Now;

    /*
    First of all: if another attempt of this very call is under way, this waits for it.
    */
    IF @Operation IS NOT NULL
    BEGIN
        /* A call that was done is no error to end the caller's transaction with. */
        SET XACT_ABORT OFF;
        BEGIN TRY
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [Call], [At])
            VALUES (@Operation, 'Modify_Notification_Set', @_Now);
        END TRY
        BEGIN CATCH
            SET XACT_ABORT ON;
            IF ERROR_NUMBER() <> 2627
                THROW;
            SET @_Replayed = 1;
        END CATCH;
        SET XACT_ABORT ON;

        /*
        Answers are asked for again within minutes. One call in 64 clears what is older than an hour: where the
        library's own identities begin, which are in the order of time, and at some place among all others.
        */
        IF ABS(CHECKSUM(@Operation) % 64) = 0
        BEGIN
            DELETE p
            FROM (
                SELECT TOP (512) o.[OperationId]
                FROM [readpast].[QueueOperation] AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ORDER BY o.[OperationId]
            ) AS f
            INNER JOIN [readpast].[QueueOperation] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON p.[OperationId] = f.[OperationId]
            WHERE p.[At] < DATEADD(HOUR, -1, @_Now)
            OPTION (LOOP JOIN, FORCE ORDER);

            DELETE p
            FROM (
                SELECT TOP (512) o.[OperationId]
                FROM [readpast].[QueueOperation] AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                WHERE o.[OperationId] > @_Place
                ORDER BY o.[OperationId]
            ) AS f
            INNER JOIN [readpast].[QueueOperation] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON p.[OperationId] = f.[OperationId]
            WHERE p.[At] < DATEADD(HOUR, -1, @_Now)
            OPTION (LOOP JOIN, FORCE ORDER);
        END;
    END;

    IF @_Replayed = 0
    BEGIN


        /*
        One item of a worker, as it mostly is, with nothing of its own to set: the fence stands in the WHERE, so one update
        is judge and writer. Whatever it passes over is judged below.
        */
        IF @_Count = 1 AND @_Sets = 0
        BEGIN
            UPDATE q
            SET
            [ScheduledFor] = COALESCE(w.[DueAt], q.[ScheduledFor]),
            [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
            [Duration] = COALESCE(w.[Duration], q.[Duration]),
            [AttemptNum] = w.[AttemptNum],
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = w.[LeaseUntil],
            [Step] = COALESCE(w.[Step], q.[Step]),
            [Response] = COALESCE(w.[Response], q.[Response]),
            [Error] = COALESCE(w.[Error], CASE
                WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                ELSE q.[Error]
            END),
            [UpdatedAt] = w.[Token],
            [Status] = w.[Status]
            FROM @_Item AS i
            INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                ON q.[EnqueuedAt] = i.[Key1]
            INNER JOIN [readpast].[QueueTransition] AS t
                ON t.[FromStatus] = 'Processing' AND t.[ToStatus] = i.[Status]
            CROSS APPLY (
                SELECT
                    'Processing' AS [Is],
                    i.[Status] AS [To],
                    i.[Release],
                    i.[DueAt],
                    q.[AttemptNum] AS [AttemptNum],
                    CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token]
            ) AS x
            CROSS APPLY (
                SELECT
                    x.[Is] AS [Was],
                    CASE
                    /* A step keeps the claim, and the attempt is not over. */
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Processing' THEN 'Processing'
                    /* An item given back unworked gets its attempt back too, so none is spent. */
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1
                        THEN 'Pending'
                    WHEN x.[AttemptNum] >= @_MaxAttempts AND x.[To] <> 'Completed' THEN 'Failed'
                    /* In the words of readpast, however the caller wrote it. */
                    ELSE t.[ToStatus]
                END AS [Status],
                    CASE
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                    /* Processing from another state is a claim of this one item. */
                    WHEN x.[Is] <> 'Processing' AND x.[To] = 'Processing' AND x.[AttemptNum] < @_MaxAttempts
                        THEN x.[AttemptNum] + 1
                    ELSE x.[AttemptNum]
                END AS [AttemptNum],
                    CASE WHEN x.[Token] >= @_At THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_At END AS [Token]
            ) AS k
            CROSS APPLY (
                SELECT
k.[Was],
                k.[Status],
                k.[AttemptNum],
                k.[Token],
                COALESCE(i.[Step], q.[Step]) AS [Step],
                COALESCE(i.[Response], q.[Response]) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                        )
                    /* Earlier errors are over. */
                    WHEN k.[Status] = 'Completed' THEN NULL
                    ELSE q.[Error]
                END AS [Error],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
                    ELSE CAST(q.[StartedAt] AS datetime2(7))
                END AS [StartedAt],
                CASE WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') THEN @_Now END AS [FinishedAt],
                CASE
                    WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                END AS [Duration],
                COALESCE(
                    i.[DueAt],
                    /*
                    1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                    at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                    The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                    */
                    CASE
                        WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
                            THEN DATEADD(
                                MILLISECOND,
                                CAST(ROUND(
                                    CASE
                                        WHEN
                                            (k.[AttemptNum] - 1) * LOG(200 / 100.0)
                                            >= LOG(300000.0 / 1000)
                                            THEN 300000.0
                                        ELSE 1000 * POWER(200 / CAST(100 AS float), k.[AttemptNum] - 1)
                                    END
                                    * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                                ) AS int),
                                @_Now
                            )
                    END,
                    /* An item that failed is due again: its row beside says when, or nobody finds it. */
                    CASE WHEN k.[Status] = 'Error' THEN CAST(q.[ScheduledFor] AS datetime2(7)) END
                ) AS [DueAt],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
                    ELSE q.[LeaseOwner]
                END AS [LeaseOwner],
                CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil]
            ) AS w
            WHERE
                i.[Attempt] > 0
                AND q.[Status] = 'Processing'
                AND q.[LeaseOwner] = @Worker
                AND q.[AttemptNum] = i.[Attempt]
                AND CAST(q.[UpdatedAt] AS datetime2(7)) = i.[Token]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;

            IF @_Written = 1
                INSERT INTO @_Work (
                    [Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum]
                )
                SELECT
                    i.[Ordinal], 'OK', 'Processing', q.[Status], CAST(q.[UpdatedAt] AS datetime2(7)), q.[AttemptNum]
                FROM @_Item AS i
                INNER JOIN [readpast].[Notification] AS q
                    ON q.[EnqueuedAt] = i.[Key1]
                OPTION (LOOP JOIN, FORCE ORDER);
        END;

        IF @_Written = 0
        BEGIN
            /*
            Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
            the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
            A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
            */

            INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
            SELECT
                x.[Ordinal],
                a.[Answer],
                x.[Is],
                /* A refusal shows the item as it is. */
                CASE a.[Answer]
                    WHEN 'NOT_FOUND' THEN NULL
                    WHEN 'OK' THEN CASE
                        /* A step keeps the claim, and the attempt is not over. */
                        WHEN x.[Is] = 'Processing' AND x.[To] = 'Processing' THEN 'Processing'
                        /* An item given back unworked gets its attempt back too, so none is spent. */
                        WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1
                            THEN 'Pending'
                        WHEN x.[AttemptNum] >= @_MaxAttempts AND x.[To] <> 'Completed' THEN 'Failed'
                        /* In the words of readpast, however the caller wrote it. */
                        ELSE t.[ToStatus]
                    END
                    ELSE x.[Is]
                END,
                CASE WHEN a.[Answer] = 'OK' THEN CASE WHEN x.[Token] >= @_At THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_At END ELSE x.[Token] END,
                CASE a.[Answer]
                    WHEN 'NOT_FOUND' THEN NULL
                    WHEN 'OK' THEN CASE
                        WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                        /* Processing from another state is a claim of this one item. */
                        WHEN x.[Is] <> 'Processing' AND x.[To] = 'Processing' AND x.[AttemptNum] < @_MaxAttempts
                            THEN x.[AttemptNum] + 1
                        ELSE x.[AttemptNum]
                    END
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
                    CASE
                        WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL OR i.[Set] IS NOT NULL THEN 1
                        ELSE 0
                    END AS [HasData],
                    q.[LeaseOwner] AS [LeaseOwner],
                    CASE WHEN q.[EnqueuedAt] IS NULL THEN 0 ELSE 1 END AS [Found],
                    q.[Status] AS [Is],
                    q.[AttemptNum] AS [AttemptNum],
                    CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
                    ROW_NUMBER() OVER (PARTITION BY i.[Key1] ORDER BY i.[Ordinal]) AS [Place]
                FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
                LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK)
                    ON q.[EnqueuedAt] = i.[Key1]
            ) AS x
            LEFT JOIN [readpast].[QueueTransition] AS t
                ON t.[FromStatus] = x.[Is] AND t.[ToStatus] = x.[To]
            CROSS APPLY (
                SELECT
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
                        WHEN x.[Given] IS NULL AND x.[Attempt] > 0 THEN 'CONFLICT'
                        /* Where nothing of an item is kept yet, it is as it was put in: the answer of Add holds. */
                        WHEN x.[Given] <> x.[Token] THEN 'CONFLICT'
                        /* The same item twice in one call: the first of them counts. */
                        WHEN x.[Place] > 1 THEN 'CONFLICT'
                        WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                        /* Response, error and values do not go to an item that its status closes to workers. */
                        WHEN
                            x.[HasData] = 1
                            AND x.[Is] IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
                            THEN 'ILLEGAL_TRANSITION'
                        ELSE 'OK'
                    END AS [Answer]
            ) AS a
            /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

            UPDATE q
            SET
            [ScheduledFor] = COALESCE(w.[DueAt], q.[ScheduledFor]),
            [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
            [Duration] = COALESCE(w.[Duration], q.[Duration]),
            [AttemptNum] = w.[AttemptNum],
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = w.[LeaseUntil],
            [Step] = COALESCE(w.[Step], q.[Step]),
            [Response] = COALESCE(w.[Response], q.[Response]),
            [Error] = COALESCE(w.[Error], CASE
                WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                ELSE q.[Error]
            END),
            [UpdatedAt] = w.[Token],
            [Status] = w.[Status]
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                ON q.[EnqueuedAt] = i.[Key1]
            CROSS APPLY (
                SELECT
k.[Was],
                k.[Status],
                k.[AttemptNum],
                k.[Token],
                COALESCE(i.[Step], q.[Step]) AS [Step],
                COALESCE(i.[Response], q.[Response]) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                        )
                    /* Earlier errors are over. */
                    WHEN k.[Status] = 'Completed' THEN NULL
                    ELSE q.[Error]
                END AS [Error],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
                    ELSE CAST(q.[StartedAt] AS datetime2(7))
                END AS [StartedAt],
                CASE WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') THEN @_Now END AS [FinishedAt],
                CASE
                    WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                END AS [Duration],
                COALESCE(
                    i.[DueAt],
                    /*
                    1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                    at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                    The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                    */
                    CASE
                        WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
                            THEN DATEADD(
                                MILLISECOND,
                                CAST(ROUND(
                                    CASE
                                        WHEN
                                            (k.[AttemptNum] - 1) * LOG(200 / 100.0)
                                            >= LOG(300000.0 / 1000)
                                            THEN 300000.0
                                        ELSE 1000 * POWER(200 / CAST(100 AS float), k.[AttemptNum] - 1)
                                    END
                                    * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                                ) AS int),
                                @_Now
                            )
                    END,
                    /* An item that failed is due again: its row beside says when, or nobody finds it. */
                    CASE WHEN k.[Status] = 'Error' THEN CAST(q.[ScheduledFor] AS datetime2(7)) END
                ) AS [DueAt],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
                    ELSE q.[LeaseOwner]
                END AS [LeaseOwner],
                CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil]
            ) AS w
            WHERE k.[Answer] = 'OK'
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;
        END;

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
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification_ResetPassword] AS s1 WITH (ROWLOCK)
                ON s1.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set], '$."ResetPassword"') WITH (
                [Value1] nvarchar(max) '$."OTP"',
                [Value2] int '$."UserID"',
                [Value3] nvarchar(max) '$."Username"'
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
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."ResetPassword"') IS NOT NULL
            )
                THROW 50021, N'Modify_Notification_Set_utx: an item that is to get values of ResetPassword was enqueued without it.', 1;
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
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification_Email] AS s2 WITH (ROWLOCK)
                ON s2.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set], '$."Email"') WITH (
                [Value1] nvarchar(max) '$."EmailTo"',
                [Value2] nvarchar(max) '$."PreferredLanguage"',
                [Value3] nvarchar(max) '$."Response"',
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
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Email"') IS NOT NULL
            )
                THROW 50021, N'Modify_Notification_Set_utx: an item that is to get values of Email was enqueued without it.', 1;
        END;

        IF @_Sets = 1
        BEGIN
            UPDATE s3
            SET
                [PhoneNumber] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE s3.[PhoneNumber] END,
                [Response] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE s3.[Response] END,
                [Error] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE s3.[Error] END
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification_Sms] AS s3 WITH (ROWLOCK)
                ON s3.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set], '$."Sms"') WITH (
                [Value1] nvarchar(max) '$."PhoneNumber"',
                [Value2] nvarchar(max) '$."Response"',
                [Value3] nvarchar(max) '$."Error"'
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
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Sms"') IS NOT NULL
            )
                THROW 50021, N'Modify_Notification_Set_utx: an item that is to get values of Sms was enqueued without it.', 1;
        END;

        /* An item that was OK is read back from the items. */
        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @_Result = (
                SELECT
                    w.[Ordinal] AS [ordinal],
                    w.[Answer] AS [answer]
                FROM @_Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            UPDATE [readpast].[QueueOperation] WITH (ROWLOCK)
            SET [Result] = @_Result
            WHERE [OperationId] = @Operation;
        END;

        /* The table refuses some items: who claims next goes around them, in transactions of its own. */
        IF @Max > 0 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification')
            SET @_Around = 1;
        IF @Max > 0 AND @_Around = 0
        BEGIN

            /*
            Which items are to be looked at. The searches take no update locks: they may pass many items in flight whose
            leases are good, and no worker shall wait for them.
            */
            DELETE FROM @_Change;
            DELETE FROM @_Candidate;
            /* Those that are left aside are no candidates, and take the place of none. */
            SET @_RecoverMax = 100 + (
                SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification' AND r.[Until] > @_Now
            );
            IF @Recover > 0
            BEGIN
                INSERT INTO @_Candidate ([Key1], [StartedAt])
                SELECT TOP (@_RecoverMax) q.[EnqueuedAt], q.[StartedAt]
                FROM [readpast].[Notification] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                WHERE
                    q.[Status] = 'Processing'
                    AND q.[LeaseUntil] <= @_Now
                ORDER BY q.[StartedAt];

                IF @@ROWCOUNT = @_RecoverMax
                    /* All that is left of the last claim: a chunk must not split one. */
                    INSERT INTO @_Candidate ([Key1], [StartedAt])
                    SELECT q.[EnqueuedAt], q.[StartedAt]
                    FROM [readpast].[Notification] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                WHERE
                    q.[Status] = 'Processing'
                        AND q.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c)
                        AND q.[LeaseUntil] <= @_Now
                        AND NOT EXISTS (SELECT 1 FROM @_Candidate AS c WHERE q.[EnqueuedAt] = c.[Key1])
                    OPTION (LOOP JOIN, FORCE ORDER);
            END;
            DELETE c
            FROM @_Candidate AS c
            INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = 'Notification'
                    AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(c.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
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
                INNER JOIN [readpast].[Notification] AS q WITH (READUNCOMMITTED)
                    ON q.[EnqueuedAt] = c.[Key1]
                WHERE
                    q.[Status] = 'Processing'
                    AND EXISTS (
                        SELECT 1
                        FROM [readpast].[Notification] AS o WITH (READUNCOMMITTED, INDEX ([IX_Notification_InFlight]))
                        WHERE
                            o.[Status] = 'Processing'
                            AND o.[StartedAt] = q.[StartedAt]
                            AND o.[LeaseOwner] = q.[LeaseOwner]
                            AND NOT (o.[EnqueuedAt] = q.[EnqueuedAt])
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
                    CASE WHEN x.[Token] >= @_At THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_At END,
                    x.[Step],
                    x.[Response],
                    CASE
                        WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                            THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                        WHEN x.[Is] = 'Processing'
                            THEN CONCAT(
                                N'The lease of worker ', x.[LeaseOwner], N' ran out on attempt ', x.[AttemptNum], N' of ',
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
                        q.[EnqueuedAt] AS [Key1],
                        c.[Together],
                        CASE
                            WHEN c.[Together] = 0 AND q.[AttemptNum] + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                            ELSE 0
                        END AS [Ends],
                        r.[Attempts] AS [Refusals],
                        r.[Reason] AS [Refused],
                        CASE WHEN q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END AS [Died],
                        q.[LeaseUntil] AS [LeaseUntil],
                        q.[Status] AS [Is],
                        CASE
                            WHEN q.[LeaseUntil] <= @_Now THEN 1
                            ELSE 0
                        END AS [GivenUp],
                        q.[AttemptNum] AS [AttemptNum],
                        CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CAST(NULL AS nvarchar(max)) AS [Error],
                        CAST(q.[StartedAt] AS datetime2(7)) AS [StartedAt],
                        CAST(NULL AS datetime2(7)) AS [DueAt],
                        q.[LeaseOwner] AS [LeaseOwner],
                        CAST(NULL AS datetime2(7)) AS [Before]
                    FROM @_Candidate AS c
                    INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[EnqueuedAt] = c.[Key1]
                    LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON
                            r.[Queue] = 'Notification'
                            AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(c.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                ) AS x
                WHERE x.[Is] = 'Processing' AND x.[GivenUp] = 1
                OPTION (LOOP JOIN, FORCE ORDER);

                /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
                UPDATE q
                SET
                    [ScheduledFor] = COALESCE(w.[DueAt], q.[ScheduledFor]),
                    [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
                    [Duration] = COALESCE(w.[Duration], q.[Duration]),
                    [AttemptNum] = w.[AttemptNum],
                    [LeaseOwner] = CASE
                        WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                        ELSE q.[LeaseOwner]
                    END,
                    [LeaseUntil] = w.[LeaseUntil],
                    [Step] = COALESCE(w.[Step], q.[Step]),
                    [Response] = COALESCE(w.[Response], q.[Response]),
                    [Error] = COALESCE(w.[Error], CASE
                        WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                        ELSE q.[Error]
                    END),
                    [UpdatedAt] = w.[Token],
                    [Status] = w.[Status]
                FROM @_Change AS w
                INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                    ON q.[EnqueuedAt] = w.[Key1]
                WHERE q.[Status] = 'Processing'
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                    THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

                /* The table has let them through. */
                DELETE r
                FROM @_Change AS w
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'Notification'
                        AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(w.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            /*
            Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
            update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
            another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
            take.
            */
            DELETE FROM @_Change;
            SET @_Take = @Max;
            INSERT INTO @_Due ([Key1], [AttemptNum], [Alone], [Token])
            SELECT TOP (@_Take)
                q.[EnqueuedAt],
                q.[AttemptNum],
                CASE WHEN q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END,
                CAST(q.[UpdatedAt] AS datetime2(7))
            FROM [readpast].[Notification] AS q
                WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
            WHERE
                q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @_At
            ORDER BY q.[ScheduledFor], q.[EnqueuedAt]
            OPTION (OPTIMIZE FOR (@_Take = 1));
            SET @_Locked = @@ROWCOUNT;

            IF @_Locked > 0
            BEGIN
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

                UPDATE @_Due SET [Token] = CASE WHEN [Token] >= @_At THEN DATEADD(MICROSECOND, 1, [Token]) ELSE @_At END;

                UPDATE q
                SET
                [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
                [AttemptNum] = w.[AttemptNum],
                [LeaseOwner] = CASE
                    WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                    ELSE q.[LeaseOwner]
                END,
                [LeaseUntil] = w.[LeaseUntil],
                [UpdatedAt] = w.[Token],
                [Status] = w.[Status],
                    [ClaimNum] = CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
                FROM @_Due AS d
                INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                    ON q.[EnqueuedAt] = d.[Key1]
                CROSS APPLY (
                    SELECT
                        'Pending' AS [Was],
                        'Processing' AS [Status],
                        d.[AttemptNum] + 1 AS [AttemptNum],
                        d.[Token] AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CAST(NULL AS nvarchar(max)) AS [Error],
                        CAST(NULL AS datetime2(7)) AS [FinishedAt],
                        CAST(NULL AS bigint) AS [Duration],
                        CAST(NULL AS datetime2(7)) AS [DueAt],
                        @Worker AS [LeaseOwner],
                        DATEADD(MILLISECOND, @LeaseMs, @_Now) AS [LeaseUntil]
                ) AS w
                WHERE
                    d.[AttemptNum] < @_MaxAttempts
                    AND q.[Status] IN ('Pending', 'Error')
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] >= @_MaxAttempts)
                BEGIN
                    /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                    UPDATE q
                    SET
                [LeaseOwner] = CASE
                    WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                    ELSE q.[LeaseOwner]
                END,
                [LeaseUntil] = w.[LeaseUntil],
                [Error] = COALESCE(w.[Error], CASE
                    WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                    ELSE q.[Error]
                END),
                [UpdatedAt] = w.[Token],
                [Status] = w.[Status]
                    FROM @_Due AS d
                    INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                        ON q.[EnqueuedAt] = d.[Key1]
                    CROSS APPLY (
                        SELECT
                        'Pending' AS [Was],
                        'Failed' AS [Status],
                        d.[AttemptNum] AS [AttemptNum],
                        d.[Token] AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.') AS [Error],
                        @_Now AS [FinishedAt],
                        CAST(NULL AS bigint) AS [Duration],
                        CAST(NULL AS datetime2(7)) AS [DueAt],
                        CAST(NULL AS nvarchar(128)) AS [LeaseOwner],
                        CAST(NULL AS datetime2(7)) AS [LeaseUntil]
                    ) AS w
                    WHERE
                        d.[AttemptNum] >= @_MaxAttempts
                        AND q.[Status] IN ('Pending', 'Error')
                    OPTION (LOOP JOIN, FORCE ORDER);
                    SET @_Written = @_Written + @@ROWCOUNT;
                END;

                IF @_Written <> (SELECT COUNT(*) FROM @_Due)
                    THROW 50005, N'Notification: a row that was locked for the claim changed all the same.', 1;
            END;
        END;
    END;

    IF @_Replayed = 1
    BEGIN
        IF NOT EXISTS (
            SELECT 1
            FROM [readpast].[QueueOperation] AS p
            WHERE p.[OperationId] = @Operation AND p.[Call] = 'Modify_Notification_Set'
        )
            THROW 50021, N'Modify_Notification_Set_utx: the operation was another call.', 1;

        SELECT
            @_Result = p.[Result],
            @_Now = p.[At]
        FROM [readpast].[QueueOperation] AS p
        WHERE p.[OperationId] = @Operation;
        DELETE FROM @_Work;

        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            'OK',
            CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN 'Pending' END,
            CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[Status] END,
            CAST(q.[UpdatedAt] AS datetime2(7)),
            CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[AttemptNum] END
        FROM @_Item AS i
        LEFT JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = i.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE k
        SET [Answer] = r.[answer]
        FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = r.[ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* A completed item may have left the table: it was answered for like this. */
        UPDATE k
        SET
            [Token] = CASE WHEN i.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, i.[Token]) ELSE @_Now END,
            [AttemptNum] = i.[Attempt],
            [Status] = 'Completed'
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        WHERE k.[Answer] = 'OK' AND k.[Was] IS NULL AND i.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
    END;

    INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], [Token], [AttemptNum], [Status])
    SELECT w.[Ordinal], w.[Answer], w.[Ordinal], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i
        ON i.[Ordinal] = w.[Ordinal];

    IF @Max > 0 AND @_Replayed = 0
    BEGIN
        INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
        SELECT
            1000000 + d.[Seq],
            CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
            @LeaseMs,
            d.[Key1],
            d.[Key1],
            d.[Token],
            d.[AttemptNum] + 1,
            'Processing'
        FROM @_Due AS d
        WHERE d.[AttemptNum] < @_MaxAttempts;

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
                SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
                UNION ALL
                SELECT DATEDIFF_BIG(MILLISECOND, @_At, MIN(u.[DueAt])) + 1
                FROM (
                    /* The first of them. */
                    SELECT TOP (1) q.[ScheduledFor] AS [DueAt]
                    FROM [readpast].[Notification] AS q
                        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
                    WHERE
                        q.[Status] IN ('Pending', 'Error')
                        AND q.[ScheduledFor] > @_At
                    ORDER BY q.[ScheduledFor]
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
        FROM @_Out AS o
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
        q.[EnqueuedAt],
        q.[Type],
        q.[Status],
        q.[Step],
        q.[AttemptNum],
        q.[Response],
        q.[Error],
        q.[StartedAt],
        q.[Duration],
        q.[ScheduledFor],
        q.[UpdatedAt],
        q.[LeaseOwner],
        q.[LeaseUntil],
        s1.[OTP] AS [ResetPassword_OTP],
        s1.[UserID] AS [ResetPassword_UserID],
        s1.[Username] AS [ResetPassword_Username],
        s2.[EmailTo] AS [Email_EmailTo],
        s2.[PreferredLanguage] AS [Email_PreferredLanguage],
        s2.[Response] AS [Email_Response],
        s2.[Error] AS [Email_Error],
        s3.[PhoneNumber] AS [Sms_PhoneNumber],
        s3.[Response] AS [Sms_Response],
        s3.[Error] AS [Sms_Error]
    FROM @_Out AS o
    LEFT JOIN [readpast].[Notification] AS q
        ON q.[EnqueuedAt] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
        ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2
        ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3
        ON s3.[EnqueuedAt] = q.[EnqueuedAt]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);

    RETURN 0;
END;
GO
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns, of a subtype's by its name: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_Notification_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Notification returns by its @Claim.
Table access order: QueueOperation, Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_Set_trx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Notification */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Replayed bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Place uniqueidentifier = NEWID();
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL,
        [Release] bit NULL,
        [Set] nvarchar(max) NULL, /* a JSON object of columns */
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Was] varchar(20) NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Sets bit = 0;
    DECLARE @_NoSet nvarchar(2048);
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
    DECLARE @_Take int;
    DECLARE @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [Key1] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_RecoverMax int;
    DECLARE @_Searched int = 0;
    DECLARE @_MyTurn int = 0;
    DECLARE @_Candidate TABLE (
        [Key1] datetime2(7) NOT NULL,
        [StartedAt] datetime2(7) NULL,
        [Together] int NOT NULL DEFAULT 0, /* 1: claimed with others */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    /* Items as they become, whatever the reason. */
    DECLARE @_Change TABLE (
        [Key1] datetime2(7) NOT NULL,
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
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Ordinal] int NULL,
        [DueMs] bigint NULL,
        [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL,
        [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Modify_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;
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
        EXECUTE [readpast].[QueueTake] N'Modify_Notification_Set_trx', @Items OUTPUT, N'{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }';

    SELECT
        @_MaxAttempts = MAX(CASE WHEN a.[Param] = 'notification.maxAttempts' THEN a.[ValInt] END),
        @_SilentMs = MAX(CASE WHEN a.[Param] = 'notification.leaseMs' THEN a.[ValInt] END)
    FROM [readpast].[AppSettings] AS a
    WHERE
        a.[Param] IN ('notification.maxAttempts', 'notification.leaseMs')
        /* With none or fewer, all that waits would be Failed at once: such a value does not count. */
        AND a.[ValInt] > 0;
    SET @_MaxAttempts = COALESCE(@_MaxAttempts, 3);
    SET @_SilentMs = COALESCE(@_SilentMs, 60000);
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Modify_Notification_Set_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_Notification_Set_trx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_Notification_Set_trx: @Max must be from 0 to 1000.', 1;

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[Key1],
        r.[Key1],
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
        r.[Release],
        r.[Set]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key1] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status',
        [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response',
        [Error] nvarchar(max) '$.error',
        [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Release] bit '$.release',
        [Set] nvarchar(max) '$.set' AS JSON
    ) AS r;
    SET @_Count = @@ROWCOUNT;


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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'ResetPassword.', N'Email.', N'Sms.'
                    )
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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'OTP.', N'UserID.', N'Username.'
                    )
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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'EmailTo.', N'PreferredLanguage.', N'Response.', N'Error.'
                    )
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
                WHERE
                    CONCAT(n.[key], N'.') NOT IN (
                        N'PhoneNumber.', N'Response.', N'Error.'
                    )
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
            SET @_NoSet = CONCAT(N'Modify_Notification_Set_trx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();
        SET @_At = @_Now;

        /*
        First of all: if another attempt of this very call is under way, this waits for it, and then fails (2627).
        */
        IF @Operation IS NOT NULL
        BEGIN
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [Call], [At])
            VALUES (@Operation, 'Modify_Notification_Set', @_Now);

            /*
            Answers are asked for again within minutes. One call in 64 clears what is older than an hour: where the
            library's own identities begin, which are in the order of time, and at some place among all others.
            */
            IF ABS(CHECKSUM(@Operation) % 64) = 0
            BEGIN
                DELETE p
                FROM (
                    SELECT TOP (512) o.[OperationId]
                    FROM [readpast].[QueueOperation] AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ORDER BY o.[OperationId]
                ) AS f
                INNER JOIN [readpast].[QueueOperation] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON p.[OperationId] = f.[OperationId]
                WHERE p.[At] < DATEADD(HOUR, -1, @_Now)
                OPTION (LOOP JOIN, FORCE ORDER);

                DELETE p
                FROM (
                    SELECT TOP (512) o.[OperationId]
                    FROM [readpast].[QueueOperation] AS o WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE o.[OperationId] > @_Place
                    ORDER BY o.[OperationId]
                ) AS f
                INNER JOIN [readpast].[QueueOperation] AS p WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    ON p.[OperationId] = f.[OperationId]
                WHERE p.[At] < DATEADD(HOUR, -1, @_Now)
                OPTION (LOOP JOIN, FORCE ORDER);
            END;
        END;



        /*
        One item of a worker, as it mostly is, with nothing of its own to set: the fence stands in the WHERE, so one update
        is judge and writer. Whatever it passes over is judged below.
        */
        IF @_Count = 1 AND @_Sets = 0
        BEGIN
            UPDATE q
            SET
            [ScheduledFor] = COALESCE(w.[DueAt], q.[ScheduledFor]),
            [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
            [Duration] = COALESCE(w.[Duration], q.[Duration]),
            [AttemptNum] = w.[AttemptNum],
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = w.[LeaseUntil],
            [Step] = COALESCE(w.[Step], q.[Step]),
            [Response] = COALESCE(w.[Response], q.[Response]),
            [Error] = COALESCE(w.[Error], CASE
                WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                ELSE q.[Error]
            END),
            [UpdatedAt] = w.[Token],
            [Status] = w.[Status]
            FROM @_Item AS i
            INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                ON q.[EnqueuedAt] = i.[Key1]
            INNER JOIN [readpast].[QueueTransition] AS t
                ON t.[FromStatus] = 'Processing' AND t.[ToStatus] = i.[Status]
            CROSS APPLY (
                SELECT
                    'Processing' AS [Is],
                    i.[Status] AS [To],
                    i.[Release],
                    i.[DueAt],
                    q.[AttemptNum] AS [AttemptNum],
                    CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token]
            ) AS x
            CROSS APPLY (
                SELECT
                    x.[Is] AS [Was],
                    CASE
                    /* A step keeps the claim, and the attempt is not over. */
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Processing' THEN 'Processing'
                    /* An item given back unworked gets its attempt back too, so none is spent. */
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1
                        THEN 'Pending'
                    WHEN x.[AttemptNum] >= @_MaxAttempts AND x.[To] <> 'Completed' THEN 'Failed'
                    /* In the words of readpast, however the caller wrote it. */
                    ELSE t.[ToStatus]
                END AS [Status],
                    CASE
                    WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                    /* Processing from another state is a claim of this one item. */
                    WHEN x.[Is] <> 'Processing' AND x.[To] = 'Processing' AND x.[AttemptNum] < @_MaxAttempts
                        THEN x.[AttemptNum] + 1
                    ELSE x.[AttemptNum]
                END AS [AttemptNum],
                    CASE WHEN x.[Token] >= @_At THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_At END AS [Token]
            ) AS k
            CROSS APPLY (
                SELECT
k.[Was],
                k.[Status],
                k.[AttemptNum],
                k.[Token],
                COALESCE(i.[Step], q.[Step]) AS [Step],
                COALESCE(i.[Response], q.[Response]) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                        )
                    /* Earlier errors are over. */
                    WHEN k.[Status] = 'Completed' THEN NULL
                    ELSE q.[Error]
                END AS [Error],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
                    ELSE CAST(q.[StartedAt] AS datetime2(7))
                END AS [StartedAt],
                CASE WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') THEN @_Now END AS [FinishedAt],
                CASE
                    WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                END AS [Duration],
                COALESCE(
                    i.[DueAt],
                    /*
                    1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                    at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                    The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                    */
                    CASE
                        WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
                            THEN DATEADD(
                                MILLISECOND,
                                CAST(ROUND(
                                    CASE
                                        WHEN
                                            (k.[AttemptNum] - 1) * LOG(200 / 100.0)
                                            >= LOG(300000.0 / 1000)
                                            THEN 300000.0
                                        ELSE 1000 * POWER(200 / CAST(100 AS float), k.[AttemptNum] - 1)
                                    END
                                    * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                                ) AS int),
                                @_Now
                            )
                    END,
                    /* An item that failed is due again: its row beside says when, or nobody finds it. */
                    CASE WHEN k.[Status] = 'Error' THEN CAST(q.[ScheduledFor] AS datetime2(7)) END
                ) AS [DueAt],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
                    ELSE q.[LeaseOwner]
                END AS [LeaseOwner],
                CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil]
            ) AS w
            WHERE
                i.[Attempt] > 0
                AND q.[Status] = 'Processing'
                AND q.[LeaseOwner] = @Worker
                AND q.[AttemptNum] = i.[Attempt]
                AND CAST(q.[UpdatedAt] AS datetime2(7)) = i.[Token]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;

            IF @_Written = 1
                INSERT INTO @_Work (
                    [Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum]
                )
                SELECT
                    i.[Ordinal], 'OK', 'Processing', q.[Status], CAST(q.[UpdatedAt] AS datetime2(7)), q.[AttemptNum]
                FROM @_Item AS i
                INNER JOIN [readpast].[Notification] AS q
                    ON q.[EnqueuedAt] = i.[Key1]
                OPTION (LOOP JOIN, FORCE ORDER);
        END;

        IF @_Written = 0
        BEGIN
            /*
            Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
            the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
            A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
            */

            INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
            SELECT
                x.[Ordinal],
                a.[Answer],
                x.[Is],
                /* A refusal shows the item as it is. */
                CASE a.[Answer]
                    WHEN 'NOT_FOUND' THEN NULL
                    WHEN 'OK' THEN CASE
                        /* A step keeps the claim, and the attempt is not over. */
                        WHEN x.[Is] = 'Processing' AND x.[To] = 'Processing' THEN 'Processing'
                        /* An item given back unworked gets its attempt back too, so none is spent. */
                        WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1
                            THEN 'Pending'
                        WHEN x.[AttemptNum] >= @_MaxAttempts AND x.[To] <> 'Completed' THEN 'Failed'
                        /* In the words of readpast, however the caller wrote it. */
                        ELSE t.[ToStatus]
                    END
                    ELSE x.[Is]
                END,
                CASE WHEN a.[Answer] = 'OK' THEN CASE WHEN x.[Token] >= @_At THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_At END ELSE x.[Token] END,
                CASE a.[Answer]
                    WHEN 'NOT_FOUND' THEN NULL
                    WHEN 'OK' THEN CASE
                        WHEN x.[Is] = 'Processing' AND x.[To] = 'Pending' AND x.[Release] = 1 THEN x.[AttemptNum] - 1
                        /* Processing from another state is a claim of this one item. */
                        WHEN x.[Is] <> 'Processing' AND x.[To] = 'Processing' AND x.[AttemptNum] < @_MaxAttempts
                            THEN x.[AttemptNum] + 1
                        ELSE x.[AttemptNum]
                    END
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
                    CASE
                        WHEN i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL OR i.[Set] IS NOT NULL THEN 1
                        ELSE 0
                    END AS [HasData],
                    q.[LeaseOwner] AS [LeaseOwner],
                    CASE WHEN q.[EnqueuedAt] IS NULL THEN 0 ELSE 1 END AS [Found],
                    q.[Status] AS [Is],
                    q.[AttemptNum] AS [AttemptNum],
                    CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
                    ROW_NUMBER() OVER (PARTITION BY i.[Key1] ORDER BY i.[Ordinal]) AS [Place]
                FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
                LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK)
                    ON q.[EnqueuedAt] = i.[Key1]
            ) AS x
            LEFT JOIN [readpast].[QueueTransition] AS t
                ON t.[FromStatus] = x.[Is] AND t.[ToStatus] = x.[To]
            CROSS APPLY (
                SELECT
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
                        WHEN x.[Given] IS NULL AND x.[Attempt] > 0 THEN 'CONFLICT'
                        /* Where nothing of an item is kept yet, it is as it was put in: the answer of Add holds. */
                        WHEN x.[Given] <> x.[Token] THEN 'CONFLICT'
                        /* The same item twice in one call: the first of them counts. */
                        WHEN x.[Place] > 1 THEN 'CONFLICT'
                        WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                        /* Response, error and values do not go to an item that its status closes to workers. */
                        WHEN
                            x.[HasData] = 1
                            AND x.[Is] IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted')
                            THEN 'ILLEGAL_TRANSITION'
                        ELSE 'OK'
                    END AS [Answer]
            ) AS a
            /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

            UPDATE q
            SET
            [ScheduledFor] = COALESCE(w.[DueAt], q.[ScheduledFor]),
            [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
            [Duration] = COALESCE(w.[Duration], q.[Duration]),
            [AttemptNum] = w.[AttemptNum],
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = w.[LeaseUntil],
            [Step] = COALESCE(w.[Step], q.[Step]),
            [Response] = COALESCE(w.[Response], q.[Response]),
            [Error] = COALESCE(w.[Error], CASE
                WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                ELSE q.[Error]
            END),
            [UpdatedAt] = w.[Token],
            [Status] = w.[Status]
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                ON q.[EnqueuedAt] = i.[Key1]
            CROSS APPLY (
                SELECT
k.[Was],
                k.[Status],
                k.[AttemptNum],
                k.[Token],
                COALESCE(i.[Step], q.[Step]) AS [Step],
                COALESCE(i.[Response], q.[Response]) AS [Response],
                CASE
                    WHEN i.[Error] IS NOT NULL THEN i.[Error]
                    WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                        THEN CONCAT(
                            N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                        )
                    /* Earlier errors are over. */
                    WHEN k.[Status] = 'Completed' THEN NULL
                    ELSE q.[Error]
                END AS [Error],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
                    ELSE CAST(q.[StartedAt] AS datetime2(7))
                END AS [StartedAt],
                CASE WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') THEN @_Now END AS [FinishedAt],
                CASE
                    WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                END AS [Duration],
                COALESCE(
                    i.[DueAt],
                    /*
                    1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                    at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                    The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                    */
                    CASE
                        WHEN k.[Status] = 'Error' AND k.[Was] = 'Processing'
                            THEN DATEADD(
                                MILLISECOND,
                                CAST(ROUND(
                                    CASE
                                        WHEN
                                            (k.[AttemptNum] - 1) * LOG(200 / 100.0)
                                            >= LOG(300000.0 / 1000)
                                            THEN 300000.0
                                        ELSE 1000 * POWER(200 / CAST(100 AS float), k.[AttemptNum] - 1)
                                    END
                                    * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                                ) AS int),
                                @_Now
                            )
                    END,
                    /* An item that failed is due again: its row beside says when, or nobody finds it. */
                    CASE WHEN k.[Status] = 'Error' THEN CAST(q.[ScheduledFor] AS datetime2(7)) END
                ) AS [DueAt],
                CASE
                    WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
                    ELSE q.[LeaseOwner]
                END AS [LeaseOwner],
                CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil]
            ) AS w
            WHERE k.[Answer] = 'OK'
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Written = @@ROWCOUNT;
        END;

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
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification_ResetPassword] AS s1 WITH (ROWLOCK)
                ON s1.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set], '$."ResetPassword"') WITH (
                [Value1] nvarchar(max) '$."OTP"',
                [Value2] int '$."UserID"',
                [Value3] nvarchar(max) '$."Username"'
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
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."ResetPassword"') IS NOT NULL
            )
                THROW 50021, N'Modify_Notification_Set_trx: an item that is to get values of ResetPassword was enqueued without it.', 1;
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
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification_Email] AS s2 WITH (ROWLOCK)
                ON s2.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set], '$."Email"') WITH (
                [Value1] nvarchar(max) '$."EmailTo"',
                [Value2] nvarchar(max) '$."PreferredLanguage"',
                [Value3] nvarchar(max) '$."Response"',
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
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Email"') IS NOT NULL
            )
                THROW 50021, N'Modify_Notification_Set_trx: an item that is to get values of Email was enqueued without it.', 1;
        END;

        IF @_Sets = 1
        BEGIN
            UPDATE s3
            SET
                [PhoneNumber] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE s3.[PhoneNumber] END,
                [Response] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE s3.[Response] END,
                [Error] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE s3.[Error] END
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Notification_Sms] AS s3 WITH (ROWLOCK)
                ON s3.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set], '$."Sms"') WITH (
                [Value1] nvarchar(max) '$."PhoneNumber"',
                [Value2] nvarchar(max) '$."Response"',
                [Value3] nvarchar(max) '$."Error"'
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
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                WHERE k.[Answer] = 'OK' AND JSON_QUERY(i.[Set], '$."Sms"') IS NOT NULL
            )
                THROW 50021, N'Modify_Notification_Set_trx: an item that is to get values of Sms was enqueued without it.', 1;
        END;

        /* An item that was OK is read back from the items. */
        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @_Result = (
                SELECT
                    w.[Ordinal] AS [ordinal],
                    w.[Answer] AS [answer]
                FROM @_Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            UPDATE [readpast].[QueueOperation] WITH (ROWLOCK)
            SET [Result] = @_Result
            WHERE [OperationId] = @Operation;
        END;

        /* The table refuses some items: who claims next goes around them, in transactions of its own. */
        IF @Max > 0 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification')
            SET @_Around = 1;
        IF @Max > 0 AND @_Around = 0
        BEGIN

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
                    r.[Queue] = 'Notification'
                    AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) >= @Recover;
                SET @_MyTurn = @@ROWCOUNT;

                /* Also as it is not committed yet. Whoever keeps its transaction open for longer holds nobody up. */
                IF @_MyTurn = 0
                    AND EXISTS (
                        SELECT 1
                        FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED)
                        WHERE
                            r.[Queue] = 'Notification'
                            AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) < @Recover
                    )
                    SET @Recover = 0;
            END;
            /* Those that are left aside are no candidates, and take the place of none. */
            SET @_RecoverMax = 100 + (
                SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Notification' AND r.[Until] > @_Now
            );
            IF @Recover > 0
            BEGIN
                INSERT INTO @_Candidate ([Key1], [StartedAt])
                SELECT TOP (@_RecoverMax) q.[EnqueuedAt], q.[StartedAt]
                FROM [readpast].[Notification] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                WHERE
                    q.[Status] = 'Processing'
                    AND q.[LeaseUntil] <= @_Now
                ORDER BY q.[StartedAt];

                IF @@ROWCOUNT = @_RecoverMax
                    /* All that is left of the last claim: a chunk must not split one. */
                    INSERT INTO @_Candidate ([Key1], [StartedAt])
                    SELECT q.[EnqueuedAt], q.[StartedAt]
                    FROM [readpast].[Notification] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_InFlight]))
                WHERE
                    q.[Status] = 'Processing'
                        AND q.[StartedAt] = (SELECT MAX(c.[StartedAt]) FROM @_Candidate AS c)
                        AND q.[LeaseUntil] <= @_Now
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
                    r.[Queue] = 'Notification'
                    AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(c.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
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
                INNER JOIN [readpast].[Notification] AS q WITH (READUNCOMMITTED)
                    ON q.[EnqueuedAt] = c.[Key1]
                WHERE
                    q.[Status] = 'Processing'
                    AND EXISTS (
                        SELECT 1
                        FROM [readpast].[Notification] AS o WITH (READUNCOMMITTED, INDEX ([IX_Notification_InFlight]))
                        WHERE
                            o.[Status] = 'Processing'
                            AND o.[StartedAt] = q.[StartedAt]
                            AND o.[LeaseOwner] = q.[LeaseOwner]
                            AND NOT (o.[EnqueuedAt] = q.[EnqueuedAt])
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
                    CASE WHEN x.[Token] >= @_At THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_At END,
                    x.[Step],
                    x.[Response],
                    CASE
                        WHEN x.[Ends] = 1 AND x.[Refusals] > 0
                            THEN CONCAT(N'The table refused ', x.[Refusals], N' times to have it given back: ', x.[Refused])
                        WHEN x.[Is] = 'Processing'
                            THEN CONCAT(
                                N'The lease of worker ', x.[LeaseOwner], N' ran out on attempt ', x.[AttemptNum], N' of ',
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
                        q.[EnqueuedAt] AS [Key1],
                        c.[Together],
                        CASE
                            WHEN c.[Together] = 0 AND q.[AttemptNum] + COALESCE(r.[Attempts], 0) >= @_MaxAttempts THEN 1
                            ELSE 0
                        END AS [Ends],
                        r.[Attempts] AS [Refusals],
                        r.[Reason] AS [Refused],
                        CASE WHEN q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END AS [Died],
                        q.[LeaseUntil] AS [LeaseUntil],
                        q.[Status] AS [Is],
                        CASE
                            WHEN q.[LeaseUntil] <= @_Now THEN 1
                            ELSE 0
                        END AS [GivenUp],
                        q.[AttemptNum] AS [AttemptNum],
                        CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CAST(NULL AS nvarchar(max)) AS [Error],
                        CAST(q.[StartedAt] AS datetime2(7)) AS [StartedAt],
                        CAST(NULL AS datetime2(7)) AS [DueAt],
                        q.[LeaseOwner] AS [LeaseOwner],
                        CAST(NULL AS datetime2(7)) AS [Before]
                    FROM @_Candidate AS c
                    INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[EnqueuedAt] = c.[Key1]
                    LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON
                            r.[Queue] = 'Notification'
                            AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(c.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                ) AS x
                WHERE x.[Is] = 'Processing' AND x.[GivenUp] = 1
                OPTION (LOOP JOIN, FORCE ORDER);

                /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
                UPDATE q
                SET
                    [ScheduledFor] = COALESCE(w.[DueAt], q.[ScheduledFor]),
                    [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
                    [Duration] = COALESCE(w.[Duration], q.[Duration]),
                    [AttemptNum] = w.[AttemptNum],
                    [LeaseOwner] = CASE
                        WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                        ELSE q.[LeaseOwner]
                    END,
                    [LeaseUntil] = w.[LeaseUntil],
                    [Step] = COALESCE(w.[Step], q.[Step]),
                    [Response] = COALESCE(w.[Response], q.[Response]),
                    [Error] = COALESCE(w.[Error], CASE
                        WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                        ELSE q.[Error]
                    END),
                    [UpdatedAt] = w.[Token],
                    [Status] = w.[Status]
                FROM @_Change AS w
                INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                    ON q.[EnqueuedAt] = w.[Key1]
                WHERE q.[Status] = 'Processing'
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                    THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

                /* The table has let them through. */
                DELETE r
                FROM @_Change AS w
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'Notification'
                        AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(w.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            /*
            Choose and lock the due items, in order: one seek in one index, as many rows as are asked for. The locks are
            update locks on rows nobody else holds, kept to the end of the transaction, so the updates below never wait for
            another worker. It is planned as for one row: a plan for many reads ahead in the index, and locks what it does not
            take.
            */
            DELETE FROM @_Change;
            SET @_Take = @Max;
            INSERT INTO @_Due ([Key1], [AttemptNum], [Alone], [Token])
            SELECT TOP (@_Take)
                q.[EnqueuedAt],
                q.[AttemptNum],
                CASE WHEN q.[LeaseUntil] IS NOT NULL THEN 1 ELSE 0 END,
                CAST(q.[UpdatedAt] AS datetime2(7))
            FROM [readpast].[Notification] AS q
                WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
            WHERE
                q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @_At
            ORDER BY q.[ScheduledFor], q.[EnqueuedAt]
            OPTION (OPTIMIZE FOR (@_Take = 1));
            SET @_Locked = @@ROWCOUNT;

            IF @_Locked > 0
            BEGIN
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

                UPDATE @_Due SET [Token] = CASE WHEN [Token] >= @_At THEN DATEADD(MICROSECOND, 1, [Token]) ELSE @_At END;

                UPDATE q
                SET
                [StartedAt] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[StartedAt] END,
                [AttemptNum] = w.[AttemptNum],
                [LeaseOwner] = CASE
                    WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                    ELSE q.[LeaseOwner]
                END,
                [LeaseUntil] = w.[LeaseUntil],
                [UpdatedAt] = w.[Token],
                [Status] = w.[Status],
                    [ClaimNum] = CASE WHEN d.[Alone] = 1 THEN -@Claim ELSE @Claim END
                FROM @_Due AS d
                INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                    ON q.[EnqueuedAt] = d.[Key1]
                CROSS APPLY (
                    SELECT
                        'Pending' AS [Was],
                        'Processing' AS [Status],
                        d.[AttemptNum] + 1 AS [AttemptNum],
                        d.[Token] AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CAST(NULL AS nvarchar(max)) AS [Error],
                        CAST(NULL AS datetime2(7)) AS [FinishedAt],
                        CAST(NULL AS bigint) AS [Duration],
                        CAST(NULL AS datetime2(7)) AS [DueAt],
                        @Worker AS [LeaseOwner],
                        DATEADD(MILLISECOND, @LeaseMs, @_Now) AS [LeaseUntil]
                ) AS w
                WHERE
                    d.[AttemptNum] < @_MaxAttempts
                    AND q.[Status] IN ('Pending', 'Error')
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF EXISTS (SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] >= @_MaxAttempts)
                BEGIN
                    /* An item with spent attempts (the limit was lowered, say) ends here instead of staying at the head. */
                    UPDATE q
                    SET
                [LeaseOwner] = CASE
                    WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner]
                    ELSE q.[LeaseOwner]
                END,
                [LeaseUntil] = w.[LeaseUntil],
                [Error] = COALESCE(w.[Error], CASE
                    WHEN w.[Status] = 'Completed' THEN LEFT(q.[Error], 0)
                    ELSE q.[Error]
                END),
                [UpdatedAt] = w.[Token],
                [Status] = w.[Status]
                    FROM @_Due AS d
                    INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK)
                        ON q.[EnqueuedAt] = d.[Key1]
                    CROSS APPLY (
                        SELECT
                        'Pending' AS [Was],
                        'Failed' AS [Status],
                        d.[AttemptNum] AS [AttemptNum],
                        d.[Token] AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.') AS [Error],
                        @_Now AS [FinishedAt],
                        CAST(NULL AS bigint) AS [Duration],
                        CAST(NULL AS datetime2(7)) AS [DueAt],
                        CAST(NULL AS nvarchar(128)) AS [LeaseOwner],
                        CAST(NULL AS datetime2(7)) AS [LeaseUntil]
                    ) AS w
                    WHERE
                        d.[AttemptNum] >= @_MaxAttempts
                        AND q.[Status] IN ('Pending', 'Error')
                    OPTION (LOOP JOIN, FORCE ORDER);
                    SET @_Written = @_Written + @@ROWCOUNT;
                END;

                IF @_Written <> (SELECT COUNT(*) FROM @_Due)
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
        SET @_Replayed = 1;
    END CATCH;

    IF @_Replayed = 1
    BEGIN
        IF NOT EXISTS (
            SELECT 1
            FROM [readpast].[QueueOperation] AS p
            WHERE p.[OperationId] = @Operation AND p.[Call] = 'Modify_Notification_Set'
        )
            THROW 50021, N'Modify_Notification_Set_trx: the operation was another call.', 1;

        SELECT
            @_Result = p.[Result],
            @_Now = p.[At]
        FROM [readpast].[QueueOperation] AS p
        WHERE p.[OperationId] = @Operation;
        DELETE FROM @_Work;

        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            'OK',
            CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN 'Pending' END,
            CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[Status] END,
            CAST(q.[UpdatedAt] AS datetime2(7)),
            CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[AttemptNum] END
        FROM @_Item AS i
        LEFT JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = i.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE k
        SET [Answer] = r.[answer]
        FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer') AS r
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = r.[ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* A completed item may have left the table: it was answered for like this. */
        UPDATE k
        SET
            [Token] = CASE WHEN i.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, i.[Token]) ELSE @_Now END,
            [AttemptNum] = i.[Attempt],
            [Status] = 'Completed'
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        WHERE k.[Answer] = 'OK' AND k.[Was] IS NULL AND i.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);
    END;

    INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], [Token], [AttemptNum], [Status])
    SELECT w.[Ordinal], w.[Answer], w.[Ordinal], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i
        ON i.[Ordinal] = w.[Ordinal];

    IF @Max > 0 AND @_Replayed = 0
    BEGIN
        INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
        SELECT
            1000000 + d.[Seq],
            CASE WHEN d.[Alone] = 1 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
            @LeaseMs,
            d.[Key1],
            d.[Key1],
            d.[Token],
            d.[AttemptNum] + 1,
            'Processing'
        FROM @_Due AS d
        WHERE d.[AttemptNum] < @_MaxAttempts;

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
                SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
                UNION ALL
                SELECT DATEDIFF_BIG(MILLISECOND, @_At, MIN(u.[DueAt])) + 1
                FROM (
                    /* The first of them. */
                    SELECT TOP (1) q.[ScheduledFor] AS [DueAt]
                    FROM [readpast].[Notification] AS q
                        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Due]))
                    WHERE
                        q.[Status] IN ('Pending', 'Error')
                        AND q.[ScheduledFor] > @_At
                    ORDER BY q.[ScheduledFor]
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
        FROM @_Out AS o
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
        q.[EnqueuedAt],
        q.[Type],
        q.[Status],
        q.[Step],
        q.[AttemptNum],
        q.[Response],
        q.[Error],
        q.[StartedAt],
        q.[Duration],
        q.[ScheduledFor],
        q.[UpdatedAt],
        q.[LeaseOwner],
        q.[LeaseUntil],
        s1.[OTP] AS [ResetPassword_OTP],
        s1.[UserID] AS [ResetPassword_UserID],
        s1.[Username] AS [ResetPassword_Username],
        s2.[EmailTo] AS [Email_EmailTo],
        s2.[PreferredLanguage] AS [Email_PreferredLanguage],
        s2.[Response] AS [Email_Response],
        s2.[Error] AS [Email_Error],
        s3.[PhoneNumber] AS [Sms_PhoneNumber],
        s3.[Response] AS [Sms_Response],
        s3.[Error] AS [Sms_Error]
    FROM @_Out AS o
    LEFT JOIN [readpast].[Notification] AS q
        ON q.[EnqueuedAt] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
        ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2
        ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3
        ON s3.[EnqueuedAt] = q.[EnqueuedAt]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);

    RETURN 0;
END;
GO
