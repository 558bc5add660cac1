{%- import "macro/item.sql" as m -%}
{%- if beside %}
{% filter made("VIEW", queue ~ "_item_v") %}
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
{%- for what in [
    "has_lease", "type", "enqueued_at", "status", "step", "attempt", "response", "error", "started_at", "finished_at",
    "duration", "due_at", "token", "owner", "lease_until", "died_at"
] %}
    {{ m.of(what) }} AS item_{{ what }}{{ "," if not loop.last }}
{%- endfor %}
{%- for column in shown if column.quoted %},
    {{ column.alias or "q" }}.{{ column.quoted }} AS {{ column.name }}
{%- endfor %}
FROM {{ table }} AS q
LEFT JOIN {{ object(queue ~ "_lease") }} AS s
    ON {% for column in key %}{{ "AND " if not loop.first }}s.key_{{ loop.index }} = q.{{ column.quoted }}{{ " " if not loop.last }}{% endfor %}
{%- for subtype in subtypes %}
LEFT JOIN {{ subtype.table }} AS {{ subtype.alias }}
    ON {% for column in key %}{{ "AND " if not loop.first }}{{ subtype.alias }}.{{ column.quoted }} = q.{{ column.quoted }}{{ " " if not loop.last }}{% endfor %}
{%- endfor %}
CROSS JOIN LATERAL (
    SELECT
        {{ m.status() }} AS status
) AS c
{{- "\nWHERE " ~ m.is_its() if rows }};
{% endfilter %}
{%- endif %}
{%- for who in ["worker", "producer"] if who == "worker" or roles.producer %}
{%- set view = who ~ "_" ~ queue ~ "_v" %}
{% filter made("VIEW", view) %}
/*
{%- if who == "worker" %} All that a worker may see of {{ queue }}. */
{%- else %} The items of {{ queue }} for who puts them in: as the worker view, with NULL for columns that are secret. */
{%- endif %}
CREATE OR REPLACE VIEW {{ object(view) }}
{%- if own_types_only %}
/* Nothing of the caller's own, a function in its WHERE say, is evaluated for rows that are not its to see. */
WITH (security_barrier = TRUE)
{%- endif %} AS
SELECT
{%- for column in shown %}
    {% if column.secret and who == "producer" %}NULL::{{ column.type }}{% elif beside %}v.{{ "item_" ~ column.what if column.what else column.name }}
    {%- elif column.alias %}{{ column.alias }}.{{ column.quoted }}
    {%- elif column.what %}{{ m.of(column.what) }}{% else %}q.{{ column.quoted }}{% endif %} AS {{ column.name }}{{ "," if not loop.last }}
{%- endfor %}
FROM {{ object(queue ~ "_item_v") ~ " AS v" if beside else table ~ " AS q" }}
{%- for subtype in subtypes if not beside %}
LEFT JOIN {{ subtype.table }} AS {{ subtype.alias }}
    ON {% for column in key %}{{ "AND " if not loop.first }}{{ subtype.alias }}.{{ column.quoted }} = q.{{ column.quoted }}{{ " " if not loop.last }}{% endfor %}
{%- endfor %}
{%- if own_types_only %}
WHERE {{ m.type_seen("v.item_type" if beside else "q." ~ role.kind) }}{{ m.and_its() if not beside }}
{%- elif rows and not beside %}
WHERE {{ m.is_its() }}
{%- endif -%}
;
{% endfilter %}
{%- endfor %}
{%- if group %}
{%- if beside %}
{% filter made("VIEW", queue ~ "_open_v") %}
/* The items that are not finished, as far as the order within their groups is concerned. */
CREATE OR REPLACE VIEW {{ object(queue ~ "_open_v") }} AS
SELECT
    q.{{ group }} AS item_group,
{%- for column in group_order %}
    q.{{ column }} AS item_order_{{ loop.index }},
{%- endfor %}
    v.item_status
FROM {{ table }} AS q
LEFT JOIN {{ object(queue ~ "_lease") }} AS s
    ON {% for column in key %}{{ "AND " if not loop.first }}s.key_{{ loop.index }} = q.{{ column.quoted }}{{ " " if not loop.last }}{% endfor %}
CROSS JOIN LATERAL (
    SELECT
        {{ m.status() }} AS item_status
) AS v
WHERE
    {{ m.open("q.") }}
    AND v.item_status IN ('Pending', 'Processing', 'Error', 'Paused');
{% endfilter %}
{%- endif %}
{% filter made("VIEW", queue ~ "_blocked_v") %}
/*
The groups of {{ queue }} that wait: whose next item waits behind one that is in flight, paused, or not due yet. With the
item that they wait for, and how many wait.{{ " Of other types than the caller may see, nothing." if own_types_only }}
*/
CREATE OR REPLACE VIEW {{ object(queue ~ "_blocked_v") }}
{%- if own_types_only %}
WITH (security_barrier = TRUE)
{%- endif %} AS
SELECT
    b.item_group AS {{ group if own else "item_group" }},
    b.item_key AS {{ "enqueued_at" if own else "head_key" }},
    b.item_status AS {{ "status" if own else "head_status" }},
    b.item_due_at AS {{ "scheduled_for" if own else "head_due_at" }},
    b.item_owner AS {{ "lease_owner" if own else "head_owner" }},
    b.items - 1 AS waiting
FROM (
    SELECT
        v.item_group,
        {{ m.key_text("v.item_key_") }} AS item_key,
        v.item_status, v.item_due_at, v.item_owner,
{%- if own_types_only %}
        v.item_type,
{%- endif %}
        COUNT(*) OVER (PARTITION BY v.item_group) AS items,
        ROW_NUMBER() OVER (
            PARTITION BY v.item_group
            ORDER BY v.item_status = 'Processing' DESC{% for column in group_order %}, v.item_order_{{ loop.index }}{% endfor %}
        ) AS place
    FROM (
        SELECT
            q.{{ group }} AS item_group,
{%- for column in group_order %}
            q.{{ column }} AS item_order_{{ loop.index }},
{%- endfor %}
{%- if beside %}
            w.*
        FROM {{ table }} AS q
        INNER JOIN {{ object(queue ~ "_item_v") }} AS w
            ON {% for column in key %}{{ "AND " if not loop.first }}w.item_key_{{ loop.index }} = q.{{ column.quoted }}{{ " " if not loop.last }}{% endfor %}
{%- else %}
{%- for column in key %}
            q.{{ column.quoted }} AS item_key_{{ loop.index }},
{%- endfor %}
            {{ m.of("status") }} AS item_status,
            {{ m.of("due_at") }} AS item_due_at,
            {{ m.of("owner") }} AS item_owner{{ ",\n            " ~ m.of("type") ~ " AS item_type" if own_types_only }}
        FROM {{ table }} AS q
{%- endif %}
        WHERE {{ m.open("q.") }}
    ) AS v
    WHERE v.item_group IS NOT NULL AND v.item_status IN ('Pending', 'Processing', 'Error', 'Paused')
) AS b
WHERE b.place = 1 AND b.items > 1 AND (b.item_status IN ('Processing', 'Paused') OR b.item_due_at > clock_timestamp())
{%- if own_types_only %}
    AND {{ m.type_seen("b.item_type") }}
{%- endif -%}
;
{% endfilter %}
{%- endif %}
