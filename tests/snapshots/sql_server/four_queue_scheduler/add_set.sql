
/*
Enqueue many items inside the caller's transaction: they are there when it commits, together with its other work.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
One row per element: OK, its position and key; or DUPLICATE, when the same work is there.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_FourQueueScheduler_Set_utx]
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    DECLARE @Now datetime2(7); /* UTC */
    DECLARE @At datetime2(7); /* the same moment as the table tells it */
    DECLARE @Stamp datetimeoffset(7);
    DECLARE @Offset int;
    DECLARE @New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Type] nvarchar(60) NULL,
        [Step] nvarchar(60) NULL,
        [DueAt] datetime2(7) NULL,
        [First] int NULL,
        [Work1] int NULL,
        [id] bigint NULL,
        [IsNew] bit NOT NULL DEFAULT 1
    );
    DECLARE @Added TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Key] nvarchar(max) NULL
    );
    DECLARE @Made TABLE (
        [id] bigint NOT NULL,
        PRIMARY KEY ([id])
    );
    DECLARE @Count int;

    IF @@TRANCOUNT = 0
        THROW 50012, N'Add_FourQueueScheduler_Set_utx works inside the transaction of its caller; begin one first.', 1;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @Stamp = SYSDATETIMEOFFSET();
    SET @Offset = DATEPART(TZOFFSET, @Stamp);
    SET @At = CAST(@Stamp AS datetime2(7));
    SET @Now = DATEADD(MINUTE, -@Offset, @At);

    INSERT INTO @New (
        [Ordinal], [Type], [Step], [DueAt], [Work1]
    )
    SELECT
        CAST(j.[key] AS int),
        r.[Type],
        r.[Step],
        COALESCE(
            r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now))
        ),
        r.[Work1]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [Type] nvarchar(max) '$.type',
        [Step] nvarchar(max) '$.step',
        [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Work1] int '$.columns."reputation"'
    ) AS r;
    SET @Count = @@ROWCOUNT;

    IF @Count > 1000
        THROW 50021, N'Add_FourQueueScheduler_Set_utx: at most 1000 items a call.', 1;

    /*
    What of it is there already. The locks are on the index, in its order, and on the gaps where new rows belong:
    whoever enqueues the same work at the same time waits, and then finds it.
    */
    INSERT INTO @Added ([Ordinal], [Answer], [Key])
    SELECT
        w.[Ordinal],
        'DUPLICATE',
        MIN(CAST(q.[id] AS nvarchar(36)))
    FROM (
        SELECT TOP (1000)
            m.[Ordinal],
            m.[Work1]
        FROM @New AS m
        ORDER BY m.[Work1], m.[Ordinal]
    ) AS w
    INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, FORCESEEK)
        ON
            q.[reputation] = w.[Work1]
    GROUP BY w.[Ordinal]
    OPTION (LOOP JOIN, FORCE ORDER);

    /* The same work twice in one call: the first counts. */
    UPDATE n
    SET
        [IsNew] = CASE WHEN a.[Ordinal] IS NOT NULL OR f.[First] < n.[Ordinal] THEN 0 ELSE 1 END,
        [First] = f.[First]
    FROM @New AS n
    INNER JOIN (
        SELECT
            m.[Ordinal],
            CASE
                WHEN m.[Work1] IS NOT NULL
                    THEN MIN(m.[Ordinal]) OVER (PARTITION BY m.[Work1])
                ELSE m.[Ordinal]
            END AS [First]
        FROM @New AS m
    ) AS f
        ON f.[Ordinal] = n.[Ordinal]
    LEFT JOIN @Added AS a
        ON a.[Ordinal] = n.[Ordinal];

    INSERT INTO [dbo].[four_queue] (
        [scheduled_start_date],
        [in_process],
        [attempts],
        [reputation]
    )
    OUTPUT INSERTED.[id] INTO @Made ([id])
    SELECT
        COALESCE(DATEADD(MINUTE, @Offset, n.[DueAt]), @At),
        0,
        0,
        c.[reputation]
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
        [reputation] int '$.columns."reputation"'
    ) AS c
    INNER JOIN @New AS n
        ON n.[Ordinal] = CAST(j.[key] AS int)
    WHERE n.[IsNew] = 1
    ORDER BY n.[Ordinal]
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @New AS n WHERE n.[IsNew] = 1)
        THROW 50021,
            N'Add_FourQueueScheduler_Set_utx: an index of the table passed over items; they are duplicates to it.', 1;

    /* The table numbers them in the order in which they were put in. */
    UPDATE n
    SET
        [id] = m.[id]
    FROM @New AS n
    INNER JOIN (
        SELECT i.[Ordinal], ROW_NUMBER() OVER (ORDER BY i.[Ordinal]) AS [Place]
        FROM @New AS i
        WHERE i.[IsNew] = 1
    ) AS o
        ON o.[Ordinal] = n.[Ordinal]
    INNER JOIN (
        SELECT t.[id], ROW_NUMBER() OVER (ORDER BY t.[id]) AS [Place]
        FROM @Made AS t
    ) AS m
        ON m.[Place] = o.[Place];

    INSERT INTO @Added ([Ordinal], [Answer], [Key])
    SELECT n.[Ordinal], 'OK', CAST(n.[id] AS nvarchar(36))
    FROM @New AS n
    WHERE n.[IsNew] = 1;

    INSERT INTO @Added ([Ordinal], [Answer], [Key])
    SELECT n.[Ordinal], 'DUPLICATE', a.[Key]
    FROM @New AS n
    INNER JOIN @Added AS a
        ON a.[Ordinal] = n.[First]
    WHERE
        n.[First] < n.[Ordinal]
        AND NOT EXISTS (SELECT 1 FROM @Added AS o WHERE o.[Ordinal] = n.[Ordinal]);

    INSERT INTO [readpast].[FourQueueScheduler_Lease] ([id], [Status], [Step], [AttemptNum], [UpdatedAt])
    SELECT n.[id], 'Pending', n.[Step], 0, @Now
    FROM @New AS n
    WHERE
        n.[IsNew] = 1
        AND n.[Step] IS NOT NULL;

    SELECT
        a.[Answer],
        a.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        CASE WHEN a.[Answer] = 'OK' THEN a.[Key] END AS [Key],
        CAST(NULL AS datetime2(7)) AS [Token],
        0 AS [AttemptNum],
        CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]
    FROM @Added AS a
    ORDER BY a.[Ordinal];

    RETURN 0;
END;
GO
/*
Enqueue many items in one commit of their own.
@Items is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
@Operation makes the call repeatable: asked again with the same value, the same keys come again and nothing is added.
One row per element: OK, its position and key; or DUPLICATE, when the same work is there.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Add_FourQueueScheduler_Set_trx]
    @Operation uniqueidentifier,
    @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @Replayed bit = 0;
    DECLARE @Result nvarchar(max);
    DECLARE @Now datetime2(7); /* UTC */
    DECLARE @At datetime2(7); /* the same moment as the table tells it */
    DECLARE @Stamp datetimeoffset(7);
    DECLARE @Offset int;
    DECLARE @New TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Type] nvarchar(60) NULL,
        [Step] nvarchar(60) NULL,
        [DueAt] datetime2(7) NULL,
        [First] int NULL,
        [Work1] int NULL,
        [id] bigint NULL,
        [IsNew] bit NOT NULL DEFAULT 1
    );
    DECLARE @Added TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Answer] varchar(20) NOT NULL,
        [Key] nvarchar(max) NULL
    );
    DECLARE @Made TABLE (
        [id] bigint NOT NULL,
        PRIMARY KEY ([id])
    );
    DECLARE @Count int;

    IF @@TRANCOUNT > 0
        THROW 50012, N'Add_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @Stamp = SYSDATETIMEOFFSET();
        SET @Offset = DATEPART(TZOFFSET, @Stamp);
        SET @At = CAST(@Stamp AS datetime2(7));
        SET @Now = DATEADD(MINUTE, -@Offset, @At);

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

        INSERT INTO @New (
            [Ordinal], [Type], [Step], [DueAt], [Work1]
        )
        SELECT
            CAST(j.[key] AS int),
            r.[Type],
            r.[Step],
            COALESCE(
                r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, @Now))
            ),
            r.[Work1]
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
            [Type] nvarchar(max) '$.type',
            [Step] nvarchar(max) '$.step',
            [DueAt] datetime2(7) '$.due',
            [DelayMs] bigint '$.delay_ms',
            [Work1] int '$.columns."reputation"'
        ) AS r;
        SET @Count = @@ROWCOUNT;

        IF @Count > 1000
            THROW 50021, N'Add_FourQueueScheduler_Set_trx: at most 1000 items a call.', 1;

        /*
        What of it is there already. The locks are on the index, in its order, and on the gaps where new rows belong:
        whoever enqueues the same work at the same time waits, and then finds it.
        */
        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT
            w.[Ordinal],
            'DUPLICATE',
            MIN(CAST(q.[id] AS nvarchar(36)))
        FROM (
            SELECT TOP (1000)
                m.[Ordinal],
                m.[Work1]
            FROM @New AS m
            ORDER BY m.[Work1], m.[Ordinal]
        ) AS w
        INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, HOLDLOCK, ROWLOCK, FORCESEEK)
            ON
                q.[reputation] = w.[Work1]
        GROUP BY w.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* The same work twice in one call: the first counts. */
        UPDATE n
        SET
            [IsNew] = CASE WHEN a.[Ordinal] IS NOT NULL OR f.[First] < n.[Ordinal] THEN 0 ELSE 1 END,
            [First] = f.[First]
        FROM @New AS n
        INNER JOIN (
            SELECT
                m.[Ordinal],
                CASE
                    WHEN m.[Work1] IS NOT NULL
                        THEN MIN(m.[Ordinal]) OVER (PARTITION BY m.[Work1])
                    ELSE m.[Ordinal]
                END AS [First]
            FROM @New AS m
        ) AS f
            ON f.[Ordinal] = n.[Ordinal]
        LEFT JOIN @Added AS a
            ON a.[Ordinal] = n.[Ordinal];

        INSERT INTO [dbo].[four_queue] (
            [scheduled_start_date],
            [in_process],
            [attempts],
            [reputation]
        )
        OUTPUT INSERTED.[id] INTO @Made ([id])
        SELECT
            COALESCE(DATEADD(MINUTE, @Offset, n.[DueAt]), @At),
            0,
            0,
            c.[reputation]
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH (
            [reputation] int '$.columns."reputation"'
        ) AS c
        INNER JOIN @New AS n
            ON n.[Ordinal] = CAST(j.[key] AS int)
        WHERE n.[IsNew] = 1
        ORDER BY n.[Ordinal]
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @New AS n WHERE n.[IsNew] = 1)
            THROW 50021,
                N'Add_FourQueueScheduler_Set_trx: an index of the table passed over items; they are duplicates to it.',
                1;

        /* The table numbers them in the order in which they were put in. */
        UPDATE n
        SET
            [id] = m.[id]
        FROM @New AS n
        INNER JOIN (
            SELECT i.[Ordinal], ROW_NUMBER() OVER (ORDER BY i.[Ordinal]) AS [Place]
            FROM @New AS i
            WHERE i.[IsNew] = 1
        ) AS o
            ON o.[Ordinal] = n.[Ordinal]
        INNER JOIN (
            SELECT t.[id], ROW_NUMBER() OVER (ORDER BY t.[id]) AS [Place]
            FROM @Made AS t
        ) AS m
            ON m.[Place] = o.[Place];

        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT n.[Ordinal], 'OK', CAST(n.[id] AS nvarchar(36))
        FROM @New AS n
        WHERE n.[IsNew] = 1;

        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT n.[Ordinal], 'DUPLICATE', a.[Key]
        FROM @New AS n
        INNER JOIN @Added AS a
            ON a.[Ordinal] = n.[First]
        WHERE
            n.[First] < n.[Ordinal]
            AND NOT EXISTS (SELECT 1 FROM @Added AS o WHERE o.[Ordinal] = n.[Ordinal]);

        INSERT INTO [readpast].[FourQueueScheduler_Lease] ([id], [Status], [Step], [AttemptNum], [UpdatedAt])
        SELECT n.[id], 'Pending', n.[Step], 0, @Now
        FROM @New AS n
        WHERE
            n.[IsNew] = 1
            AND n.[Step] IS NOT NULL;

        IF @Operation IS NOT NULL
        BEGIN
            SET @Result = (
                SELECT
                    a.[Ordinal] AS [ordinal],
                    a.[Answer] AS [answer],
                    a.[Key] AS [key]
                FROM @Added AS a
                FOR JSON PATH
            );
            UPDATE [readpast].[QueueOperation]
            SET [Result] = @Result
            WHERE [OperationId] = @Operation;
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
        SET @Replayed = 1;
    END CATCH;

    IF @Replayed = 1
    BEGIN
        DELETE FROM @Added;
        SET @Result = (SELECT p.[Result] FROM [readpast].[QueueOperation] AS p WHERE p.[OperationId] = @Operation);

        INSERT INTO @Added ([Ordinal], [Answer], [Key])
        SELECT r.[ordinal], r.[answer], r.[key]
        FROM OPENJSON(@Result) WITH (
            [ordinal] int '$.ordinal', [answer] varchar(20) '$.answer', [key] nvarchar(max) '$.key'
        ) AS r;
    END;

    SELECT
        a.[Answer],
        a.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        CASE WHEN a.[Answer] = 'OK' THEN a.[Key] END AS [Key],
        CAST(NULL AS datetime2(7)) AS [Token],
        0 AS [AttemptNum],
        CASE WHEN a.[Answer] = 'OK' THEN 'Pending' END AS [Status]
    FROM @Added AS a
    ORDER BY a.[Ordinal];

    RETURN 0;
END;
GO