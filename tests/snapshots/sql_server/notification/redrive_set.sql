/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Redrive_Notification_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit, @_Result nvarchar(max);
    DECLARE @_Now datetime2(7); /* UTC */
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] datetime2(7) NULL, [Key1] datetime2(7) NULL, [Token] datetime2(7) NULL,
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL, [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */

    IF @@TRANCOUNT > 0 THROW 50012, N'Redrive_Notification_Set_trx commits its own work: not to be called in a transaction.', 1;
    IF
        (@Items IS NOT NULL AND SESSION_CONTEXT(N'readpast.checks_items') IS NULL)
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Items) AS j
            CROSS APPLY OPENJSON(CASE WHEN j.[type] = 5 THEN j.[value] ELSE N'{"": null}' END) AS m
            WHERE
                m.[key] NOT IN (N'key', N'token')
                OR (m.[type] IN (4, 5) AND m.[key] NOT IN (N'key', N'set'))
        )
        OR (SELECT COUNT(*) FROM OPENJSON(@Items)) > 1000
        EXECUTE [readpast].[QueueTake] N'Redrive_Notification_Set_trx', @Items OUTPUT, N'{
            "key": "timestamp", "token": "timestamp"
        }';
    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] nvarchar(max) '$.key') AS r
        WHERE (r.[Key1] IS NOT NULL AND TRY_CAST(NULLIF(r.[Key1], N'') AS datetime2(7)) IS NULL)
    )
        THROW 50021, N'Redrive_Notification_Set_trx: one of the keys is not a key of Notification.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token])
    SELECT CAST(j.[key] AS int), r.[Key1], r.[Key1], r.[Token]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] datetime2(7) '$.key', [Token] datetime2(7) '$.token') AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();

        EXECUTE [readpast].[QueueOperationTake] @Operation, 'Redrive_Notification_Set', @_Now, @_IsNew OUTPUT;
        IF @_IsNew = 0
        BEGIN
            COMMIT TRANSACTION;
            EXECUTE [readpast].[Notification_Answered] @Operation = @Operation, @Items = @Items;
            RETURN 0;
        END;

        /* Lock the items, in the order of their keys, and judge each as it is now. */

        INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
        SELECT i.[Ordinal], j.[Answer], q.[Status], j.[Status], j.[Token], CASE WHEN j.[Answer] = 'OK' THEN 0 ELSE j.[AttemptNum] END
        FROM (
            SELECT TOP (@_Count) o.*, ROW_NUMBER() OVER (PARTITION BY o.[Key1] ORDER BY o.[Ordinal]) AS [Place]
            FROM @_Item AS o
            ORDER BY o.[Key1], o.[Ordinal]
        ) AS i
        LEFT JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
        CROSS APPLY [readpast].[QueueJudge_fn](
            @_Now, NULL, 2147483647, q.[Status], q.[AttemptNum], q.[UpdatedAt], NULL, i.[Token], 0, i.[Place],
            CASE WHEN q.[Status] NOT IN ('Pending', 'Processing', 'Completed') THEN 'Pending' END, 0, 0, 0
        ) AS j
        /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
        OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        /* As if it were new. */
        UPDATE q
        SET
            [ScheduledFor] = @_Now, [StartedAt] = NULL, [Duration] = NULL, [AttemptNum] = 0, [LeaseOwner] = NULL, [LeaseUntil] = NULL,
            [UpdatedAt] = k.[Token], [Status] = 'Pending'
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = i.[Key1]
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        IF @@ROWCOUNT <> (SELECT COUNT(*) FROM @_Work AS w WHERE w.[Answer] = 'OK')
            THROW 50005, N'Notification: a row that was locked for the change changed all the same.', 1;

        /* An item that was OK is read back from the items. */
        IF @Operation IS NOT NULL AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] <> 'OK')
        BEGIN
            SET @_Result = (
                SELECT w.[Ordinal] AS [ordinal], w.[Answer] AS [answer]
                FROM @_Work AS w
                WHERE w.[Answer] <> 'OK'
                FOR JSON PATH
            );
            EXECUTE [readpast].[QueueOperationKeep] @Operation, @_Result;
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT w.[Answer], w.[Ordinal], CAST(NULL AS bigint) AS [DueMs], i.[Key], w.[Token], w.[AttemptNum], w.[Status]
    FROM @_Work AS w
    INNER JOIN @_Item AS i ON i.[Ordinal] = w.[Ordinal]
    ORDER BY w.[Ordinal];
END;
GO
