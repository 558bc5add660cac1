{#- One statement: the table has it all. #}
    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT
{%- for column in key %}
            q.{{ column.quoted }} AS key_{{ loop.index }},
{%- endfor %}
{%- for column in seek %}
            q.{{ column.quoted }} AS item_seek_{{ loop.index }},
{%- endfor %}
{%- for what in (["token", "attempt", "died_at"] if own else m.everything) %}
            {{ m.of(what) if not (own and what == "died_at") else "q." ~ role.lease_until }} AS item_{{ what }}{{ "," if not loop.last }}
{%- endfor %}
        FROM {{ table }} AS q
        WHERE
{%- if own and own_types_only %}
            q.{{ role.kind }} = own_type_
            AND {{ m.waiting() }}
{%- else %}
            {{ m.waiting() }}
{%- endif %}
{%- if own_types_only and not own %}
            AND {{ m.type_seen("q." ~ role.kind ~ "::text") }}
{%- endif %}
            AND {{ m.due() }} <= now_
{%- if group %}
{% include "part/group_free.sql" %}
{%- endif %}
{%- include "part/order.sql" %}
        LIMIT max_{{ " - claimed_" if own and own_types_only }}
        FOR NO KEY UPDATE SKIP LOCKED
    ),

{% include "part/taken.sql" %}
{%- set sets = ["attempts", "started", "error", "owner", "lease_until"] %}{% set clears = [] %}{% set leaves = false %}
{%- set gives = ["position", "alone"] %}{% set returns_row = true %}{% set taken = true %}
{%- include "part/write.sql" %}

    SELECT
        CASE WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        NULL::integer,
        NULL::bigint,
        {{ m.columns() if own else m.key_text("q.key_", "_") }},
        {{ m.of("token") }},
        {{ m.of("attempt") }},
        q.status_,
{{- m.item_of_row() }}
    FROM changed AS q
{{- m.subtypes_joined() }}
    WHERE q.status_ = 'Processing'
    ORDER BY q.position_
