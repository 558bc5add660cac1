/*
Settle many items inside the caller's transaction and, with @Max above 0, claim the next ones there: done when it
commits, undone with its other work when it does not. What is refused is an answer, and leaves the transaction as it is;
an error ends it (XACT_ABORT).
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_FourQueueScheduler_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_FourQueueScheduler returns by its @Claim.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_Set_utx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_FourQueueScheduler */
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
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
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

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_FourQueueScheduler_Set_utx works inside the transaction of its caller; begin one first.', 1;
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
        EXECUTE [readpast].[QueueTake] N'Modify_FourQueueScheduler_Set_utx', @Items OUTPUT, N'{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }';

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
        THROW 50021, N'Modify_FourQueueScheduler_Set_utx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_FourQueueScheduler_Set_utx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_FourQueueScheduler_Set_utx: @Max must be from 0 to 1000.', 1;

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[Key1],
        TRY_CAST(NULLIF(r.[Key1], N'') AS bigint),
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
        [Key1] nvarchar(max) '$.key',
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
            SET @_NoSet = CONCAT(N'Modify_FourQueueScheduler_Set_utx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
            THROW 50021, @_NoSet, 1;
        END;
    END;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

    /*
    First of all: if another attempt of this very call is under way, this waits for it.
    */
    IF @Operation IS NOT NULL
    BEGIN
        /* A call that was done is no error to end the caller's transaction with. */
        SET XACT_ABORT OFF;
        BEGIN TRY
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [Call], [At])
            VALUES (@Operation, 'Modify_FourQueueScheduler_Set', @_Now);
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
        IF @Max > 0 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler')
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
        END;
    END;

    IF @_Replayed = 1
    BEGIN
        IF NOT EXISTS (
            SELECT 1
            FROM [readpast].[QueueOperation] AS p
            WHERE p.[OperationId] = @Operation AND p.[Call] = 'Modify_FourQueueScheduler_Set'
        )
            THROW 50021, N'Modify_FourQueueScheduler_Set_utx: the operation was another call.', 1;

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
            CASE WHEN q.[id] IS NOT NULL THEN 'Pending' END,
            CASE WHEN q.[id] IS NOT NULL THEN CASE
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
        END END,
            s.[UpdatedAt],
            CASE WHEN q.[id] IS NOT NULL THEN COALESCE(CAST(q.[attempts] AS int), 0) END
        FROM @_Item AS i
        LEFT JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
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
                SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
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
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as Next_FourQueueScheduler_Set_trx returns them.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_FourQueueScheduler returns by its @Claim.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_FourQueueScheduler_Set_trx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0,
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
    DECLARE @_Replayed bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Place uniqueidentifier = NEWID();
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
    DECLARE @_Locked int = 0;
    DECLARE @_Around int = 0; /* 1: nothing is claimed here */
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
        THROW 50012, N'Modify_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;
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
        EXECUTE [readpast].[QueueTake] N'Modify_FourQueueScheduler_Set_trx', @Items OUTPUT, N'{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }';

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
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: @LeaseMs must be at least 1.', 1;

    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_FourQueueScheduler_Set_trx: @Max must be from 0 to 1000.', 1;

    INSERT INTO @_Item (
        [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[Key1],
        TRY_CAST(NULLIF(r.[Key1], N'') AS bigint),
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
        [Key1] nvarchar(max) '$.key',
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
            SET @_NoSet = CONCAT(N'Modify_FourQueueScheduler_Set_trx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
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
        First of all: if another attempt of this very call is under way, this waits for it, and then fails (2627).
        */
        IF @Operation IS NOT NULL
        BEGIN
            INSERT INTO [readpast].[QueueOperation] ([OperationId], [Call], [At])
            VALUES (@Operation, 'Modify_FourQueueScheduler_Set', @_Now);

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
        IF @Max > 0 AND EXISTS (SELECT 1 FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'FourQueueScheduler')
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
            WHERE p.[OperationId] = @Operation AND p.[Call] = 'Modify_FourQueueScheduler_Set'
        )
            THROW 50021, N'Modify_FourQueueScheduler_Set_trx: the operation was another call.', 1;

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
            CASE WHEN q.[id] IS NOT NULL THEN 'Pending' END,
            CASE WHEN q.[id] IS NOT NULL THEN CASE
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
        END END,
            s.[UpdatedAt],
            CASE WHEN q.[id] IS NOT NULL THEN COALESCE(CAST(q.[attempts] AS int), 0) END
        FROM @_Item AS i
        LEFT JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s
            ON s.[id] = q.[id]
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
                SELECT CASE WHEN @_Around = 1 THEN CAST(0 AS bigint) ELSE (SELECT TOP (1) CAST(0 AS bigint) FROM @_Due) END AS [DueMs]
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
