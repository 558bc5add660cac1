/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (50023), the transition is not legal (50024), the item is not there (50025),
or @Worker and @AttemptNum no longer hold its lease (50026). Returns the item as it is now, through the worker view.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: Notification, QueueTransition.
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
    @AttemptNum int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @LeaseMs int;
    DECLARE @MaxAttempts int;
    DECLARE @Now datetime2(7);
    DECLARE @Answer varchar(20);
    DECLARE @Message nvarchar(2048);
    DECLARE @Changed int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @Item TABLE (
        [EnqueuedAt] datetime2(7) NULL,
        [Ordinal] int NOT NULL,
        [Token] datetime2(7) NULL,
        [Attempt] int NULL,
        [Status] varchar(20) NULL,
        [Step] nvarchar(60) NULL,
        [Response] nvarchar(max) NULL,
        [Error] nvarchar(max) NULL,
        [ScheduledFor] datetime2(7) NULL,
        [DelayMs] bigint NULL,
        [Release] bit NULL,
        UNIQUE CLUSTERED ([EnqueuedAt], [Ordinal])
    );
    DECLARE @Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [EnqueuedAt] datetime2(7) NULL,
        [Answer] varchar(20) NOT NULL,
        [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL,
        [AttemptNum] int NULL
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Modify_Notification_trx commits its own work: not to be called in a transaction.', 1;

    SET @MaxAttempts = COALESCE(
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.maxAttempts'), 3
    );
    SET @LeaseMs = COALESCE(
        @LeaseMs,
        (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.leaseMs'),
        60000
    );

    INSERT INTO @Item (
        [Ordinal], [EnqueuedAt], [Token], [Attempt], [Status], [Step], [Response], [Error], [ScheduledFor]
    )
    VALUES (0, @EnqueuedAt, @UpdatedAt, @AttemptNum, @Status, @Step, @Response, @Error, @ScheduledFor);
    SET @Worker = COALESCE(@Worker, CONCAT(SUSER_SNAME(), N'/', @@SPID));

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @Now = SYSUTCDATETIME();

        /*
        Lock the items and decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST);
        the fence of everybody is the token (CONFLICT); the state machine is QueueTransition (ILLEGAL_TRANSITION).
        A lease past its deadline still counts while nobody has taken the item: finished work is not done twice.
        */
        INSERT INTO @Work ([Ordinal], [EnqueuedAt], [Answer], [Status], [Token], [AttemptNum])
        SELECT
            i.[Ordinal],
            i.[EnqueuedAt],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN
                    i.[Attempt] > 0
                    AND (
                        q.[Status] <> 'Processing'
                        OR q.[LeaseOwner] IS NULL
                        OR q.[LeaseOwner] <> @Worker
                        OR q.[AttemptNum] <> i.[Attempt]
                    )
                    THEN 'LEASE_LOST'
                WHEN i.[Token] IS NOT NULL AND i.[Token] <> q.[UpdatedAt] THEN 'CONFLICT'
                WHEN i.[Token] IS NULL AND i.[Attempt] > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN ROW_NUMBER() OVER (PARTITION BY i.[EnqueuedAt] ORDER BY i.[Ordinal]) > 1 THEN 'CONFLICT'
                WHEN t.[ToStatus] IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN
                    (i.[Response] IS NOT NULL OR i.[Error] IS NOT NULL)
                    AND [readpast].[QueueIsEditable_fn](q.[Status]) = 0
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END,
            CASE
                WHEN t.[ToStatus] IS NULL THEN q.[Status]
                /* A step keeps the claim, and the attempt is not over. */
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN 'Pending'
                WHEN q.[AttemptNum] >= @MaxAttempts AND t.[ToStatus] <> 'Completed' THEN 'Failed'
                ELSE t.[ToStatus]
            END,
            CASE
                WHEN @Now > q.[UpdatedAt] THEN @Now
                ELSE DATEADD(MICROSECOND, 1, CAST(q.[UpdatedAt] AS datetime2(7)))
            END,
            CASE
                WHEN q.[Status] = 'Processing' AND i.[Status] = 'Pending' AND i.[Release] = 1 THEN q.[AttemptNum] - 1
                /* Processing from another state is a claim of this one item. */
                WHEN q.[Status] <> 'Processing' AND i.[Status] = 'Processing' AND q.[AttemptNum] < @MaxAttempts
                    THEN q.[AttemptNum] + 1
                ELSE q.[AttemptNum]
            END
        FROM @Item AS i
        LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK)
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        LEFT JOIN [readpast].[QueueTransition] AS t
            ON t.[FromStatus] = q.[Status] AND t.[ToStatus] = i.[Status]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* What is refused shows the item as it is. */
        UPDATE w
        SET
            [Status] = q.[Status],
            [Token] = q.[UpdatedAt],
            [AttemptNum] = q.[AttemptNum]
        FROM @Work AS w
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = w.[EnqueuedAt]
        WHERE w.[Answer] NOT IN ('OK', 'NOT_FOUND')
        OPTION (LOOP JOIN, FORCE ORDER);

        UPDATE q
        SET
            [Status] = w.[Status],
            [UpdatedAt] = w.[Token],
            [AttemptNum] = w.[AttemptNum],
            [Step] = COALESCE(i.[Step], q.[Step]),
            [Response] = COALESCE(i.[Response], q.[Response]),
            [Error] = CASE
                WHEN i.[Error] IS NOT NULL THEN i.[Error]
                WHEN w.[Status] = 'Failed' AND i.[Status] <> 'Failed'
                    THEN CONCAT(
                        N'Attempts are spent: ', q.[AttemptNum], N' of ', @MaxAttempts,
                        N'; asked for ', i.[Status], N'.'
                    )
                /* What went wrong before is over. */
                WHEN w.[Status] = 'Completed' THEN N''
                ELSE q.[Error]
            END,
            [ScheduledFor] = COALESCE(
                i.[ScheduledFor],
                DATEADD(MILLISECOND, i.[DelayMs] % 1000, DATEADD(SECOND, i.[DelayMs] / 1000, @Now)),
                /*
                1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                */
                CASE
                    WHEN w.[Status] = 'Error' AND q.[Status] = 'Processing'
                        THEN DATEADD(
                            MILLISECOND,
                            CAST(ROUND(
                                CASE
                                    WHEN
                                        (w.[AttemptNum] - 1) * LOG(200 / 100.0)
                                        >= LOG(300000.0 / 1000)
                                        THEN 300000.0
                                    ELSE 1000 * POWER(200 / CAST(100 AS float), w.[AttemptNum] - 1)
                                END
                                * (1 - 50 / 100.0 * ABS(CHECKSUM(NEWID()) % 10001) / 10000.0), 0
                            ) AS int),
                            @Now
                        )
                END,
                q.[ScheduledFor]
            ),
            [StartedAt] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] <> 'Processing' THEN @Now
                ELSE q.[StartedAt]
            END,
            [Duration] = CASE
                WHEN [readpast].[QueueIsFinished_fn](w.[Status]) = 1
                    THEN DATEDIFF_BIG(MILLISECOND, q.[StartedAt], @Now)
                ELSE q.[Duration]
            END,
            [LeaseOwner] = CASE
                WHEN w.[Status] = 'Processing' AND q.[Status] <> 'Processing' THEN @Worker
                ELSE q.[LeaseOwner]
            END,
            [LeaseUntil] = CASE WHEN w.[Status] = 'Processing' THEN DATEADD(MILLISECOND, @LeaseMs, @Now) END
        FROM @Item AS i
        INNER JOIN @Work AS w
            ON w.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = i.[EnqueuedAt]
        WHERE w.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @Changed = @@ROWCOUNT;

        IF @Changed <> (SELECT COUNT(*) FROM @Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT
        @Answer = w.[Answer],
        @Message = CONCAT(
            N'Modify_Notification_trx: ', w.[Answer], N'; the item is ', COALESCE(w.[Status], N'not there'),
            N', asked for was ', @Status, N'.'
        )
    FROM @Work AS w;

    IF @Answer = 'CONFLICT'
        THROW 50023, @Message, 1;
    IF @Answer = 'ILLEGAL_TRANSITION'
        THROW 50024, @Message, 1;
    IF @Answer = 'NOT_FOUND'
        THROW 50025, @Message, 1;
    IF @Answer = 'LEASE_LOST'
        THROW 50026, @Message, 1;

    SELECT v.*
    FROM [readpast].[Worker_Notification_V] AS v
    WHERE v.[EnqueuedAt] = @EnqueuedAt;

    RETURN 0;
END;
GO