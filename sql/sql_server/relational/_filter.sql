    DECLARE @Keys nvarchar(max);
    DECLARE @Statuses nvarchar(max);
    DECLARE @Types nvarchar(max);
    DECLARE @Before datetime2(7);
    DECLARE @Since datetime2(7);
    DECLARE @Error nvarchar(4000);
    DECLARE @Key TABLE ([EnqueuedAt] datetime2(7) NOT NULL PRIMARY KEY);
    DECLARE @Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);

{% include "relational/_filter_members.sql" %}

    SET @Keys = JSON_QUERY(@Filter, '$.keys');
    SET @Statuses = JSON_QUERY(@Filter, '$.status');
    SET @Types = JSON_QUERY(@Filter, '$.types');
    SET @Error = JSON_VALUE(@Filter, '$.error');
    SET @Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));

    IF
        (@Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'{{ procedure }}: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF EXISTS (SELECT 1 FROM OPENJSON(@Keys) AS k WHERE TRY_CONVERT(datetime2(7), k.[value]) IS NULL)
        THROW 50021, N'{{ procedure }}: one of the keys is not a key of {{ queue }}.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueStatus") }} AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'{{ procedure }}: status names one that there is not.', 1;

    INSERT INTO @Key ([EnqueuedAt])
    SELECT DISTINCT CAST(k.[value] AS datetime2(7)) FROM OPENJSON(@Keys) AS k;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 keys a call.', 1;

    INSERT INTO @Wanted ([Status])
    SELECT s.[Status]
    FROM {{ object("QueueStatus") }} AS s
    WHERE @Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@Statuses) AS j);
