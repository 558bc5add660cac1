/*
The answers of a settlement or a redrive that was made before. Nothing is changed.
Called by Invoice_Settle and Redrive_Invoice_Set_trx, where QueueOperationTake says so. Nobody is granted it.
Table access order: QueueOperation, Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Invoice_Answered]
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Now datetime2(7); /* UTC: when the call was made */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Was] varchar(20) NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token], [Attempt], [Status])
    SELECT
        CAST(j.[key] AS int),
        r.[Key1],
        r.[Key1],
        r.[Token],
        r.[Attempt],
        r.[Status]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Key1] datetime2(7) '$.key',
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status'
    ) AS r;

    /* Those that were not OK are told as they were kept, the others are read back from the items. */
    SELECT
        @_Result = p.[Result],
        @_Now = p.[At]
    FROM [readpast].[QueueOperation] AS p
    WHERE p.[OperationId] = @Operation;

    INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
    SELECT
        i.[Ordinal],
        'OK',
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN 'Pending' END,
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[Status] END,
        CAST(q.[UpdatedAt] AS datetime2(7)),
        CASE WHEN q.[EnqueuedAt] IS NOT NULL THEN q.[AttemptNum] END
    FROM @_Item AS i
    LEFT JOIN [readpast].[Invoice] AS q
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

    SELECT
        w.[Answer],
        w.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        i.[Key],
        w.[Token],
        w.[AttemptNum],
        w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i
        ON i.[Ordinal] = w.[Ordinal]
    ORDER BY w.[Ordinal];
    RETURN 0;
END;
GO
/*
Judges settlements, whoever asks (a worker, an operator, a program), and writes those that are OK.
Called by all Modify_Invoice_ procedures, in a transaction. Nobody is granted it.
Items come as a JSON array, or one of them (@IsOne = 1) in the parameters behind.
Locks: the call's row in QueueOperation; then the items, in the order of their keys, each waited for.
Returns a row per item with its answer, or (@Tells = 0) the answer of one in @Answer, and in @Is the state that it is in now.
An item whose answer is not OK is untouched.
Table access order: QueueOperation, Invoice, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Invoice_Settle]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @LeaseMs int,
    @Items nvarchar(max) = NULL,
    @IsNew bit = NULL OUTPUT, /* 0: the call was made before, and nothing is changed */
    @IsOne bit = 0,
    @Key datetime2(7) = NULL,
    @Token datetime2(7) = NULL,
    @Attempt int = NULL,
    @Status varchar(20) = NULL,
    @Step nvarchar(60) = NULL,
    @Response nvarchar(max) = NULL,
    @Error nvarchar(max) = NULL,
    @DueAt datetime2(7) = NULL,
    @Set nvarchar(max) = NULL,
    @Tells bit = 1,
    @Answer varchar(20) = NULL OUTPUT,
    @Is varchar(20) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_Result nvarchar(max);
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
    DECLARE @_Lost nvarchar(2048);
    DECLARE @_Written int = 0;


    /* As of many. */
    IF @Set IS NOT NULL
        SET @Items = CONCAT(N'[{"set": ', @Set, N'}]');
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'token', N'attempt', N'status', N'step', N'response', N'error', N'release', N'set', N'due', N'delay_ms')
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'$.set') AS m
            WHERE m.[key] NOT IN (N'Number', N'CustomerID', N'Amount', N'Code', N'Lines')
        )
        EXECUTE [readpast].[QueueTake] N'Modify_Invoice', @Items OUTPUT, N'{
            "key": "timestamp", "token": "timestamp", "attempt": "integer", "status": "text(20)",
            "step": "text(60)", "response": "text", "error": "text", "release": "boolean",
            "set": {
                "Number": "text(20) not null", "CustomerID": "bigint", "Amount": "decimal(12, 2)",
                "Code": "text(6)", "Lines": "json"
            },
            "due": "timestamp", "delay_ms": "milliseconds (from 0 to 2147483647000)"
        }';

    SELECT
        @_MaxAttempts = s.[MaxAttempts],
        @_SilentMs = s.[LeaseMs]
    FROM [readpast].[Invoice_Setting_V] AS s;
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Modify_Invoice: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Modify_Invoice: @LeaseMs must be at least 1.', 1;

    IF @IsOne = 1
        INSERT INTO @_Item (
            [Ordinal], [Key], [Key1], [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Set]
        )
        SELECT
            0,
            @Key,
            @Key,
            @Token, @Attempt, @Status, @Step, @Response, @Error, @DueAt, JSON_QUERY(@Items, '$[0].set');
    ELSE
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
    SET @_Count = (SELECT COUNT(*) FROM @_Item);
SET @_Sets = CASE WHEN EXISTS (SELECT 1 FROM @_Item AS i WHERE i.[Set] IS NOT NULL) THEN 1 ELSE 0 END;
    SET @_Now = SYSUTCDATETIME();
    SET @_At = @_Now;

    EXECUTE [readpast].[QueueOperationTake] @Operation, 'Modify_Invoice_Set', @_Now, @IsNew OUTPUT;
    IF @IsNew = 0
    BEGIN
        EXECUTE [readpast].[Invoice_Answered] @Operation = @Operation, @Items = @Items;
        RETURN 0;
    END;

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

    IF @_Sets = 1 AND (@Items COLLATE Latin1_General_BIN2 LIKE N'%[^ -~]%' OR CHARINDEX(N'\u', @Items) > 0)
    BEGIN
        SET @_Lost = (
            SELECT TOP (1) CONCAT(N'item ', i.[Ordinal], N': "set.', x.[Name], N'"')
            FROM @_Item AS i
            INNER JOIN @_Work AS k
                ON k.[Ordinal] = i.[Ordinal]
            INNER JOIN [readpast].[Invoice] AS q
                ON q.[EnqueuedAt] = i.[Key1]
            CROSS APPLY OPENJSON(i.[Set]) AS n
            CROSS APPLY (
                SELECT
                    n.[key] AS [Name],
                    n.[value] COLLATE Latin1_General_BIN2 AS [Given],
                    CASE n.[key]
                        WHEN N'Code' THEN CAST(q.[Code] AS nvarchar(max)) COLLATE Latin1_General_BIN2
                    END AS [Kept]
            ) AS x
            WHERE k.[Answer] = 'OK' AND LEN(x.[Kept]) = LEN(x.[Given]) AND LEN(REPLACE(x.[Kept], N'?', N'')) < LEN(REPLACE(x.[Given], N'?', N''))
            ORDER BY i.[Ordinal]
        );
        IF @_Lost IS NOT NULL
        BEGIN
            /* THROW reads a % as the start of something else; doubled, it stands for itself. */
            SET @_Lost = CONCAT(
                N'Modify_Invoice: ', REPLACE(@_Lost, N'%', N'%%'),
                N' has letters that the code page of its column lacks, and which it would keep as ?; leave them out, or make it nvarchar.'
            );
            THROW 50021, @_Lost, 1;
        END;
    END;

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
        EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
    END;

    IF @Tells = 0
        SELECT
            @Answer = w.[Answer],
            @Is = w.[Status]
        FROM @_Work AS w;
    ELSE
        SELECT
            w.[Answer],
            w.[Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            i.[Key],
            w.[Token],
            w.[AttemptNum],
            w.[Status]
        FROM @_Work AS w
        INNER JOIN @_Item AS i
            ON i.[Ordinal] = w.[Ordinal]
        ORDER BY w.[Ordinal];
    RETURN 0;
END;
GO
/*
Settle many items inside the caller's transaction and, with @Max above 0, claim the next ones there: done when it
commits, undone with its other work when it does not. What is refused is an answer, and leaves the transaction as it is;
an error ends it (XACT_ABORT).
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_Invoice_Set_trx returns them. An error may follow the rows: read to the end.
Completed items move to Invoice_History.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Invoice returns by its @Claim.
Table access order: QueueOperation, Invoice, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Invoice_Set_utx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Invoice */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* The caller's level comes back at the end. Under SNAPSHOT, items would be judged as they were at its beginning. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit;

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Modify_Invoice_Set_utx works inside the transaction of its caller; begin one first.', 1;
    /* A row that is locked to the end of somebody's transaction is no measure for others: no turn is taken. */
    SET @Recover = CASE WHEN @Recover > 2 THEN 1 ELSE @Recover END;
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_Invoice_Set_utx: @Max must be from 0 to 1000.', 1;


    EXECUTE [readpast].[Invoice_Settle]
        @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items, @IsNew = @_IsNew OUTPUT;
    IF @Max > 0 AND @_IsNew = 1
        EXECUTE [readpast].[Invoice_Claim]
            @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2, @Claim = @Claim;
    RETURN 0;
END;
GO
/*
Settle many items in one commit and, with @Max above 0, claim the next ones in the same commit.
@Items is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then, in a second
result, the claimed items, as Next_Invoice_Set_trx returns them. An error may follow the rows: read to the end.
Completed items move to Invoice_History.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, Claimed_Invoice returns by its @Claim.
Table access order: QueueOperation, Invoice, QueueTransition.
*/
CREATE OR ALTER PROCEDURE [readpast].[Modify_Invoice_Set_trx]
    @Operation uniqueidentifier,
    @Worker nvarchar(128),
    @Items nvarchar(max),
    @Max int = 0,
    @LeaseMs int = NULL,
    @Recover int = 0,
    @Claim bigint = NULL /* a number of its own, above zero: see Claimed_Invoice */
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit;

    IF @@TRANCOUNT > 0
        THROW 50012, N'Modify_Invoice_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF @Max IS NULL OR @Max < 0 OR @Max > 1000
        THROW 50021, N'Modify_Invoice_Set_trx: @Max must be from 0 to 1000.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;

        EXECUTE [readpast].[Invoice_Settle]
            @Operation = @Operation, @Worker = @Worker, @LeaseMs = @LeaseMs, @Items = @Items, @IsNew = @_IsNew OUTPUT;
        IF @Max > 0 AND @_IsNew = 1
            EXECUTE [readpast].[Invoice_Claim]
                @Worker = @Worker, @Max = @Max, @LeaseMs = @LeaseMs, @Recover = @Recover, @Within = 2, @Claim = @Claim;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;
    RETURN 0;
END;
GO
