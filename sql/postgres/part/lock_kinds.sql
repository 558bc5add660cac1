{#- As part/lock_all_due, of the kinds that are asked for, or of the keys of a limit that have room. #}
{%- set due_is = m.is_due() if role.due %}
    WITH
{%- if search %}
{% include "part/kinds.sql" %}
{%- else %}
{% include "part/limit_turns.sql" %}
{%- endif %}
    {{ "sought" if tried else "due" }} AS MATERIALIZED (
        SELECT f.*
        FROM (
            SELECT f.*
            FROM turns AS w
            CROSS JOIN LATERAL (
                SELECT
{%- for column in due_columns %}
                    {% if column.quoted == role.due %}{{ m.due() }}{% else %}q.{{ column.quoted }}{% endif %} AS item_by_{{ loop.index }},
{%- endfor %}
{%- for l in tried %}
                    {{ m.limit_key(l) }} AS limit_key_{{ l.nth }},{{ " q." ~ l.weight.quoted ~ " AS weight_" ~ l.nth ~ "," if l.weight }}
{%- endfor %}
                    {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
                FROM {{ table }} AS q
                WHERE
{%- include "part/kind_where.sql" %}
                LIMIT w.most OFFSET w.past
                FOR NO KEY UPDATE OF q SKIP LOCKED
            ) AS f
            LIMIT max_
        ) AS f
        ORDER BY {{ m.by_place("f.item_by_") }}
    )
{%- if tried %},
    due AS MATERIALIZED (
{%- include "part/limit_filtered.sql" %}
    )
{%- endif %}
    SELECT {% for column in key %}ARRAY_AGG(d.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ keys }}
    FROM due AS d;
