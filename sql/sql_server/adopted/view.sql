{% import "adopted/_names.sql" as n -%}
{%- set offset = "DATEPART(TZOFFSET, SYSDATETIMEOFFSET())" -%}
/* All that a worker may see of {{ queue }}: its columns, and where each item is. Times of the item are UTC. */
CREATE OR ALTER VIEW {{ object("Worker_" ~ queue ~ "_V") }}
AS
SELECT
{%- include "adopted/_item_columns.sql" %}
FROM {{ table }} AS q
LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
    ON {{ n.same(key, "s", "q") }}
{%- if own_types_only %}
WHERE
{% filter indent(4, true) %}{% include "adopted/_type_access.sql" %}{% endfilter %}
{%- endif -%}
;
GO
{%- if group %}
/* Groups whose first unfinished item keeps others waiting: which item it is, where it stands, how many wait. */
CREATE OR ALTER VIEW {{ object(queue ~ "_Blocked_V") }}
AS
SELECT
    b.[ItemGroup],
    b.[HeadKey],
    b.[HeadStatus],
    b.[Items] - 1 AS [Waiting]
FROM (
    SELECT
        v.[ItemGroup],
        v.[ItemKey] AS [HeadKey],
        v.[ItemStatus] AS [HeadStatus],
        COUNT_BIG(*) OVER (PARTITION BY v.[ItemGroup]) AS [Items],
        ROW_NUMBER() OVER (
            PARTITION BY v.[ItemGroup]
            ORDER BY {% for c in group_order %}v.[Order{{ loop.index }}]{{ ", " if not loop.last }}{% endfor %}
        ) AS [Place]
    FROM (
        SELECT
            q.{{ group }} AS [ItemGroup],
            {{ n.text(key, "q") }} AS [ItemKey],
{%- for c in group_order %}
            q.{{ c }} AS [Order{{ loop.index }}],
{%- endfor %}
{% filter indent(12, true) %}{% include "adopted/_status.sql" %}{% endfilter %} AS [ItemStatus]
        FROM {{ table }} AS q
        LEFT JOIN {{ object(queue ~ "_Lease") }} AS s
            ON {{ n.same(key, "s", "q") }}
    ) AS v
    WHERE v.[ItemStatus] IN ('Pending', 'Processing', 'Error', 'Paused')
) AS b
WHERE
    b.[Place] = 1
    AND b.[Items] > 1;
GO
{%- endif %}
