{#-
The new value of a column when a settlement sets values: the one in the object `given`, read as items are that are enqueued;
what is left out stays. Who includes this has looked that it is an object (`part/set_checks`), or none. It is read column
by column, and only where there is one: a settlement that sets nothing, as most do, must not pay for it.
-#}
{%- macro called(column) %}{% if column.called is defined %}{{ column.called }}{% else %}{{ column.quoted if own else column.shown }}{% endif %}{% endmacro -%}
{%- macro becomes(column, given, kept) -%}
{%- set value = "n." ~ called(column) -%}
{#- A table of others may keep JSON, and times, in either type; and what stays must not go through the other. -#}
{%- if column.is_binary %}{% set value = "decode(" ~ value ~ ", 'base64')" %}
{%- elif not own and column.is_time %}{% set value = object("queue_time_fn") ~ "(" ~ value ~ ", " ~ kept ~ ")" %}
{%- elif not own and column.is_json %}{% set value = object("queue_json_fn") ~ "(" ~ value ~ ", " ~ kept ~ ")" %}
{%- endif -%}
CASE
                WHEN ({{ given }} -> {{ text(column.name) }}) IS NULL THEN {{ kept }}
                ELSE (SELECT {{ value }} FROM json_to_record({{ given }}) AS n ({{ called(column) }} {{ column.set_type }}))
            END
{%- endmacro -%}
