{% import "macro/item.sql" as item -%}
{%- set offset = "DATEPART(TZOFFSET, SYSDATETIMEOFFSET())" -%}
{%- for who in ["Worker", "Producer"] if who == "Worker" or roles.producer %}
{%- set view = who ~ "_" ~ queue ~ "_V" %}
{% filter made("VIEW", view) %}
/*
{%- if who == "Worker" %} All that a worker may see of {{ queue }}: its columns, and where each item is. Times of the item are UTC. */
{%- else %} What became of what was put into {{ queue }}: as the worker view, with NULL for columns that are secret. */
{%- endif %}
{{ create_or_alter }} VIEW {{ object(view) }}
AS
SELECT
{{- item.columns(t, offset, for_workers=(who == "Worker")) | trim(",") }}
FROM {{ table }} AS q
{{- item.beside(t) }}
{{- item.subtypes(t) }}
{%- if own_types_only %}
WHERE
{% filter indent(4, true) %}{% include "part/type_access.sql" %}{% endfilter %}{{ item.its(t, "\n    AND ") }}
{%- else %}
{{- item.its(t, "\nWHERE ") }}
{%- endif -%}
;
{% endfilter %}
{%- endfor %}
{%- if group %}
{%- if own %}
{% filter made("VIEW", queue ~ "_Blocked_V") %}
/*
The groups of {{ queue }} that wait: whose next item waits behind one that is in flight, paused, or not due yet. With the
item that they wait for, and how many wait.{{ " Of other types than the caller may see, nothing." if own_types_only }}
*/
{{ create_or_alter }} VIEW {{ object(queue ~ "_Blocked_V") }}
AS
SELECT
    q.{{ group }},
    q.[EnqueuedAt], q.[Status], q.[ScheduledFor], q.[LeaseOwner], g.[Items] - 1 AS [Waiting]
FROM (
    SELECT
        u.{{ group }},
        COUNT(*) AS [Items],
        COALESCE(
            MIN(CASE WHEN u.[Status] = 'Processing' THEN u.[EnqueuedAt] END), MIN(u.[EnqueuedAt])
        ) AS [EnqueuedAt]
    FROM {{ table }} AS u
    WHERE
        u.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
        AND u.{{ group }} IS NOT NULL
    GROUP BY u.{{ group }}
) AS g
INNER JOIN {{ table }} AS q
    ON q.[EnqueuedAt] = g.[EnqueuedAt]
WHERE g.[Items] > 1 AND (q.[Status] IN ('Processing', 'Paused') OR q.[ScheduledFor] > SYSUTCDATETIME())
{%- if own_types_only %}
    AND {% filter indent(4) %}{% include "part/type_access.sql" %}{% endfilter %}
{%- endif -%}
;
{% endfilter %}
{%- else %}
{% filter made("VIEW", queue ~ "_Blocked_V") %}
/* Groups whose first unfinished item keeps others waiting: which item it is, where it stands, how many wait. */
{{ create_or_alter }} VIEW {{ object(queue ~ "_Blocked_V") }}
AS
SELECT b.[ItemGroup], b.[HeadKey], b.[HeadStatus], b.[Items] - 1 AS [Waiting]
FROM (
    SELECT v.[ItemGroup], v.[ItemKey] AS [HeadKey], v.[ItemStatus] AS [HeadStatus],
{%- if own_types_only %}
        v.[Seen],
{%- endif %}
        COUNT_BIG(*) OVER (PARTITION BY v.[ItemGroup]) AS [Items],
        ROW_NUMBER() OVER (
            PARTITION BY v.[ItemGroup]
            ORDER BY {% for c in group_order %}v.[Order{{ loop.index }}]{{ ", " if not loop.last }}{% endfor %}
        ) AS [Place]
    FROM (
        SELECT
            q.{{ group }} AS [ItemGroup],
            {{ item.as_text(t, "q", "quoted") }} AS [ItemKey],
{%- for c in group_order %}
            q.{{ c }} AS [Order{{ loop.index }}],
{%- endfor %}
            {{ item.status(t) }} AS [ItemStatus]{{ "," if own_types_only }}
{%- if own_types_only %}
            CASE WHEN {% filter indent(12) %}{% include "part/type_access.sql" %}{% endfilter %} THEN 1 END AS [Seen]
{%- endif %}
        FROM {{ table }} AS q
{{- item.beside(t) | indent(8) }}
{{- item.its(t, "\n        WHERE ") }}
    ) AS v
    WHERE v.[ItemStatus] IN ('Pending', 'Processing', 'Error', 'Paused')
) AS b
WHERE b.[Place] = 1 AND b.[Items] > 1
{%- if own_types_only %}
    AND b.[Seen] = 1
{%- endif -%}
;
{% endfilter %}
{%- endif %}
{%- endif %}
{% filter made("VIEW", queue ~ "_Setting_V") %}
/* The limits in force, in one row. With none or fewer, all that waits would be Failed at once: such a value does not count. */
{{ create_or_alter }} VIEW {{ object(queue ~ "_Setting_V") }}
AS
SELECT
    COALESCE(NULLIF(MAX(CASE WHEN a.{{ settings_of.param }} = '{{ setting }}.maxAttempts' THEN a.{{ settings_of.value }} ELSE 0 END), 0), {{ max_attempts }}) AS [MaxAttempts],
    COALESCE(NULLIF(MAX(CASE WHEN a.{{ settings_of.param }} = '{{ setting }}.leaseMs' THEN a.{{ settings_of.value }} ELSE 0 END), 0), {{ lease_ms }}) AS [LeaseMs]
{%- if role.error and not own %},
    COALESCE(
        (SELECT MAX(c.[ValInt]) FROM {{ object("AppSettings") }} AS c WHERE c.[Param] = '{{ setting }}.errorChars' AND c.[ValInt] > 0),
        2147483647
    ) AS [ErrorChars]
{%- endif %}
FROM {{ settings_of.table }} AS a
WHERE
    a.{{ settings_of.param }} IN ('{{ setting }}.maxAttempts', '{{ setting }}.leaseMs')
    AND a.{{ settings_of.value }} > 0;
{% endfilter %}
