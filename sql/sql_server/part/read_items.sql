    INSERT INTO @_Item (
        [Ordinal], [Key],
        {{ item.names(t) }},
{%- if not redrive %}
        [Attempt], [Status], [Step], [Response], [Error], [DueAt], [Release], [Set],
{%- endif %}
        [Token]
    )
    SELECT
        CAST(j.[key] AS int),
        {{ "JSON_QUERY(j.[value], '$.key')" if composite else "r." ~ t.key[0].var }},
{{- item.reads(t, "r") }}
{%- if not redrive %}
        r.[Attempt], r.[Status], r.[Step], r.[Response], r.[Error],
        COALESCE(
            r.[DueAt], DATEADD(MILLISECOND, r.[DelayMs] % 1000, DATEADD(SECOND, r.[DelayMs] / 1000, SYSUTCDATETIME()))
        ),
        r.[Release], r.[Set],
{%- endif %}
        r.[Token]
    FROM (SELECT TOP (@_Limit) k.[key], k.[value] FROM OPENJSON(@Items) AS k) AS j
    CROSS APPLY OPENJSON(j.[value]) WITH (
{{- item.asked(t) }}
{%- if not redrive %}
        [Attempt] int '$.attempt', [Status] varchar(20) '$.status', [Step] nvarchar(max) '$.step',
        [Response] nvarchar(max) '$.response', [Error] nvarchar(max) '$.error', [DueAt] datetime2(7) '$.due',
        [DelayMs] bigint '$.delay_ms', [Release] bit '$.release', [Set] nvarchar(max) '$.set' AS JSON,
{%- endif %}
        [Token] datetime2(7) '$.token'
    ) AS r
    OPTION (LOOP JOIN, FORCE ORDER, OPTIMIZE FOR (@_Limit = 1));
