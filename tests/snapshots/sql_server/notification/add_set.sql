/*
Puts items into Notification.
Called by the Add_Notification_Set_ procedures: in the caller's transaction (@Within = 1), or in one of its own, and again when a key was taken.
Nobody is granted it.
Returns an answer per element, as they do.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Notification_Add]
    @Operation uniqueidentifier, @Items nvarchar(max), @Within bit
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_IsNew bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Tries int = 0;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count int;
    /* Each element read once: what is put into the table, and by what it is recognized. */
    DECLARE @_New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(60) NULL, [Step] nvarchar(60) NULL, [DueAt] datetime2(7) NULL,
        [s1] nvarchar(max) NULL, [s1_1] nvarchar(max) NULL, [s1_2] int NULL, [s1_3] nvarchar(max) NULL, [s2] nvarchar(max) NULL,
        [s2_1] nvarchar(max) NULL, [s2_2] nvarchar(max) NULL, [s2_3] nvarchar(max) NULL, [s2_4] nvarchar(max) NULL, [s3] nvarchar(max) NULL,
        [s3_1] nvarchar(max) NULL, [s3_2] nvarchar(max) NULL, [s3_3] nvarchar(max) NULL, [Key1] datetime2(7) NULL, [First] int NULL,
        [IsNew] bit NOT NULL DEFAULT 1
    );
    DECLARE @_Added TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Key] datetime2(7) NULL);
    DECLARE @_First bigint;
    DECLARE @_Number TABLE ([Number] bigint NOT NULL PRIMARY KEY);
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    IF
        SESSION_CONTEXT(N'readpast.checks_items') IS NULL
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'$.columns') AS m
            WHERE m.[key] NOT IN (N'ResetPassword', N'Email', N'Sms')
        )
        EXECUTE [readpast].[QueueTake] N'Add_Notification', @Items OUTPUT, N'{
            "type": ["ResetPassword","Email","Sms"], "step": "text(60)", "due": "timestamp",
            "delay_ms": "milliseconds (from 0 to 2147483647000)",
            "columns": {
                "ResetPassword": {
                    "OTP": "text(16) not null", "UserID": "integer not null", "Username": "text(128) not null"
                },
                "Email": {
                    "EmailTo": "text(254) not null", "PreferredLanguage": "text(60)", "Response": "text",
                    "Error": "text"
                },
                "Sms": {
                    "PhoneNumber": "text(20) not null", "Response": "text", "Error": "text"
                }
            }
        }';

    WHILE @_Tries < 5
    BEGIN
        SET @_Tries = @_Tries + 1;
        DELETE FROM @_New;
        DELETE FROM @_Added;
        DELETE FROM @_Number;
        BEGIN TRY
            IF @Within = 0
                BEGIN TRANSACTION;
            SET @_Now = SYSUTCDATETIME();

            EXECUTE [readpast].[QueueOperationTake] @Operation, 'Add_Notification_Set', @_Now, @_IsNew OUTPUT;
            IF @_IsNew = 1
            BEGIN
                INSERT INTO @_New (
                    [Ordinal], [Type], [Step], [DueAt], [s1], [s1_1], [s1_2], [s1_3], [s2], [s2_1], [s2_2], [s2_3], [s2_4], [s3], [s3_1], [s3_2], [s3_3]
                )
                SELECT
                    CAST(j.[key] AS int), r.[Type], r.[Step],
                    COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @_Now))),
                    r.[s1], r.[s1_1], r.[s1_2], r.[s1_3], r.[s2], r.[s2_1], CASE WHEN h_s2.[s2_2] = 1 THEN r.[s2_2] ELSE N'en' END,
                    CASE WHEN h_s2.[s2_3] = 1 THEN r.[s2_3] ELSE N'' END, CASE WHEN h_s2.[s2_4] = 1 THEN r.[s2_4] ELSE N'' END, r.[s3],
                    r.[s3_1], CASE WHEN h_s3.[s3_2] = 1 THEN r.[s3_2] ELSE N'' END, CASE WHEN h_s3.[s3_3] = 1 THEN r.[s3_3] ELSE N'' END
                FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
                CROSS APPLY OPENJSON(j.[value]) WITH (
                    [Type] nvarchar(max) '$.type', [Step] nvarchar(max) '$.step', [DueAt] datetime2(7) '$.due',
                    [DelayMs] bigint '$.delay_ms', [s1] nvarchar(max) '$.columns."ResetPassword"' AS JSON,
                    [s1_1] nvarchar(max) '$.columns."ResetPassword"."OTP"', [s1_2] int '$.columns."ResetPassword"."UserID"',
                    [s1_3] nvarchar(max) '$.columns."ResetPassword"."Username"', [s2] nvarchar(max) '$.columns."Email"' AS JSON,
                    [s2_1] nvarchar(max) '$.columns."Email"."EmailTo"', [s2_2] nvarchar(max) '$.columns."Email"."PreferredLanguage"',
                    [s2_3] nvarchar(max) '$.columns."Email"."Response"', [s2_4] nvarchar(max) '$.columns."Email"."Error"',
                    [s3] nvarchar(max) '$.columns."Sms"' AS JSON, [s3_1] nvarchar(max) '$.columns."Sms"."PhoneNumber"',
                    [s3_2] nvarchar(max) '$.columns."Sms"."Response"', [s3_3] nvarchar(max) '$.columns."Sms"."Error"'
                ) AS r
                CROSS APPLY (
                    SELECT
                        MAX(CASE WHEN n.[key] = N'PreferredLanguage' THEN 1 ELSE 0 END) AS [s2_2],
                        MAX(CASE WHEN n.[key] = N'Response' THEN 1 ELSE 0 END) AS [s2_3],
                        MAX(CASE WHEN n.[key] = N'Error' THEN 1 ELSE 0 END) AS [s2_4]
                    FROM OPENJSON(j.[value], '$.columns."Email"') AS n
                ) AS h_s2
                CROSS APPLY (
                    SELECT
                        MAX(CASE WHEN n.[key] = N'Response' THEN 1 ELSE 0 END) AS [s3_2],
                        MAX(CASE WHEN n.[key] = N'Error' THEN 1 ELSE 0 END) AS [s3_3]
                    FROM OPENJSON(j.[value], '$.columns."Sms"') AS n
                ) AS h_s3
                OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
                SET @_Count = @@ROWCOUNT;

                /*
                The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
                a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
                items in succession have different keys. In which order numbers are drawn nobody promises: they are sorted.
                */
                INSERT INTO @_Number ([Number])
                SELECT NEXT VALUE FOR [readpast].[Notification_Seq] FROM @_New;
                SET @_First = (SELECT MIN(d.[Number]) FROM @_Number AS d);
                UPDATE n
                SET [Key1] = DATEADD(MICROSECOND, d.[Number] - @_First + @_First % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)))
                FROM @_New AS n
                INNER JOIN (SELECT a.[Number], ROW_NUMBER() OVER (ORDER BY a.[Number]) AS [Place] FROM @_Number AS a) AS d
                    ON d.[Place] = n.[Ordinal] + 1;

                INSERT INTO [readpast].[Notification] ([EnqueuedAt], [Type], [ScheduledFor], [Status], [AttemptNum], [Step], [UpdatedAt])
                SELECT n.[Key1], COALESCE(n.[Type], N'ResetPassword'), COALESCE(n.[DueAt], @_Now), 'Pending', 0, n.[Step], @_Now
                FROM @_New AS n
                WHERE n.[IsNew] = 1
                ORDER BY n.[Ordinal];

                IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_New AS n WHERE n.[IsNew] = 1)
                    THROW 50021, N'Add_Notification: an index of the table passed over items; they are duplicates to it.', 1;

                INSERT INTO [readpast].[Notification_ResetPassword] ([EnqueuedAt], [OTP], [UserID], [Username])
                SELECT n.[Key1], n.[s1_1], n.[s1_2], n.[s1_3]
                FROM @_New AS n
                WHERE
                    n.[IsNew] = 1
                    /* Every item of the type has a row; that no other has one is checked by the table. */
                    AND (COALESCE(n.[Type], N'ResetPassword') = N'ResetPassword' OR n.[s1] IS NOT NULL);

                INSERT INTO [readpast].[Notification_Email] ([EnqueuedAt], [EmailTo], [PreferredLanguage], [Response], [Error])
                SELECT n.[Key1], n.[s2_1], n.[s2_2], n.[s2_3], n.[s2_4]
                FROM @_New AS n
                WHERE n.[IsNew] = 1 AND n.[s2] IS NOT NULL;

                INSERT INTO [readpast].[Notification_Sms] ([EnqueuedAt], [PhoneNumber], [Response], [Error])
                SELECT n.[Key1], n.[s3_1], n.[s3_2], n.[s3_3]
                FROM @_New AS n
                WHERE n.[IsNew] = 1 AND n.[s3] IS NOT NULL;

                INSERT INTO @_Added ([Ordinal], [Answer], [Key])
                SELECT n.[Ordinal], 'OK', n.[Key1]
                FROM @_New AS n
                WHERE n.[IsNew] = 1;

                IF @Operation IS NOT NULL
                BEGIN
                    SET @_Result = (
                        SELECT a.[Ordinal] AS [ordinal], a.[Answer] AS [answer], a.[Key] AS [key]
                        FROM @_Added AS a
                        FOR JSON PATH
                    );
                    EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
                END;
            END;

            IF @Within = 0
                COMMIT TRANSACTION;
            BREAK;
        END TRY
        BEGIN CATCH
            IF @Within = 1 THROW;
            IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
            /* A key was taken (the clock was set back): another try sees it. */
            IF ERROR_NUMBER() <> 2627 OR @_Tries = 5 THROW;
        END CATCH;
    END;

    IF @_IsNew = 0
    BEGIN
        SELECT @_Result = p.[Result], @_Now = p.[At]
        FROM [readpast].[QueueOperation] AS p
        WHERE p.[OperationId] = @Operation;

        INSERT INTO @_Added ([Ordinal], [Answer], [Key])
        SELECT r.[ordinal], r.[answer], r.[key]
        FROM OPENJSON(@_Result) WITH ([ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] datetime2(7) '$.key') AS r;
    END;

    SELECT
        a.[Answer], a.[Ordinal], CAST(NULL AS bigint) AS [DueMs], a.[Key], CASE WHEN a.[Answer] = 'OK' THEN @_Now END AS [Token],
        CASE WHEN a.[Answer] = 'OK' THEN 0 END AS [AttemptNum], CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]
    FROM @_Added AS a
    ORDER BY a.[Ordinal];
END;
GO
/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
Any error ends that transaction (XACT_ABORT), a key that is taken too.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms. What a subtype has is an object among the columns, by the subtype's name.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_Set_utx]
    @Items nvarchar(max), @Operation uniqueidentifier = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_Notification_Set_utx works inside the transaction of its caller; begin one first.', 1;

    EXECUTE [readpast].[Notification_Add] @Operation = @Operation, @Items = @Items, @Within = 1;
END;
GO
/*
Enqueue many items in one commit of their own.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms. What a subtype has is an object among the columns, by the subtype's name.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Notification_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Notification_Add] @Operation = @Operation, @Items = @Items, @Within = 0;
END;
GO
