/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
It waits for nobody: one transaction that keeps a row would cost the worker the leases of all the others. An item that somebody has
locked is answered by what all see, OK while it is the worker's; its lease stays as it is, and is moved at the next beat. Meanwhile
nobody can take it, since claims and recoveries pass over locked rows.
Table access order: four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."renew_four_queue_scheduler_set_trx"(worker_ text, items_ json, lease_ms_ integer DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    held_ boolean[];
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    lease_ms_ := "readpast"."queue_check_fn"('renew_four_queue_scheduler_set_trx', lease_ms => COALESCE(lease_ms_, "readpast"."queue_setting"('fourqueuescheduler.leaseMs', 600000)));
    items_ := "readpast"."queue_taken_fn"(
        'renew_four_queue_scheduler_set_trx', items_, '{
            "key": "any", "attempt": "integer"
        }',
        ARRAY['key', 'attempt']
    );
    SELECT ARRAY_AGG(COALESCE(s.held, FALSE) ORDER BY i.position)
    INTO held_
    FROM (
        SELECT i.key AS key_1, i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (key bigint)) WITH ORDINALITY AS i (key, position)
        ORDER BY key_1
    ) AS i
    LEFT JOIN LATERAL (
        SELECT TRUE AS held
        FROM "readpast"."four_queue_scheduler_lease" AS s
        WHERE s.key_1 BETWEEN i.key_1 AND i.key_1
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS s ON TRUE;
    now_ := clock_timestamp();

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key bigint, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY key_1
    ),
    judged AS MATERIALIZED (
        SELECT
            i.*, v.item_seek_1 AS seek_1, v.item_token, v.item_attempt, v.item_status, 
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) AND v.item_has_lease THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT
                w.item_seek_1, w.item_type, w.item_status, w.item_step, w.item_attempt, w.item_response, w.item_error, w.item_started_at,
                w.item_duration, w.item_due_at, w.item_token, w.item_owner, w.item_lease_until, w.item_died_at, w.item_has_lease
            FROM "readpast"."four_queue_scheduler_item_v" AS w
            WHERE w.item_key_1 = i.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
        ) AS v ON TRUE
    ),

    renewed AS (
        UPDATE "readpast"."four_queue_scheduler_lease" AS s
        SET lease_until = now_ + lease_ms_ * interval '1 millisecond'
        FROM judged AS j
        WHERE s.key_1 BETWEEN j.key_1 AND j.key_1 AND j.answer = 'OK' AND held_[j.ordinal + 1]
    )

    SELECT j.answer, j.ordinal, NULL::bigint, j.key_1::text, j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
    ORDER BY j.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."renew_four_queue_scheduler_set_trx"(text, json, integer) FROM public;
