/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as Modify_Invoice_Set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is; an error ends it (XACT_ABORT).
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: Invoice, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Invoice_utx]
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
        THROW 50012, N'Modify_Invoice_utx works inside the transaction of its caller; begin one first.', 1;

    SELECT
        @_MaxAttempts = MAX(CASE WHEN a.[Param] = 'invoice.maxAttempts' THEN a.[ValInt] END),
        @_SilentMs = MAX(CASE WHEN a.[Param] = 'invoice.leaseMs' THEN a.[ValInt] END)
    FROM [readpast].[AppSettings] AS a
    WHERE
        a.[Param] IN ('invoice.maxAttempts', 'invoice.leaseMs')
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
                        N'Number.', N'CustomerID.', N'Amount.', N'Code.', N'Lines.'
                    )
                UNION ALL
                SELECT CONCAT(N'', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
                WHERE
                    CASE
                        WHEN n.[key] IN (N'Lines')
                            THEN CASE WHEN n.[type] IN (0, 4, 5) THEN 0 ELSE 1 END
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
            ) AS x
        );
        IF @_NoSet IS NOT NULL
        BEGIN
            /* THROW reads a % as the start of something else; doubled, it stands for itself. */
            SET @_NoSet = CONCAT(N'Modify_Invoice_utx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
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
        INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
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
            INNER JOIN [readpast].[Invoice] AS q
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
            LEFT JOIN [readpast].[Invoice] AS q WITH (UPDLOCK, ROWLOCK)
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

        /* Values to set in the items whose settlement counts: their rows are locked, and written to below as well. */
        IF @_Sets = 1
            UPDATE q
            SET
                [Number] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE q.[Number] END,
                [CustomerID] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE q.[CustomerID] END,
                [Amount] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE q.[Amount] END,
                [Code] = CASE WHEN h.[Value4] = 1 THEN v.[Value4] ELSE q.[Code] END,
                [Lines] = CASE WHEN h.[Value5] = 1 THEN v.[Value5] ELSE q.[Lines] END
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
                ON q.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set]) WITH (
                [Value1] nvarchar(max) '$."Number"',
                [Value2] bigint '$."CustomerID"',
                [Value3] decimal(12, 2) '$."Amount"',
                [Value4] nvarchar(max) '$."Code"',
                [Value5] nvarchar(max) '$."Lines"' AS JSON
            ) AS v
            CROSS APPLY (
                SELECT
                    MAX(CASE WHEN n.[key] = N'Number' THEN 1 ELSE 0 END) AS [Value1],
                    MAX(CASE WHEN n.[key] = N'CustomerID' THEN 1 ELSE 0 END) AS [Value2],
                    MAX(CASE WHEN n.[key] = N'Amount' THEN 1 ELSE 0 END) AS [Value3],
                    MAX(CASE WHEN n.[key] = N'Code' THEN 1 ELSE 0 END) AS [Value4],
                    MAX(CASE WHEN n.[key] = N'Lines' THEN 1 ELSE 0 END) AS [Value5]
                FROM OPENJSON(i.[Set]) AS n
            ) AS h
            WHERE k.[Answer] = 'OK' AND i.[Set] IS NOT NULL
            OPTION (LOOP JOIN, FORCE ORDER);

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
        INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
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


    /* Completed items move to the history. */
    INSERT INTO [readpast].[Invoice_History] (
        [EnqueuedAt],
        [Type],
        [Status],
        [Step],
        [AttemptNum],
        [Response],
        [Error],
        [StartedAt],
        [Duration],
        [ScheduledFor],
        [UpdatedAt],
        [LeaseOwner],
        [LeaseUntil],
        [Number],
        [CustomerID],
        [Amount],
        [Code],
        [Lines]
    )
    SELECT
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
        q.[Number],
        q.[CustomerID],
        q.[Amount],
        q.[Code],
        q.[Lines]
    FROM (SELECT i.[Key1], k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK') AS w
    INNER JOIN [readpast].[Invoice] AS q
        ON q.[EnqueuedAt] = w.[Key1]
    WHERE w.[Status] = 'Completed'
    OPTION (LOOP JOIN, FORCE ORDER);

    DELETE q
    FROM (SELECT i.[Key1], k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK') AS w
    INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
        ON q.[EnqueuedAt] = w.[Key1]
    WHERE w.[Status] = 'Completed'
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
        THROW 50005, N'Invoice: a row that was locked for the change changed all the same.', 1;

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
Table access order: Invoice, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Invoice_trx]
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
        THROW 50012, N'Modify_Invoice_trx commits its own work: not to be called in a transaction.', 1;

    SELECT
        @_MaxAttempts = MAX(CASE WHEN a.[Param] = 'invoice.maxAttempts' THEN a.[ValInt] END),
        @_SilentMs = MAX(CASE WHEN a.[Param] = 'invoice.leaseMs' THEN a.[ValInt] END)
    FROM [readpast].[AppSettings] AS a
    WHERE
        a.[Param] IN ('invoice.maxAttempts', 'invoice.leaseMs')
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
                        N'Number.', N'CustomerID.', N'Amount.', N'Code.', N'Lines.'
                    )
                UNION ALL
                SELECT CONCAT(N'', n.[key], N' is set to what is no value for it')
                FROM @_Item AS i
                CROSS APPLY OPENJSON(i.[Set]) AS n
                WHERE
                    CASE
                        WHEN n.[key] IN (N'Lines')
                            THEN CASE WHEN n.[type] IN (0, 4, 5) THEN 0 ELSE 1 END
                        WHEN n.[type] IN (4, 5) THEN 1
                        ELSE 0
                    END = 1
            ) AS x
        );
        IF @_NoSet IS NOT NULL
        BEGIN
            /* THROW reads a % as the start of something else; doubled, it stands for itself. */
            SET @_NoSet = CONCAT(N'Modify_Invoice_trx: ', REPLACE(@_NoSet, N'%', N'%%'), N'.');
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
            INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
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
                INNER JOIN [readpast].[Invoice] AS q
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
                LEFT JOIN [readpast].[Invoice] AS q WITH (UPDLOCK, ROWLOCK)
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

            /* Values to set in the items whose settlement counts: their rows are locked, and written to below as well. */
            IF @_Sets = 1
                UPDATE q
                SET
                    [Number] = CASE WHEN h.[Value1] = 1 THEN v.[Value1] ELSE q.[Number] END,
                    [CustomerID] = CASE WHEN h.[Value2] = 1 THEN v.[Value2] ELSE q.[CustomerID] END,
                    [Amount] = CASE WHEN h.[Value3] = 1 THEN v.[Value3] ELSE q.[Amount] END,
                    [Code] = CASE WHEN h.[Value4] = 1 THEN v.[Value4] ELSE q.[Code] END,
                    [Lines] = CASE WHEN h.[Value5] = 1 THEN v.[Value5] ELSE q.[Lines] END
                FROM @_Item AS i
                INNER JOIN @_Work AS k
                    ON k.[Ordinal] = i.[Ordinal]
                INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
                    ON q.[EnqueuedAt] = i.[Key1]
                CROSS APPLY OPENJSON(i.[Set]) WITH (
                    [Value1] nvarchar(max) '$."Number"',
                    [Value2] bigint '$."CustomerID"',
                    [Value3] decimal(12, 2) '$."Amount"',
                    [Value4] nvarchar(max) '$."Code"',
                    [Value5] nvarchar(max) '$."Lines"' AS JSON
                ) AS v
                CROSS APPLY (
                    SELECT
                        MAX(CASE WHEN n.[key] = N'Number' THEN 1 ELSE 0 END) AS [Value1],
                        MAX(CASE WHEN n.[key] = N'CustomerID' THEN 1 ELSE 0 END) AS [Value2],
                        MAX(CASE WHEN n.[key] = N'Amount' THEN 1 ELSE 0 END) AS [Value3],
                        MAX(CASE WHEN n.[key] = N'Code' THEN 1 ELSE 0 END) AS [Value4],
                        MAX(CASE WHEN n.[key] = N'Lines' THEN 1 ELSE 0 END) AS [Value5]
                    FROM OPENJSON(i.[Set]) AS n
                ) AS h
                WHERE k.[Answer] = 'OK' AND i.[Set] IS NOT NULL
                OPTION (LOOP JOIN, FORCE ORDER);

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
            INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
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


        /* Completed items move to the history. */
        INSERT INTO [readpast].[Invoice_History] (
            [EnqueuedAt],
            [Type],
            [Status],
            [Step],
            [AttemptNum],
            [Response],
            [Error],
            [StartedAt],
            [Duration],
            [ScheduledFor],
            [UpdatedAt],
            [LeaseOwner],
            [LeaseUntil],
            [Number],
            [CustomerID],
            [Amount],
            [Code],
            [Lines]
        )
        SELECT
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
            q.[Number],
            q.[CustomerID],
            q.[Amount],
            q.[Code],
            q.[Lines]
        FROM (SELECT i.[Key1], k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK') AS w
        INNER JOIN [readpast].[Invoice] AS q
            ON q.[EnqueuedAt] = w.[Key1]
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM (SELECT i.[Key1], k.[Status] FROM @_Work AS k INNER JOIN @_Item AS i ON i.[Ordinal] = k.[Ordinal] WHERE k.[Answer] = 'OK') AS w
        INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
            ON q.[EnqueuedAt] = w.[Key1]
        WHERE w.[Status] = 'Completed'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @_Written <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'Invoice: a row that was locked for the change changed all the same.', 1;

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
            N'Modify_Invoice_trx: ', w.[Answer], N'; the item is ', COALESCE(w.[Status], N'not there'),
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
    INNER JOIN [readpast].[Worker_Invoice_V] AS v
        ON v.[EnqueuedAt] = i.[Key1];

    RETURN 0;
END;
GO
