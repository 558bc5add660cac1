/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and waits for no lock.
Table access order: FourQueueScheduler_Lease, four_queue.
*/
CREATE OR ALTER PROCEDURE [readpast].[Claimed_FourQueueScheduler]
    @Worker nvarchar(128), @Claim bigint
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @_MaxAttempts int;
    DECLARE @_SilentMs int; /* how long a lease is when nobody says */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Stamp datetimeoffset(7), @_Offset int;
    DECLARE @_Out TABLE (
        [Seq] int NOT NULL PRIMARY KEY, [Answer] varchar(20) NOT NULL, [Ordinal] int NULL, [DueMs] bigint NULL, [Key] nvarchar(max) NULL,
        [Key1] bigint NULL, [Token] datetime2(7) NULL, [AttemptNum] int NULL, [Status] varchar(20) NULL
    );

    SELECT @_MaxAttempts = s.[MaxAttempts], @_SilentMs = s.[LeaseMs]
    FROM [readpast].[FourQueueScheduler_Setting_V] AS s;
    /* One look at the clock: the table's times are the server's, ours are UTC. */
    SET @_Stamp = SYSDATETIMEOFFSET();
    SET @_Offset = DATEPART(TZOFFSET, @_Stamp);
    SET @_At = CAST(@_Stamp AS datetime2(7));
    SET @_Now = DATEADD(MINUTE, -@_Offset, @_At);

    INSERT INTO @_Out ([Seq], [Answer], [DueMs], [Key], [Key1], [Token], [AttemptNum], [Status])
    SELECT
        ROW_NUMBER() OVER (ORDER BY q.[id]), CASE WHEN s.[ClaimNum] < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        DATEDIFF_BIG(MILLISECOND, @_Now, CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, @_SilentMs, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END) + 1,
        CAST(q.[id] AS nvarchar(36)), q.[id], s.[UpdatedAt], COALESCE(CAST(q.[attempts] AS int), 0), 'Processing'
    FROM [readpast].[FourQueueScheduler_Lease] AS s
        WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_FourQueueScheduler_Lease_InFlight]))
    INNER JOIN [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[in_process] IN (0, 1) AND s.[id] = q.[id]
    WHERE
        s.[Status] = 'Processing' AND q.[in_process] = 1 AND q.[end_date] IS NULL AND s.[ClaimNum] IN (@Claim, -@Claim)
        AND s.[LeaseOwner] = @Worker AND CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2 = @Worker
        AND CASE
            WHEN
                s.[UpdatedAt] IS NULL
                OR s.[Status] = 'Pending'
                OR s.[LeaseOwner] <> CAST(q.[app_server] AS nvarchar(128)) COLLATE Latin1_General_BIN2
                THEN DATEADD(MILLISECOND, @_SilentMs, DATEADD(MINUTE, -@_Offset, CAST(q.[start_date] AS datetime2(7))))
            ELSE s.[LeaseUntil]
        END > @_Now
    OPTION (LOOP JOIN, FORCE ORDER);

    /* Passing over an item that somebody has changed since: it comes without values, as one that is gone. */
    SELECT
        o.[Answer], o.[Ordinal], o.[DueMs], o.[Key], o.[Token], o.[AttemptNum], o.[Status], q.[reputation] AS [reputation], q.[id],
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
    FROM @_Out AS o
    LEFT JOIN [dbo].[four_queue] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        ON q.[in_process] IN (0, 1) AND q.[id] = o.[Key1] AND o.[Answer] IN ('CLAIMED', 'CLAIMED_ALONE')
        LEFT JOIN [readpast].[FourQueueScheduler_Lease] AS s WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON s.[id] = q.[id]
    ORDER BY o.[Seq]
    OPTION (LOOP JOIN, FORCE ORDER);
END;
GO
