{%- if order %}
        ORDER BY
{%- if index.name %}
{%- for column in order_prefix %}
            /* NULL in all of them; named, since the index begins with it. */
            q.{{ column }}{{ " DESC" if order[0].descending }},
{%- endfor %}
{%- endif %}
{%- for column in order %}
            {% if column.quoted == role.due and not index.name %}{{ m.due() }}{% else %}q.{{ column.quoted }}{% endif %}
            {{- " DESC" if column.descending }}{{ "," if not loop.last }}
{%- endfor %}
{%- endif %}
