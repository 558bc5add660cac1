/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms. What a subtype has is an
object among the columns, by the subtype's name.
One row per element: its position, key and token.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_Set_utx]
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @Now datetime2(7) = SYSUTCDATETIME();
    DECLARE @First bigint;
    DECLARE @New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Number] bigint NOT NULL,
        [EnqueuedAt] datetime2(7) NULL,
        [ScheduledFor] datetime2(7) NOT NULL,
        [Type] nvarchar(60) NOT NULL,
        [Step] nvarchar(60) NULL
    );
    IF @@TRANCOUNT = 0
        THROW 50012, N'Add_Notification_Set_utx works inside the transaction of its caller; begin one first.', 1;

    INSERT INTO @New ([Ordinal], [Number], [ScheduledFor], [Type], [Step])
    SELECT
        CAST(j.[key] AS int),
        NEXT VALUE FOR [readpast].[Notification_Seq],
        COALESCE(
            r.[ScheduledFor],
            DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now)),
            @Now
        ),
        COALESCE(r.[Type], N'ResetPassword'),
        r.[Step]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Type] nvarchar(max) '$.type',
        [Step] nvarchar(max) '$.step',
        [ScheduledFor] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms'
    ) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Add_Notification_Set_utx: at most 1000 items a call.', 1;

    /*
    The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
    a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
    items in succession have different keys, and the keys of one call ascend with its numbers.
    */
    SET @First = (SELECT MIN(n.[Number]) FROM @New AS n);
    UPDATE @New
    SET [EnqueuedAt] = DATEADD(
        MICROSECOND, [Number] - @First + @First % 10000, CAST(CAST(@Now AS datetime2(2)) AS datetime2(7))
    );

    INSERT INTO [readpast].[Notification] (
        [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt],
        [Subject]
    )
    SELECT
        n.[EnqueuedAt], n.[Type], 'Pending', n.[Step], 0, n.[ScheduledFor], @Now,
        c.[Subject]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Subject] nvarchar(max) '$.columns."Subject"'
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO [readpast].[Notification_ResetPassword] ([EnqueuedAt], [OTP], [UserID], [Username])
    SELECT n.[EnqueuedAt], c.[OTP], c.[UserID], c.[Username]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [OTP] nvarchar(max) '$.columns."ResetPassword"."OTP"',
        [UserID] int '$.columns."ResetPassword"."UserID"',
        [Username] nvarchar(max) '$.columns."ResetPassword"."Username"'
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
    WHERE
        /* Every item of the type has a row; that no other has one is checked by the table. */
        (n.[Type] = N'ResetPassword' OR JSON_QUERY(j.[value], '$.columns."ResetPassword"') IS NOT NULL)
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO [readpast].[Notification_Email] ([EnqueuedAt], [EmailTo], [PreferredLanguage])
    SELECT n.[EnqueuedAt], c.[EmailTo], c.[PreferredLanguage]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [EmailTo] nvarchar(max) '$.columns."Email"."EmailTo"',
        [PreferredLanguage] nvarchar(max) '$.columns."Email"."PreferredLanguage"'
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
    WHERE
        JSON_QUERY(j.[value], '$.columns."Email"') IS NOT NULL
    OPTION (LOOP JOIN, FORCE ORDER);

    INSERT INTO [readpast].[Notification_Sms] ([EnqueuedAt], [PhoneNumber])
    SELECT n.[EnqueuedAt], c.[PhoneNumber]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [PhoneNumber] nvarchar(max) '$.columns."Sms"."PhoneNumber"'
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
    WHERE
        JSON_QUERY(j.[value], '$.columns."Sms"') IS NOT NULL
    OPTION (LOOP JOIN, FORCE ORDER);

    SELECT
        'OK' AS [Answer],
        n.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        n.[EnqueuedAt] AS [Key],
        @Now AS [Token],
        0 AS [AttemptNum],
        'Pending' AS [Status]
    FROM @New AS n
    ORDER BY n.[Ordinal];

    RETURN 0;
END;
GO
/*
Enqueue many items in one commit of their own.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms. What a subtype has is an
object among the columns, by the subtype's name.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: its position, key and token.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_Set_trx]
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Now datetime2(7);
    DECLARE @Tries int = 0;
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
    DECLARE @First bigint;
    DECLARE @New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Number] bigint NOT NULL,
        [EnqueuedAt] datetime2(7) NULL,
        [ScheduledFor] datetime2(7) NOT NULL,
        [Type] nvarchar(60) NOT NULL,
        [Step] nvarchar(60) NULL
    );

    IF @@TRANCOUNT > 0
        THROW 50012, N'Add_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    WHILE @Tries < 5
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            SET @Now = SYSUTCDATETIME();
            DELETE FROM @New;

            /*
            First of all: if another attempt of this very call is under way, this waits for it, and then fails (2627).
            */
            IF @Operation IS NOT NULL
            BEGIN
                INSERT INTO [readpast].[QueueOperation] ([OperationId], [At])
                VALUES (@Operation, @Now);

                /* Answers are asked for again within minutes. One call in 64 clears what is older than an hour. */
                IF ABS(CHECKSUM(@Operation) % 64) = 0
                    DELETE TOP (256) FROM [readpast].[QueueOperation] WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE [At] < DATEADD(HOUR, -1, @Now);
            END;

            INSERT INTO @New ([Ordinal], [Number], [ScheduledFor], [Type], [Step])
            SELECT
                CAST(j.[key] AS int),
                NEXT VALUE FOR [readpast].[Notification_Seq],
                COALESCE(
                    r.[ScheduledFor],
                    DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now)),
                    @Now
                ),
                COALESCE(r.[Type], N'ResetPassword'),
                r.[Step]
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [Type] nvarchar(max) '$.type',
                [Step] nvarchar(max) '$.step',
                [ScheduledFor] datetime2(7) '$.due',
                [DelayMs] bigint '$.delay_ms'
            ) AS r;

            IF @@ROWCOUNT > 1000
                THROW 50021, N'Add_Notification_Set_trx: at most 1000 items a call.', 1;

            /*
            The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
            a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
            items in succession have different keys, and the keys of one call ascend with its numbers.
            */
            SET @First = (SELECT MIN(n.[Number]) FROM @New AS n);
            UPDATE @New
            SET [EnqueuedAt] = DATEADD(
                MICROSECOND, [Number] - @First + @First % 10000, CAST(CAST(@Now AS datetime2(2)) AS datetime2(7))
            );

            INSERT INTO [readpast].[Notification] (
                [EnqueuedAt], [Type], [Status], [Step], [AttemptNum], [ScheduledFor], [UpdatedAt],
                [Subject]
            )
            SELECT
                n.[EnqueuedAt], n.[Type], 'Pending', n.[Step], 0, n.[ScheduledFor], @Now,
                c.[Subject]
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [Subject] nvarchar(max) '$.columns."Subject"'
            ) AS c
            INNER JOIN @New AS n
                ON n.[Ordinal] = CAST(j.[key] AS int)
            OPTION (LOOP JOIN, FORCE ORDER);

            INSERT INTO [readpast].[Notification_ResetPassword] ([EnqueuedAt], [OTP], [UserID], [Username])
            SELECT n.[EnqueuedAt], c.[OTP], c.[UserID], c.[Username]
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [OTP] nvarchar(max) '$.columns."ResetPassword"."OTP"',
                [UserID] int '$.columns."ResetPassword"."UserID"',
                [Username] nvarchar(max) '$.columns."ResetPassword"."Username"'
            ) AS c
            INNER JOIN @New AS n
                ON n.[Ordinal] = CAST(j.[key] AS int)
            WHERE
                /* Every item of the type has a row; that no other has one is checked by the table. */
                (n.[Type] = N'ResetPassword' OR JSON_QUERY(j.[value], '$.columns."ResetPassword"') IS NOT NULL)
            OPTION (LOOP JOIN, FORCE ORDER);

            INSERT INTO [readpast].[Notification_Email] ([EnqueuedAt], [EmailTo], [PreferredLanguage])
            SELECT n.[EnqueuedAt], c.[EmailTo], c.[PreferredLanguage]
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [EmailTo] nvarchar(max) '$.columns."Email"."EmailTo"',
                [PreferredLanguage] nvarchar(max) '$.columns."Email"."PreferredLanguage"'
            ) AS c
            INNER JOIN @New AS n
                ON n.[Ordinal] = CAST(j.[key] AS int)
            WHERE
                JSON_QUERY(j.[value], '$.columns."Email"') IS NOT NULL
            OPTION (LOOP JOIN, FORCE ORDER);

            INSERT INTO [readpast].[Notification_Sms] ([EnqueuedAt], [PhoneNumber])
            SELECT n.[EnqueuedAt], c.[PhoneNumber]
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [PhoneNumber] nvarchar(max) '$.columns."Sms"."PhoneNumber"'
            ) AS c
            INNER JOIN @New AS n
                ON n.[Ordinal] = CAST(j.[key] AS int)
            WHERE
                JSON_QUERY(j.[value], '$.columns."Sms"') IS NOT NULL
            OPTION (LOOP JOIN, FORCE ORDER);

            IF @Operation IS NOT NULL
            BEGIN
                SET @Result = (
                    SELECT
                        n.[Ordinal] AS [ordinal],
                        n.[EnqueuedAt] AS [key]
                    FROM @New AS n
                    FOR JSON PATH
                );
                UPDATE [readpast].[QueueOperation]
                SET [Result] = @Result
                WHERE [OperationId] = @Operation;
            END;

            COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 2627
                THROW;

            IF EXISTS (SELECT 1 FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation)
            BEGIN
                SET @Replayed = 1;
                BREAK;
            END;

            /* A key was taken (the clock was set back): the sequence has moved on, so the next keys differ. */
            SET @Tries = @Tries + 1;
            IF @Tries = 5
                THROW;
        END CATCH;
    END;

    IF @Replayed = 1
    BEGIN
        DELETE FROM @New;
        SET @Result = (SELECT p.[Result] FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation);
        SET @Now = (SELECT p.[At] FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @New ([Ordinal], [Number], [EnqueuedAt], [ScheduledFor], [Type])
        SELECT r.[ordinal], 0, r.[key], @Now, N''
        FROM OPENJSON(@Result) WITH ([ordinal] int '$.ordinal', [key] datetime2(7) '$.key') AS r;
    END;

    SELECT
        'OK' AS [Answer],
        n.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        n.[EnqueuedAt] AS [Key],
        @Now AS [Token],
        0 AS [AttemptNum],
        'Pending' AS [Status]
    FROM @New AS n
    ORDER BY n.[Ordinal];

    RETURN 0;
END;
GO