{%- for condition in pending %}
            {{ "AND " if not loop.first }}q.{{ condition.quoted }} {{ "IS" if condition.holds == "null" else "=" }} {{ condition.literal }}
{%- endfor %}
{%- if false %}{% endif -%}
