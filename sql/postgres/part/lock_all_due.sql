{#- Whatever is due, of all kinds. -#}
{%- import "macro/lock_due.sql" as due %}
{%- if not role.due %}
{{- due.lock(none) }}
{%- elif not due_in_order %}
{{- due.lock("(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= now_)") }}
{%- elif not index.name %}
{{- due.lock(m.due() ~ " <= now_") }}
{%- else %}
    /* Items without a due time first. The two are asked for one by one, since each is one seek and both at once none. */
{{- due.lock("q." ~ role.due ~ " IS NULL") }}
    found_ := COALESCE(CARDINALITY(key_1_), 0);
    IF found_ < max_ THEN
{{- due.lock("q." ~ role.due ~ " <= now_", "max_ - found_", m.list("more_", "_")) }}
{%- for column in key %}
        key_{{ loop.index }}_ := key_{{ loop.index }}_ || more_{{ loop.index }}_;
{%- endfor %}
    END IF;
{%- endif %}
