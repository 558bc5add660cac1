
    /* What is completed {{ "moves to the history" if history_name else "leaves the table" }}. */
    gone AS (
        DELETE FROM {{ object(queue) }} AS q
        USING decided AS d
        WHERE
            q.enqueued_at BETWEEN d.key AND d.key
            AND d.answer = 'OK'
            AND d.status = 'Completed'
{%- if history_name %}
        RETURNING
            q.enqueued_at, q.type, d.status, COALESCE(d.step, q.step), d.attempt_num, COALESCE(d.response, q.response),
            COALESCE(d.error, ''), q.started_at, (EXTRACT(EPOCH FROM now_ - q.started_at) * 1000)::bigint,
            COALESCE(d.scheduled_for, q.scheduled_for), d.token, q.lease_owner{% for column in columns %},
            q.{{ column.quoted }}{% endfor %}
{%- endif %}
    )
{%- if history_name %},

    kept AS (
        INSERT INTO {{ object(history_name) }} (
            enqueued_at, type, status, step, attempt_num, response, error, started_at, duration, scheduled_for,
            updated_at, lease_owner{% for column in columns %},
            {{ column.quoted }}{% endfor %}
        )
        SELECT g.*
        FROM gone AS g
    )
{%- endif %}
