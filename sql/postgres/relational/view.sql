/* All that a worker may see of {{ queue }}. */
CREATE OR REPLACE VIEW {{ object("worker_" ~ queue ~ "_v") }}
{%- if own_types_only %}
/* Nothing of the caller's own, a function in its WHERE say, is evaluated for rows that are not its to see. */
WITH (security_barrier = TRUE)
{%- endif %} AS
SELECT
    q.enqueued_at,
    q.type::text AS type,
    q.status::text AS status,
    q.step,
    q.attempt_num,
    q.response,
    q.error,
    q.started_at,
    q.duration,
    q.scheduled_for,
    q.updated_at,
    q.lease_owner,
    q.lease_until{% for column in columns %},
    q.{{ column.quoted }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
    {{ subtype.alias }}.{{ column.quoted }} AS {{ column.shown }}{% endfor %}{% endfor %}
FROM {{ object(queue) }} AS q
{%- for subtype in subtypes %}
LEFT JOIN {{ object(queue ~ "_" ~ subtype.stem) }} AS {{ subtype.alias }}
    ON {{ subtype.alias }}.enqueued_at = q.enqueued_at
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
CREATE OR REPLACE VIEW {{ object(queue ~ "_blocked_v") }} AS
SELECT
    q.{{ group }},
    q.enqueued_at,
    q.status::text AS status,
    q.scheduled_for,
    q.lease_owner,
    g.items - 1 AS waiting
FROM (
    SELECT
        u.{{ group }} AS shared,
        COUNT(*) AS items,
        COALESCE(MIN(u.enqueued_at) FILTER (WHERE u.status = 'Processing'), MIN(u.enqueued_at)) AS enqueued_at
    FROM {{ object(queue) }} AS u
    WHERE
        u.status IN ('Pending', 'Processing', 'Error', 'Paused')
        AND u.{{ group }} IS NOT NULL
    GROUP BY u.{{ group }}
) AS g
INNER JOIN {{ object(queue) }} AS q
    ON q.enqueued_at = g.enqueued_at
WHERE
    g.items > 1
    AND (q.status IN ('Processing', 'Paused') OR q.scheduled_for > clock_timestamp());
GO
{%- endif %}
