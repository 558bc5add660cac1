/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as Modify_FourQueueScheduler_Set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is; an error ends it (XACT_ABORT).
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_utx]
    @Key nvarchar(4000),
    @Token datetime2(7), /* the concurrency token */
    @Status [readpast].[QueueState],
    @Step [readpast].[QueueStep] = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @Error [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @Due datetime2(7) = NULL, /* UTC; NULL keeps it */
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
    DECLARE @_Stamp datetimeoffset(7);
    DECLARE @_Offset int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] nvarchar(max) NULL,
        [Key1] bigint NULL,
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
    DECLARE @_Looks int = 0;
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

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_FourQueueScheduler_utx works inside the transaction of its caller; begin one first.', 1;

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
    SET @LeaseMs = @_SilentMs;
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
    )
    SELECT
        0,
        NULL,
        TRY_CAST(NULLIF(@Key, N'') AS bigint),
        @Token, @AttemptNum, @Status, @Step, @Response, @Error, @Due, @Set;
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
                UNION ALL
                SELECT CONCAT(N'', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
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
            SET @_NoSet = CONCAT(N'Modify_FourQueueScheduler_utx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);


    /*
    Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
    the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
    A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
    */
    /* An item that moves to another place of the index while it is looked for can be missed, once. */
    WHILE @_Looks = 0 OR (@_Looks = 1 AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
    BEGIN
        SET @_Looks = @_Looks + 1;
        DELETE FROM @_Work WHERE [Answer] = 'NOT_FOUND';

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
            CASE WHEN a.[Answer] = 'OK' THEN CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END ELSE x.[Token] END,
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
                CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [LeaseOwner],
                CASE WHEN q.[id] IS NULL THEN 0 ELSE 1 END AS [Found],
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
                COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
                s.[UpdatedAt] AS [Token],
                ROW_NUMBER() OVER (PARTITION BY i.[Key1] ORDER BY i.[Ordinal]) AS [Place]
            FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
            LEFT JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK)
                ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
            /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
            LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
                ON s.[id] = q.[id]
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
        WHERE NOT EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Ordinal] = x.[Ordinal])
        /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
    END;

    INSERT INTO @_Change (
        [Key1], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
        [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
    )
    SELECT
        i.[Key1],
k.[Was],
        k.[Status],
        k.[AttemptNum],
        k.[Token],
        COALESCE(i.[Step], s.[Step]) AS [Step],
        COALESCE(i.[Response], s.[Response]) AS [Response],
        CASE
            WHEN i.[Error] IS NOT NULL THEN i.[Error]
            WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                THEN CONCAT(
                    N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                )
            /* Earlier errors are over. */
            WHEN k.[Status] = 'Completed' THEN NULL
            ELSE s.[Error]
        END AS [Error],
        CASE
            WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
            ELSE COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
        END AS [StartedAt],
        CASE WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') THEN @_Now END AS [FinishedAt],
        CASE
            WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))), @_Now)
        END AS [Duration],
        COALESCE(
            i.[DueAt],
            /*
            5000 ms after the first attempt, 200 per cent of the delay before after each further one,
            at most 3600000 ms; up to 50 per cent less by chance, for each item anew.
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
                                    >= LOG(3600000.0 / 5000)
                                    THEN 3600000.0
                                ELSE 5000 * POWER(200 / CAST(100 AS float), k.[AttemptNum] - 1)
                            END
                            * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                        ) AS int),
                        @_Now
                    )
            END,
            /* An item that failed is due again: its row beside says when, or nobody finds it. */
            CASE WHEN k.[Status] = 'Error' THEN DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) END
        ) AS [DueAt],
        CASE
            WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
            ELSE CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
        END AS [LeaseOwner],
        CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil],
        s.[UpdatedAt]
    FROM @_Item AS i
    INNER JOIN @_Work AS k
        ON k.[Ordinal] = i.[Ordinal]
    INNER JOIN [dbo].[four_queue] AS q
        ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
    LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
        ON s.[id] = i.[Key1]
    WHERE k.[Answer] = 'OK'
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
        THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

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

    DELETE s
    FROM @_Change AS w
    INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
        ON s.[id] = w.[Key1]
    WHERE
        w.[Status] = 'Completed'
        AND s.[UpdatedAt] = w.[Before]
        /* A value that the table has a column for, or nobody gave, is not kept twice. */
        AND w.[Step] IS NULL
        AND w.[Response] IS NULL
        AND w.[Error] IS NULL
    OPTION (LOOP JOIN, FORCE ORDER);
    SET @_Kept = @@ROWCOUNT;

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
            AND (
                w.[Status] <> 'Completed'
                OR w.[Step] IS NOT NULL
                OR w.[Response] IS NOT NULL
                OR w.[Error] IS NOT NULL
            )
        OPTION (LOOP JOIN, FORCE ORDER);

    SELECT
        w.[Answer],
        w.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        @Key AS [Key],
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
Table access order: four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_trx]
    @Key nvarchar(4000),
    @Token datetime2(7), /* the concurrency token */
    @Status [readpast].[QueueState],
    @Step [readpast].[QueueStep] = NULL, /* the current step of a multi-step job; NULL keeps it */
    @Response [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @Error [readpast].[WebResponse] = NULL, /* NULL keeps it */
    @Due datetime2(7) = NULL, /* UTC; NULL keeps it */
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
    DECLARE @_Stamp datetimeoffset(7);
    DECLARE @_Offset int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL,
        [Key] nvarchar(max) NULL,
        [Key1] bigint NULL,
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
    DECLARE @_Looks int = 0;
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

    IF @@TRANCOUNT > 0
        THROW 50012, N'Modify_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

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
    SET @LeaseMs = @_SilentMs;
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
    )
    SELECT
        0,
        NULL,
        TRY_CAST(NULLIF(@Key, N'') AS bigint),
        @Token, @AttemptNum, @Status, @Step, @Response, @Error, @Due, @Set;
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
                UNION ALL
                SELECT CONCAT(N'', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
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
            SET @_NoSet = CONCAT(N'Modify_FourQueueScheduler_trx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);


        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
        /* An item that moves to another place of the index while it is looked for can be missed, once. */
        WHILE @_Looks = 0 OR (@_Looks = 1 AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
        BEGIN
            SET @_Looks = @_Looks + 1;
            DELETE FROM @_Work WHERE [Answer] = 'NOT_FOUND';

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
                CASE WHEN a.[Answer] = 'OK' THEN CASE WHEN x.[Token] >= @_Now THEN DATEADD(MICROSECOND, 1, x.[Token]) ELSE @_Now END ELSE x.[Token] END,
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
                    CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [LeaseOwner],
                    CASE WHEN q.[id] IS NULL THEN 0 ELSE 1 END AS [Found],
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
                    COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
                    s.[UpdatedAt] AS [Token],
                    ROW_NUMBER() OVER (PARTITION BY i.[Key1] ORDER BY i.[Ordinal]) AS [Place]
                FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
                LEFT JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK)
                    ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
                /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
                LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK)
                    ON s.[id] = q.[id]
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
            WHERE NOT EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Ordinal] = x.[Ordinal])
            /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        END;

        INSERT INTO @_Change (
            [Key1], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [StartedAt],
            [FinishedAt], [Duration], [DueAt], [LeaseOwner], [LeaseUntil], [Before]
        )
        SELECT
            i.[Key1],
k.[Was],
            k.[Status],
            k.[AttemptNum],
            k.[Token],
            COALESCE(i.[Step], s.[Step]) AS [Step],
            COALESCE(i.[Response], s.[Response]) AS [Response],
            CASE
                WHEN i.[Error] IS NOT NULL THEN i.[Error]
                WHEN k.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                    THEN CONCAT(
                        N'Attempts are spent: ', k.[AttemptNum], N' of ', @_MaxAttempts, N'; asked for ', i.[Status], N'.'
                    )
                /* Earlier errors are over. */
                WHEN k.[Status] = 'Completed' THEN NULL
                ELSE s.[Error]
            END AS [Error],
            CASE
                WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @_Now
                ELSE COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            END AS [StartedAt],
            CASE WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused') THEN @_Now END AS [FinishedAt],
            CASE
                WHEN k.[Status] NOT IN ('Pending', 'Processing', 'Error', 'Paused')
                    THEN DATEDIFF_BIG(MILLISECOND, COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))), @_Now)
            END AS [Duration],
            COALESCE(
                i.[DueAt],
                /*
                5000 ms after the first attempt, 200 per cent of the delay before after each further one,
                at most 3600000 ms; up to 50 per cent less by chance, for each item anew.
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
                                        >= LOG(3600000.0 / 5000)
                                        THEN 3600000.0
                                    ELSE 5000 * POWER(200 / CAST(100 AS float), k.[AttemptNum] - 1)
                                END
                                * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                            ) AS int),
                            @_Now
                        )
                END,
                /* An item that failed is due again: its row beside says when, or nobody finds it. */
                CASE WHEN k.[Status] = 'Error' THEN DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) END
            ) AS [DueAt],
            CASE
                WHEN k.[Status] = 'Processing' AND k.[Was] <> 'Processing' THEN @Worker
                ELSE CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
            END AS [LeaseOwner],
            CASE WHEN k.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @_Now) END AS [LeaseUntil],
            s.[UpdatedAt]
        FROM @_Item AS i
        INNER JOIN @_Work AS k
            ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = i.[Key1]
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

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

        DELETE s
        FROM @_Change AS w
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK)
            ON s.[id] = w.[Key1]
        WHERE
            w.[Status] = 'Completed'
            AND s.[UpdatedAt] = w.[Before]
            /* A value that the table has a column for, or nobody gave, is not kept twice. */
            AND w.[Step] IS NULL
            AND w.[Response] IS NULL
            AND w.[Error] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Kept = @@ROWCOUNT;

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
                AND (
                    w.[Status] <> 'Completed'
                    OR w.[Step] IS NOT NULL
                    OR w.[Response] IS NOT NULL
                    OR w.[Error] IS NOT NULL
                )
            OPTION (LOOP JOIN, FORCE ORDER);

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
            N'Modify_FourQueueScheduler_trx: ', w.[Answer], N'; the item is ', COALESCE(w.[Status], N'not there'),
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
    INNER JOIN [readpast].[Worker_FourQueueScheduler_V] AS v
        ON v.[id] = i.[Key1];

    RETURN 0;
END;
GO
