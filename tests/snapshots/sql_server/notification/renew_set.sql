/*
Extend the leases of a worker's items, counted from now on the server's clock.
@Items is a JSON array of objects with key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. OK without a status is
an item whose row somebody holds: its lease is as it was.
Neither the token nor an indexed column changes, so a renewal never makes the worker's own settle fail.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Renew_Notification_Set_trx]
    @Worker nvarchar(128), @Items nvarchar(max), @LeaseMs int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Attempt] int NULL, UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] datetime2(7) NULL,
        [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] varchar(20) NULL
    );

    IF @@TRANCOUNT > 0 THROW 50012, N'Renew_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;
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
        EXECUTE [readpast].[QueueTake] N'Renew_Notification_Set_trx', @Items OUTPUT, N'{
            "key": "timestamp", "attempt": "integer"
        }';

    SET @LeaseMs = COALESCE(
        @LeaseMs, (SELECT a.[ValInt] FROM [readpast].[AppSettings] AS a WHERE a.[Param] = 'notification.leaseMs' AND a.[ValInt] > 0), 60000
    );
    IF @LeaseMs < 1 THROW 50021, N'Renew_Notification_Set_trx: @LeaseMs must be at least 1.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Attempt])
    SELECT CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Attempt]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] datetime2(7) '$.key', [Attempt] int '$.attempt') AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;

        INSERT INTO @_Out ([Seq], [Answer], [Ordinal], [Key], [Key1], [Token], [AttemptNum], [Status])
        SELECT
            i.[Ordinal],
            CASE
                WHEN q.[EnqueuedAt] IS NULL THEN 'NOT_FOUND'
                WHEN
                    q.[Status] = 'Processing' AND q.[LeaseOwner] = @Worker AND q.[AttemptNum] = i.[Attempt]
                    THEN 'OK'
                ELSE 'LEASE_LOST'
            END,
            i.[Ordinal], i.[Key], i.[Key1], q.[UpdatedAt], q.[AttemptNum], q.[Status]
        FROM (SELECT TOP (@_Count) o.* FROM @_Item AS o ORDER BY o.[Key1], o.[Ordinal]) AS i
        LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = i.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        SET @_Now = SYSUTCDATETIME();

        UPDATE q
        SET [LeaseUntil] = DATEADD(MILLISECOND, @LeaseMs, @_Now)
        FROM @_Out AS o
        INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = o.[Key1]
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
        INNER JOIN [readpast].[Notification] AS q WITH (READUNCOMMITTED) ON q.[EnqueuedAt] = o.[Key1]
        WHERE o.[Status] IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        IF EXISTS (SELECT 1 FROM @_Out AS o WHERE o.[Answer] <> 'OK' AND o.[Status] IS NULL)
            UPDATE o
            SET [Answer] = 'OK'
            FROM @_Out AS o
            INNER JOIN [readpast].[Notification] AS q ON q.[EnqueuedAt] = o.[Key1]
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
