{%- for column in columns %}
            NULL::{{ column.json_type }},
{%- endfor %}
{%- for column in own_keys %}
            NULL::{{ key_types[column.at - 1] }},
{%- endfor %}
{%- if role.kind %}
            NULL::text,
{%- endif %}
            NULL::text, NULL::text, NULL::integer, NULL::text, NULL::text, NULL::timestamptz, NULL::bigint,
            NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::timestamptz
{%- if false %}{% endif -%}
