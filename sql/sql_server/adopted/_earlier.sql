(
{%- for c in group_order %}
                        {{ "OR (" if not loop.first }}{% for before in group_order[:loop.index0] %}e.{{ before }} = q.{{ before }} AND {% endfor %}e.{{ c }} < q.{{ c }}{{ ")" if not loop.first }}
{%- endfor %}
                    )
