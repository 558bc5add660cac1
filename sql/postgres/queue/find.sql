{%- import "macro/item.sql" as m -%}
{%- set procedure = "find_" ~ queue -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now){% if searchable %}, columns and members (values that it has, in a
column or in its JSON: queue_wanted_fn){% endif %}. NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys
it reads the table in order until the page is full; with most_, no more than that many items. A last row with the answer
MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100, most_ integer DEFAULT NULL
)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- include "part/filter_variables.sql" %}
    from_ record;
    until_ record;
    further_ boolean := FALSE;
BEGIN
{% include "part/filter.sql" %}
{%- include "part/local_time.sql" %}
    SELECT
{{- m.key_read(m.key_from_text("NULLIF(after_, '')")) }}
    INTO from_;
    until_ := from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION '{{ procedure }}: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
    END IF;
{% set of_states = {
    "ended": "'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'", "flying": "'Processing'",
    "waiting": "'Pending', 'Error'"
} -%}
{%- set ours = m.list("v.item_key_") if beside else m.columns() %}
{%- set cases = ["some", "ended", "flying", "waiting", "next"] if own else ["some", "first", "next"] %}
{%- for case in cases %}
    {% if case == "some" %}IF keys_ IS NOT NULL THEN
        SELECT {% for column in key %}ARRAY_AGG(k.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
        INTO {{ m.list("key_", "_") }}
        FROM (
            SELECT DISTINCT
{{- m.key_read("i.key") }}
            FROM UNNEST(keys_) AS i (key)
        ) AS k
        WHERE from_.key_1 IS NULL OR ({{ m.list("k.key_") }}) > ({{ m.list("from_.key_") }});
    {%- else %}
    {%- if case == "first" %}ELSIF from_.key_1 IS NULL THEN
    {%- elif case == "next" %}ELSE
    {%- elif case == "ended" %}ELSIF f_.statuses <@ ARRAY[{{ of_states[case] }}] THEN
        /* They have an index of their own: what is completed is not read. */
    {%- else %}ELSIF
        f_.statuses <@ ARRAY[{{ of_states[case] }}]
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM {{ table }} AS q WHERE q.status IN ({{ of_states[case] }}) LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
    {%- endif %}
{%- set range -%}
{{ "q.status IN (" ~ of_states[case] ~ ") AND " if case in of_states -}}
{{ m.columns() ~ " > COALESCE(" ~ m.list("from_.key_") ~ ", '-infinity')" if own else "(" ~ m.columns() ~ ") > (" ~ m.list("from_.key_") ~ ")" if case == "next" else "TRUE" }}
{%- endset %}
{%- if case in ["ended", "first", "next"] %}
        /* How far: as many items on as are to be read{{ ", else to the last that there is now" if not own }}. */
        SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
        INTO until_
        FROM {{ table }} AS q
        WHERE
            most_ IS NOT NULL
            AND {{ range }}
        ORDER BY {{ m.columns() }}
        LIMIT 1 OFFSET most_ - 1;
{%- if not own %}
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
            INTO until_
            FROM {{ table }} AS q
            WHERE {{ range }}
            ORDER BY {% for column in key %}q.{{ column.quoted }} DESC{{ ", " if not loop.last }}{% endfor %}
            LIMIT 1;
        END IF;
{%- else %}
        further_ := FOUND;
{%- endif %}
{%- endif %}
        SELECT {% for column in key %}ARRAY_AGG(w.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
        INTO {{ m.list("key_", "_") }}
        FROM (
            SELECT {% for column in key %}{{ "v.item_key_" ~ loop.index if beside else "q." ~ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
            FROM {{ object(queue ~ "_item_v") ~ " AS v" if beside else table ~ " AS q" }}
            WHERE
{%- if own %}
            {{ range }}
            {{- "\n            AND " ~ ours ~ " <= COALESCE(" ~ m.list("until_.key_") ~ ", 'infinity')" if case in ["ended", "next"] }}
{%- else %}
            {{ "(" ~ ours ~ ") > (" ~ m.list("from_.key_") ~ ")\n            AND " if case == "next" }}({{ ours }}) <= ({{ m.list("until_.key_") }})
{%- endif %}
{%- if own_types_only %}
            AND {{ m.type_seen("v.item_type" if beside else "q." ~ role.kind) }}
{%- endif %}
{{- m.and_its() if rows and not beside }}
{%- include "part/fits.sql" %}
            ORDER BY {{ ours }}
            LIMIT max_
        ) AS w;
{%- endif %}
{%- endfor %}
    END IF;

    RETURN QUERY
    SELECT
        'FOUND', NULL::integer, NULL::bigint, {{ m.key_text("v.item_key_") if beside else m.key_text_of_row() }},
        {{ "v.item_token, v.item_attempt, v.item_status" if beside else m.of("token") ~ ", " ~ m.of("attempt") ~ ", " ~ m.of("status") }},
{{- (m.item_of_view(for_workers=false) if beside else m.item_of_row(for_workers=false)) | listed(8) }}
    FROM {{ m.keys_unnested() }}
    INNER JOIN {{ object(queue ~ "_item_v") ~ " AS v" if beside else table ~ " AS q" }}
        ON {% for column in key %}{{ "AND " if not loop.first }}
        {%- set its = "v.item_key_" ~ loop.index if beside else "q." ~ column.quoted %}{{ its }} BETWEEN k.key_{{ loop.index }} AND k.key_{{ loop.index }}{{ " " if not loop.last }}{% endfor %}
        {%- for column in seek %} AND {{ "v.item_seek_" ~ loop.index if beside else "q." ~ column.quoted }} IN ({{ column["values"] | join(", ") }}){% endfor %}
{{- m.subtypes_joined() }}
    WHERE TRUE{{ m.and_its() if rows and not beside }}
{%- if own_types_only %}
            AND {{ m.type_seen("v.item_type" if beside else "q." ~ role.kind) }}
{%- endif %}
{%- include "part/fits.sql" %}
    /* By expressions, so that the plan begins with the keys, and not with the table in this order. */
    ORDER BY {% for column in key %}{% set its = "v.item_key_" ~ loop.index if beside else "q." ~ column.quoted %}COALESCE({{ its }}, {{ its }}){{ ", " if not loop.last }}{% endfor %}
    LIMIT max_;
    IF further_ AND COALESCE(CARDINALITY(key_1_), 0) < max_ THEN
        answer := 'MORE';
        answer_key := {{ m.key_text("until_.key_") }};
        RETURN NEXT;
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(json, text, integer, integer) FROM public;
{% endfilter %}
