{%- if subtypes | selectattr("exclusive") | list %}
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
{%- endif %}
{%- for subtype in subtypes %}
{%- set table = queue ~ "_" ~ subtype.stem %}
{% filter made("TABLE", table) %}
/* {{ "What items of the type " ~ subtype.name ~ " have besides, and no others." if subtype.exclusive else "What some items have besides: any may." }} A row is a part of its item, and goes with it. */
CREATE TABLE IF NOT EXISTS {{ object(table) }} (
    enqueued_at timestamptz NOT NULL,
{%- for column in subtype.columns %}
    {{ of.declared(column) }},
{%- endfor %}{{ of.constraints(subtype.columns) }}
    CONSTRAINT {{ table }}_pk PRIMARY KEY (enqueued_at),
    CONSTRAINT {{ subtype.stem }}_is_{{ queue }}
        FOREIGN KEY (enqueued_at) REFERENCES {{ object(queue) }} (enqueued_at) ON DELETE CASCADE
{%- if subtype.exclusive -%}
    ,
    CONSTRAINT {{ subtype.stem }}_is_type_{{ queue }}
        CHECK ({{ object(queue ~ "_is_type_fn") }}(enqueued_at, {{ text(subtype.name) }}))
{%- endif %}
);
{% endfilter %}
{%- endfor %}
