    DECLARE @_Keys nvarchar(max);
    DECLARE @_Statuses nvarchar(max);
    DECLARE @_Types nvarchar(max);
    DECLARE @_Before datetime2(7);
    DECLARE @_Since datetime2(7);
    DECLARE @_Error nvarchar(4000);
    DECLARE @_Longer bigint;
    DECLARE @_Key TABLE (
{{- item.declared(t) }}
        PRIMARY KEY CLUSTERED ({{ item.names(t) }})
    );
    DECLARE @_Given TABLE (
        [Ordinal] int NOT NULL PRIMARY KEY,
{{- item.declared(t, "NULL") | trim(",") }}
    );
    DECLARE @_Wanted TABLE ([Status] varchar(20) NOT NULL PRIMARY KEY);
    DECLARE @_WantedType TABLE ([Ordinal] int NOT NULL PRIMARY KEY, [Type] nvarchar(4000) NOT NULL);

{% include "part/filter_members.sql" %}

    SET @_Keys = JSON_QUERY(@Filter, '$.keys');
    SET @_Statuses = JSON_QUERY(@Filter, '$.status');
    SET @_Types = JSON_QUERY(@Filter, '$.types');
    SET @_Error = JSON_VALUE(@Filter, '$.error');
    SET @_Before = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.before'));
    SET @_Since = TRY_CONVERT(datetime2(7), JSON_VALUE(@Filter, '$.after'));
    SET @_Longer = TRY_CONVERT(bigint, JSON_VALUE(@Filter, '$.longer_ms'));

    IF @_Longer < 0 OR (@_Longer IS NULL AND JSON_VALUE(@Filter, '$.longer_ms') IS NOT NULL)
        THROW 50021, N'{{ procedure }}: longer_ms is a whole number of milliseconds.', 1;
    IF
        (@_Before IS NULL AND JSON_VALUE(@Filter, '$.before') IS NOT NULL)
        OR (@_Since IS NULL AND JSON_VALUE(@Filter, '$.after') IS NOT NULL)
        THROW 50021, N'{{ procedure }}: before and after are UTC times like 2026-11-21T10:00:00.', 1;
    IF
        EXISTS (
            SELECT 1 FROM OPENJSON(@_Statuses) AS s
            WHERE NOT EXISTS (SELECT 1 FROM {{ object("QueueStatus") }} AS k WHERE k.[Status] = s.[value])
        )
        THROW 50021, N'{{ procedure }}: status names one that there is not.', 1;

    INSERT INTO @_Given ([Ordinal], {{ item.names(t) }})
    SELECT
        CAST(r.[key] AS int),
{{- item.reads_text(t, "r.[value]") | trim(",") }}
    FROM OPENJSON(@_Keys) AS r;

    IF @@ROWCOUNT > 1000
        THROW 50021, N'{{ procedure }}: at most 1000 keys a call.', 1;
    IF EXISTS (SELECT 1 FROM @_Given AS g WHERE {{ item.missing(t, "g") }})
        THROW 50021, N'{{ procedure }}: one of the keys is not a key of {{ queue }}.', 1;

    INSERT INTO @_Key ({{ item.names(t) }})
    SELECT DISTINCT {{ item.list(t, "g") }} FROM @_Given AS g;

    INSERT INTO @_Wanted ([Status])
    SELECT s.[Status]
    FROM {{ object("QueueStatus") }} AS s
    WHERE @_Statuses IS NULL OR s.[Status] IN (SELECT j.[value] FROM OPENJSON(@_Statuses) AS j);

    INSERT INTO @_WantedType ([Ordinal], [Type])
    SELECT CAST(j.[key] AS int), j.[value] FROM OPENJSON(@_Types) AS j WHERE j.[value] IS NOT NULL;
