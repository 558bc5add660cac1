/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
It waits for nobody: one transaction that keeps a row would cost the worker the leases of all the others. An item that somebody has
locked is answered by what all see, OK while it is the worker's; its lease stays as it is, and is moved at the next beat. Meanwhile
nobody can take it, since claims and recoveries pass over locked rows.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."renew_notification_set_trx"(worker_ text, items_ json, lease_ms_ integer DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
BEGIN
    lease_ms_ := "readpast"."queue_check_fn"('renew_notification_set_trx', lease_ms => COALESCE(lease_ms_, "readpast"."queue_setting"('notification.leaseMs', 60000)));
    items_ := "readpast"."queue_taken_fn"(
        'renew_notification_set_trx', items_, '{
            "key": "any", "attempt": "integer"
        }',
        ARRAY['key', 'attempt']
    );

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY key_1
    ),
    judged AS MATERIALIZED (
        SELECT
            i.*, v.item_token, v.item_attempt, v.item_status, v.held,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT h.*, TRUE AS held
            FROM (SELECT
                q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner
                FROM "readpast"."notification" AS q
                WHERE
                q.enqueued_at = i.key_1
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS h
            UNION ALL
            /* As it is seen by all, where somebody has it locked. */
            SELECT u.*, FALSE
            FROM (SELECT
                q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner
                FROM "readpast"."notification" AS q
                WHERE
                q.enqueued_at = i.key_1
            ) AS u
            LIMIT 1
        ) AS v ON TRUE
    ),

    shown AS (
        UPDATE "readpast"."notification" AS q
        SET lease_until = n.now + lease_ms_ * interval '1 millisecond'
        FROM judged AS j
        /* Once they are locked, and one time for all of them: what was claimed together runs out together. */
        CROSS JOIN (SELECT clock_timestamp() AS now FROM (SELECT COUNT(*) FROM judged) AS c) AS n
        WHERE q.enqueued_at BETWEEN j.key_1 AND j.key_1 AND j.answer = 'OK' AND j.held
    )

    SELECT j.answer, j.ordinal, NULL::bigint, j.key_1, j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
    ORDER BY j.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."renew_notification_set_trx"(text, json, integer) FROM public;
