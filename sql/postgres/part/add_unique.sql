{% include "part/add_stamped.sql" %}

    SELECT json_agg(
        json_build_object(
            'key', i.key,
            'duplicate', {% if dedup %}(i.key IN (SELECT b.enqueued_at FROM added AS b)) IS NOT TRUE{% else %}FALSE{% endif %}{% if dedup and dedup.existing %},
            'columns', i.columns{% endif %}
        )
        ORDER BY i.ordinal
    )
    INTO result_
    FROM item AS i;
{%- if dedup and dedup.existing %}

    /* A statement of its own: it sees what the insertion met. What is finished since then has no key to tell. */
    SELECT json_agg(
        json_build_object('key', CASE WHEN r.duplicate THEN q.enqueued_at ELSE r.key END, 'duplicate', r.duplicate)
        ORDER BY r.position
    )
    INTO result_
    FROM
        ROWS FROM (json_to_recordset(result_) AS (key timestamptz, duplicate boolean, columns json))
        WITH ORDINALITY AS r (key, duplicate, columns, position)
    CROSS JOIN LATERAL json_to_record(COALESCE(r.columns, '{}')) AS c (
{%- for column in work %}
        {{ column.quoted }} {{ of.read_as(column) }}{{ "," if not loop.last }}
{%- endfor %}
    )
    LEFT JOIN LATERAL (
        SELECT p.enqueued_at
        FROM {{ object(queue) }} AS p
        WHERE r.duplicate
{%- for column in work %}
{%- set work = of.given(column, "r.columns", "c." ~ column.quoted) %}
            AND p.{{ column.quoted }} BETWEEN {{ work }} AND {{ work }}
{%- endfor %}
{%- if dedup.unfinished_only %}
            AND p.status IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
        /* There is one at most; LIMIT has each sought by the index. */
        LIMIT 1
    ) AS q ON TRUE;
{%- endif %}
