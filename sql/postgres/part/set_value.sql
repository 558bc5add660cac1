{#-
The values that a settlement sets: `n` has them as columns, read from the object `given` as items are that are enqueued. Who
includes this has looked that it is one (`part/set_checks`), or none.
-#}
{%- macro called(column) %}{{ column.quoted if own else column.shown }}{% endmacro -%}
{%- macro read(columns, given) %}
        CROSS JOIN LATERAL json_to_record(
            CASE json_typeof({{ given }}) WHEN 'object' THEN {{ given }} ELSE '{}' END
        ) AS n (
{%- for column in columns %}
            {{ called(column) }} {{ column.set_type }}{{ "," if not loop.last }}
{%- endfor %}
        )
{%- endmacro -%}
{#- What a column becomes: what is left out stays. A table of others may keep JSON in either type. -#}
{%- macro becomes(column, given, kept) -%}
{%- set value = "n." ~ called(column) -%}
{%- if not own and column.is_time %}{% set value = object("queue_time_fn") ~ "(" ~ value ~ ")" %}
{%- elif not own and column.is_json %}{% set value = object("queue_json_fn") ~ "(" ~ value ~ ", " ~ kept ~ ")" %}
{%- endif -%}
CASE
                WHEN ({{ given }} -> {{ text(column.name) }}) IS NOT NULL THEN {{ value }}
                ELSE {{ kept }}
            END
{%- endmacro -%}
{#- The names in an object, none where it is no object. -#}
{%- macro names(given) %}json_object_keys(
                CASE json_typeof({{ given }}) WHEN 'object' THEN {{ given }} ELSE '{}' END
            ) AS k (name)
{%- endmacro -%}
