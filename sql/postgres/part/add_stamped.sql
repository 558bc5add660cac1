    /*
    The key is a time, and two items may be enqueued within one tick of the clock. So the key is the time on a grid of
    10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000 items in
    succession have different keys, and the keys of one call ascend with its numbers.
{%- if group %}
    Numbers begin anew after 10,000. The keys of this moment that are there come first all the same, so that an item of a
    group which is enqueued after another has the later key.
{%- endif %}
    */
    WITH numbered AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            nextval({{ literal(queue ~ "_seq") }}) AS number,
{%- if after %}
            CASE
                /* Until it waits no more. */
                WHEN json_typeof(i.after) = 'array' AND json_array_length(i.after) > 0 THEN {{ m.never() }}
                ELSE COALESCE({{ m.finite("i.due") }}, now_ + i.delay_ms * interval '1 millisecond', now_)
            END AS scheduled_for,
{%- else %}
            COALESCE({{ m.finite("i.due") }}, now_ + i.delay_ms * interval '1 millisecond', now_) AS scheduled_for,
{%- endif %}
            COALESCE(i.type, {{ text(types[0]) }}) AS type,
            {% if steps %}COALESCE(i.step, {{ text(steps[0]) }}) AS step{% else %}i.step{% endif %},
            i.columns
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (type text, step text, due timestamptz, delay_ms bigint, columns json{{ ", after json" if after }})
            ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, {{ "after, " if after }}position)
    ),
    {{ "item" if dedup or after else "keyed" }} AS MATERIALIZED (
        SELECT
            n.ordinal, {{ "f.tick" if group else "date_bin('10 milliseconds', now_, timestamptz 'epoch')" }}
            + (n.number - f.number + f.number % 10000) * interval '1 microsecond' AS key, n.scheduled_for, n.type,
            n.step, n.columns
        FROM numbered AS n
{%- if group %}
        CROSS JOIN (
            SELECT
                m.number,
                CASE
                    WHEN l.key >= l.tick + m.number % 10000 * interval '1 microsecond' THEN l.tick + interval '10 milliseconds'
                    WHEN l.key >= b.tick + m.number % 10000 * interval '1 microsecond' THEN l.tick
                    ELSE b.tick
                END AS tick
            FROM (SELECT MIN(o.number) AS number FROM numbered AS o) AS m
            CROSS JOIN (SELECT date_bin('10 milliseconds', now_, timestamptz 'epoch') AS tick) AS b
            CROSS JOIN LATERAL (
                SELECT MAX(q.enqueued_at) AS key, date_bin('10 milliseconds', MAX(q.enqueued_at), timestamptz 'epoch') AS tick
                FROM {{ object(queue) }} AS q
                WHERE q.enqueued_at >= b.tick
            ) AS l
        ) AS f
{%- else %}
        CROSS JOIN (SELECT MIN(m.number) AS number FROM numbered AS m) AS f
{%- endif %}
    ),
{%- if not dedup and not after %}
    /* Written once, with its answers. Another attempt of the same call that is under way is waited for, before anything is added. */
    remembered AS (
        INSERT INTO {{ object("queue_operation") }} (operation_id, call, at, result)
        SELECT operation_, '{{ procedure }}', now_, json_agg(k.key ORDER BY k.ordinal)
        FROM keyed AS k
        HAVING operation_ IS NOT NULL
        ON CONFLICT (operation_id) DO NOTHING
        RETURNING 1 AS one
    ),
    item AS MATERIALIZED (
        SELECT k.*
        FROM keyed AS k
        WHERE operation_ IS NULL OR EXISTS (SELECT 1 FROM remembered)
    ),
{%- endif %}
    added AS (
        INSERT INTO {{ object(queue) }} (
            enqueued_at, type, status, step, attempt_num, scheduled_for, updated_at{% for column in columns %},
            {{ column.quoted }}{% endfor %}
        )
        SELECT
            i.key, i.type, 'Pending', i.step, 0, i.scheduled_for, now_{% for column in columns %},
            {{ of.given(column, "i.columns", "c." ~ column.quoted) }}{% endfor %}
        FROM item AS i
{%- if columns %}
        CROSS JOIN LATERAL json_to_record(COALESCE(i.columns, '{}')) AS c (
{%- for column in columns %}
            {{ column.quoted }} {{ of.read_as(column) }}{{ "," if not loop.last }}
{%- endfor %}
        )
{%- endif %}
{%- if dedup %}
        /* In their order, so that of the same work twice in one call the first counts. */
        ORDER BY {% if dedup.replaces %}{% for column in work %}{{ of.given(column, "i.columns", "c." ~ column.quoted) }}, {% endfor %}{% endif %}i.ordinal
        ON CONFLICT ({{ dedup.columns | join(", ") }})
        {%- if dedup.unfinished_only %} WHERE status IN ('Pending', 'Processing', 'Error', 'Paused'){% endif %}
        DO NOTHING
        RETURNING enqueued_at
{%- else %}
        RETURNING 1 AS one
{%- endif %}
    )
{%- for subtype in subtypes %},
{% include "part/add_subtype.sql" %}
{%- endfor %}
