/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."recover_notification_trx"(max_ integer DEFAULT 100)
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
    now_ CONSTANT timestamptz := clock_timestamp();
    lease_ms_ integer;
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
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'recover_notification_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;

    RETURN QUERY
    WITH expired AS MATERIALIZED (
        SELECT q.enqueued_at
        FROM "readpast"."notification" AS q
        WHERE
            q.status = 'Processing'
            AND q.lease_until <= now_
        ORDER BY q.started_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    recovered AS (
        UPDATE "readpast"."notification" AS q
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
REVOKE ALL ON FUNCTION "readpast"."recover_notification_trx"(integer) FROM public;
GO