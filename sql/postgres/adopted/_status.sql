        CASE
{%- for encoding in encodings %}
            WHEN
{%- for condition in encoding.conditions %}
                {{ "AND " if not loop.first }}q.{{ condition.quoted }}
                {{- " IS NOT NULL" if condition.holds == "something" else (" IS NULL" if condition.holds == "null" else " = " ~ condition.literal) }}
{%- endfor %}
{%- if encoding.states | length > 1 %}
                THEN CASE
                    WHEN
                        s.status IN (
                            {% for state in encoding.states %}{{ text(state) }}{{ (",\n                            " if loop.index % 5 == 0 else ", ") if not loop.last }}{% endfor %}
                        )
                        THEN s.status::text
                    ELSE {{ text(encoding.default) }}
                END
{%- else %}
                THEN {{ text(encoding.default) }}
{%- endif %}
{%- endfor %}
            ELSE 'Processing'
        END
{%- if false %}{% endif -%}
