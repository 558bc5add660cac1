    INSERT INTO @_Item (
        [Ordinal], [Key], {{ item.names(t) }}, [Token], [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release]
        {{- ", [Set]" if not redrive }}
    )
    SELECT
        CAST(j.[key] AS int),
        {{ "JSON_QUERY(j.[value], '$.key')" if composite else "r." ~ t.key[0].var }},
{{- item.reads(t, "r") }}
        r.[Token],
        r.[Attempt],
        r.[Status],
        r.[Step],
        r.[Response],
        r.[Error],
        COALESCE(
            r.[DueAt],
            DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, SYSUTCDATETIME()))
        ),
        r.[Release]{{ ",\n        r.[Set]" if not redrive }}
    FROM OPENJSON(@Items) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{{- item.asked(t) }}
        [Token] datetime2(7) '$.token',
        [Attempt] int '$.attempt',
        [Status] varchar(20) '$.status',
        [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response',
        [Error] nvarchar(max) '$.error',
        [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms',
        [Release] bit '$.release'{{ ",\n        [Set] nvarchar(max) '$.set' AS JSON" if not redrive }}
    ) AS r;
