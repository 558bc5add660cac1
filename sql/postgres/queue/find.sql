{%- import "part/macros.sql" as m -%}
{%- set procedure = "find_" ~ queue -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys
it reads the table in order until the page is full; with most_, no more than that many items. A last row with the answer
MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100, most_ integer DEFAULT NULL
)
RETURNS TABLE ({{ m.item_columns() }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
{%- include "part/filter_variables.sql" %}
    from_ record;
    until_ record;
    count_ integer;
    further_ boolean := FALSE;
BEGIN
{% include "part/filter.sql" %}
{%- include "part/local_time.sql" %}
    SELECT
{{- m.key_read(m.key_from_text("NULLIF(after_, '')")) }}
    INTO from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION '{{ procedure }}: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
    END IF;
{% set of_states = {
    "ended": "'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'",
    "flying": "'Processing'",
    "waiting": "'Pending', 'Error'"
} -%}
{%- for case in ["some", "ended", "flying", "waiting", "first", "next"] if own or case not in of_states %}
    {% if case == "some" %}IF keys_ IS NOT NULL THEN
    {%- elif case == "first" %}ELSIF from_.key_1 IS NULL THEN
    {%- elif case == "next" %}ELSE
    {%- elif case == "ended" %}ELSIF statuses_ <@ ARRAY[{{ of_states[case] }}] THEN
        /* They have an index of their own: what is completed is not read. */
    {%- else %}ELSIF
        statuses_ <@ ARRAY[{{ of_states[case] }}]
        AND (
            most_ IS NULL
            OR NOT EXISTS (
                SELECT 1 FROM {{ table }} AS q WHERE q.status IN ({{ of_states[case] }}) LIMIT 1 OFFSET most_ - 1
            )
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
    {%- endif %}
{%- if case in ["ended", "first", "next"] %}
{%- set range %}
{%- if case in of_states %}
            q.status IN ({{ of_states[case] }})
            AND {{ m.columns() }} > COALESCE({{ m.list("from_.key_") }}, '-infinity')
{%- else %}
            {{ "(" ~ m.columns() ~ ") > (" ~ m.list("from_.key_") ~ ")" if case == "next" else "TRUE" }}
{%- endif %}
{%- endset %}
        /* How far: as many items on as are to be read, else to the last that there is now. */
        SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
        INTO until_
        FROM {{ table }} AS q
        WHERE
            most_ IS NOT NULL
            AND {{ range | trim }}
        ORDER BY {{ m.columns() }}
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
            INTO until_
            FROM {{ table }} AS q
            WHERE {{ range | trim | indent(4) }}
            ORDER BY {% for column in key %}q.{{ column.quoted }} DESC{{ ", " if not loop.last }}{% endfor %}
            LIMIT 1;
        END IF;
{%- endif %}
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, {{ m.key_text("v.item_key_") if beside else m.key_text_of_row() }},
            {{ "v.item_token, v.item_attempt, v.item_status" if beside else m.of("token") ~ ", " ~ m.of("attempt") ~ ", " ~ m.of("status") }},
{{- m.item_of_view(for_workers=false) if beside else m.item_of_row(for_workers=false) }}
        FROM
{%- if case == "some" %} (
            SELECT DISTINCT
{{- m.key_read("i.key") }}
            FROM UNNEST(keys_) AS i (key)
        ) AS k
        INNER JOIN
{%- endif %} {{ object(queue ~ "_item_v") ~ " AS v" if beside else table ~ " AS q" }}
{%- if case == "some" %}
            ON {% for column in key %}{{ "AND " if not loop.first }}
            {%- set its = "v.item_key_" ~ loop.index if beside else "q." ~ column.quoted %}{{ its }} BETWEEN k.key_{{ loop.index }} AND k.key_{{ loop.index }}{{ " " if not loop.last }}{% endfor %}
            {%- for column in seek %} AND {{ "v.item_seek_" ~ loop.index if beside else "q." ~ column.quoted }} IN ({{ column["values"] | join(", ") }}){% endfor %}
{%- endif %}
{{- m.subtypes_joined() }}
        WHERE
{%- set ours = m.list("v.item_key_") if beside else m.columns() %}
{%- if case == "some" %}
            (from_.key_1 IS NULL OR ({{ ours }}) > ({{ m.list("from_.key_") }}))
{%- elif case in of_states %}
            q.status IN ({{ of_states[case] }})
            AND {{ ours }} > COALESCE({{ m.list("from_.key_") }}, '-infinity')
            {{- "\n            AND " ~ ours ~ " <= " ~ m.list("until_.key_") if case == "ended" }}
{%- else %}
            {{ "(" ~ ours ~ ") > (" ~ m.list("from_.key_") ~ ")\n            AND " if case == "next" }}({{ ours }}) <= ({{ m.list("until_.key_") }})
{%- endif %}
{%- if own_types_only %}
            AND {{ m.type_seen("v.item_type" if beside else "q." ~ role.kind) }}
{%- endif %}
{%- include "part/fits.sql" %}
{%- if case == "some" %}
        /* By expressions, so that the plan begins with the keys that were given, and not with the table in this order. */
        ORDER BY {% for column in key %}{% set its = "v.item_key_" ~ loop.index if beside else "q." ~ column.quoted %}COALESCE({{ its }}, {{ its }}){{ ", " if not loop.last }}{% endfor %}
{%- else %}
        ORDER BY {{ ours }}
{%- endif %}
        LIMIT max_;
{%- endfor %}
    END IF;
    GET DIAGNOSTICS count_ = ROW_COUNT;
    IF further_ AND count_ < max_ THEN
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
