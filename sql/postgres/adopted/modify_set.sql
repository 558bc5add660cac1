{%- set procedure = "modify_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set run = ",\n    started_at_ timestamptz DEFAULT NULL" if run_time else "" -%}
/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_{{ queue }}_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the same answers come again and nothing is
changed; items claimed by the first call are left to their lease.
{%- if not role.due %}
The table has no due time: what is given back for later is an Error that waits in {{ queue }}_lease until then.
{%- endif %}
Table access order: queue_operation, {{ table_name }}, {{ queue }}_lease, queue_transition.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    operation_ uuid,
    worker_ text,
    items_ json,
    max_ integer DEFAULT 0,
    lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0{{ run }}
)
RETURNS TABLE (
{% include "adopted/_answer_columns.sql" %}
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    max_attempts_ integer;
    answers_ json;
BEGIN
{%- include "adopted/_local_time.sql" %}
{% include "relational/_settings.sql" %}
{% include "adopted/_worker_checks.sql" %}
    IF max_ IS NULL OR max_ < 0 OR max_ > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: max_ must be from 0 to 1000' USING ERRCODE = 'RP021';
    END IF;
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

{% include "relational/_remember.sql" %}
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{% include "relational/_forget.sql" %}
{% include "adopted/_lock_items.sql" %}
{% set run_value = "started_at_" if run_time else "" %}{% include "adopted/_modify.sql" %}
{%- if completion == "history" %}
{% include "adopted/_move.sql" %}
{%- endif %}
{% include "adopted/_keep_answers.sql" %}
    END IF;

    RETURN QUERY
    SELECT
        a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status,
{%- include "adopted/_no_item.sql" %}
    FROM {% include "adopted/_answers_again.sql" %}
    ORDER BY a.ordinal;

    IF max_ > 0 AND NOT replayed_ THEN
        RETURN QUERY
        SELECT n.*
        FROM {{ object("next_" ~ queue ~ "_set_trx") }}(worker_, max_, lease_ms_, recover_{{ ", started_at_" if run_time }}) AS n;
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(
    uuid, text, json, integer, integer, integer{{ ", timestamptz" if run_time }}
) FROM public;
GO
{% include "adopted/_modify_one.sql" %}
