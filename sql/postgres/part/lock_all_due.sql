{#- Whatever is due, of all kinds. #}
{%- if not role.due %}
{% set due_is = none %}{% set most = "max_" %}{% set into = keys %}{% include "part/lock_due.sql" %}
{%- elif not due_in_order %}
{% set due_is = "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= now_)" %}{% set most = "max_" %}{% set into = keys %}{% include "part/lock_due.sql" %}
{%- elif not index.name %}
{% set due_is = m.due() ~ " <= now_" %}{% set most = "max_" %}{% set into = keys %}{% include "part/lock_due.sql" %}
{%- else %}
    /* Those without a due time first. The two are asked for one by one, since each is one seek and both at once none. */
{% set due_is = "q." ~ role.due ~ " IS NULL" %}{% set most = "max_" %}{% set into = keys %}{% include "part/lock_due.sql" %}
    found_ := COALESCE(CARDINALITY(key_1_), 0);
    IF found_ < max_ THEN
{% set due_is = "q." ~ role.due ~ " <= now_" %}{% set most = "max_ - found_" %}{% set into = m.list("more_", "_") %}{% include "part/lock_due.sql" %}
{%- for column in key %}
        key_{{ loop.index }}_ := key_{{ loop.index }}_ || more_{{ loop.index }}_;
{%- endfor %}
    END IF;
{%- endif %}
