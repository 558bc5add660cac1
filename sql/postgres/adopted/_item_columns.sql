{%- for column in columns %}
            v.{{ column.shown }}::{{ column.json_type }},
{%- endfor %}
{%- for column in own_keys %}
            v.{{ column.shown }}::{{ key_types[column.at - 1] }},
{%- endfor %}
{%- if role.kind %}
            v.item_type,
{%- endif %}
            v.item_status, v.item_step, v.item_attempt, v.item_response, v.item_error, v.item_started_at,
            v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
{%- if false %}{% endif -%}
