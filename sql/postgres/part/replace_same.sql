    /*
    The same work that waits gets the values and the due time of the new item, before anything is put in: rows are locked in the
    order of their keys first, works in theirs after it. What is in work, or has ended, stays as it is.
    */
    WITH item AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            COALESCE({{ m.finite("i.due") }}, now_ + i.delay_ms * interval '1 millisecond') AS due_at,
            COALESCE(i.type, {{ text(types[0]) }}) AS type,
            {% if steps %}COALESCE(i.step, {{ text(steps[0]) }}) AS step{% else %}i.step{% endif %},
            i.columns
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (type text, step text, due timestamptz, delay_ms bigint, columns json)
            ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, position)
    ),
    sought AS MATERIALIZED (
        SELECT DISTINCT ON (q.key_1) q.key_1, i.*
        FROM item AS i
        CROSS JOIN LATERAL json_to_record(COALESCE(i.columns, '{}')) AS c (
{%- for column in work %}{{ column.quoted }} {{ of.read_as(column) }}{{ ", " if not loop.last }}{% endfor -%}
        )
        CROSS JOIN LATERAL (
            SELECT p.enqueued_at AS key_1
            FROM {{ table }} AS p
            WHERE
{%- for column in work %}
{%- set value = of.given(column, "i.columns", "c." ~ column.quoted) %}
                {{ "AND " if not loop.first }}p.{{ column.quoted }} BETWEEN {{ value }} AND {{ value }}
{%- endfor %}
{%- if dedup.unfinished_only %}
                AND p.status IN ('Pending', 'Processing', 'Error', 'Paused')
{%- endif %}
            /* There is one at most; LIMIT has each sought by the index. */
            LIMIT 1
        ) AS q
        ORDER BY q.key_1, i.ordinal
    ),
    held AS MATERIALIZED (
        SELECT s.*, v.*, {{ m.later("v.item_token") }} AS token
        FROM sought AS s
        CROSS JOIN LATERAL (
            SELECT q.scheduled_for AS item_due_at, q.updated_at AS item_token
            FROM {{ table }} AS q
            WHERE q.enqueued_at = s.key_1 AND q.status IN ('Pending', 'Error', 'Paused')
            FOR NO KEY UPDATE
        ) AS v
    ),
    changed AS (
        UPDATE {{ table }} AS q
        SET
            type = h.type, step = h.step, updated_at = h.token,
            {% if dedup.later %}scheduled_for = GREATEST(h.item_due_at, h.due_at)
            {%- else %}scheduled_for = COALESCE(h.due_at, LEAST(h.item_due_at, now_)){% endif %}
{%- for column in columns if column.quoted not in dedup.columns %},
            {{ column.quoted }} = {{ of.given(column, "h.columns", "c." ~ column.quoted) }}
{%- endfor %}
        FROM held AS h
        CROSS JOIN LATERAL json_to_record(COALESCE(h.columns, '{}')) AS c (
{%- for column in columns %}
            {{ column.quoted }} {{ of.read_as(column) }}{{ "," if not loop.last }}
{%- endfor %}
        )
        WHERE q.enqueued_at BETWEEN h.key_1 AND h.key_1
        RETURNING q.enqueued_at, q.updated_at
    )
    SELECT
        COALESCE(json_agg(json_build_object('ordinal', s.ordinal, 'key', s.key_1, 'token', c.updated_at) ORDER BY s.key_1), '[]')
    INTO same_
    FROM sought AS s
    LEFT JOIN changed AS c
        ON c.enqueued_at = s.key_1;
