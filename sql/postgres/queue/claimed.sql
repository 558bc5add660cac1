{%- import "macro/item.sql" as m -%}
{%- if marks_claims %}
{%- set procedure = "claimed_" ~ queue -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and locks nothing.
Table access order: {{ queue ~ "_lease, " if beside }}{{ table_name }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(worker_ text, claim_ bigint)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
BEGIN
{%- include "part/local_time.sql" %}
    RETURN QUERY
    SELECT
        CASE WHEN {{ "s" if beside else "q" }}.claim_num < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        NULL::integer,
{%- if beside %}
        GREATEST(1, {{ m.ms("now_", "v.item_lease_until") }}),
        {{ m.key_text("s.key_") }},
        v.item_token, v.item_attempt, v.item_status,
{{- m.item_of_view() | listed(12) }}
    FROM {{ object(queue ~ "_lease") }} AS s
    INNER JOIN LATERAL (
        {{ m.found("s.key_", "shown") | indent(8) }}
    ) AS v ON TRUE
    INNER JOIN {{ table }} AS q
        ON {{ m.at_key("s.key_") }}
    WHERE
        s.status = 'Processing' AND s.lease_owner = worker_ AND s.claim_num IN (claim_, -claim_)
        AND v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_lease_until > now_
{%- if own_types_only %}
        AND {{ m.type_seen("v.item_type") }}
{%- endif %}
{%- else %}
        GREATEST(1, {{ m.ms("now_", "q." ~ role.lease_until) }}),
        {{ m.columns() }},
        {{ m.of("token") }},
        {{ m.of("attempt") }},
        'Processing',
{{- m.item_of_row() | listed(12) }}
    FROM {{ table }} AS q
{{- m.subtypes_joined() }}
    WHERE
        {{ m.stands(processing) }}
        AND q.{{ role.owner }} = worker_
        AND q.claim_num IN (claim_, -claim_)
        AND q.{{ role.lease_until }} > now_
{%- if own_types_only %}
        AND {{ m.type_seen("q." ~ role.kind) }}
{%- endif %}
{%- endif %}
    ORDER BY {{ m.by_due() }};
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, bigint) FROM public;
{% endfilter %}
{%- endif %}
