    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text,
    enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text,
    lease_until timestamptz{% for column in columns %},
    {{ column.quoted }} {{ column.type }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
    {{ column.shown }} {{ column.type }}{% endfor %}{% endfor -%}
