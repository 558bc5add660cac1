/* All that a worker may see of {{ queue }}. */
CREATE OR ALTER VIEW {{ object("Worker_" ~ queue ~ "_V") }}
AS
SELECT
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
    q.[LeaseUntil]{% for column in columns %},
    q.{{ column.quoted }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
    {{ subtype.alias }}.{{ column.quoted }} AS {{ column.shown }}{% endfor %}{% endfor %}
FROM {{ object(queue) }} AS q
{%- for subtype in subtypes %}
LEFT JOIN {{ object(queue ~ "_" ~ subtype.stem) }} AS {{ subtype.alias }}
    ON {{ subtype.alias }}.[EnqueuedAt] = q.[EnqueuedAt]
{%- endfor %}
{%- if own_types_only %}
{%- set own = "q" %}
WHERE {% include "relational/_own_type.sql" %}
{%- endif -%}
;
GO
{%- if group %}
/*
The groups of {{ queue }} that wait: whose next item waits behind one that is in flight, paused, or not due yet. With the
item that they wait for, and how many wait.
*/
CREATE OR ALTER VIEW {{ object(queue ~ "_Blocked_V") }}
AS
SELECT
    q.{{ group }},
    q.[EnqueuedAt],
    q.[Status],
    q.[ScheduledFor],
    q.[LeaseOwner],
    g.[Items] - 1 AS [Waiting]
FROM (
    SELECT
        u.{{ group }},
        COUNT(*) AS [Items],
        COALESCE(
            MIN(CASE WHEN u.[Status] = 'Processing' THEN u.[EnqueuedAt] END), MIN(u.[EnqueuedAt])
        ) AS [EnqueuedAt]
    FROM {{ object(queue) }} AS u
    WHERE
        u.[Status] IN ('Pending', 'Processing', 'Error', 'Paused')
        AND u.{{ group }} IS NOT NULL
    GROUP BY u.{{ group }}
) AS g
INNER JOIN {{ object(queue) }} AS q
    ON q.[EnqueuedAt] = g.[EnqueuedAt]
WHERE
    g.[Items] > 1
    AND (q.[Status] IN ('Processing', 'Paused') OR q.[ScheduledFor] > SYSUTCDATETIME());
GO
{%- endif %}
