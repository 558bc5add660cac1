{#- Locks due items of a table beside which another stands, and puts their keys into the arrays. -#}
    /*
    Lock due items of the table; those that others hold are passed over. What
    {{ queue }}_lease says of them is read in the next statement: only then nobody changes it any more.
    */
{%- set keys = m.list("key_", "_") %}
{%- for search in kind_searches %}
    IF {{ m.kinds_given(search) }} THEN
{% include "part/kinds_asked.sql" %}
{% include "part/lock_kinds.sql" %}
    ELSE
{%- endfor %}
{%- if sought %}
{%- set search = none %}
{% include "part/lock_kinds.sql" %}
{%- else %}
{%- include "part/lock_all_due.sql" %}
{%- endif %}
{%- for search in kind_searches %}
    END IF;
{%- endfor %}
