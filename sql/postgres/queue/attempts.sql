{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- if attempt_history %}
{%- set procedure = "attempts_" ~ queue -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
The attempts at an item that have ended, the newest max_ of them in the order of their ends. What was released is not among
them. It changes nothing and locks nothing.
Table access order: {{ table_name ~ ", " if own_types_only }}{{ queue }}_attempt.
*/
CREATE OR REPLACE FUNCTION {{ function }}(key_ text, max_ integer DEFAULT 100)
RETURNS TABLE (
    attempt_num integer, worker text, started_at timestamptz, ended_at timestamptz, outcome text, step text, response text,
    error text
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
BEGIN
{{- check.checks(procedure, ["most"]) }}
    RETURN QUERY
    SELECT n.attempt_num, n.worker, n.started_at, n.ended_at, n.outcome, n.step, n.response, n.error
    FROM (
        SELECT a.*
        FROM (
            SELECT
{{- m.key_read(m.key_from_text("key_")) }}
        ) AS k
        INNER JOIN {{ object(queue ~ "_attempt") }} AS a
            ON {{ m.attempt_at_key("k.key_") }}
{%- if own_types_only %}
        WHERE
            EXISTS (
                SELECT 1
                FROM {{ table }} AS q
                WHERE
                    {{ m.at_key("k.key_") }}
                    AND {{ m.type_seen("q." ~ role.kind) }}
            )
{%- endif %}
        ORDER BY a.number DESC
        LIMIT max_
    ) AS n
    ORDER BY n.number;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer) FROM public;
{% endfilter %}
{%- endif %}
