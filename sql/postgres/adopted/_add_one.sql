{%- set signature = namespace(text="\n    text") -%}
{%- for column in inserted if column.is_given -%}
{%- set signature.text = signature.text ~ ",\n    " ~ column.type -%}
{%- endfor -%}
{%- set signature.text = signature.text ~ ",\n    timestamptz,\n    text\n" -%}
{%- for transaction in ["utx", "trx"] -%}
{%- set function = object("add_" ~ queue ~ "_" ~ transaction) -%}
/*
Enqueue one item{{ ", with the caller's other work" if transaction == "utx" }}. Returns its key and its concurrency token.
Table access order: {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    type_ text DEFAULT {{ text(types[0]) }},
{%- for column in inserted if column.is_given %}
    {{ column.parameter }} {{ column.type }} DEFAULT NULL,
{%- endfor %}
    due_ timestamptz DEFAULT NULL,
    step_ text DEFAULT NULL
)
RETURNS TABLE (item_key text, item_token timestamptz)
{% include "relational/_attributes.sql" %}
AS $$
BEGIN
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM {{ object("add_" ~ queue ~ "_set_" ~ transaction) }}(
        {{ "NULL, " if transaction == "trx" }}json_build_array(json_build_object(
            'type', type_, 'due', due_, 'step', step_,
            'columns', json_build_object(
{%- for column in inserted if column.is_given %}
                {{ text(column.name) }}, {{ column.parameter }}{{ "," if not loop.last }}
{%- endfor %}
            )
        ))
    ) AS a;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}({{ signature.text }}) FROM public;
GO
{% endfor %}
