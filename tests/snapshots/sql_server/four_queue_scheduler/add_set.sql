/*
Puts items into four_queue.
Called by the Add_FourQueueScheduler_Set_ procedures: in the caller's transaction (@Within = 1), or in one of its own.
Nobody is granted it.
Returns an answer per element, as they do.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[FourQueueScheduler_Add]
    @Operation uniqueidentifier, @Items nvarchar(max), @Within bit
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @_IsNew bit = 0;
    DECLARE @_Result nvarchar(max);
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int, @_Count int;
    /* Each element read once: what is put into the table, and by what it is recognized. */
    DECLARE @_New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(60) NULL, [Step] nvarchar(60) NULL, [DueAt] datetime2(7) NULL,
        [Column1] int NULL, [Key1] bigint NULL, [First] int NULL, [IsNew] bit NOT NULL DEFAULT 1
    );
    DECLARE @_Added TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Key] nvarchar(max) NULL, [Token] datetime2(7) NULL,
        [Status] varchar(20) NULL
    );
    DECLARE @_Made TABLE ([Key1] bigint NOT NULL, PRIMARY KEY ([Key1]));
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    IF
        SESSION_CONTEXT(N'readpast.checks_items') IS NULL
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] END, N'$.columns') AS m
            WHERE m.[key] NOT IN (N'reputation')
        )
        EXECUTE [readpast].[QueueTake] N'Add_FourQueueScheduler', @Items OUTPUT, N'{
            "type": ["Default"], "step": "text(60)", "due": "timestamp",
            "delay_ms": "milliseconds (from 0 to 2147483647000)",
            "columns": {
                "reputation": "integer not null"
            }
        }';

    BEGIN TRY
        IF @Within = 0
            BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

        EXECUTE [readpast].[QueueOperationTake] @Operation, 'Add_FourQueueScheduler_Set', @_Now, @_IsNew OUTPUT;
        IF @_IsNew = 1
        BEGIN
            INSERT INTO @_New ([Ordinal], [Type], [Step], [DueAt], [Column1])
            SELECT
                CAST(j.[key] AS int), r.[Type], r.[Step],
                COALESCE(r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @_Now))), r.[Column1]
            FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
            CROSS APPLY OPENJSON(j.[value]) WITH (
                [Type] nvarchar(max) '$.type', [Step] nvarchar(max) '$.step', [DueAt] datetime2(7) '$.due', [DelayMs] bigint '$.delay_ms',
                [Column1] int '$.columns."reputation"'
            ) AS r
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
            SET @_Count = @@ROWCOUNT;

            /*
            Work of it that is there already.
            The locks are on the index, in its order, and on the gaps where new rows belong: whoever enqueues
            the same work at the same time waits, and then finds it.
            */
            INSERT INTO @_Added ([Ordinal], [Answer], [Key])
            SELECT w.[Ordinal], 'DUPLICATE', MIN(CAST(q.[id] AS nvarchar(36)))
            FROM (
                SELECT TOP (@_Count) m.*
                FROM @_New AS m
                ORDER BY m.[Column1], m.[Ordinal]
            ) AS w
            INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, FORCESEEK) ON q.[reputation] = w.[Column1]
            GROUP BY w.[Ordinal]
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

            /* The same work twice in one call: the first counts. */
            UPDATE n
            SET [IsNew] = CASE WHEN a.[Ordinal] IS NOT NULL OR f.[First] < n.[Ordinal] THEN 0 ELSE 1 END, [First] = f.[First]
            FROM @_New AS n
            INNER JOIN (
                SELECT
                    m.[Ordinal],
                    CASE
                        WHEN m.[Column1] IS NOT NULL
                            THEN MIN(m.[Ordinal]) OVER (PARTITION BY m.[Column1])
                        ELSE m.[Ordinal]
                    END AS [First]
                FROM @_New AS m
            ) AS f ON f.[Ordinal] = n.[Ordinal]
            LEFT JOIN @_Added AS a ON a.[Ordinal] = n.[Ordinal];

            INSERT INTO [dbo].[four_queue] ([scheduled_start_date], [in_process], [attempts], [reputation])
            OUTPUT inserted.[id] INTO @_Made ([Key1])
            SELECT COALESCE(DATEADD(MINUTE, @_Offset, n.[DueAt]), @_At), 0, 0, n.[Column1]
            FROM @_New AS n
            WHERE n.[IsNew] = 1
            ORDER BY n.[Ordinal];

            IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_New AS n WHERE n.[IsNew] = 1)
                THROW 50021, N'Add_FourQueueScheduler: an index of the table passed over items; they are duplicates to it.', 1;

            /* The table numbers them in the order in which they were put in. */
            UPDATE n
            SET [Key1] = m.[Key1]
            FROM @_New AS n
            INNER JOIN (
                SELECT i.[Ordinal], ROW_NUMBER() OVER (ORDER BY i.[Ordinal]) AS [Place]
                FROM @_New AS i
                WHERE i.[IsNew] = 1
            ) AS o ON o.[Ordinal] = n.[Ordinal]
            INNER JOIN (
                SELECT a.[Key1], ROW_NUMBER() OVER (ORDER BY a.[Key1]) AS [Place]
                FROM @_Made AS a
            ) AS m ON m.[Place] = o.[Place];

            INSERT INTO @_Added ([Ordinal], [Answer], [Key], [Token], [Status])
            SELECT n.[Ordinal], 'OK', CAST(n.[Key1] AS nvarchar(36)), @_Now, 'Pending'
            FROM @_New AS n
            WHERE n.[IsNew] = 1;

            INSERT INTO @_Added ([Ordinal], [Answer], [Key])
            SELECT n.[Ordinal], 'DUPLICATE', a.[Key]
            FROM @_New AS n
            INNER JOIN @_Added AS a ON a.[Ordinal] = n.[First]
            WHERE n.[First] < n.[Ordinal] AND NOT EXISTS (SELECT 1 FROM @_Added AS o WHERE o.[Ordinal] = n.[Ordinal]);

            /* A row of an item that once had this key is of no concern any more. */
            DELETE s
            FROM @_New AS n
            INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = n.[Key1]
            WHERE n.[IsNew] = 1
            OPTION (LOOP JOIN, FORCE ORDER);

            INSERT INTO [readpast].[FourQueueScheduler_Lease] ([id], [Status], [Step], [AttemptNum], [DueAt], [UpdatedAt])
            SELECT n.[Key1], 'Pending', n.[Step], 0, n.[DueAt], @_Now
            FROM @_New AS n
            WHERE n.[IsNew] = 1 AND n.[Step] IS NOT NULL;

            IF @Operation IS NOT NULL
            BEGIN
                SET @_Result = (
                    SELECT a.[Ordinal] AS [ordinal], a.[Answer] AS [answer], a.[Key] AS [key], a.[Token] AS [token], a.[Status] AS [status]
                    FROM @_Added AS a
                    FOR JSON PATH
                );
                EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
            END;
        END;

        IF @Within = 0
            COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @Within = 1 THROW;
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    IF @_IsNew = 0
    BEGIN
        SELECT @_Result = p.[Result], @_Now = p.[At]
        FROM [readpast].[QueueOperation] AS p
        WHERE p.[OperationId] = @Operation;

        INSERT INTO @_Added ([Ordinal], [Answer], [Key], [Token], [Status])
        SELECT r.[ordinal], r.[answer], r.[key], r.[token], r.[status]
        FROM OPENJSON(@_Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] nvarchar(max) '$.key',
            [token] datetime2(7) '$.token', [status] varchar(20) '$.status'
        ) AS r;
    END;

    SELECT
        a.[Answer], a.[Ordinal], CAST(NULL AS bigint) AS [DueMs], CASE WHEN a.[Answer] = 'OK' THEN a.[Key] END AS [Key], a.[Token],
        0 AS [AttemptNum], a.[Status]
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
One row per element: OK, its position, key and token; or DUPLICATE, when the same work is there.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_FourQueueScheduler_Set_utx]
    @Items nvarchar(max), @Operation uniqueidentifier = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0
        THROW 50012, N'Add_FourQueueScheduler_Set_utx works inside the transaction of its caller; begin one first.', 1;

    EXECUTE [readpast].[FourQueueScheduler_Add] @Operation = @Operation, @Items = @Items, @Within = 1;
END;
GO
/*
Enqueue many items in one commit of their own.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position, key and token; or DUPLICATE, when the same work is there.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_FourQueueScheduler_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @@TRANCOUNT > 0 THROW 50012, N'Add_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    EXECUTE [readpast].[FourQueueScheduler_Add] @Operation = @Operation, @Items = @Items, @Within = 0;
END;
GO
