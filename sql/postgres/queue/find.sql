{%- import "part/macros.sql" as m -%}
{%- set procedure = "find_" ~ queue -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys it reads the table in order
until the page is full.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100
)
RETURNS TABLE ({{ m.item_columns() }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
{%- include "part/filter_variables.sql" %}
    from_ record;
BEGIN
{% include "part/filter.sql" %}
{%- include "part/local_time.sql" %}
    SELECT
{{- m.key_read(m.key_from_text("NULLIF(after_, '')")) }}
    INTO from_;
{% set of_states = {
    "ended": "'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'",
    "flying": "'Processing'",
    "waiting": "'Pending', 'Error'"
} -%}
{%- for case in ["some", "ended", "flying", "waiting", "first", "next"] if own or case not in of_states %}
    {% if case == "some" %}IF keys_ IS NOT NULL THEN
    {%- elif case == "first" %}ELSIF from_.key_1 IS NULL THEN
    {%- elif case == "next" %}ELSE
    {%- else %}ELSIF statuses_ <@ ARRAY[{{ of_states[case] }}] THEN
        /* They have an index of their own: what is completed is not read. */
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
{%- else %}
            {{ "(" ~ ours ~ ") > (" ~ m.list("from_.key_") ~ ")" if case == "next" else "TRUE" }}
{%- endif %}
{%- if own_types_only %}
            AND {{ m.type_seen("v.item_type" if beside else "q." ~ role.kind) }}
{%- endif %}
{% include "part/fits.sql" %}
        ORDER BY {{ ours }}
        LIMIT max_;
{%- endfor %}
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(json, text, integer) FROM public;
{% endfilter %}
