/*
Puts items into Invoice.
Called by the Add_Invoice_Set_ procedures: in the caller's transaction (@Within = 1), or in one of its own, and again when a key was taken.
Nobody is granted it.
Returns an answer per element, as they do.
Table access order: QueueOperation, Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Invoice_Add]
    @Operation uniqueidentifier, @Items nvarchar(max), @Within bit
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_IsNew bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Tries int = 0;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count int;
    DECLARE @_Lost nvarchar(2048);
    /* Each element read once: what is put into the table, and by what it is recognized. */
    DECLARE @_New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(60) NULL, [Step] nvarchar(60) NULL, [DueAt] datetime2(7) NULL,
        [Column1] nvarchar(max) NULL, [Column2] bigint NULL, [Column3] decimal(12, 2) NULL, [Column4] nvarchar(max) NULL,
        [Column5] nvarchar(max) NULL, [Key1] datetime2(7) NULL, [First] int NULL, [IsNew] bit NOT NULL DEFAULT 1
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
            WHERE m.[key] NOT IN (N'Number', N'CustomerID', N'Amount', N'Code', N'Lines')
        )
        EXECUTE [readpast].[QueueTake] N'Add_Invoice', @Items OUTPUT, N'{
            "type": ["Default"], "step": "text(60)", "due": "timestamp",
            "delay_ms": "milliseconds (from 0 to 2147483647000)",
            "columns": {
                "Number": "text(20) not null", "CustomerID": "bigint", "Amount": "decimal(12, 2)",
                "Code": "text(6)", "Lines": "json"
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

            EXECUTE [readpast].[QueueOperationTake] @Operation, 'Add_Invoice_Set', @_Now, @_IsNew OUTPUT;
            IF @_IsNew = 1
            BEGIN
                INSERT INTO @_New ([Ordinal], [Type], [Step], [DueAt], [Column1], [Column2], [Column3], [Column4], [Column5])
                SELECT
                    CAST(j.[key] AS int), r.[Type], r.[Step],
                    COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @_Now))),
                    r.[Column1], r.[Column2], CASE WHEN h.[Column3] = 1 THEN r.[Column3] ELSE 0 END,
                    CASE WHEN h.[Column4] = 1 THEN r.[Column4] ELSE N'none' END, CASE WHEN h.[Column5] = 1 THEN r.[Column5] ELSE N'[]' END
                FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
                CROSS APPLY OPENJSON(j.[value]) WITH (
                    [Type] nvarchar(max) '$.type', [Step] nvarchar(max) '$.step', [DueAt] datetime2(7) '$.due',
                    [DelayMs] bigint '$.delay_ms', [Column1] nvarchar(max) '$.columns."Number"', [Column2] bigint '$.columns."CustomerID"',
                    [Column3] decimal(12, 2) '$.columns."Amount"', [Column4] nvarchar(max) '$.columns."Code"',
                    [Column5] nvarchar(max) '$.columns."Lines"' AS JSON
                ) AS r
                CROSS APPLY (
                    SELECT
                        MAX(CASE WHEN n.[key] = N'Amount' THEN 1 ELSE 0 END) AS [Column3],
                        MAX(CASE WHEN n.[key] = N'Code' THEN 1 ELSE 0 END) AS [Column4],
                        MAX(CASE WHEN n.[key] = N'Lines' THEN 1 ELSE 0 END) AS [Column5]
                    FROM OPENJSON(j.[value], '$.columns') AS n
                ) AS h
                OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
                SET @_Count = @@ROWCOUNT;

                /*
                The key is a time, and a clock ticks seldom: one tick may see thousands of items. So the key is the time on
                a grid of 10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000
                items in succession have different keys. In which order numbers are drawn nobody promises: they are sorted.
                */
                INSERT INTO @_Number ([Number])
                SELECT NEXT VALUE FOR [readpast].[Invoice_Seq] FROM @_New;
                SET @_First = (SELECT MIN(d.[Number]) FROM @_Number AS d);
                UPDATE n
                SET [Key1] = DATEADD(MICROSECOND, d.[Number] - @_First + @_First % 10000, CAST(CAST(@_Now AS datetime2(2)) AS datetime2(7)))
                FROM @_New AS n
                INNER JOIN (SELECT a.[Number], ROW_NUMBER() OVER (ORDER BY a.[Number]) AS [Place] FROM @_Number AS a) AS d
                    ON d.[Place] = n.[Ordinal] + 1;

                INSERT INTO [readpast].[Invoice] (
                    [EnqueuedAt], [Type], [ScheduledFor], [Status], [AttemptNum], [Step], [UpdatedAt], [Number], [CustomerID], [Amount],
                    [Code], [Lines]
                )
                SELECT
                    n.[Key1], COALESCE(n.[Type], N'Default'), COALESCE(n.[DueAt], @_Now), 'Pending', 0, n.[Step], @_Now, n.[Column1],
                    n.[Column2], n.[Column3], n.[Column4], n.[Column5]
                FROM @_New AS n
                WHERE n.[IsNew] = 1
                ORDER BY n.[Ordinal];

                IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_New AS n WHERE n.[IsNew] = 1)
                    THROW 50021, N'Add_Invoice: an index of the table passed over items; they are duplicates to it.', 1;

                IF (@Items COLLATE Latin1_General_BIN2 LIKE N'%[^ -~]%' OR CHARINDEX(N'\u', @Items) > 0)
                BEGIN
                    SET @_Lost = (
                        SELECT TOP (1) CONCAT(N'item ', n.[Ordinal], N': "columns.', x.[Name], N'"')
                        FROM @_New AS n
                        INNER JOIN [readpast].[Invoice] AS q
                            ON q.[EnqueuedAt] = n.[Key1]
                        CROSS APPLY (
                            VALUES
                                (N'Code', CAST(q.[Code] AS nvarchar(max)) COLLATE Latin1_General_BIN2, n.[Column4] COLLATE Latin1_General_BIN2)
                        ) AS x ([Name], [Kept], [Given])
                        WHERE n.[IsNew] = 1 AND LEN(x.[Kept]) = LEN(x.[Given]) AND LEN(REPLACE(x.[Kept], N'?', N'')) < LEN(REPLACE(x.[Given], N'?', N''))
                        ORDER BY n.[Ordinal]
                    );
                    IF @_Lost IS NOT NULL
                    BEGIN
                        /* THROW reads a % as the start of something else; doubled, it stands for itself. */
                        SET @_Lost = CONCAT(
                            N'Add_Invoice: ', REPLACE(@_Lost, N'%', N'%%'),
                            N' has letters that the code page of its column lacks, and which it would keep as ?; leave them out, or make it nvarchar.'
                        );
                        THROW 50021, @_Lost, 1;
                    END;
                END;

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
due (UTC) or delay_ms.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token.
Table access order: QueueOperation, Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Invoice_Set_utx]
    @Items nvarchar(max), @Operation uniqueidentifier = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_Invoice_Set_utx works inside the transaction of its caller; begin one first.', 1;

    EXECUTE [readpast].[Invoice_Add] @Operation = @Operation, @Items = @Items, @Within = 1;
END;
GO
/*
Enqueue many items in one commit of their own.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token.
Table access order: QueueOperation, Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_Invoice_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_Invoice_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[Invoice_Add] @Operation = @Operation, @Items = @Items, @Within = 0;
END;
GO
