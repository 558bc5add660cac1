{%- for column in key %}{{ of }}{{ loop.index }}{{ ", " if not loop.last }}{% endfor -%}
