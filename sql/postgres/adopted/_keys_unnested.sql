UNNEST({% for column in key %}key_{{ loop.index }}_{{ ", " if not loop.last }}{% endfor %}) WITH ORDINALITY AS k ({% for column in key %}key_{{ loop.index }}, {% endfor %}position)
{%- if false %}{% endif -%}
