SELECT w.* FROM {{ object(queue ~ "_item_v") }} AS w
{%- for column in key %} {{ "WHERE" if loop.first else "AND" }} w.item_key_{{ loop.index }} = {{ of }}{{ loop.index }}{% endfor -%}
{%- for column in seek %} AND w.item_seek_{{ loop.index }} IN ({{ column["values"] | join(", ") }}){% endfor %} OFFSET 0
{%- if false %}{% endif -%}
