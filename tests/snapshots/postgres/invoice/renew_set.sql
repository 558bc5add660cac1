/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."renew_invoice_set_trx"(worker_ text, items_ json, lease_ms_ integer DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
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
    max_attempts_ := COALESCE((
        SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'invoice.maxAttempts' AND a.val_int > 0
    ), 3);
    IF lease_ms_ IS NULL THEN
        lease_ms_ := COALESCE((
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'invoice.leaseMs' AND a.val_int > 0
        ), 60000);
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'renew_invoice_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
    IF current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on' OR EXISTS (
        SELECT 1
        FROM json_array_elements(items_) AS e (value)
        CROSS JOIN LATERAL json_object_keys(e.value) AS k (name)
        WHERE k.name NOT IN ('key', 'attempt')
    ) OR json_array_length(items_) > 1000 THEN
        items_ := "readpast"."queue_taken_fn"('renew_invoice_set_trx', items_, '{
            "key": "timestamp", "attempt": "integer"
        }');
    END IF;

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY key_1
    ),

    /* In the order of the keys, so that two calls never wait for each other. */
    judged AS MATERIALIZED (
        SELECT
            i.*, v.item_token, v.item_attempt, v.item_status,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner
            FROM "readpast"."invoice" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE
        ) AS v ON TRUE
    ),

    shown AS (
        UPDATE "readpast"."invoice" AS q
        SET lease_until = n.now + lease_ms_ * interval '1 millisecond'
        FROM judged AS j
        /* Once they are locked, and one time for all of them: what was claimed together runs out together. */
        CROSS JOIN (SELECT clock_timestamp() AS now FROM (SELECT COUNT(*) FROM judged) AS c) AS n
        WHERE q.enqueued_at BETWEEN j.key_1 AND j.key_1 AND j.answer = 'OK'
    )

    SELECT j.answer, j.ordinal, NULL::bigint, j.key_1, j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
    ORDER BY j.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."renew_invoice_set_trx"(text, json, integer) FROM public;
