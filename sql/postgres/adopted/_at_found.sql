{%- for column in key %}{{ " AND " if not loop.first }}q.{{ column.quoted }} BETWEEN {{ of }}key_{{ loop.index }} AND {{ of }}key_{{ loop.index }}{% endfor -%}
{%- for column in seek %} AND q.{{ column.quoted }} = ANY(ARRAY[{{ of }}seek_{{ loop.index }}]){% endfor -%}
