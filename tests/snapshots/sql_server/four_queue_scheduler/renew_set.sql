/*
Extend the leases of a worker's items, counted from now on the server's clock.
@Items is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. OK without a status is
an item whose row somebody holds: its lease is as it was.
Rows of the table "four_queue" are read and not locked: it has no part in a renewal.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Renew_FourQueueScheduler_Set_trx]
    @Worker nvarchar(128), @Items nvarchar(max), @LeaseMs int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int, @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] nvarchar(max) NULL, [Key1] bigint NULL, [Attempt] int NULL, UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    /* The items as the table has them. */
    DECLARE @_Seen TABLE (
        [Key1] bigint NOT NULL, [InFlight] bit NOT NULL, [AttemptNum] int NULL, [LeaseOwner] nvarchar(128) COLLATE Latin1_General_BIN2 NULL,
        [Token] datetime2(7) NULL, PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] nvarchar(max) NULL,
        [Key1] bigint NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0 THROW 50012, N'Renew_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'attempt')
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        EXECUTE [readpast].[QueueTake] N'Renew_FourQueueScheduler_Set_trx', @Items OUTPUT, N'{
            "key": "bigint", "attempt": "integer"
        }';

    SET @LeaseMs = COALESCE(
        @LeaseMs, (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'fourqueuescheduler.leaseMs' AND a.[ValInt] > 0),
        600000
    );
    IF @LeaseMs < 1 THROW 50021, N'Renew_FourQueueScheduler_Set_trx: @LeaseMs must be at least 1.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Attempt])
    SELECT CAST(j.[key] AS int), r.[Key1], TRY_CAST(NULLIF(r.[Key1], N'') AS bigint), r.[Attempt]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] nvarchar(max) '$.key', [Attempt] int '$.attempt') AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @_Seen ([Key1], [InFlight], [AttemptNum], [LeaseOwner], [Token])
        SELECT i.[Key1], r.[InFlight], r.[AttemptNum], r.[LeaseOwner], r.[Token]
        FROM (SELECT DISTINCT TOP (@_Count) d.[Key1] FROM @_Item AS d ORDER BY d.[Key1]) AS i
        /* The first only: what moves to another place of the index while it is looked for could be found twice. */
        CROSS APPLY (
            SELECT TOP (1)
                CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN 1 ELSE 0 END AS [InFlight],
                COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum], q.[app_server] AS [LeaseOwner],
                CAST(NULL AS datetime2(7)) AS [Token]
            FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
        ) AS r
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));

        INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], [Key1], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN e.[InFlight] IS NULL THEN 'NOT_FOUND'
                WHEN
                    e.[InFlight] = 1 AND s.[Status] = 'Processing' AND e.[LeaseOwner] = @Worker AND e.[AttemptNum] = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal], i.[Key], i.[Key1], s.[UpdatedAt], e.[AttemptNum], s.[Status]
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
        LEFT JOIN @_Seen AS e ON e.[Key1] = i.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = e.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

        UPDATE s
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @_Now)
        FROM @_Out AS o
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = o.[Key1]
        WHERE o.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION;

        /*
        A row that somebody holds was passed over, or one long transaction would have the leases of all others run out. A look
        without locks finds it: who holds it settles it or takes it away, and its lease stays as it is. One that it does not
        find is deleted; until that is committed, the last look waits, with all that could be renewed behind it.
        */
        UPDATE o
        SET [Answer] = 'OK'
        FROM @_Out AS o
        INNER JOIN [dbo].[four_queue] AS q WITH (READUNCOMMITTED) ON q.[in_process] IN (0, 1) AND q.[id] = o.[Key1]
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (READUNCOMMITTED) ON s.[id] = o.[Key1]
        WHERE o.[Status] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        IF EXISTS (SELECT 1 FROM @_Out AS o WHERE o.[Answer] <> 'OK' AND o.[Status] IS NULL)
            UPDATE o
            SET [Answer] = 'OK'
            FROM @_Out AS o
            INNER JOIN [dbo].[four_queue] AS q ON q.[in_process] IN (0, 1) AND q.[id] = o.[Key1]
            INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = o.[Key1]
            WHERE o.[Status] IS NULL
            OPTION (LOOP JOIN, FORCE ORDER);
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum], o.[Status]
    FROM @_Out AS o
    ORDER BY o.[Seq];
END;
GO
