            q.enqueued_at, q.type, q.status, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration,
            q.scheduled_for, q.updated_at, q.lease_owner, q.lease_until{% for column in columns %},
            q.{{ column.quoted }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
            q.{{ column.shown }}{% endfor %}{% endfor %}
