/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text), longer_ms (its last attempt took
more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing, and its locks on rows are let go one
by one. Without keys it reads the table in order until the page is full; with @Most, no more than that many items. A second result
with the answer MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_Notification]
    @Filter nvarchar(max) = NULL, @After nvarchar(4000) = NULL, @Max int = 100, @Most int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON; SET ROWCOUNT 0; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET DEADLOCK_PRIORITY LOW; /* A call that only looks gives way. */
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_Look varchar(10), @_Begin1 datetime2(7), @_End1 datetime2(7);
    DECLARE @_Page TABLE ([Key1] datetime2(7) NOT NULL, PRIMARY KEY CLUSTERED ([Key1]));
    DECLARE @_Statuses nvarchar(max), @_Types nvarchar(max), @_Before datetime2(7), @_Since datetime2(7), @_Longer bigint;
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Given TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Key1] datetime2(7) NULL);

    EXECUTE [readpast].[QueueFilterTake]
        N'Find_Notification', @Filter, @_Statuses OUTPUT, @_Types OUTPUT, @_Before OUTPUT, @_Since OUTPUT, @_Longer OUTPUT, @_Error OUTPUT;
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT CAST(r.[key] AS int), TRY_CAST(NULLIF(r.[value], N'') AS datetime2(7))
    FROM OPENJSON(@Filter, '$.keys') AS r;
    IF @@ROWCOUNT > 1000 THROW 50021, N'Find_Notification: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Find_Notification: one of the keys is not a key of Notification.', 1;
    IF @Max IS NULL OR @Max < 1 OR @Max > 1000 THROW 50021, N'Find_Notification: @Max must be from 1 to 1000.', 1;
    IF @Most < 1 THROW 50021, N'Find_Notification: @Most must be 1 or more, or NULL.', 1;
    SET @After = NULLIF(@After, N'');
    SET @_Begin1 = TRY_CAST(NULLIF(@After, N'') AS datetime2(7));
    IF @After IS NOT NULL AND @_Begin1 IS NULL THROW 50021, N'Find_Notification: @After is not a key of Notification.', 1;

    SET @_Now = SYSUTCDATETIME();
    /* Those that wait or are in flight have an index in another order: good for as many as may be read. */
    SET @_Look = CASE
        WHEN JSON_QUERY(@Filter, '$.keys') IS NOT NULL THEN 'keys'
        WHEN @_Statuses IS NULL THEN 'all'
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            )
            THEN 'ended'
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ('Processing')
            )
            AND COALESCE(@Most, 2147483647) > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_InFlight]))
                    WHERE q.[Status] IN ('Processing')
                ) AS n
            )
            THEN 'flying'
        WHEN
            NOT EXISTS (
                SELECT 1 FROM OPENJSON(@_Statuses) WITH ([s] varchar(20) '$.s') AS w
                WHERE w.[s] NOT IN ('Pending', 'Error')
            )
            AND COALESCE(@Most, 2147483647) > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Due]))
                    WHERE q.[Status] IN ('Pending', 'Error')
                ) AS n
            )
            THEN 'waiting'
        ELSE 'all'
    END;

    /* How far: as many items on as are to be read, else to the end. */
    IF @_Look = 'ended' AND @Most IS NOT NULL
        SELECT @_End1 = q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Ended]))
        WHERE
            (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
            AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
        ORDER BY q.[EnqueuedAt]
        OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        OPTION (RECOMPILE);
    IF @_Look = 'all' AND @Most IS NOT NULL
        SELECT @_End1 = q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q
        WHERE (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        OPTION (RECOMPILE);
    /* Planned for this filter: which of its members are there decides how the items are reached. */
    IF @_Look = 'keys'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM (SELECT DISTINCT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] >= 0) AS k
        INNER JOIN [readpast].[Notification] AS q ON q.[EnqueuedAt] = k.[Key1]
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        WHERE fit.[Fits] = 1 AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);
    ELSE IF @_Look = 'ended'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Ended]))
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        WHERE
            fit.[Fits] = 1 AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1) AND (@_End1 IS NULL OR q.[EnqueuedAt] <= @_End1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);
    ELSE IF @_Look = 'flying'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_InFlight]))
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        WHERE fit.[Fits] = 1 AND q.[Status] IN ('Processing') AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);
    ELSE IF @_Look = 'waiting'
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Due]))
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        WHERE fit.[Fits] = 1 AND q.[Status] IN ('Pending', 'Error') AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);
    ELSE
        INSERT INTO @_Page ([Key1])
        SELECT TOP (@Max) q.[EnqueuedAt]
        FROM [readpast].[Notification] AS q
        CROSS APPLY [readpast].[QueueFits_fn](
            @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt],
            q.[Duration], q.[Error]
        ) AS fit
        WHERE fit.[Fits] = 1 AND (@_Begin1 IS NULL OR q.[EnqueuedAt] > @_Begin1) AND (@_End1 IS NULL OR q.[EnqueuedAt] <= @_End1)
        ORDER BY q.[EnqueuedAt]
        OPTION (RECOMPILE);

    /* A full page, but an item of it may be another by now. */
    IF (SELECT COUNT(*) FROM @_Page) = @Max
        SELECT TOP (1) @_End1 = p.[Key1]
        FROM @_Page AS p
        ORDER BY p.[Key1] DESC;
    SELECT
        'FOUND' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], q.[EnqueuedAt] AS [Key],
        q.[UpdatedAt] AS [Token], q.[AttemptNum] AS [AttemptNum], q.[Status] AS [Status], q.[EnqueuedAt], q.[Type], q.[Status], q.[Step],
        q.[AttemptNum], q.[Response], q.[Error], q.[StartedAt], q.[Duration], q.[ScheduledFor], q.[UpdatedAt], q.[LeaseOwner],
        q.[LeaseUntil], s1.[OTP] AS [ResetPassword_OTP], s1.[UserID] AS [ResetPassword_UserID], s1.[Username] AS [ResetPassword_Username],
        s2.[EmailTo] AS [Email_EmailTo], s2.[PreferredLanguage] AS [Email_PreferredLanguage], s2.[Response] AS [Email_Response],
        s2.[Error] AS [Email_Error], s3.[PhoneNumber] AS [Sms_PhoneNumber], s3.[Response] AS [Sms_Response], s3.[Error] AS [Sms_Error]
    FROM @_Page AS p
    INNER JOIN [readpast].[Notification] AS q ON q.[EnqueuedAt] = p.[Key1]
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1 ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2 ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3 ON s3.[EnqueuedAt] = q.[EnqueuedAt]
    CROSS APPLY [readpast].[QueueFits_fn](
        @_Statuses, @_Types, @_Before, @_Since, @_Longer, @_Error, @_Now, q.[Status], q.[Type], q.[UpdatedAt], q.[StartedAt], q.[Duration],
        q.[Error]
    ) AS fit
    WHERE fit.[Fits] = 1
    ORDER BY q.[EnqueuedAt]
    OPTION (LOOP JOIN, FORCE ORDER);

    IF @@ROWCOUNT < @Max AND @_End1 IS NOT NULL
        SELECT 'MORE' AS [Answer], CAST(NULL AS int) AS [Ordinal], CAST(NULL AS bigint) AS [DueMs], g.[Key1] AS [Key]
        FROM (SELECT @_End1 AS [Key1]) AS g;
END;
GO
