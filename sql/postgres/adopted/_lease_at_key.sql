{%- for column in key %}{{ " AND " if not loop.first }}s.key_{{ loop.index }} BETWEEN {{ of }}{{ loop.index }} AND {{ of }}{{ loop.index }}{% endfor -%}
