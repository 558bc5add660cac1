
{%- for subtype in subtypes if not own %}

    without_{{ loop.index }} AS (
        DELETE FROM {{ subtype.table }} AS u
        USING decided AS d
        WHERE
            {{ m.subtype_at_key("d.key_") }}
            AND d.answer = 'OK' AND d.status = 'Completed'
    ),
{% endfor %}
    /* Completed items {{ "move to the history" if completion == "history" else "leave the table" }}. */
    removed AS (
        DELETE FROM {{ table }} AS q
        USING decided AS d
        WHERE
            {{ m.at_found("d") }}
            AND d.answer = 'OK' AND d.status = 'Completed'
{%- if own and history_table %}
        RETURNING
            q.enqueued_at, q.type, d.status, COALESCE(d.step, q.step), d.attempt_num, COALESCE(d.response, q.response),
            COALESCE(d.error, ''), q.started_at, {{ m.ms("q.started_at", "now_") }},
            d.due_at, d.token, q.lease_owner{% for column in columns %},
            {{ value.becomes(column, "d.new_values", "q." ~ column.quoted) if sets_values and column.name in settable | map(attribute="name") | list else "q." ~ column.quoted }}{% endfor %}
{%- elif not own %}
        RETURNING d.*
{%- endif %}
    ),
{%- if own and history_table %}

    kept AS (
        INSERT INTO {{ history_table }} (
            enqueued_at, type, status, step, attempt_num, response, error, started_at, duration, scheduled_for,
            updated_at, lease_owner{% for column in columns %},
            {{ column.quoted }}{% endfor %}
        )
        SELECT g.*
        FROM removed AS g
    ),
{%- endif %}
