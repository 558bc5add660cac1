    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text,
{%- for column in columns %}
    {{ column.shown }} {{ column.json_type }},
{%- endfor %}
{%- for column in own_keys %}
    {{ column.shown }} {{ key_types[column.at - 1] }},
{%- endfor %}
{%- if role.kind %}
    item_type text,
{%- endif %}
    item_status text, item_step text, item_attempt integer, item_response text, item_error text,
    item_started_at timestamptz, item_duration bigint, item_due_at timestamptz, item_token timestamptz, item_owner text,
    item_lease_until timestamptz
{%- if false %}{% endif -%}
