/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text), longer_ms (its last attempt took
more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing, and its locks on rows are let go one
by one. Without keys it reads the table in order until the page is full; with @Most, no more than that many items. A second result
with the answer MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: four_queue, FourQueueScheduler_Lease.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_FourQueueScheduler]
    @Filter nvarchar(max) = NULL, @After nvarchar(4000) = NULL, @Max int = 100, @Most int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int, @_Look varchar(10), @_Begin1 bigint, @_End1 bigint;
    DECLARE @_Page TABLE ([Key1] bigint NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Statuses nvarchar(max), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint;
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Given TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Key1] bigint NULL);

    EXECUTE [readpast].[QueueFilterTake]
        N'Find_FourQueueScheduler', @Filter, @_Statuses OUTPUT, @_Types OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT;
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT CAST(r.[key] AS int), TRY_CAST(NULLIF(r.[value], N'') AS bigint)
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000 THROW 50021, N'Find_FourQueueScheduler: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Find_FourQueueScheduler: one of the keys is not a key of FourQueueScheduler.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Find_FourQueueScheduler: @Max must be from 1 to 1000.', 1;
    IF @Most < 1 THROW 50021, N'Find_FourQueueScheduler: @Most must be 1 or more, or NULL.', 1;
    SET @After = NULLIF(@After, N'');
    SET @_Begin1 = TRY_CAST(NULLIF(@After, N'') AS bigint);
    IF @After IS NOT NULL AND @_Begin1 IS NULL THROW 50021, N'Find_FourQueueScheduler: @After is not a key of FourQueueScheduler.', 1;

    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);
    SET @_Look = CASE WHEN JSON_QUERY(@Filter, '$.keys') IS NOT NULL THEN 'keys' ELSE 'all' END;

    /* How far: as many items on as are to be read, else to the end. */
    IF @_Look = 'all' AND @Most IS NOT NULL
        SELECT @_End1 = q.[id]
        FROM [dbo].[four_queue] AS q
        WHERE (@_Begin1 IS NULL OR q.[id] > @_Begin1)
        ORDER BY q.[id]
        OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        OPTION (RECOMPILE);
    /* Planned for this filter: which of its members are there decides how the items are reached. */
    IF @_Look = 'keys'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[id]
        FROM (SELECT DISTINCT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] >= 0) AS k
        INNER JOIN [dbo].[four_queue] AS q
            ON q.[in_process] IN (0, 1) AND q.[id] = k.[Key1]
            LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = q.[id]
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
        WHERE fit.[Fits] = 1 AND (@_Begin1 IS NULL OR q.[id] > @_Begin1)
        ORDER BY q.[id]
        OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);
    ELSE
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[id]
        FROM [dbo].[four_queue] AS q
            LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = q.[id]
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
        WHERE fit.[Fits] = 1 AND (@_Begin1 IS NULL OR q.[id] > @_Begin1) AND (@_End1 IS NULL OR q.[id] <= @_End1)
        ORDER BY q.[id]
        OPTION (RECOMPILE);

    /* A full page, but an item of it may be another by now. */
    IF (SELECT COUNT(*) FROM @_Page) = @Max
        SELECT TOP (1) @_End1 = p.[Key1]
        FROM @_Page AS p
        ORDER BY p.[Key1] DESC;
    SELECT
        'FOUND' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], CAST(q.[id] AS nvarchar(36)) AS [Key],
        s.[UpdatedAt] AS [Token], COALESCE(CAST(q.[attempts] AS int), 0) AS [AttemptNum],
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
        END AS [Status],
        q.[reputation] AS [reputation], q.[id],
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
        END AS [ItemStatus],
        s.[Step] AS [ItemStep], COALESCE(CAST(q.[attempts] AS int), 0) AS [ItemAttempt], s.[Response] AS [ItemResponse],
        s.[Error] AS [ItemError],
        COALESCE(s.[StartedAt], DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7)))) AS [ItemStartedAt],
        COALESCE(
            s.[Duration],
            /* Nothing of completed items is kept beside the table, which has both times. */
            CASE
                WHEN q.[in_process] = 1 AND q.[end_date] IS NOT NULL
                    THEN DATEDIFF_BIG(MILLISECOND, q.[start_date], q.[end_date])
            END
        ) AS [ItemDuration],
        DATEADD(MINUTE, -@_Offset, CAST(q.[scheduled_start_date] AS datetime2(7))) AS [ItemDueAt], s.[UpdatedAt] AS [ItemToken],
        CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 AS [ItemOwner],
        CASE WHEN q.[in_process] = 1 AND q.[end_date] IS NULL THEN CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, 600000, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END END AS [ItemLeaseUntil]
    FROM @_Page AS p
    INNER JOIN [dbo].[four_queue] AS q
        ON q.[in_process] IN (0, 1) AND q.[id] = p.[Key1]
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s ON s.[id] = q.[id]
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
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @@ROWCOUNT < @Max AND @_End1 IS NOT NULL
        SELECT 'MORE' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], CAST(g.[Key1] AS nvarchar(36)) AS [Key]
        FROM (SELECT @_End1 AS [Key1]) AS g;
END;
GO
