{#- Whatever is due, of all kinds. -#}
{%- set search = none -%}
{%- if t.due_leads and role.due and not own %}
{%- set when_due = "q." ~ role.due ~ " IS NULL" %}
{% include "part/take_due.sql" %}
        SET @_Locked = @@ROWCOUNT;

        SET @_Take = @Max - @_Locked;
        IF @_Take > 0
        BEGIN
{%- set when_due = kind.past(role) %}
{% filter indent(4, true) %}{% include "part/take_due.sql" %}{% endfilter %}
            SET @_Locked = @_Locked + @@ROWCOUNT;
        END;
{%- else %}
{%- set when_due = "q." ~ role.due ~ " <= @_At" if own else "(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= @_At)" if role.due else "" %}
{% include "part/take_due.sql" %}
        SET @_Locked = @@ROWCOUNT;
{%- endif %}
