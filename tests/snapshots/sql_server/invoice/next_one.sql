/*
Claim one item inside the caller's transaction, to be worked on and settled there by Modify_Invoice_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Invoice_utx]
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting invoice.leaseMs, or else 60000 */
    /* 1: first give back the items of dead workers, whose rows are locked to the end of the transaction too. */
    @Recover int = 0
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* The caller's level comes back at the end. Under SNAPSHOT, items would be judged as they were at its beginning. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Max int = 1;
    DECLARE @Claim bigint; /* none: the answer is not looked for */
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Locked int = 0;
    DECLARE @_Take int;
    DECLARE @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [Key1] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Refused] nvarchar(500) NULL, /* why the table refused it until its attempts were spent */
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
    /* Items that are left aside now. */
    DECLARE @_Aside TABLE (
        [Key1] datetime2(7) NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );

    /* With IMPLICIT_TRANSACTIONS, as drivers set it, the first statement that touches a table begins one. */
    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Next_Invoice_utx works inside the transaction of its caller; begin one first.', 1;

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
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Next_Invoice_utx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Next_Invoice_utx: @LeaseMs must be at least 1.', 1;


    SET @_Now = SYSUTCDATETIME();
    SET @_At = @_Now;


    /*
    Which items are to be looked at. The searches take no update locks: they may pass many items in flight whose
    leases are good, and no worker shall wait for them.
    */
    DELETE FROM @_Change;
    DELETE FROM @_Candidate;
    /* Those that are left aside are no candidates, and take the place of none. */
    SET @_RecoverMax = 100 + (
        SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Invoice' AND r.[Until] > @_Now
    );
    IF @Recover > 0
    BEGIN
        INSERT INTO @_Candidate ([Key1], [StartedAt])
        SELECT TOP (@_RecoverMax) q.[EnqueuedAt], q.[StartedAt]
        FROM [readpast].[Invoice] AS q
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_InFlight]))
        WHERE
            q.[Status] = 'Processing'
            AND q.[LeaseUntil] <= @_Now
        ORDER BY q.[StartedAt];

        IF @@ROWCOUNT = @_RecoverMax
            /* All that is left of the last claim: a chunk must not split one. */
            INSERT INTO @_Candidate ([Key1], [StartedAt])
            SELECT q.[EnqueuedAt], q.[StartedAt]
            FROM [readpast].[Invoice] AS q
            WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_InFlight]))
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
            r.[Queue] = 'Invoice'
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
        INNER JOIN [readpast].[Invoice] AS q WITH (READUNCOMMITTED)
            ON q.[EnqueuedAt] = c.[Key1]
        WHERE
            q.[Status] = 'Processing'
            AND EXISTS (
                SELECT 1
                FROM [readpast].[Invoice] AS o WITH (READUNCOMMITTED, INDEX ([IX_Invoice_InFlight]))
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
            INNER JOIN [readpast].[Invoice] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON q.[EnqueuedAt] = c.[Key1]
            LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = 'Invoice'
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
        INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
            ON q.[EnqueuedAt] = w.[Key1]
        WHERE q.[Status] = 'Processing'
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Written = @@ROWCOUNT;

        IF @_Written <> (SELECT COUNT(*) FROM @_Change)
            THROW 50005, N'Invoice: a row that was locked for the change changed all the same.', 1;

        /* The table has let them through. */
        DELETE r
        FROM @_Change AS w
        INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
            ON
                r.[Queue] = 'Invoice'
                AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(w.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
        OPTION (LOOP JOIN, FORCE ORDER);
    END;

    INSERT INTO @_Aside ([Key1])
    SELECT k.[Key1]
    FROM [readpast].[QueueRefused] AS r
    CROSS APPLY (
        SELECT
            TRY_CAST(NULLIF(r.[Key], N'') AS datetime2(7)) AS [Key1]
    ) AS k
    WHERE
        r.[Queue] = 'Invoice'
        AND r.[Until] > @_Now
        AND NOT (k.[Key1] IS NULL)
    GROUP BY k.[Key1];

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
    FROM [readpast].[Invoice] AS q
        WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_Due]))
    WHERE
        q.[Status] IN ('Pending', 'Error')
        AND q.[ScheduledFor] <= @_At
        AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE q.[EnqueuedAt] = a.[Key1])
    ORDER BY q.[ScheduledFor], q.[EnqueuedAt]
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Take = 1));
    SET @_Locked = @@ROWCOUNT;

    IF @_Locked > 0
    BEGIN
        /*
        An item that came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
        such item, or with it where it is the first of all. The others are let go with the transaction.
        */
        /* Refusals have spent the attempts of these: they end, unless the table refuses that, too. */
        UPDATE d
        SET
            [AttemptNum] = CASE WHEN d.[AttemptNum] < @_MaxAttempts THEN @_MaxAttempts ELSE d.[AttemptNum] END,
            [Refused] = CONCAT(N'The table refused it ', r.[Attempts], N' times: ', r.[Reason])
        FROM @_Due AS d
        INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
            ON
                r.[Queue] = 'Invoice'
                AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(d.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
        WHERE r.[Attempts] > 0 AND d.[AttemptNum] + r.[Attempts] >= @_MaxAttempts
        OPTION (LOOP JOIN, FORCE ORDER);

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
        INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
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
            INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
                ON q.[EnqueuedAt] = d.[Key1]
            CROSS APPLY (
                SELECT
                'Pending' AS [Was],
                'Failed' AS [Status],
                d.[AttemptNum] AS [AttemptNum],
                d.[Token] AS [Token],
                CAST(NULL AS nvarchar(60)) AS [Step],
                CAST(NULL AS nvarchar(max)) AS [Response],
                CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.', N' ' + d.[Refused]) AS [Error],
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
            THROW 50005, N'Invoice: a row that was locked for the claim changed all the same.', 1;
    END;

    IF @@NESTLEVEL < 32
        AND EXISTS (SELECT 1 FROM @_Due)
        AND NOT EXISTS (
            SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] < @_MaxAttempts
        )
    BEGIN
        /* It only ended items whose attempts are spent: what comes behind them is due now. */
        EXECUTE [readpast].[Next_Invoice_utx]
            @Worker = @Worker, @LeaseMs = @LeaseMs, @Recover = 0;
        RETURN 0;
    END;

    SELECT
        d.[Key1] AS [EnqueuedAt],
        d.[Token] AS [UpdatedAt]
    FROM @_Due AS d
    WHERE d.[AttemptNum] < @_MaxAttempts;

    RETURN 0;
END;
GO
/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following Modify_Invoice_trx. What the table refuses is left aside.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Next_Invoice_trx]
    @Worker nvarchar(128) = NULL, /* who holds the lease; by default the connection's login and session number */
    @LeaseMs int = NULL, /* by default the setting invoice.leaseMs, or else 60000 */
    /* 1: first give back the items of dead workers. 3 or more: unless somebody did within so many milliseconds. */
    @Recover int = 1
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Max int = 1;
    DECLARE @Claim bigint; /* none: the answer is not looked for */
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Locked int = 0;
    DECLARE @_Take int;
    DECLARE @_Alone int;
    DECLARE @_Due TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL,
        [Key1] datetime2(7) NOT NULL,
        [AttemptNum] int NOT NULL,
        [Alone] int NOT NULL DEFAULT 0, /* 1: came back from a dead worker */
        [Token] datetime2(7) NULL,
        [Refused] nvarchar(500) NULL, /* why the table refused it until its attempts were spent */
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
DECLARE @_Number int;
    DECLARE @_Severity int;
    DECLARE @_Reason nvarchar(4000);
    DECLARE @_RefusedKey nvarchar(400);
    DECLARE @_Times int;
    /* Items that it refused in this call. */
    DECLARE @_Told TABLE (
        [Seq] int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        [Key1] datetime2(7) NULL,
        [Times] int NOT NULL,
        [Reason] nvarchar(500) NOT NULL
    );
    DECLARE @_Most int = @Max;
    DECLARE @_Tries int = 0;
    /* Items that are left aside now. */
    DECLARE @_Aside TABLE (
        [Key1] datetime2(7) NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Next_Invoice_trx commits its own work: not to be called in a transaction.', 1;

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
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));
    SET @LeaseMs = COALESCE(@LeaseMs, @_SilentMs);
    IF @Worker IS NULL OR @Worker = N''
        THROW 50021, N'Next_Invoice_trx: @Worker is empty; a lease needs an owner.', 1;
    IF @LeaseMs < 1
        THROW 50021, N'Next_Invoice_trx: @LeaseMs must be at least 1.', 1;



    WHILE @_Tries < 1000
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_Due;
        DELETE FROM @_Aside;
        SET @_Locked = 0;
        BEGIN TRY
            BEGIN TRANSACTION;
            SET @_Now = SYSUTCDATETIME();
            SET @_At = @_Now;


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
                    r.[Queue] = 'Invoice'
                    AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) >= @Recover;
                SET @_MyTurn = @@ROWCOUNT;

                /* Also as it is not committed yet. Whoever keeps its transaction open for longer holds nobody up. */
                IF @_MyTurn = 0
                    AND EXISTS (
                        SELECT 1
                        FROM [readpast].[QueueRecovery] AS r WITH (READUNCOMMITTED)
                        WHERE
                            r.[Queue] = 'Invoice'
                            AND ABS(DATEDIFF_BIG(MILLISECOND, r.[RecoveredAt], @_Now)) < @Recover
                    )
                    SET @Recover = 0;
            END;
            /* Those that are left aside are no candidates, and take the place of none. */
            SET @_RecoverMax = 100 + (
                SELECT COUNT(*) FROM [readpast].[QueueRefused] AS r WHERE r.[Queue] = 'Invoice' AND r.[Until] > @_Now
            );
            IF @Recover > 0
            BEGIN
                INSERT INTO @_Candidate ([Key1], [StartedAt])
                SELECT TOP (@_RecoverMax) q.[EnqueuedAt], q.[StartedAt]
                FROM [readpast].[Invoice] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_InFlight]))
                WHERE
                    q.[Status] = 'Processing'
                    AND q.[LeaseUntil] <= @_Now
                ORDER BY q.[StartedAt];

                IF @@ROWCOUNT = @_RecoverMax
                    /* All that is left of the last claim: a chunk must not split one. */
                    INSERT INTO @_Candidate ([Key1], [StartedAt])
                    SELECT q.[EnqueuedAt], q.[StartedAt]
                    FROM [readpast].[Invoice] AS q
                    WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_InFlight]))
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
                    WHERE r.[Queue] = 'Invoice';
            END;
            DELETE c
            FROM @_Candidate AS c
            INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = 'Invoice'
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
                INNER JOIN [readpast].[Invoice] AS q WITH (READUNCOMMITTED)
                    ON q.[EnqueuedAt] = c.[Key1]
                WHERE
                    q.[Status] = 'Processing'
                    AND EXISTS (
                        SELECT 1
                        FROM [readpast].[Invoice] AS o WITH (READUNCOMMITTED, INDEX ([IX_Invoice_InFlight]))
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
                    INNER JOIN [readpast].[Invoice] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
                        ON q.[EnqueuedAt] = c.[Key1]
                    LEFT JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                        ON
                            r.[Queue] = 'Invoice'
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
                INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
                    ON q.[EnqueuedAt] = w.[Key1]
                WHERE q.[Status] = 'Processing'
                OPTION (LOOP JOIN, FORCE ORDER);
                SET @_Written = @@ROWCOUNT;

                IF @_Written <> (SELECT COUNT(*) FROM @_Change)
                    THROW 50005, N'Invoice: a row that was locked for the change changed all the same.', 1;

                /* The table has let them through. */
                DELETE r
                FROM @_Change AS w
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'Invoice'
                        AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(w.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                OPTION (LOOP JOIN, FORCE ORDER);
            END;

            INSERT INTO @_Aside ([Key1])
            SELECT k.[Key1]
            FROM [readpast].[QueueRefused] AS r
            CROSS APPLY (
                SELECT
                    TRY_CAST(NULLIF(r.[Key], N'') AS datetime2(7)) AS [Key1]
            ) AS k
            WHERE
                r.[Queue] = 'Invoice'
                AND r.[Until] > @_Now
                AND NOT (k.[Key1] IS NULL)
            GROUP BY k.[Key1];

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
            FROM [readpast].[Invoice] AS q
                WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_Due]))
            WHERE
                q.[Status] IN ('Pending', 'Error')
                AND q.[ScheduledFor] <= @_At
                AND NOT EXISTS (SELECT 1 FROM @_Aside AS a WHERE q.[EnqueuedAt] = a.[Key1])
            ORDER BY q.[ScheduledFor], q.[EnqueuedAt]
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Take = 1));
            SET @_Locked = @@ROWCOUNT;

            IF @_Locked > 0
            BEGIN
                /*
                An item that came back from a dead worker may have been its death: it goes alone, so the claim ends before the first
                such item, or with it where it is the first of all. The others are let go with the transaction.
                */
                /* Refusals have spent the attempts of these: they end, unless the table refuses that, too. */
                UPDATE d
                SET
                    [AttemptNum] = CASE WHEN d.[AttemptNum] < @_MaxAttempts THEN @_MaxAttempts ELSE d.[AttemptNum] END,
                    [Refused] = CONCAT(N'The table refused it ', r.[Attempts], N' times: ', r.[Reason])
                FROM @_Due AS d
                INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                    ON
                        r.[Queue] = 'Invoice'
                        AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(d.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                WHERE r.[Attempts] > 0 AND d.[AttemptNum] + r.[Attempts] >= @_MaxAttempts
                OPTION (LOOP JOIN, FORCE ORDER);

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
                INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
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
                    INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK)
                        ON q.[EnqueuedAt] = d.[Key1]
                    CROSS APPLY (
                        SELECT
                        'Pending' AS [Was],
                        'Failed' AS [Status],
                        d.[AttemptNum] AS [AttemptNum],
                        d.[Token] AS [Token],
                        CAST(NULL AS nvarchar(60)) AS [Step],
                        CAST(NULL AS nvarchar(max)) AS [Response],
                        CONCAT(N'Attempts are spent: ', d.[AttemptNum], N' of ', @_MaxAttempts, N'.', N' ' + d.[Refused]) AS [Error],
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
                    THROW 50005, N'Invoice: a row that was locked for the claim changed all the same.', 1;
            END;

            /* The table has let them through. */
            DELETE r
            FROM @_Due AS d
            INNER JOIN [readpast].[QueueRefused] AS r WITH (ROWLOCK)
                ON
                    r.[Queue] = 'Invoice'
                    AND r.[Key] = LEFT(CONVERT(nvarchar(30), CAST(d.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
            OPTION (LOOP JOIN, FORCE ORDER);

            COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            SELECT @_Number = ERROR_NUMBER(), @_Severity = ERROR_SEVERITY(), @_Reason = ERROR_MESSAGE();
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF [readpast].[QueueIsRefusal_fn](@_Number, @_Severity) = 0 OR NOT EXISTS (SELECT 1 FROM @_Due)
                THROW;

            SET @_Locked = (SELECT COUNT(*) FROM @_Due);
            IF @_Locked > 1
                SET @Max = @_Locked / 2;
            ELSE
            BEGIN
                SET @Max = @_Most;
                SELECT @_RefusedKey = LEFT(CONVERT(nvarchar(30), CAST(d.[Key1] AS datetime2(7)), 126), 400) COLLATE Latin1_General_BIN2
                FROM @_Due AS d;
                EXECUTE [readpast].[QueueNoteRefusal]
                    @Queue = 'Invoice', @Key = @_RefusedKey, @Doing = 'claim', @Number = @_Number, @Reason = @_Reason,
                    @Times = @_Times OUTPUT;
                INSERT INTO @_Told ([Key1], [Times], [Reason])
                SELECT d.[Key1], @_Times, LEFT(CONCAT(N'claim: ', @_Reason), 500)
                FROM @_Due AS d;
            END;
            DELETE FROM @_Due;
            DELETE FROM @_Change;
        END CATCH;
    END;

    IF @@NESTLEVEL < 32
        AND EXISTS (SELECT 1 FROM @_Due)
        AND NOT EXISTS (
            SELECT 1 FROM @_Due AS d WHERE d.[AttemptNum] < @_MaxAttempts
        )
    BEGIN
        /* It only ended items whose attempts are spent: what comes behind them is due now. */
        EXECUTE [readpast].[Next_Invoice_trx]
            @Worker = @Worker, @LeaseMs = @LeaseMs, @Recover = 0;
        RETURN 0;
    END;

    SELECT
        d.[Key1] AS [EnqueuedAt],
        d.[Token] AS [UpdatedAt]
    FROM @_Due AS d
    WHERE d.[AttemptNum] < @_MaxAttempts;

    RETURN 0;
END;
GO
