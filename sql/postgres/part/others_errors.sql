
    /*
    An item that others have set to Error waits for its next attempt as our own does: with a row beside the table, from when it
    is due.
    */
    WITH waits AS MATERIALIZED (
        SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
        FROM {{ table }} AS q
        WHERE
            {{ m.stands(errors) }}
{%- if role.due %}
            AND {{ m.due() }} <= now_
{%- endif %}
            AND NOT EXISTS (
                SELECT 1
                FROM {{ object(queue ~ "_lease") }} AS e
                WHERE
                    {% for column in key %}e.key_{{ loop.index }} = q.{{ column.quoted }} AND {% endfor %}e.status = 'Error'
{%- if role.due %}
                    AND e.due_at <= now_
{%- endif %}
            )
        ORDER BY {{ m.due() if role.due else m.columns() }}
        LIMIT max_
        FOR NO KEY UPDATE OF q SKIP LOCKED
    )

    INSERT INTO {{ object(queue ~ "_lease") }} AS s ({{ m.list("key_") }}, status, attempt_num, due_at, updated_at)
    SELECT {{ m.list("w.key_") }}, 'Error', 0, now_, now_
    FROM waits AS w
    ON CONFLICT ({{ m.list("key_") }}) DO UPDATE
    SET status = excluded.status, due_at = excluded.due_at, lease_until = NULL;
    GET DIAGNOSTICS found_ = ROW_COUNT;
{% include "part/recover_more.sql" %}
