CASE
{%- for e in encodings %}
    WHEN {{ n.stands(e.conditions) }}
        THEN {% if e.states | length == 1 %}'{{ e.default }}'{% else %}CASE
            WHEN s.[Status] IN ({{ n.states(e.states) }})
                THEN s.[Status]
            ELSE '{{ e.default }}'
        END{% endif %}
{%- endfor %}
    ELSE 'Processing'
END
