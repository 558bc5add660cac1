/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text), longer_ms (its last attempt took
more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full; with @Most, no more than that many items. A second result with the
answer MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_Notification]
    @Filter nvarchar(max) = NULL,
    @After nvarchar(4000) = NULL,
    @Max int = 100,
    @Most int = NULL
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* A session that limits its rows would have a call work on the first ones only. */
    SET ROWCOUNT 0;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    /* A call that only looks gives way. */
    SET DEADLOCK_PRIORITY LOW;
    DECLARE @_Now datetime2(7); /* UTC */
    DECLARE @_At datetime2(7); /* the same moment as the table tells it */
    DECLARE @_Keys nvarchar(max);
    DECLARE @_Statuses nvarchar(max);
    DECLARE @_Types nvarchar(max);
    DECLARE @_Before datetime2(7);
    DECLARE @_Since datetime2(7);
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Longer bigint;
    DECLARE @_Key TABLE (
        [Key1] datetime2(7) NOT NULL,
        PRIMARY KEY CLUSTERED ([Key1])
    );
    DECLARE @_Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
        [Key1] datetime2(7) NULL
    );
    DECLARE @_Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);
    DECLARE @_WantedType TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(4000) NOT NULL);

    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts types
    so: 0 is null, 1 text, 2 a number, 4 an array. Two steps, since the parts of one condition are evaluated in any order.
    */
    IF ISJSON(@Filter) = 0 OR CHARINDEX(N'{', @Filter) = 0
        THROW 50021, N'Find_Notification: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error', N'longer_ms')
                OR j.[type] NOT IN (
                    0,
                    CASE
                        WHEN j.[key] IN (N'keys', N'status', N'types') THEN 4
                        WHEN j.[key] = N'longer_ms' THEN 2
                        ELSE 1
                    END
                )
                /* A member that JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        THROW 50021, N'Find_Notification: @Filter takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once.', 1;

    SET @_Keys = JSON_QUERY(@Filter, '$.keys');
    SET @_Statuses = JSON_QUERY(@Filter, '$.status');
    SET @_Types = JSON_QUERY(@Filter, '$.types');
    SET @_Error = JSON_VALUE(@Filter, '$.error');
    SET @_Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @_Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
    SET @_Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));

    IF @_Longer < 0 OR (@_Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
        THROW 50021, N'Find_Notification: longer_ms is a whole number of milliseconds.', 1;
    IF
        (@_Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@_Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Find_Notification: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@_Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Find_Notification: status names one that there is not.', 1;

    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT
        CAST(r.[key] AS int),
        TRY_CAST(NULLIF(r.[value], N'') AS datetime2(7))
    FROM OPENJSON(@_Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Find_Notification: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Find_Notification: one of the keys is not a key of Notification.', 1;

    INSERT INTO @_Key ([Key1])
    SELECT DISTINCT g.[Key1] FROM @_Given AS g;

    INSERT INTO @_Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @_Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@_Statuses) AS j);

    INSERT INTO @_WantedType ([Ordinal], [Type])
    SELECT CAST(j.[key] AS int), j.[value] FROM OPENJSON(@_Types) AS j WHERE j.[value] IS NOT NULL;
    DECLARE @_Further bit = 0;

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Find_Notification: @Max must be from 1 to 1000.', 1;
    IF @Most < 1
        THROW 50021, N'Find_Notification: @Most must be 1 or more, or NULL.', 1;

    SET @After = NULLIF(@After, N'');
    INSERT INTO @_Given ([Ordinal], [Key1])
    SELECT -1,TRY_CAST(NULLIF(a.[After], N'') AS datetime2(7))
    FROM (SELECT @After AS [After]) AS a
    WHERE a.[After] IS NOT NULL;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE g.[Key1] IS NULL)
        THROW 50021, N'Find_Notification: @After is not a key of Notification.', 1;

    SET @_Now = SYSUTCDATETIME();
    SET @_At = @_Now;

    IF @_Keys IS NOT NULL
    BEGIN
        SELECT TOP (@Max)
            'FOUND' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            q.[EnqueuedAt] AS [Key],
            CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
            q.[AttemptNum] AS [AttemptNum],
            q.[Status] AS [Status],
            q.[EnqueuedAt],
            q.[Type],
            q.[Status],
            q.[Step],
            q.[AttemptNum],
            q.[Response],
            q.[Error],
            q.[StartedAt],
            q.[Duration],
            q.[ScheduledFor],
            q.[UpdatedAt],
            q.[LeaseOwner],
            q.[LeaseUntil],
            s1.[OTP] AS [ResetPassword_OTP],
            s1.[UserID] AS [ResetPassword_UserID],
            s1.[Username] AS [ResetPassword_Username],
            s2.[EmailTo] AS [Email_EmailTo],
            s2.[PreferredLanguage] AS [Email_PreferredLanguage],
            s2.[Response] AS [Email_Response],
            s2.[Error] AS [Email_Error],
            s3.[PhoneNumber] AS [Sms_PhoneNumber],
            s3.[Response] AS [Sms_Response],
            s3.[Error] AS [Sms_Error]
        FROM @_Key AS k
        INNER JOIN [readpast].[Notification] AS q
            ON q.[EnqueuedAt] = k.[Key1]
        LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
            ON s1.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Email] AS s2
            ON s2.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Sms] AS s3
            ON s3.[EnqueuedAt] = q.[EnqueuedAt]
        WHERE
            q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
            AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
            AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
            AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
            AND (
                @_Longer IS NULL
                OR CASE
                    WHEN q.[Status] = 'Processing'
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                    ELSE q.[Duration]
                END > @_Longer
            )
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
            AND (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
        ORDER BY q.[EnqueuedAt]
        /* For this filter: which of its members are there decides how the items are reached. */
        OPTION (LOOP JOIN, FORCE ORDER, RECOMPILE);

        RETURN 0;
    END;

    IF NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] NOT IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'))
    BEGIN
        /* They have an index of their own. */
        /* How far: as many items on as are to be read, else to the end. */
        IF @Most IS NOT NULL
        BEGIN
            INSERT INTO @_Given ([Ordinal], [Key1])
            SELECT -2, l.[EnqueuedAt]
            FROM (
                SELECT q.[EnqueuedAt]
                FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Ended]))
                WHERE
                    (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
                    AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                ORDER BY q.[EnqueuedAt]
                OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
            ) AS l
            OPTION (RECOMPILE);

            SET @_Further = @@ROWCOUNT;
        END;
        SELECT TOP (@Max)
            'FOUND' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            q.[EnqueuedAt] AS [Key],
            CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
            q.[AttemptNum] AS [AttemptNum],
            q.[Status] AS [Status],
            q.[EnqueuedAt],
            q.[Type],
            q.[Status],
            q.[Step],
            q.[AttemptNum],
            q.[Response],
            q.[Error],
            q.[StartedAt],
            q.[Duration],
            q.[ScheduledFor],
            q.[UpdatedAt],
            q.[LeaseOwner],
            q.[LeaseUntil],
            s1.[OTP] AS [ResetPassword_OTP],
            s1.[UserID] AS [ResetPassword_UserID],
            s1.[Username] AS [ResetPassword_Username],
            s2.[EmailTo] AS [Email_EmailTo],
            s2.[PreferredLanguage] AS [Email_PreferredLanguage],
            s2.[Response] AS [Email_Response],
            s2.[Error] AS [Email_Error],
            s3.[PhoneNumber] AS [Sms_PhoneNumber],
            s3.[Response] AS [Sms_Response],
            s3.[Error] AS [Sms_Error]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Ended]))
        LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
            ON s1.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Email] AS s2
            ON s2.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Sms] AS s3
            ON s3.[EnqueuedAt] = q.[EnqueuedAt]
        WHERE
            q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
            AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
            AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
            AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
            AND (
                @_Longer IS NULL
                OR CASE
                    WHEN q.[Status] = 'Processing'
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                    ELSE q.[Duration]
                END > @_Longer
            )
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
            AND (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
            AND q.[Status] IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND (@_Further = 0 OR (q.[EnqueuedAt] <= (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -2)))
        ORDER BY q.[EnqueuedAt]
        /* For this filter: which of its members are there decides how the items are reached. */
        OPTION (RECOMPILE);

        IF @@ROWCOUNT < @Max AND @_Further = 1
            SELECT
                'MORE' AS [Answer],
                CAST(NULL AS int) AS [Ordinal],
                CAST(NULL AS bigint) AS [DueMs],
                g.[Key1] AS [Key]
            FROM @_Given AS g
            WHERE g.[Ordinal] = -2;

        RETURN 0;
    END;

    IF
        NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] NOT IN ('Processing'))
        AND (
            @Most IS NULL
            OR @Most > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_InFlight]))
                    WHERE q.[Status] IN ('Processing')
                ) AS n
            )
        )
    BEGIN
        /* They have an index of their own, in another order: good for as many as may be read. */
        SELECT TOP (@Max)
            'FOUND' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            q.[EnqueuedAt] AS [Key],
            CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
            q.[AttemptNum] AS [AttemptNum],
            q.[Status] AS [Status],
            q.[EnqueuedAt],
            q.[Type],
            q.[Status],
            q.[Step],
            q.[AttemptNum],
            q.[Response],
            q.[Error],
            q.[StartedAt],
            q.[Duration],
            q.[ScheduledFor],
            q.[UpdatedAt],
            q.[LeaseOwner],
            q.[LeaseUntil],
            s1.[OTP] AS [ResetPassword_OTP],
            s1.[UserID] AS [ResetPassword_UserID],
            s1.[Username] AS [ResetPassword_Username],
            s2.[EmailTo] AS [Email_EmailTo],
            s2.[PreferredLanguage] AS [Email_PreferredLanguage],
            s2.[Response] AS [Email_Response],
            s2.[Error] AS [Email_Error],
            s3.[PhoneNumber] AS [Sms_PhoneNumber],
            s3.[Response] AS [Sms_Response],
            s3.[Error] AS [Sms_Error]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_InFlight]))
        LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
            ON s1.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Email] AS s2
            ON s2.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Sms] AS s3
            ON s3.[EnqueuedAt] = q.[EnqueuedAt]
        WHERE
            q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
            AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
            AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
            AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
            AND (
                @_Longer IS NULL
                OR CASE
                    WHEN q.[Status] = 'Processing'
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                    ELSE q.[Duration]
                END > @_Longer
            )
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
            AND (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
            AND q.[Status] IN ('Processing')
        ORDER BY q.[EnqueuedAt]
        /* For this filter: which of its members are there decides how the items are reached. */
        OPTION (RECOMPILE);

        RETURN 0;
    END;

    IF
        NOT EXISTS (SELECT 1 FROM @_Wanted AS w WHERE w.[Status] NOT IN ('Pending', 'Error'))
        AND (
            @Most IS NULL
            OR @Most > (
                SELECT COUNT(*)
                FROM (
                    SELECT TOP (COALESCE(@Most, 1)) q.[Status]
                    FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Due]))
                    WHERE q.[Status] IN ('Pending', 'Error')
                ) AS n
            )
        )
    BEGIN
        /* They have an index of their own, in another order: good for as many as may be read. */
        SELECT TOP (@Max)
            'FOUND' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            q.[EnqueuedAt] AS [Key],
            CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
            q.[AttemptNum] AS [AttemptNum],
            q.[Status] AS [Status],
            q.[EnqueuedAt],
            q.[Type],
            q.[Status],
            q.[Step],
            q.[AttemptNum],
            q.[Response],
            q.[Error],
            q.[StartedAt],
            q.[Duration],
            q.[ScheduledFor],
            q.[UpdatedAt],
            q.[LeaseOwner],
            q.[LeaseUntil],
            s1.[OTP] AS [ResetPassword_OTP],
            s1.[UserID] AS [ResetPassword_UserID],
            s1.[Username] AS [ResetPassword_Username],
            s2.[EmailTo] AS [Email_EmailTo],
            s2.[PreferredLanguage] AS [Email_PreferredLanguage],
            s2.[Response] AS [Email_Response],
            s2.[Error] AS [Email_Error],
            s3.[PhoneNumber] AS [Sms_PhoneNumber],
            s3.[Response] AS [Sms_Response],
            s3.[Error] AS [Sms_Error]
        FROM [readpast].[Notification] AS q WITH (INDEX ([IX_Notification_Due]))
        LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
            ON s1.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Email] AS s2
            ON s2.[EnqueuedAt] = q.[EnqueuedAt]
        LEFT JOIN [readpast].[Notification_Sms] AS s3
            ON s3.[EnqueuedAt] = q.[EnqueuedAt]
        WHERE
            q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
            AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
            AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
            AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
            AND (
                @_Longer IS NULL
                OR CASE
                    WHEN q.[Status] = 'Processing'
                        THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                    ELSE q.[Duration]
                END > @_Longer
            )
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
            AND (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
            AND q.[Status] IN ('Pending', 'Error')
        ORDER BY q.[EnqueuedAt]
        /* For this filter: which of its members are there decides how the items are reached. */
        OPTION (RECOMPILE);

        RETURN 0;
    END;

    /* How far: as many items on as are to be read, else to the end. */
    IF @Most IS NOT NULL
    BEGIN
        INSERT INTO @_Given ([Ordinal], [Key1])
        SELECT -2, l.[EnqueuedAt]
        FROM (
            SELECT q.[EnqueuedAt]
            FROM [readpast].[Notification] AS q
            WHERE
                (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
            ORDER BY q.[EnqueuedAt]
            OFFSET @Most - 1 ROWS FETCH NEXT 1 ROWS ONLY
        ) AS l
        OPTION (RECOMPILE);

        SET @_Further = @@ROWCOUNT;
    END;
    SELECT TOP (@Max)
        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        q.[EnqueuedAt] AS [Key],
        CAST(q.[UpdatedAt] AS datetime2(7)) AS [Token],
        q.[AttemptNum] AS [AttemptNum],
        q.[Status] AS [Status],
        q.[EnqueuedAt],
        q.[Type],
        q.[Status],
        q.[Step],
        q.[AttemptNum],
        q.[Response],
        q.[Error],
        q.[StartedAt],
        q.[Duration],
        q.[ScheduledFor],
        q.[UpdatedAt],
        q.[LeaseOwner],
        q.[LeaseUntil],
        s1.[OTP] AS [ResetPassword_OTP],
        s1.[UserID] AS [ResetPassword_UserID],
        s1.[Username] AS [ResetPassword_Username],
        s2.[EmailTo] AS [Email_EmailTo],
        s2.[PreferredLanguage] AS [Email_PreferredLanguage],
        s2.[Response] AS [Email_Response],
        s2.[Error] AS [Email_Error],
        s3.[PhoneNumber] AS [Sms_PhoneNumber],
        s3.[Response] AS [Sms_Response],
        s3.[Error] AS [Sms_Error]
    FROM [readpast].[Notification] AS q
    LEFT JOIN [readpast].[Notification_ResetPassword] AS s1
        ON s1.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Email] AS s2
        ON s2.[EnqueuedAt] = q.[EnqueuedAt]
    LEFT JOIN [readpast].[Notification_Sms] AS s3
        ON s3.[EnqueuedAt] = q.[EnqueuedAt]
    WHERE
        q.[Status] IN (SELECT w.[Status] FROM @_Wanted AS w)
        AND (@_Types IS NULL OR q.[Type] IN (SELECT y.[Type] FROM @_WantedType AS y))
        AND (@_Before IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) < @_Before)
        AND (@_Since IS NULL OR CAST(q.[UpdatedAt] AS datetime2(7)) >= @_Since)
        AND (
            @_Longer IS NULL
            OR CASE
                WHEN q.[Status] = 'Processing'
                    THEN DATEDIFF_BIG(MILLISECOND, CAST(q.[StartedAt] AS datetime2(7)), @_Now)
                ELSE q.[Duration]
            END > @_Longer
        )
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (@_Error IS NULL OR CHARINDEX(@_Error, q.[Error] COLLATE Latin1_General_BIN2) > 0)
        AND (@After IS NULL OR (q.[EnqueuedAt] > (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -1)))
        AND (@_Further = 0 OR (q.[EnqueuedAt] <= (SELECT g.[Key1] FROM @_Given AS g WHERE g.[Ordinal] = -2)))
    ORDER BY q.[EnqueuedAt]
    /* For this filter: which of its members are there decides how the items are reached. */
    OPTION (RECOMPILE);

    IF @@ROWCOUNT < @Max AND @_Further = 1
        SELECT
            'MORE' AS [Answer],
            CAST(NULL AS int) AS [Ordinal],
            CAST(NULL AS bigint) AS [DueMs],
            g.[Key1] AS [Key]
        FROM @_Given AS g
        WHERE g.[Ordinal] = -2;

    RETURN 0;
END;
GO
