{#- Conditions on the rows of a table that readpast makes, as the description says it. -#}
{%- macro constraints(columns) %}
{%- for c in columns %}{% for k in c.constraints %}
    CONSTRAINT {{ k.name }}
        {{ k.definition }},
{%- endfor %}{% endfor %}
{%- endmacro -%}
{#- A column of the author's in a table that readpast makes; a history has the values that its items had, and no default. -#}
{%- macro declared(column) -%}
{{ history(column) }}{% if column.default %} DEFAULT {{ column.default }}{% endif %}
{%- endmacro -%}
{%- macro history(column) -%}
{{ column.quoted }} {{ column.stored }} {{ "NULL" if column.nullable else "NOT NULL" }}
{%- endmacro -%}
{#- Bytes are base64 in JSON: a column is read as text, and decoded where it is used. -#}
{%- macro read_as(column) %}{{ "text" if column.is_binary else column.type }}{% endmacro -%}
{%- macro decoded(column, value) -%}
{{ "decode(" ~ value ~ ", 'base64')" if column.is_binary else value }}
{%- endmacro -%}
{#- The values of a new item: one that is left out has its default, one that is given as null is NULL. -#}
{%- macro given(column, items, value) -%}
{% if column.default %}CASE WHEN ({{ items }} -> {{ text(column.name) }}) IS NULL THEN {{ column.default }} ELSE {{ decoded(column, value) }} END{% else %}{{ decoded(column, value) }}{% endif %}
{%- endmacro -%}
{#- Whether a time is one that JSON can have. -#}
{%- macro is_written(time) -%}
({{ time }} BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999') IS NOT FALSE
{%- endmacro -%}
{#- Conditions on a parameter of the type of a column: the column keeps it as it is. -#}
{%- macro fits(column) -%}
{%- set value = column.parameter %}
{{- "\n        AND " ~ value ~ " IS NOT NULL" if not column.nullable }}
{%- if column.most and column.is_text %}
        AND (char_length({{ value }}) <= {{ column.most }}) IS NOT FALSE
{%- elif column.most and column.is_binary %}
        AND (octet_length({{ value }}) <= {{ column.most }}) IS NOT FALSE
{%- elif column.most %}
        AND (round({{ value }}, {{ column.scale }}) = {{ value }} AND abs({{ value }}) < 1e{{ column.most - column.scale }}) IS NOT FALSE
{%- elif column.is_json %}
        AND (json_typeof({{ value }}) IN ('object', 'array')) IS NOT FALSE
{%- elif column.is_time or column.is_date %}
        AND {{ is_written(value) }}
{%- endif %}
{%- endmacro -%}
