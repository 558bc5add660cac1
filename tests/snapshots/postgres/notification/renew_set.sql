/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."renew_notification_set_trx"(
    worker_ text, items_ json, lease_ms_ integer DEFAULT NULL
)
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
One access path is right, however many rows the table has today: the index, in its order. Tables are joined by BETWEEN
two equal keys for the same reason: by =, a plan that is made while a table is empty would read all of it, and be kept
when it is full.
*/
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    max_attempts_ integer;
BEGIN
    max_attempts_ := COALESCE(
        (SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'notification.maxAttempts'), 3
    );
    IF lease_ms_ IS NULL THEN
        lease_ms_ := COALESCE(
            (SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'notification.leaseMs'), 60000
        );
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'renew_notification_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;

    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'renew_notification_set_trx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal, i.key, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY i.key
    ),

    /* In the order of the keys, so that two calls never wait for each other. */
    locked AS MATERIALIZED (
        SELECT
            i.ordinal,
            i.key,
            q.updated_at,
            q.attempt_num,
            q.status::text AS status,
            CASE
                WHEN q.status IS NULL THEN 'NOT_FOUND'
                WHEN q.status = 'Processing' AND q.lease_owner = worker_ AND q.attempt_num = i.attempt THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT p.status, p.updated_at, p.attempt_num, p.lease_owner
            FROM "readpast"."notification" AS p
            WHERE p.enqueued_at = i.key
            FOR NO KEY UPDATE
        ) AS q
            ON TRUE
    ),

    renewed AS (
        UPDATE "readpast"."notification" AS q
        SET lease_until = n.now + lease_ms_ * interval '1 millisecond'
        FROM locked AS l
        /* Once they are locked, and one time for all of them: what was claimed together runs out together. */
        CROSS JOIN (SELECT clock_timestamp() AS now FROM (SELECT COUNT(*) FROM locked) AS c) AS n
        WHERE
            q.enqueued_at BETWEEN l.key AND l.key
            AND l.answer = 'OK'
    )

    SELECT l.answer, l.ordinal, NULL::bigint, l.key, l.updated_at, l.attempt_num, l.status
    FROM locked AS l
    ORDER BY l.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION "readpast"."renew_notification_set_trx"(text, json, integer) FROM public;
GO