{%- import "part/macros.sql" as m -%}
{%- set procedure = "next_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following modify_{{ queue }}_trx. With recover_ 1, first give back
the items of dead workers; a caller that polls often need not each time.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
)
RETURNS TABLE ({{ "enqueued_at timestamptz, updated_at" if own else "item_key text, item_token" }} timestamptz)
{% include "part/attributes.sql" %}
AS $$
BEGIN
    RETURN QUERY
    SELECT n.answer_key, n.answer_token
    FROM {{ object("next_" ~ queue ~ "_set_trx") }}(
        COALESCE(worker_, session_user || '/' || pg_backend_pid()), 1, lease_ms_, recover_
    ) AS n
    WHERE n.answer IN ('CLAIMED', 'CLAIMED_ALONE');
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer) FROM public;
{% endfilter %}
