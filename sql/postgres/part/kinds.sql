{#- In which turns the kinds that are asked for are taken; `due_is` says what is due. #}
    wanted AS MATERIALIZED (
        SELECT w.*
        FROM {{ m.kinds_unnested() }} WITH ORDINALITY AS w ({{ m.kind_columns() }}, kind)
    ),
    /* How many of each kind come first in the order of all. */
    shares AS MATERIALIZED (
        SELECT h.kind, MIN(h.place) AS turn, COUNT(*) AS most
        FROM (
            SELECT
                w.kind,
                ROW_NUMBER() OVER (ORDER BY {{ m.by_place("h.by_") }}) AS place
            FROM wanted AS w
            CROSS JOIN LATERAL (
                SELECT
{%- for column in due_columns %}
                    {% if column.quoted == role.due %}{{ m.due() }}{% else %}q.{{ column.quoted }}{% endif %} AS by_{{ loop.index }}{{ "," if not loop.last }}
{%- endfor %}
                FROM {{ table }} AS q
                WHERE
{%- include "part/kind_where.sql" %}
                LIMIT max_
            ) AS h
            /* One kind alone has nothing to compare with. */
            WHERE kinds_ > 1
            ORDER BY place
            LIMIT max_
        ) AS h
        GROUP BY h.kind
    ),
    /* So many of each kind. Should others hold some of them, what comes next in each makes up for it. */
    turns AS MATERIALIZED (
        SELECT w.*, t.past, t.most
        FROM (
            SELECT 1 AS round, s.turn, s.kind, 0::bigint AS past, s.most
            FROM shares AS s
            UNION ALL
            SELECT 2, w.kind, w.kind, COALESCE(s.most, 0), max_
            FROM wanted AS w
            LEFT JOIN shares AS s ON s.kind = w.kind
            WHERE kinds_ = 1 OR max_ = (SELECT SUM(a.most) FROM shares AS a)
        ) AS t
        INNER JOIN wanted AS w ON w.kind = t.kind
        ORDER BY t.round, t.turn
    ),

