            NULL::timestamptz, NULL::text, NULL::text, NULL::text, NULL::integer, NULL::text, NULL::text,
            NULL::timestamptz, NULL::bigint, NULL::timestamptz, NULL::timestamptz, NULL::text,
            NULL::timestamptz{% for column in columns %},
            NULL::{{ column.type }}{% endfor %}{% for subtype in subtypes %}{% for column in subtype.columns %},
            NULL::{{ column.type }}{% endfor %}{% endfor -%}
