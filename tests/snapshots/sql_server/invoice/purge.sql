/*
Delete up to @Max finished items that fit @Filter, in the order of their keys. @Filter is that of Find_Invoice; without a status it means Completed,
PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since somebody may still want to
see to them; unfinished ones never do. Rows that others hold are passed over. One row: purged, and how many items it were.
Table access order: Invoice.
*/
CREATE OR ALTER PROCEDURE [readpast].[Purge_Invoice_trx]
    @Filter nvarchar(max) = NULL, @Max int = 1000
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that tidies up gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Purged int = 0;
    DECLARE @_Found TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Locked TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Statuses nvarchar(max), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint;
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Given TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL);

    EXECUTE [readpast].[QueueFilterTake]
        N'Purge_Invoice_trx', @Filter, @_Statuses OUTPUT, @_Types OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT;
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT CAST(r.[key] AS int), TRY_CAST(NULLIF(r.[value], N'') AS datetime2(7))
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000 THROW 50021, N'Purge_Invoice_trx: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Purge_Invoice_trx: one of the keys is not a key of Invoice.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Purge_Invoice_trx: @Max must be from 1 to 1000.', 1;

    IF @@TRANCOUNT > 0 THROW 50012, N'Purge_Invoice_trx commits its own work: not to be called in a transaction.', 1;

    SET @_Statuses = COALESCE(@_Statuses, N'[{"s":"Completed"}, {"s":"PartiallyCompleted"}, {"s":"Cancelled"}, {"s":"Terminated"}]');
    IF EXISTS (
        SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
        WHERE w.[s] IN ('Pending', 'Processing', 'Error', 'Paused')
    )
        THROW 50021, N'Purge_Invoice_trx: only finished items can be purged; cancel or terminate the others.', 1;

    BEGIN TRY
        BEGIN TRANSACTION;
        SET @_Now = SYSUTCDATETIME();

        /* The search takes no update locks: it passes rows that are not meant, and no worker shall wait for it. */
        IF JSON_QUERY(@Filter, '$.keys') IS NOT NULL
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM (SELECT DISTINCT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] >= 0) AS k
            INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = k.[Key1]
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
                q.[Duration], q.[Error]
            ) AS fit
            WHERE fit.[Fits] = 1
            ORDER BY q.[EnqueuedAt]
            OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);
        ELSE IF CHARINDEX(N'"Completed"', @_Statuses) = 0
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM [readpast].[Invoice] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX ([IX_Invoice_Ended]))
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
                q.[Duration], q.[Error]
            ) AS fit
            WHERE fit.[Fits] = 1 AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            ORDER BY q.[EnqueuedAt]
            OPTION (RECOMPILE);
        ELSE
            INSERT INTO @_Found ([Key1])
            SELECT TOP (@Max) q.[EnqueuedAt]
            FROM [readpast].[Invoice] AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            CROSS APPLY [readpast].[QueueFits_fn](
                @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
                q.[Duration], q.[Error]
            ) AS fit
            WHERE
                fit.[Fits] = 1
                /* An item that was enqueued later cannot have changed before. */
                AND (@_Before IS NULL OR q.[EnqueuedAt] < @_Before)
            ORDER BY q.[EnqueuedAt]
            OPTION (RECOMPILE);

        INSERT INTO @_Locked ([Key1])
        SELECT q.[EnqueuedAt]
        FROM @_Found AS f
        INNER JOIN [readpast].[Invoice] AS q WITH (UPDLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK) ON q.[EnqueuedAt] = f.[Key1]
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        WHERE fit.[Fits] = 1
        OPTION (LOOP JOIN, FORCE ORDER);

        DELETE q
        FROM @_Locked AS l
        INNER JOIN [readpast].[Invoice] AS q WITH (ROWLOCK) ON q.[EnqueuedAt] = l.[Key1]
        OPTION (LOOP JOIN, FORCE ORDER);
        SET @_Purged = @@ROWCOUNT;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;

    SELECT 'purged' AS [Name], CAST(@_Purged AS bigint) AS [Value];
END;
GO
