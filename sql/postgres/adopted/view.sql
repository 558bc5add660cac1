{%- set instant = "" if local_time else object("queue_utc_fn") -%}
/*
{{ queue }} as readpast sees it: each item's state, from the columns of its table where it has them, and
from {{ queue }}_lease for the rest. Where the two disagree, because somebody changed a row by hand,
the table is right.
*/
CREATE OR REPLACE VIEW {{ object(queue ~ "_item_v") }} AS
SELECT
{%- for column in key %}
    q.{{ column.quoted }} AS item_key_{{ loop.index }},
{%- endfor %}
{%- for column in seek %}
    q.{{ column.quoted }} AS item_seek_{{ loop.index }},
{%- endfor %}
    s.key_1 IS NOT NULL AS item_has_lease,
    {% if role.kind %}q.{{ role.kind }}::text{% else %}{{ text(types[0]) }}::text{% endif %} AS item_type,
    {% if role.enqueued %}{{ instant }}(q.{{ role.enqueued }})::timestamptz{% else %}NULL::timestamptz{% endif %} AS item_enqueued_at,
    c.status AS item_status,
    {% if role.step %}q.{{ role.step }}::text{% else %}s.step{% endif %} AS item_step,
{%- if role.attempts %}
    COALESCE(q.{{ role.attempts }}, 0)::integer AS item_attempt,
{%- else %}
    /* Who makes a finished item pending by hand gives it all its attempts. */
    CASE
        WHEN c.status = 'Pending' AND {{ object("queue_is_finished_fn") }}(s.status) THEN 0
        ELSE COALESCE(s.attempt_num, 0)
    END AS item_attempt,
{%- endif %}
    {% if role.response %}q.{{ role.response }}::text{% else %}s.response{% endif %} AS item_response,
    {% if role.error %}COALESCE(NULLIF(q.{{ role.error }}::text, ''), s.error){% else %}s.error{% endif %} AS item_error,
    {% if role.started and not run_time %}{{ instant }}(q.{{ role.started }})::timestamptz{% else %}s.started_at{% endif %} AS item_started_at,
{%- if role.finished %}
    CASE WHEN {{ object("queue_is_finished_fn") }}(c.status) THEN {{ instant }}(q.{{ role.finished }})::timestamptz END AS item_finished_at,
{%- else %}
    s.finished_at AS item_finished_at,
{%- endif %}
{%- if role.duration %}
    q.{{ role.duration }}::bigint AS item_duration,
{%- elif role.started and role.finished and not run_time %}
    CASE
        WHEN {{ object("queue_is_finished_fn") }}(c.status)
            THEN (
                EXTRACT(
                    EPOCH FROM {{ instant }}(q.{{ role.finished }})::timestamptz - {{ instant }}(q.{{ role.started }})::timestamptz
                ) * 1000
            )::bigint
    END AS item_duration,
{%- else %}
    s.duration AS item_duration,
{%- endif %}
    {% if role.due %}{{ instant }}(q.{{ role.due }})::timestamptz{% else %}s.due_at{% endif %} AS item_due_at,
    {% if role.token %}{{ instant }}(q.{{ role.token }})::timestamptz{% else %}s.updated_at{% endif %} AS item_token,
    {% if role.owner %}q.{{ role.owner }}::text{% else %}s.lease_owner{% endif %} AS item_owner,
    CASE
        WHEN c.status = 'Processing'
            THEN COALESCE(
{%- if role.lease_until %}
                {{ instant }}(q.{{ role.lease_until }})::timestamptz,
{%- else %}
                CASE WHEN s.status = 'Processing'{% if role.owner %} AND s.lease_owner = q.{{ role.owner }}::text{% endif %} THEN s.lease_until END,
{%- endif %}
{%- if role.started and not run_time %}
                /* Taken by somebody else: for as long as one of ours may hold it. */
                {{ instant }}(q.{{ role.started }})::timestamptz + interval '1 millisecond' * COALESCE(
                    (
                        SELECT a.val_int
                        FROM {{ object("app_settings") }} AS a
                        WHERE a.param = {{ text(setting ~ ".leaseMs") }}
                    ),
                    {{ lease_ms }}
                )
{%- else %}
                NULL
{%- endif %}
            )
    END AS item_lease_until,
    /*
    A lease that is over, on an item that waits: it came back from a dead worker. Only the row beside the table says so,
    which nobody else reads.
    */
    CASE
        WHEN c.status IN ('Pending', 'Error') AND s.status IN ('Pending', 'Error') THEN s.lease_until
    END AS item_died_at
{%- for column in columns %},
    q.{{ column.quoted }} AS {{ column.shown }}
{%- endfor %}
{%- for column in own_keys %},
    q.{{ column.quoted }} AS {{ column.shown }}
{%- endfor %}
FROM {{ table }} AS q
LEFT JOIN {{ object(queue ~ "_lease") }} AS s
    ON
{%- for column in key %} {{ "AND " if not loop.first }}s.key_{{ loop.index }} = q.{{ column.quoted }}{% endfor %}
CROSS JOIN LATERAL (
    SELECT
{% include "adopted/_status.sql" %} AS status
) AS c;
GO
/* All that a worker may see of {{ queue }}. */
CREATE OR REPLACE VIEW {{ object("worker_" ~ queue ~ "_v") }}
{%- if own_types_only %}
/* Nothing of the caller's own, a function in its WHERE say, is evaluated for rows that are not its to see. */
WITH (security_barrier = TRUE)
{%- endif %} AS
SELECT
{%- for column in columns %}
    v.{{ column.shown }},
{%- endfor %}
{%- for column in own_keys %}
    v.{{ column.shown }},
{%- endfor %}
{%- if role.kind %}
    v.item_type,
{%- endif %}
    v.item_status,
    v.item_step,
    v.item_attempt,
    v.item_response,
    v.item_error,
    v.item_started_at,
    v.item_duration,
    v.item_due_at,
    v.item_token,
    v.item_owner,
    v.item_lease_until
FROM {{ object(queue ~ "_item_v") }} AS v
{%- if own_types_only %}
WHERE
    {% set kind = "v.item_type" %}{% include "adopted/_type_access.sql" %}
{%- endif %};
GO
{%- if group %}
/* The items that are not finished, as far as the order within their groups is concerned. */
CREATE OR REPLACE VIEW {{ object(queue ~ "_open_v") }} AS
SELECT
    q.{{ group }} AS item_group,
{%- for column in group_order %}
    q.{{ column }} AS item_order_{{ loop.index }},
{%- endfor %}
    o.item_key,
    o.item_status
FROM {{ table }} AS q
LEFT JOIN {{ object(queue ~ "_lease") }} AS s
    ON
{%- for column in key %} {{ "AND " if not loop.first }}s.key_{{ loop.index }} = q.{{ column.quoted }}{% endfor %}
CROSS JOIN LATERAL (
    SELECT
        {% set of = "k.key_" %}{% include "adopted/_key_text.sql" %} AS item_key,
{% include "adopted/_status.sql" %} AS item_status
    FROM (
        SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
    ) AS k
) AS o
WHERE
{% include "adopted/_open.sql" %}
    AND o.item_status IN ('Pending', 'Processing', 'Error', 'Paused');
GO
/* Groups whose first unfinished item keeps others waiting: which item it is, where it stands, how many wait. */
CREATE OR REPLACE VIEW {{ object(queue ~ "_blocked_v") }} AS
SELECT
    b.item_group,
    b.item_key AS head_key,
    b.item_status AS head_status,
    b.items - 1 AS waiting
FROM (
    SELECT
        o.item_group,
        o.item_key,
        o.item_status,
        COUNT(*) OVER (PARTITION BY o.item_group) AS items,
        ROW_NUMBER() OVER (
            PARTITION BY o.item_group
            ORDER BY {% for column in group_order %}o.item_order_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
        ) AS place
    FROM {{ object(queue ~ "_open_v") }} AS o
    WHERE o.item_group IS NOT NULL
) AS b
WHERE
    b.place = 1
    AND b.items > 1;
GO
{%- endif %}
