{%- if parks_errors %}
{% include "part/unpark.sql" %}
{%- endif %}

    /*
    Lock due items of the table; those that others hold are passed over. What
    {{ queue }}_lease says of them is read in the next statement: only then nobody changes it any more.
    */
{%- set keys = m.list("key_", "_") %}
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

    IF key_1_ IS NOT NULL THEN
        WITH found AS MATERIALIZED (
            SELECT {{ m.list("k.key_") }}, v.*
            FROM {{ m.keys_unnested() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", []) }}
            ) AS v
                ON TRUE
            ORDER BY k.position
        ),

{% include "part/taken.sql" %}
{%- set sets = [] %}{% set clears = [] %}{% set leaves = false %}{% set gives = [] %}{% set returns_row = false %}{% set taken = false %}
{%- include "part/write.sql" %}

        SELECT {% for column in key %}ARRAY_AGG(c.key_{{ loop.index }} ORDER BY c.position), {% endfor %}BOOL_OR(c.alone)
        INTO {{ keys }}, alone_
        FROM changed AS c
        WHERE c.status = 'Processing';

        RETURN QUERY
        SELECT
            CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
            NULL::integer,
            NULL::bigint,
            {{ m.key_text("k.key_") }},
            v.item_token,
            v.item_attempt,
            v.item_status,
{{- m.item_of_view() }}
        FROM {{ m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", "shown") }}
        ) AS v
            ON TRUE
        ORDER BY k.position;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
