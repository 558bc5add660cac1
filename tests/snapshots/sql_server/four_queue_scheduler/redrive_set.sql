/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
@Items is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
@Operation makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: QueueOperation, four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Redrive_FourQueueScheduler_Set_trx]
    @Operation uniqueidentifier, @Items nvarchar(max)
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_IsNew bit, @_Result nvarchar(max);
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int;
    /* In the order of the keys, so that rows are locked in it and two calls never wait for each other. */
    DECLARE @_Item TABLE (
        [Ordinal] int NOT NULL, [Key] nvarchar(max) NULL, [Key1] bigint NULL, [Token] datetime2(7) NULL,
        UNIQUE CLUSTERED ([Key1], [Ordinal])
    );
    DECLARE @_Work TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Was] varchar(20) NULL, [Status] varchar(20) NULL,
        [Token] datetime2(7) NULL, [AttemptNum] int NULL
    );
    DECLARE @_Count int;
    DECLARE @_Limit int = 1001; /* planned as for one: OPENJSON over OPENJSON counts as 2,500 rows, which ask for memory */
    DECLARE @_Looks int = 0;
    /* Items as they become. */
    DECLARE @_Change TABLE (
        [Key1] bigint NOT NULL, [Was] varchar(20) NOT NULL, [Status] varchar(20) NOT NULL, [AttemptNum] int NOT NULL,
        [Token] datetime2(7) NOT NULL, [Error] nvarchar(max) NULL, [Step] nvarchar(60) NULL, [StartedAt] datetime2(7) NULL,
        [LeaseOwner] nvarchar(128) NULL, [FinishedAt] datetime2(7) NULL, [Duration] bigint NULL, [Response] nvarchar(max) NULL,
        [DueAt] datetime2(7) NULL, [ClaimNum] bigint NULL,
        [Before] datetime2(7) NULL, /* the token that stood beside the table: it must stand there still */
        [LeaseUntil] datetime2(7) NULL, PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Written int = 0;
    DECLARE @_Kept int;

    IF @@TRANCOUNT > 0 THROW 50012, N'Redrive_FourQueueScheduler_Set_trx commits its own work: not to be called in a transaction.', 1;
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
        EXECUTE [readpast].[QueueTake] N'Redrive_FourQueueScheduler_Set_trx', @Items OUTPUT, N'{
            "key": "bigint", "token": "timestamp"
        }';
    IF EXISTS (
        SELECT 1
        FROM OPENJSON(@Items) AS j
        CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] nvarchar(max) '$.key') AS r
        WHERE (r.[Key1] IS NOT NULL AND TRY_CAST(NULLIF(r.[Key1], N'') AS bigint) IS NULL)
    )
        THROW 50021, N'Redrive_FourQueueScheduler_Set_trx: one of the keys is not a key of FourQueueScheduler.', 1;

    INSERT INTO @_Item ([Ordinal], [Key], [Key1], [Token])
    SELECT CAST(j.[key] AS int), r.[Key1], TRY_CAST(NULLIF(r.[Key1], N'') AS bigint), r.[Token]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH ([Key1] nvarchar(max) '$.key', [Token] datetime2(7) '$.token') AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
    SET @_Count = @@ROWCOUNT;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

        EXECUTE [readpast].[QueueOperationTake] @Operation, 'Redrive_FourQueueScheduler_Set', @_Now, @_IsNew OUTPUT;
        IF @_IsNew = 0
        BEGIN
            COMMIT TRANSACTION;
            EXECUTE [readpast].[FourQueueScheduler_Answered] @Operation = @Operation, @Items = @Items;
            RETURN 0;
        END;

        /* Lock the items, in the order of their keys, and judge each as it is now. */
        /* An item that moves to another place of the index while it is looked for can be missed, once. */
        WHILE @_Looks = 0 OR (@_Looks = 1 AND EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Answer] = 'NOT_FOUND'))
        BEGIN
            SET @_Looks = @_Looks + 1;
            DELETE FROM @_Work WHERE [Answer] = 'NOT_FOUND';

            INSERT INTO @_Work ([Ordinal], [Answer], [Was], [Status], [Token], [AttemptNum])
            SELECT i.[Ordinal], j.[Answer], x.[Is], j.[Status], j.[Token], CASE WHEN j.[Answer] = 'OK' THEN 0 ELSE j.[AttemptNum] END
            FROM (
                SELECT TOP (@_Count) o.*, ROW_NUMBER() OVER (PARTITION BY o.[Key1] ORDER BY o.[Ordinal]) AS [Place]
                FROM @_Item AS o
                ORDER BY o.[Key1], o.[Ordinal]
            ) AS i
            LEFT JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK) ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
            /* Locked too: with row versions it would be read as it was before the wait for the row of the table. */
            LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK) ON s.[id] = q.[id]
            CROSS APPLY (
                SELECT CASE
                    WHEN q.[id] IS NOT NULL
                        THEN CASE
                            WHEN q.[in_process] = 0
                                THEN CASE
                                    WHEN s.[Status] IN ('Pending', 'Error')
                                        THEN s.[Status]
                                    ELSE 'Pending'
                                END
                            WHEN q.[in_process] = 1 AND q.[end_date] IS NULL
                                THEN CASE
                                    WHEN s.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                                        THEN s.[Status]
                                    ELSE 'Processing'
                                END
                            WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL THEN 'Completed'
                            ELSE 'Processing'
                        END
                END AS [Is]
            ) AS x
            CROSS APPLY [readpast].[QueueJudge_fn](
                @_Now, NULL, 2147483647, x.[Is], COALESCE(CAST(q.[attempts] AS int), 0), s.[UpdatedAt], NULL, i.[Token], 0, i.[Place],
                CASE WHEN x.[Is] NOT IN ('Pending', 'Processing', 'Completed') THEN 'Pending' END, 0, 0, 0
            ) AS j
            WHERE NOT EXISTS (SELECT 1 FROM @_Work AS w WHERE w.[Ordinal] = i.[Ordinal])
            /* One row at a time, so that locks are taken in the order of the keys and none ahead of it. */
            OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Count = 1));
        END;
        INSERT INTO @_Change ([Key1], [Was], [Status], [AttemptNum], [Token], [Step], [Response], [Error], [DueAt], [Before])
        SELECT i.[Key1], k.[Was], k.[Status], k.[AttemptNum], k.[Token], s.[Step], s.[Response], s.[Error], @_Now, s.[UpdatedAt]
        FROM @_Item AS i
        INNER JOIN @_Work AS k ON k.[Ordinal] = i.[Ordinal]
        INNER JOIN [dbo].[four_queue] AS q ON q.[in_process] IN (0, 1) AND q.[id] = i.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = i.[Key1]
        WHERE k.[Answer] = 'OK'
        OPTION (LOOP JOIN, FORCE ORDER);

        /* The rows are locked and in @_Change: first the table, then what is kept beside it. */
        UPDATE q
        SET
            [scheduled_start_date] = COALESCE(DATEADD(MINUTE, @_Offset, w.[DueAt]), q.[scheduled_start_date]),
            [start_date] = CASE WHEN w.[Was] <> 'Processing' AND w.[Status] = 'Processing' THEN @_At ELSE q.[start_date] END,
            [end_date] = CASE
                WHEN w.[Status] IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted', 'Pending', 'Error')
                    THEN NULL
                WHEN w.[Status] IN ('Completed')
                    THEN COALESCE(DATEADD(MINUTE, @_Offset, w.[FinishedAt]), @_At)
                ELSE COALESCE(DATEADD(MINUTE, @_Offset, w.[FinishedAt]), q.[end_date])
            END,
            [attempts] = w.[AttemptNum],
            [app_server] = CASE WHEN w.[Status] = 'Processing' THEN w.[LeaseOwner] ELSE CAST(q.[app_server] AS nvarchar(max)) COLLATE DATABASE_DEFAULT END,
            [in_process] = CASE
                WHEN w.[Status] IN ('Pending', 'Error')
                    THEN 0
                WHEN w.[Status] IN ('Processing', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                    THEN 1
                ELSE q.[in_process]
            END
        FROM @_Change AS w
        INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK) ON q.[in_process] IN (0, 1) AND q.[id] = w.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Written = @@ROWCOUNT;

        IF @_Written <> (SELECT COUNT(*) FROM @_Change)
            THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;
        SET @_Kept = 0;

        UPDATE s
        SET
            [Status] = w.[Status], [Step] = w.[Step], [AttemptNum] = w.[AttemptNum], [Response] = w.[Response], [Error] = w.[Error],
            [StartedAt] = w.[StartedAt], [FinishedAt] = w.[FinishedAt], [Duration] = w.[Duration], [DueAt] = w.[DueAt],
            [UpdatedAt] = w.[Token], [LeaseOwner] = w.[LeaseOwner], [LeaseUntil] = w.[LeaseUntil], [ClaimNum] = w.[ClaimNum]
        FROM @_Change AS w
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = w.[Key1]
        WHERE s.[UpdatedAt] = w.[Before]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Kept = @_Kept + @@ROWCOUNT;

        IF @_Kept <> (SELECT COUNT(*) FROM @_Change AS w WHERE w.[Before] IS NOT NULL)
            THROW 50005, N'FourQueueScheduler: a row that was locked for the change changed all the same.', 1;

        IF @_Kept < @_Written
            INSERT INTO [readpast].[FourQueueScheduler_Lease] (
                [id], [Status], [Step], [AttemptNum], [Response], [Error], [StartedAt], [FinishedAt],
                [Duration], [DueAt], [UpdatedAt], [LeaseOwner], [LeaseUntil], [ClaimNum]
            )
            SELECT
                w.[Key1], w.[Status], w.[Step], w.[AttemptNum], w.[Response], w.[Error], w.[StartedAt],
                w.[FinishedAt], w.[Duration], w.[DueAt], w.[Token], w.[LeaseOwner], w.[LeaseUntil], w.[ClaimNum]
            FROM @_Change AS w
            WHERE w.[Before] IS NULL
            OPTION (LOOP JOIN, FORCE ORDER);

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
