{#-
An index, made where the table lacks it. `on` is the name of a table of ours, or the place of somebody else's; the call's
body is the comment.
-#}
{%- macro create(name, on, columns, where="", unique=false) -%}
{%- filter made("INDEX", name, on=on, columns=columns, where=where, unique=unique) -%}
{{ caller() }}
CREATE {{ "UNIQUE " if unique }}INDEX IF NOT EXISTS {{ name }} ON {{ object(on) if on is string else on.quoted }} ({{ listed(columns) }})
{%- if where %}
WHERE {{ where }}
{%- endif -%}
;
{%- endfilter -%}
{%- endmacro -%}
{%- macro listed(columns) -%}
{%- for c in columns %}{{ "(" ~ c.expression ~ ")" if c.expression else c.quoted }}{{ " DESC" if c.descending }}{{ ", " if not loop.last }}{% endfor -%}
{%- endmacro -%}
