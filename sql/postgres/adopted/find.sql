{%- set procedure = "find_" ~ queue -%}
{%- set function = object(procedure) -%}
{%- set key_type = "text" -%}
/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text). NULL is all items.
One row per item, with the answer FOUND. It changes nothing and locks nothing. Without keys it reads the table in order
until the page is full.
Table access order: {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100
)
RETURNS TABLE (
{% include "adopted/_answer_columns.sql" %}
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
{% include "relational/_filter_variables.sql" %}
    from_ record;
BEGIN
{% include "relational/_filter.sql" %}
{%- include "adopted/_local_time.sql" %}
    SELECT
{%- set from = "NULLIF(after_, '')" %}
{%- include "adopted/_key_read.sql" %}
    INTO from_;
{% for case in ["some", "first", "next"] %}
    {{ "IF keys_ IS NOT NULL THEN" if case == "some" else ("ELSIF from_.key_1 IS NULL THEN" if case == "first" else "ELSE") }}
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint,
            {% set of = "v.item_key_" %}{% include "adopted/_key_text.sql" %}, v.item_token, v.item_attempt, v.item_status,
{%- include "adopted/_item_columns.sql" %}
{%- if case == "some" %}
        FROM (
            SELECT DISTINCT
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %}
            FROM UNNEST(keys_) AS i (key)
        ) AS k
        INNER JOIN LATERAL (
            {% set of = "k.key_" %}{% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        WHERE
            (
                from_.key_1 IS NULL
                OR ({% set of = "v.item_key_" %}{% include "adopted/_key_list.sql" %}) > ({% set of = "from_.key_" %}{% include "adopted/_key_list.sql" %})
            )
{%- else %}
        FROM {{ object(queue ~ "_item_v") }} AS v
        WHERE
            {% if case == "next" %}({% set of = "v.item_key_" %}{% include "adopted/_key_list.sql" %}) > ({% set of = "from_.key_" %}{% include "adopted/_key_list.sql" %}){% else %}TRUE{% endif %}
{%- endif %}
{% include "adopted/_fits.sql" %}
        ORDER BY {% set of = "v.item_key_" %}{% include "adopted/_key_list.sql" %}
        LIMIT max_;
{%- endfor %}
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(json, text, integer) FROM public;
GO
