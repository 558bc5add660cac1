(
{%- for c in order %}
{%- set last = loop.last %}
                        {{ "OR " if not loop.first }}{{ "(" if not loop.first }}{% for before in order[:loop.index0] %}e.{{ before.quoted }} = q.{{ before.quoted }} AND {% endfor %}e.{{ c.quoted }} {{ ">" if c.descending else "<" }} q.{{ c.quoted }}{{ ")" if not loop.first }}
{%- endfor %}
                    )
