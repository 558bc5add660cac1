/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as Modify_Notification_Set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is; an error ends it (XACT_ABORT).
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_utx]
    @EnqueuedAt [readpast].[_Timestamp],
    @UpdatedAt [readpast].[_Timestamp], /* the concurrency token */
    @Status [readpast].[QueueState],
    @Step [readpast].[QueueStep] = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @Error [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* The caller's level comes back at the end. Under SNAPSHOT, items would be judged as they were at its beginning. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @LeaseMs int;
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

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_Notification_utx works inside the transaction of its caller; begin one first.', 1;

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
    SET @LeaseMs = @_SilentMs;
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
    )
    SELECT
        0,
        NULL,
        @EnqueuedAt,
        @UpdatedAt, @AttemptNum, @Status, @Step, @Response, @Error, @ScheduledFor, @Set;
    SET @_Count = 1;


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
            SET @_NoSet = CONCAT(N'Modify_Notification_utx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    SET @_Now = SYSUTCDATETIME();
    SET @_At = @_Now;


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
            THROW 50021, N'Modify_Notification_utx: an item that is to get values of ResetPassword was enqueued without it.', 1;
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
            THROW 50021, N'Modify_Notification_utx: an item that is to get values of Email was enqueued without it.', 1;
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
            THROW 50021, N'Modify_Notification_utx: an item that is to get values of Sms was enqueued without it.', 1;
    END;

    SELECT
        w.[Answer],
        w.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        @EnqueuedAt AS [Key],
        w.[Token],
        w.[AttemptNum],
        w.[Status]
    FROM @_Work AS w;

    RETURN 0;
END;
GO
/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: Notification, QueueTransition, Notification_ResetPassword, Notification_Email, Notification_Sms.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Notification_trx]
    @EnqueuedAt [readpast].[_Timestamp],
    @UpdatedAt [readpast].[_Timestamp], /* the concurrency token */
    @Status [readpast].[QueueState],
    @Step [readpast].[QueueStep] = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @Error [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @ScheduledFor datetime2(7) = NULL, /* UTC; NULL keeps it */
    @Worker nvarchar(128) = NULL, /* with @AttemptNum: only while this worker holds the lease */
    @AttemptNum int = NULL,
    @Set nvarchar(max) = NULL /* a JSON object: values for columns of the item, and of its subtypes */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @LeaseMs int;
    DECLARE @_Answer varchar(20);
    DECLARE @_Message nvarchar(2048);
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

    IF @@TRANCOUNT > 0
        THROW 50012, N'Modify_Notification_trx commits its own work: not to be called in a transaction.', 1;

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
    SET @LeaseMs = @_SilentMs;
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
    )
    SELECT
        0,
        NULL,
        @EnqueuedAt,
        @UpdatedAt, @AttemptNum, @Status, @Step, @Response, @Error, @ScheduledFor, @Set;
    SET @_Count = 1;


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
            SET @_NoSet = CONCAT(N'Modify_Notification_trx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();
        SET @_At = @_Now;


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
                THROW 50021, N'Modify_Notification_trx: an item that is to get values of ResetPassword was enqueued without it.', 1;
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
                THROW 50021, N'Modify_Notification_trx: an item that is to get values of Email was enqueued without it.', 1;
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
                THROW 50021, N'Modify_Notification_trx: an item that is to get values of Sms was enqueued without it.', 1;
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        @_Answer = w.[Answer],
        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
        @_Message = REPLACE(CONCAT(
            N'Modify_Notification_trx: ', w.[Answer], N'; the item is ', COALESCE(w.[Status], N'not there'),
            N', asked for was ', @Status, N'.'
        ), N'%', N'%%')
    FROM @_Work AS w;

    IF @_Answer = 'CONFLICT'
        THROW 50023, @_Message, 1;
    IF @_Answer = 'ILLEGAL_TRANSITION'
        THROW 50024, @_Message, 1;
    IF @_Answer = 'NOT_FOUND'
        THROW 50025, @_Message, 1;
    IF @_Answer = 'LEASE_LOST'
        THROW 50026, @_Message, 1;

    SELECT v.*
    FROM @_Item AS i
    INNER JOIN [readpast].[Worker_Notification_V] AS v
        ON v.[EnqueuedAt] = i.[Key1];

    RETURN 0;
END;
GO
