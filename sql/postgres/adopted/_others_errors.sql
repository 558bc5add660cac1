

    /*
    What others have set to Error waits for its next attempt as our own does: with a row beside the table, from when it
    is due.
    */
    INSERT INTO {{ object(queue ~ "_lease") }} AS s (
        {% set of = "key_" %}{% include "adopted/_key_list.sql" %}, status, attempt_num, due_at, updated_at
    )
    SELECT {% for column in key %}q.{{ column.quoted }}, {% endfor %}'Error', 0, now_, now_
    FROM {{ table }} AS q
    WHERE
{%- for condition in errors %}
        {{ "AND " if not loop.first }}q.{{ condition.quoted }}
        {{- " IS NOT NULL" if condition.holds == "something" else (" IS NULL" if condition.holds == "null" else " = " ~ condition.literal) }}
{%- endfor %}
{%- if role.due %}
        AND COALESCE(q.{{ role.due }}, '-infinity') <= now_
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
    ORDER BY {% if role.due %}COALESCE(q.{{ role.due }}, '-infinity'){% else %}{% for column in key %}q.{{ column.quoted }}{{ ", " if not loop.last }}{% endfor %}{% endif %}
    LIMIT max_
    FOR NO KEY UPDATE OF q SKIP LOCKED
    ON CONFLICT ({% include "adopted/_key_list.sql" %}) DO UPDATE
    SET status = excluded.status, due_at = excluded.due_at, lease_until = NULL;
