{%- set function = object("recover_" ~ queue ~ "_trx") -%}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than max_ of them, if
need be.
Table access order: {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(max_ integer DEFAULT 100)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    lease_ms_ integer;
    max_attempts_ integer;
BEGIN
{% include "relational/_settings.sql" %}
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'recover_{{ queue }}_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;

    RETURN QUERY
{%- set given_up = "q.lease_until <= now_" %}
{%- set most = "max_" %}
{%- set reason = "'The lease of worker %s ran out on attempt %s of %s; the worker is taken for dead.'" %}
{% include "relational/_recovered.sql" %}

    SELECT 'RECOVERED', NULL::integer, NULL::bigint, r.enqueued_at, r.updated_at, r.attempt_num, r.status::text
    FROM recovered AS r
    ORDER BY r.enqueued_at;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(integer) FROM public;
GO
