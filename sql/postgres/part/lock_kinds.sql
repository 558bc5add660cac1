{#- As part/lock_due, of the kinds that are asked for. #}
    WITH
{% include "part/kinds.sql" %}
    due AS MATERIALIZED (
        SELECT {{ m.list("f.key_") }}
        FROM (
            SELECT f.*
            FROM turns AS w
            CROSS JOIN LATERAL (
                SELECT
{%- for column in due_columns %}
                    {% if column.quoted == role.due %}{{ m.due() }}{% else %}q.{{ column.quoted }}{% endif %} AS by_{{ loop.index }},
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
        ORDER BY {{ m.by_place("f.by_") }}
    )
    SELECT {% for column in key %}ARRAY_AGG(d.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ keys }}
    FROM due AS d;
