{%- set claim_keys = object("claim_" ~ queue ~ "_trx") -%}
{%- set knows_refused = true -%}
{%- set one = false -%}
{%- set parameters %}
{%- filter listed(4) -%}
worker_ text, lease_ms_ integer, max_attempts_ integer{{ ", started_at_ timestamptz" if run_time }}{{ ", claim_ bigint" if marks_claims }}
    {{- ", apart_ boolean" if beside }}{% for type in key_types %}, key_{{ loop.index }}_ {{ type }}[]{% endfor %}
{%- endfilter %}
{%- endset -%}
{% filter made("FUNCTION", "claim_" ~ queue ~ "_trx") %}
/*
The claim of the items with these keys that still wait, in their order, which the caller has found due and locked:
it answers as next_{{ queue }}_set_trx
does, or with no row. Called by {{ "that, and " if beside }}next_{{ queue }}_apart_trx, which has it fail where a row stays as it is.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ claim_keys }}(
{{- parameters }}
)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- if beside %}
    alone_ boolean;
    ended_ bigint;
    decided_ bigint;
{%- endif %}
BEGIN
{{ "    RETURN QUERY" if not beside }}
    WITH found AS MATERIALIZED (
        SELECT {{ m.list("k.key_") }}, v.*, COALESCE(x.attempts, 0) AS refusals, x.reason AS refused
        FROM {{ m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", ["token", "attempt", "died_at"], lock="", waits=true) | indent(12) }}
        ) AS v ON TRUE
        LEFT JOIN {{ object("queue_refused") }} AS x
            ON {{ "apart_ AND " if beside }}x.queue = '{{ queue }}' AND x.key = {{ m.key_kept("k.key_") }}
        ORDER BY k.position
    ),

{% if not beside %}
{%- include "part/claim_found.sql" %};
{%- else %}
{%- include "part/claim_beside.sql" %}
{%- endif %}
{%- if limits | selectattr("rate") | list %}
    PERFORM {{ object("spend_" ~ queue) }}(worker_, now_);
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ claim_keys }}(text, integer, integer{{ ", timestamptz" if run_time }}{{ ", bigint" if marks_claims }}{{ ", boolean" if beside }}{% for type in key_types %}, {{ type }}[]{% endfor %}) FROM public;
{% endfilter %}
