{%- if own and subtypes | selectattr("exclusive") | list %}
{% filter made("FUNCTION", queue ~ "_is_type_fn") %}
/*
Whether this item is of this type: what the tables of the exclusive subtypes check.
Table access order: {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ object(queue ~ "_is_type_fn") }}(enqueued_at_ timestamptz, type_ text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM {{ object(queue) }} AS q WHERE q.enqueued_at = enqueued_at_ AND q.type = type_);
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object(queue ~ "_is_type_fn") }}(timestamptz, text) FROM public;
{% endfilter %}
{% filter statement %}
/* Citus calls it on the node of the subtype's table, where the item is, too. */
DO $$
BEGIN
    IF {{ m.is_sharded() }} THEN
        ALTER FUNCTION {{ object(queue ~ "_is_type_fn") }}(timestamptz, text) SET citus.allow_nested_distributed_execution = on;
    END IF;
END;
$$;
{% endfilter %}
{%- endif %}
{%- for subtype in subtypes %}
{%- set name = queue ~ "_" ~ subtype.stem %}
{% filter made("TABLE", name if own else subtype.place, theirs=not own) %}
/* {{ "Columns of items of the type " ~ subtype.name ~ ", which no others have." if subtype.exclusive else "Columns of some items: any may have them." }} A row is a part of its item, and goes with it. */
CREATE TABLE IF NOT EXISTS {{ subtype.table }} (
{%- for column in key %}
    {{ column.quoted }} {{ column.type }} NOT NULL,
{%- endfor %}
{%- for column in subtype.columns %}
    {{ of.declared(column) }},
{%- endfor %}{{ of.constraints(subtype.columns) }}
    {{ "CONSTRAINT " ~ name ~ "_pk " if own }}PRIMARY KEY ({{ m.columns("") }}),
    {% if own %}CONSTRAINT {{ subtype.stem }}_is_{{ queue }}
        {% endif %}FOREIGN KEY ({{ m.columns("") }}) REFERENCES {{ table }} ({{ m.columns("") }}) ON DELETE CASCADE
{%- if subtype.exclusive and own -%}
    ,
    CONSTRAINT {{ subtype.stem }}_is_type_{{ queue }}
        CHECK ({{ object(queue ~ "_is_type_fn") }}(enqueued_at, {{ text(subtype.name) }}))
{%- endif %}
);
{% endfilter %}
{%- endfor %}
