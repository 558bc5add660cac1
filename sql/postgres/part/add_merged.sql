    /* The same work may come several times in one call: the last counts, at the place of the first. All of them get its values. */
    IF json_array_length(items_) > 1 THEN
        items_ := (
            WITH given AS (
                SELECT
                    i.position, i.type, i.step,
                    COALESCE({{ m.finite("i.due") }}, now_ + i.delay_ms * interval '1 millisecond') AS due_at,
                    i.columns{% for column in work %},
                    {{ of.given(column, "i.columns", "c." ~ column.quoted) }} AS work_{{ loop.index }}{% endfor %}
                FROM
                    ROWS FROM (
                        json_to_recordset(items_) AS (type text, step text, due timestamptz, delay_ms bigint, columns json)
                    ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, position)
                CROSS JOIN LATERAL json_to_record(COALESCE(i.columns, '{}')) AS c (
{%- for column in work %}{{ column.quoted }} {{ of.read_as(column) }}{{ ", " if not loop.last }}{% endfor -%}
                )
            ),
            merged AS (
                SELECT
                    g.position, LAST_VALUE(g.type) OVER same AS type, LAST_VALUE(g.step) OVER same AS step,
                    {{ "MAX" if dedup.later else "LAST_VALUE" }}(g.due_at) OVER same AS due_at, LAST_VALUE(g.columns) OVER same AS columns
                FROM given AS g
                WINDOW same AS (
                    PARTITION BY
{%- for column in work %}
                        g.work_{{ loop.index }},
{%- endfor %}
                        /* An item without a value is nobody's duplicate. */
                        CASE WHEN {% for column in work %}g.work_{{ loop.index }} IS NULL{{ " OR " if not loop.last }}{% endfor %} THEN g.position END
                    ORDER BY g.position ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
                )
            )
            SELECT
                json_agg(
                    json_build_object('type', g.type, 'step', g.step, 'due', g.due_at, 'columns', g.columns) ORDER BY g.position
                )
            FROM merged AS g
        );
    END IF;
