{#- The one place where the values of a filter are compared with an item's own. -#}
{%- if searchable %}
{%- set name = queue ~ "_Has_fn" %}
{%- set plain = searchable | rejectattr("is_json") | list %}
{%- set documents = searchable | selectattr("may_hold_json") | list %}
{% filter made("FUNCTION", name) %}
/*
A row where an item has the values that a filter looks for. @Columns is an object of columns, each compared in its type; @Members an array
of members of the JSON that a column holds (column, path: one to three names; value), compared as they are written: other text does not fit.
NULL looks for nothing. The values behind are the item's. Called by Find_{{ queue }} and Purge_{{ queue }}_trx. Nobody is granted it.
*/
{{ create_or_alter }} FUNCTION {{ object(name) }} (
    @Columns nvarchar(max), @Members nvarchar(max),
{%- for c in searchable %}
    @Value{{ loop.index }} {{ c.json_type }}{{ "," if not loop.last }}
{%- endfor %}
)
RETURNS TABLE
AS
RETURN
SELECT 1 AS [Has]
WHERE
{%- if plain %}
    (
        @Columns IS NULL
        OR EXISTS (
            SELECT 1
            FROM OPENJSON(@Columns) WITH (
{%- set some = namespace(after=false) %}
{%- for c in searchable %}{% if not c.is_json %}{{ "," if some.after }}
                [Value{{ loop.index }}] {{ c.json_type }} '$."{{ c.name }}"'{% set some.after = true %}
{%- endif %}{% endfor %}
            ) AS w
            WHERE
                /* As many fit as are given: one that is not read under its name must not count as none. */
                (SELECT COUNT(*) FROM OPENJSON(@Columns)) = 0
{%- for c in searchable %}{% if not c.is_json %}
{%- set value = "[Value" ~ loop.index ~ "]" %}
                    + IIF(@Value{{ loop.index }}{% if c.is_text %} + N'.' = w.{{ value }} + N'.' COLLATE Latin1_General_BIN2{% else %} = w.{{ value }}{% endif %}, 1, 0)
{%- endif %}{% endfor %}
        )
    )
{%- else %}
    @Columns IS NULL
{%- endif %}
{%- if documents %}
    AND NOT EXISTS (
        SELECT 1
        FROM OPENJSON(@Members) WITH (
            [Column] nvarchar(4000) '$.column', [First] nvarchar(4000) '$.path[0]', [Second] nvarchar(4000) '$.path[1]',
            [Third] nvarchar(4000) '$.path[2]', [Value] nvarchar(4000) '$.value'
        ) AS m
        CROSS APPLY (
            SELECT
                CASE m.[Column] COLLATE Latin1_General_BIN2
{%- for c in searchable %}{% if c.may_hold_json %}
                    WHEN {{ text(c.name) }} THEN @Value{{ loop.index }}
{%- endif %}{% endfor %}
                END AS [Text]
        ) AS d
        WHERE NOT EXISTS (
            /* A path that is not a literal takes SQL Server 2017; and what is no JSON must not be opened. */
            SELECT 1
            FROM OPENJSON(CASE WHEN ISJSON(d.[Text]) = 1 THEN d.[Text] END) AS a
            OUTER APPLY OPENJSON(CASE WHEN m.[Second] IS NOT NULL AND a.[type] IN (4, 5) THEN a.[value] END) AS b
            OUTER APPLY OPENJSON(CASE WHEN m.[Third] IS NOT NULL AND b.[type] IN (4, 5) THEN b.[value] END) AS c
            CROSS APPLY (
                SELECT
                    CASE WHEN m.[Third] IS NOT NULL THEN c.[type] WHEN m.[Second] IS NOT NULL THEN b.[type] ELSE a.[type] END AS [Type],
                    CASE WHEN m.[Third] IS NOT NULL THEN c.[value] WHEN m.[Second] IS NOT NULL THEN b.[value] ELSE a.[value] END AS [Is]
            ) AS x
            WHERE
                a.[key] = m.[First] COLLATE Latin1_General_BIN2
                AND (m.[Second] IS NULL OR b.[key] = m.[Second] COLLATE Latin1_General_BIN2)
                AND (m.[Third] IS NULL OR c.[key] = m.[Third] COLLATE Latin1_General_BIN2)
                AND x.[Type] IN (1, 2, 3) AND x.[Is] + N'.' = m.[Value] + N'.' COLLATE Latin1_General_BIN2
        )
    )
{%- endif %};
{% endfilter %}
{%- endif %}
