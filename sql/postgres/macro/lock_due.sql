{#- Locks up to `most` rows for which `due_is`, and puts their keys into the variables `into`. -#}
{%- import "macro/item.sql" as m -%}
{%- macro lock(due_is, most="max_", into=m.list("key_", "_")) %}
    /* Materialized, so that the rows are chosen once. */
    WITH due AS MATERIALIZED (
        SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
        FROM {{ table }} AS q
        WHERE
            {{ m.waiting() }}
{%- if due_is %}
            AND {{ due_is }}
{%- endif %}
{%- if own_types_only %}
            AND {{ m.type_seen("q." ~ role.kind ~ "::text") }}
{%- endif %}
{%- if apart %}
            AND {{ m.not_refused(m.key_kept_of_row()) }}
{%- if role.kind %}
            AND {{ m.not_paused() }}
{%- endif %}
{%- endif %}
{%- if group %}
{% include "part/group_free.sql" %}
{%- endif %}
{%- include "part/order.sql" %}
        LIMIT {{ most }}
        FOR NO KEY UPDATE OF q SKIP LOCKED
    )
    SELECT {% for column in key %}ARRAY_AGG(d.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ into }}
    FROM due AS d;
{%- endmacro -%}
