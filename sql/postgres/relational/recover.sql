{%- set function = object("recover_" ~ queue ~ "_trx") -%}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
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
    WITH expired AS MATERIALIZED (
        SELECT q.enqueued_at
        FROM {{ object(queue) }} AS q
        WHERE
            q.status = 'Processing'
            AND q.lease_until <= now_
        ORDER BY q.started_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    recovered AS (
        UPDATE {{ object(queue) }} AS q
        SET
            status = CASE WHEN q.attempt_num >= max_attempts_ THEN 'Failed' ELSE 'Error' END,
            updated_at = GREATEST(now_, q.updated_at + interval '1 microsecond'),
            error = format(
                'The lease of worker %s ran out on attempt %s of %s; the worker is taken for dead.',
                q.lease_owner, q.attempt_num, max_attempts_
            ),
            lease_until = NULL,
            duration = CASE
                WHEN q.attempt_num >= max_attempts_ THEN EXTRACT(EPOCH FROM now_ - q.started_at) * 1000
                ELSE q.duration
            END
        FROM expired AS e
        /* They are locked and found expired: the key is enough. */
        WHERE q.enqueued_at BETWEEN e.enqueued_at AND e.enqueued_at
        RETURNING q.enqueued_at, q.updated_at, q.attempt_num, q.status
    )

    SELECT 'RECOVERED', NULL::integer, NULL::bigint, r.enqueued_at, r.updated_at, r.attempt_num, r.status::text
    FROM recovered AS r
    ORDER BY r.enqueued_at;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(integer) FROM public;
GO
