/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."renew_four_queue_scheduler_set_trx"(worker_ text, items_ json, lease_ms_ integer DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE plpgsql VOLATILE
/* With its owner's rights: a role that may execute this needs none on the tables. */
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
/*
One access path is right, however many rows there are today: the index, in its order. Tables are joined by BETWEEN two equal
keys for the same reason: by =, a plan that is made for an empty table would read all of it, and be kept when it is full.
*/
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    max_attempts_ := COALESCE((
        SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'fourqueuescheduler.maxAttempts' AND a.val_int > 0
    ), 3);
    IF lease_ms_ IS NULL THEN
        lease_ms_ := COALESCE((
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'fourqueuescheduler.leaseMs' AND a.val_int > 0
        ), 600000);
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'renew_four_queue_scheduler_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
    IF current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on' OR EXISTS (
        SELECT 1
        FROM json_array_elements(items_) AS e (value)
        CROSS JOIN LATERAL json_object_keys(e.value) AS k (name)
        WHERE k.name NOT IN ('key', 'attempt')
    ) OR json_array_length(items_) > 1000 THEN
        items_ := "readpast"."queue_taken_fn"('renew_four_queue_scheduler_set_trx', items_, '{
            "key": "bigint", "attempt": "integer"
        }');
    END IF;

    /* In the order of the keys, so that two calls never wait for each other. */
    PERFORM
    FROM (
        SELECT i.key AS key_1
        FROM json_to_recordset(items_) AS i (key bigint)
        ORDER BY key_1
    ) AS i
    CROSS JOIN LATERAL (
        SELECT 1 AS one
        FROM "readpast"."four_queue_scheduler_lease" AS s
        WHERE s.key_1 BETWEEN i.key_1 AND i.key_1
        FOR NO KEY UPDATE
    ) AS s;
    now_ := clock_timestamp();

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key bigint, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY key_1
    ),

    /* In the order of the keys, so that two calls never wait for each other. */
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
        WHERE s.key_1 BETWEEN j.key_1 AND j.key_1 AND j.answer = 'OK'
    )

    SELECT j.answer, j.ordinal, NULL::bigint, j.key_1::text, j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
    ORDER BY j.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."renew_four_queue_scheduler_set_trx"(text, json, integer) FROM public;
