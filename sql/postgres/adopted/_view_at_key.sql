{%- for column in key %}{{ "AND " if not loop.first }}v.item_key_{{ loop.index }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }} {% endfor -%}
{%- for column in seek %}AND v.item_seek_{{ loop.index }} IN ({{ column["values"] | join(", ") }}) {% endfor -%}
