/* The row that a deleting call locks. */
INSERT INTO [readpast].[QueueRetention] ([Queue], [DoneAt])
SELECT 'Notification', CAST('0001-01-01' AS datetime2(7))
WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueRetention] AS r WHERE r.[Queue] = 'Notification');
GO
/*
Delete up to @Max items that ended longer ago than the description lets them stay: Completed after 2592000 s, Failed after 31536000 s.
Workers call it again and again; it does something once in @IntervalMs, and then with each call until nothing is over, for
one caller at a time. It takes no other terms than these, so whoever may claim may have it. Rows that others hold are passed
over. One row: purged, and how many it were; 0 when it was not the caller's turn or nothing is over.
Table access order: QueueRetention, passed over when somebody holds the row, Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Retain_Notification_trx]
    @IntervalMs int = 60000, @Max int = 250
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that tidies up gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Purged int = 0;
    DECLARE @_Turn int;
    DECLARE @_Count int = 0;
    DECLARE @_Found TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Locked TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));

    IF @@TRANCOUNT > 0 THROW 50012, N'Retain_Notification_trx commits its own work: not to be called in a transaction.', 1;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 OR @IntervalMs IS NULL OR @IntervalMs < 0
        THROW 50021, N'Retain_Notification_trx: @Max must be from 1 to 1000, and @IntervalMs not negative.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();

        SELECT @_Turn = COUNT(*)
        FROM [readpast].[QueueRetention] AS r WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.[Queue] = 'Notification' AND ABS(DATEDIFF_BIG(MILLISECOND, r.[DoneAt], @_Now)) >= @IntervalMs;

        IF @_Turn = 1
        BEGIN
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max - @_Count) q.[EnqueuedAt]
            FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE
                q.[Status] = 'Completed' AND q.[UpdatedAt] < DATEADD(SECOND, -2592000, @_Now)
                /* An item that was enqueued later cannot have ended before: younger items are not read. */
                AND q.[EnqueuedAt] < DATEADD(SECOND, -2592000, @_Now)
            ORDER BY q.[EnqueuedAt];
            SET @_Count = @_Count + @@ROWCOUNT;
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max - @_Count) q.[EnqueuedAt]
            FROM [readpast].[Notification] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Notification_Ended]))
            WHERE
                q.[Status] = 'Failed' AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                AND q.[UpdatedAt] < DATEADD(SECOND, -31536000, @_Now)
                /* An item that was enqueued later cannot have ended before: younger items are not read. */
                AND q.[EnqueuedAt] < DATEADD(SECOND, -31536000, @_Now)
            ORDER BY q.[EnqueuedAt];
            SET @_Count = @_Count + @@ROWCOUNT;

            IF @_Count < @Max
                /* All is done. Else the next call goes on. */
                UPDATE [readpast].[QueueRetention] WITH (ROWLOCK)
                SET [DoneAt] = @_Now
                WHERE [Queue] = 'Notification';

            INSERT INTO @_Locked ([Key1])
            SELECT q.[EnqueuedAt]
            FROM @_Found AS f
            INNER JOIN [readpast].[Notification] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = f.[Key1]
            WHERE (
                (q.[Status] = 'Completed' AND q.[UpdatedAt] < DATEADD(SECOND, -2592000, @_Now))
                OR (q.[Status] = 'Failed' AND q.[UpdatedAt] < DATEADD(SECOND, -31536000, @_Now))
            )
            OPTION (LOOP JOIN, FORCE ORDER);

            DELETE q
            FROM @_Locked AS l
            INNER JOIN [readpast].[Notification] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = l.[Key1]
            OPTION (LOOP JOIN, FORCE ORDER);
            SET @_Purged = @@ROWCOUNT;
        END;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT 'purged' AS [Name], CAST(@_Purged AS bigint) AS [Value];
END;
GO
