        answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status,
        enqueued_at, type, status, step, attempt_num, response, error, started_at, duration, scheduled_for, updated_at,
        lease_owner, lease_until{% for column in columns %},
        {{ column.quoted }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
        {{ column.shown }}{% endfor %}{% endfor %}
