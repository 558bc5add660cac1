/*
Delete up to @Max finished items that fit @Filter, in the order of their keys, and as many rows of FourQueueScheduler_Lease
whose items are gone. @Filter is that of Find_FourQueueScheduler; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_FourQueueScheduler_trx]
    @Filter nvarchar(max) = NULL, @Max int = 1000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that tidies up gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int;
    DECLARE @_Purged int = 0;
    DECLARE @_Found TABLE ([Key1] bigint NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Locked TABLE ([Key1] bigint NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Statuses nvarchar(max), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint;
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Given TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Key1] bigint NULL);

    EXECUTE [readpast].[QueueFilterTake]
        N'Purge_FourQueueScheduler_trx', @Filter, @_Statuses OUTPUT, @_Types OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT;
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT CAST(r.[key] AS int), TRY_CAST(NULLIF(r.[value], N'') AS bigint)
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000 THROW 50021, N'Purge_FourQueueScheduler_trx: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Purge_FourQueueScheduler_trx: one of the keys is not a key of FourQueueScheduler.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Purge_FourQueueScheduler_trx: @Max must be from 1 to 1000.', 1;

    IF @@TRANCOUNT > 0 THROW 50012, N'Purge_FourQueueScheduler_trx commits its own work: not to be called in a transaction.', 1;

    SET @_Statuses = COALESCE(@_Statuses, N'[{"s":"Completed"}, {"s":"PartiallyCompleted"}, {"s":"Cancelled"}, {"s":"Terminated"}]');
    IF EXISTS (
        SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
        WHERE w.[s] IN ('Pending', 'Processing', 'Error', 'Paused')
    )
        THROW 50021, N'Purge_FourQueueScheduler_trx: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* One look at the clock: the table's times are the server's, ours are UTC. */
        SET @_Stamp = SYSDATETIMEOFFSET();
        SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
        SET @_At = CAST(@_Stamp AS datetime2(7));
        SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        IF JSON_QUERY(@Filter, '$.keys') IS NOT NULL
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[id]
            FROM (SELECT DISTINCT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] >= 0) AS k
            INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                ON q.[in_process] IN (0, 1) AND q.[id] = k.[Key1]
                LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now,
                CASE
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
                END,
                N'Default',
                CASE
                    WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                        THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                    ELSE COALESCE(s.[UpdatedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))))
                END,
                COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
                COALESCE(
                    s.[Duration],
                    /* Nothing of completed items is kept beside the table, which has both times. */
                    CASE
                        WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                            THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
                    END
                ),
                s.[Error]
            ) AS fit
            WHERE fit.[Fits] = 1
            ORDER BY q.[id]
            OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);
        ELSE
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[id]
            FROM [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
                LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now,
                CASE
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
                END,
                N'Default',
                CASE
                    WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                        THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                    ELSE COALESCE(s.[UpdatedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))))
                END,
                COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
                COALESCE(
                    s.[Duration],
                    /* Nothing of completed items is kept beside the table, which has both times. */
                    CASE
                        WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                            THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
                    END
                ),
                s.[Error]
            ) AS fit
            WHERE fit.[Fits] = 1
            ORDER BY q.[id]
            OPTION (RECOMPILE);

        INSERT INTO @_Locked ([Key1])
        SELECT q.[id]
        FROM @_Found AS f
        INNER JOIN [dbo].[four_queue] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
            ON q.[in_process] IN (0, 1) AND q.[id] = f.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (UPDLOCK, ROWLOCK) ON s.[id] = q.[id]
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now,
            CASE
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
            END,
            N'Default',
            CASE
                WHEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))) > s.[UpdatedAt]
                    THEN DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7)))
                ELSE COALESCE(s.[UpdatedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[end_date] AS datetime2(7))))
            END,
            COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))),
            COALESCE(
                s.[Duration],
                /* Nothing of completed items is kept beside the table, which has both times. */
                CASE
                    WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                        THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
                END
            ),
            s.[Error]
        ) AS fit
        WHERE fit.[Fits] = 1
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @_Locked AS l
        INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK) ON q.[in_process] IN (0, 1) AND q.[id] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Purged = @@ROWCOUNT;

        DELETE s
        FROM @_Locked AS l
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);

        /* Items that are gone from the table leave nothing behind. A look without locks waits for nobody; another makes sure. */
        DELETE FROM @_Found;
        INSERT INTO @_Found ([Key1])
        SELECT TOP (@Max) s.[id]
        FROM [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE
            s.[UpdatedAt] < DATEADD(MINUTE, -10, @_Now)
            AND NOT EXISTS (
                SELECT 1 FROM [dbo].[four_queue] AS q WITH (READUNCOMMITTED)
                WHERE q.[in_process] IN (0, 1) AND s.[id] = q.[id]
            )
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE f
        FROM @_Found AS f
        WHERE EXISTS (SELECT 1 FROM [dbo].[four_queue] AS q WHERE q.[in_process] IN (0, 1) AND q.[id] = f.[Key1])
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE s
        FROM @_Found AS f
        INNER JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK) ON s.[id] = f.[Key1]
        WHERE s.[UpdatedAt] < DATEADD(MINUTE, -10, @_Now)
        OPTION (LOOP JOIN, FORCE ORDER);

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT 'purged' AS [Name], CAST(@_Purged AS bigint) AS [Value];
END;
GO
