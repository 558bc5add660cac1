{%- if dedup -%}
{{ "    " }}SELECT
        CASE WHEN s.[Ordinal] IS NULL THEN 'OK' ELSE 'DUPLICATE' END AS [Answer],
        n.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        CASE WHEN s.[Ordinal] IS NULL THEN n.[EnqueuedAt]{{ " ELSE s.[EnqueuedAt]" if dedup.existing }} END AS [Key],
        CASE WHEN s.[Ordinal] IS NULL THEN @Now END AS [Token],
        CASE WHEN s.[Ordinal] IS NULL THEN 0 END AS [AttemptNum],
        CASE WHEN s.[Ordinal] IS NULL THEN 'Pending' END AS [Status]
    FROM @New AS n
    LEFT JOIN @Seen AS s
        ON s.[Ordinal] = n.[Ordinal]
    ORDER BY n.[Ordinal];
{%- else -%}
{{ "    " }}SELECT
        'OK' AS [Answer],
        n.[Ordinal],
        CAST(NULL AS bigint) AS [DueMs],
        n.[EnqueuedAt] AS [Key],
        @Now AS [Token],
        0 AS [AttemptNum],
        'Pending' AS [Status]
    FROM @New AS n
    ORDER BY n.[Ordinal];
{%- endif -%}
