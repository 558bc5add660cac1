{%- for column in key %}{{ " AND " if not loop.first }}q.{{ column.quoted }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
{%- for column in seek %} AND q.{{ column.quoted }} IN ({{ column["values"] | join(", ") }}){% endfor -%}
