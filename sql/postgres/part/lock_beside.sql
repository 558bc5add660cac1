{#- Locks due items of a table beside which another stands, and puts their keys into the arrays. -#}
    /*
    Lock due items of the table; those that others hold are passed over. What
    {{ queue }}_lease says of them is read in the next statement: only then nobody changes it any more.
    */
{%- set keys = m.list("key_", "_") %}
{%- for search in kind_searches %}
    IF {{ m.kinds_given(search) }} THEN
{% include "part/kinds_asked.sql" %}
{%- set due_is = none if not role.due else m.due() ~ " <= now_" if due_in_order else "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= now_)" %}
{% include "part/lock_kinds.sql" %}
    ELSE
{%- endfor %}
{%- include "part/lock_all_due.sql" %}
{%- for search in kind_searches %}
    END IF;
{%- endfor %}
