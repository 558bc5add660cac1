/*
The items that fit @Filter, in the order of their keys, after the key @After, at most @Max of them: a page, and the
last key of it begins the next one. @Filter is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change), error (a part of its text). NULL is all items.
One row per item, with the answer FOUND. It changes nothing, and its locks on rows are let go one by one. Without keys
it reads the table in order until the page is full.
Table access order: Notification.
*/
CREATE OR ALTER PROCEDURE [readpast].[Find_Notification]
    @Filter nvarchar(max) = NULL,
    @After nvarchar(400) = NULL,
    @Max int = 100
AS
BEGIN
    SET NOCOUNT, XACT_ABORT ON;
    /* Some drivers turn it on; the transaction below would then stay open after its commit. */
    SET IMPLICIT_TRANSACTIONS OFF;
    /* READPAST fails (error 650) under any other level, and pooled connections carry levels along. */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @From datetime2(7) = '0001-01-01';
    DECLARE @Keys nvarchar(max);
    DECLARE @Statuses nvarchar(max);
    DECLARE @Types nvarchar(max);
    DECLARE @Before datetime2(7);
    DECLARE @Since datetime2(7);
    DECLARE @Error nvarchar(4000);
    DECLARE @Key TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);

    /*
    A condition with a slip in it must not be passed over: what it was to keep out would be met too. OPENJSON counts types
    so: 0 is null, 1 text, 4 an array.
    */
    IF
        ISJSON(@Filter) = 0
        OR CHARINDEX(N'{', @Filter) = 0
        OR EXISTS (
            SELECT 1 FROM OPENJSON(@Filter) AS j
            WHERE
                j.[key] NOT IN (N'keys', N'status', N'types', N'before', N'after', N'error')
                OR j.[type] NOT IN (0, CASE WHEN j.[key] IN (N'keys', N'status', N'types') THEN 4 ELSE 1 END)
                /* What JSON_VALUE would not take out: NULL. */
                OR (j.[type] = 1 AND DATALENGTH(j.[value]) > 8000)
        )
        OR EXISTS (SELECT 1 FROM OPENJSON(@Filter) AS j GROUP BY j.[key] HAVING COUNT(*) > 1)
        THROW 50021, N'Find_Notification: @Filter takes keys, status, types (arrays), before, after, error (text), once.', 1;

    SET @Keys = JSON_QUERY(@Filter, '$.keys');
    SET @Statuses = JSON_QUERY(@Filter, '$.status');
    SET @Types = JSON_QUERY(@Filter, '$.types');
    SET @Error = JSON_VALUE(@Filter, '$.error');
    SET @Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));

    IF
        (@Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'Find_Notification: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF EXISTS (SELECT 1 FROM OPENJSON(@Keys) AS k WHERE TRY_CONVERT(datetime2(7), k.[value]) IS NULL)
        THROW 50021, N'Find_Notification: one of the keys is not a key of Notification.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM [readpast].[QueueStatus] AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'Find_Notification: status names one that there is not.', 1;

    INSERT INTO @Key ([EnqueuedAt])
    SELECT DISTINCT CAST(k.[value] AS datetime2(7)) FROM OPENJSON(@Keys) AS k;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'Find_Notification: at most 1000 keys a call.', 1;

    INSERT INTO @Wanted ([Status])
    SELECT s.[Status]
    FROM [readpast].[QueueStatus] AS s
    WHERE @Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@Statuses) AS j);

    IF @Max IS NULL OR @Max < 1 OR @Max > 1000
        THROW 50021, N'Find_Notification: @Max must be from 1 to 1000.', 1;

    IF @After <> N''
        SET @From = TRY_CONVERT(datetime2(7), @After);
    IF @From IS NULL
        THROW 50021, N'Find_Notification: @After is not a key of Notification.', 1;

    IF @Keys IS NOT NULL
    BEGIN
        SELECT TOP (@Max)
        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        v.[EnqueuedAt] AS [Key],
        v.[UpdatedAt] AS [Token],
        v.[AttemptNum],
        v.[Status],
        v.*
        FROM @Key AS k
        INNER JOIN [readpast].[Worker_Notification_V] AS v
            ON v.[EnqueuedAt] = k.[EnqueuedAt]
        WHERE
            v.[EnqueuedAt] > @From
            AND v.[Status] IN (SELECT w.[Status] FROM @Wanted AS w)
            AND (@Types IS NULL OR v.[Type] IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
            AND (@Before IS NULL OR v.[UpdatedAt] < @Before)
            AND (@Since IS NULL OR v.[UpdatedAt] >= @Since)
            /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
            AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, v.[Error]) > 0)
        ORDER BY v.[EnqueuedAt]
        OPTION (LOOP JOIN, FORCE ORDER);

        RETURN 0;
    END;

    SELECT TOP (@Max)
        'FOUND' AS [Answer],
        CAST(NULL AS int) AS [Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        v.[EnqueuedAt] AS [Key],
        v.[UpdatedAt] AS [Token],
        v.[AttemptNum],
        v.[Status],
        v.*
    FROM [readpast].[Worker_Notification_V] AS v
    WHERE
        v.[EnqueuedAt] > @From
        AND v.[Status] IN (SELECT w.[Status] FROM @Wanted AS w)
        AND (@Types IS NULL OR v.[Type] IN (SELECT t.[value] FROM OPENJSON(@Types) AS t))
        AND (@Before IS NULL OR v.[UpdatedAt] < @Before)
        AND (@Since IS NULL OR v.[UpdatedAt] >= @Since)
        /* Compared by code point, so that nothing in the text is a wildcard and both servers find the same. */
        AND (@Error IS NULL OR CHARINDEX(@Error COLLATE Latin1_General_BIN2, v.[Error]) > 0)
    ORDER BY v.[EnqueuedAt];

    RETURN 0;
END;
GO