{%- import "macro/item.sql" as m -%}
{%- set given = columns if own else inserted | selectattr("is_given") | list -%}
{%- set signature %}
{%- filter listed(4) %}text{% for column in given %}, {{ column.type }}{% endfor %}{% for subtype in subtypes %}, json{% endfor %}, timestamptz, text{% endfilter %}
{% endset -%}
{%- set due_given = "scheduled_for_" if own else "due_" -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set procedure = "add_" ~ queue ~ "_" ~ transaction -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Enqueue one item{{ ", with the caller's other work" if transaction == "utx" }}. Returns its key and its concurrency token.
{%- if dedup %}
For work that is there already it returns {{ "that item's key" if dedup.existing else "no key" }}, and no token.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
{%- filter listed(4) %}type_ text DEFAULT {{ text(types[0]) }}
{%- for column in given %}, {{ column.parameter }} {{ column.type }} DEFAULT {{ column.default or "NULL" }}{% endfor %}
{%- for subtype in subtypes %}, {{ subtype.parameter }} json DEFAULT NULL{% endfor %}
    {{- ", " ~ due_given }} timestamptz DEFAULT NULL, step_ text DEFAULT NULL
{%- endfilter %}
)
RETURNS TABLE ({{ "enqueued_at timestamptz, updated_at" if own else "item_key text, item_token" }} timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM {{ object("add_" ~ queue ~ "_set_trx") }}(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', {{ due_given }}, 'step', step_,
            'columns', json_build_object(
{%- filter listed(16) %}
{%- for column in given %}{{ text(column.name) }}, {{ "encode(" ~ column.parameter ~ ", 'base64')" if column.is_binary else column.parameter }}{{ ", " if not loop.last or subtypes }}{% endfor %}
{%- for subtype in subtypes %}{{ text(subtype.name) }}, {{ subtype.parameter }}{{ ", " if not loop.last }}{% endfor %}
{%- endfilter %}
            )
        ))
    ) AS a;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}({{ signature }}) FROM public;
{% endfilter %}
{% endfor %}
