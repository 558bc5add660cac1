/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. Claims do this too, so a queue with workers needs no other reaper.
An item that its worker had claimed together with others gets its attempt back, since nobody knows which of them was
begun; whatever comes back is claimed alone next. The items of one claim come back together: more than max_ of them, if
need be.
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
    /* The oldest claims first, each with all that is left of it: a chunk must not split one. */
    WITH dead AS MATERIALIZED (
        SELECT DISTINCT
            c.started_at,
            c.lease_owner
        FROM (
            SELECT
                q.started_at,
                q.lease_owner
            FROM "readpast"."notification" AS q
            WHERE
                q.status = 'Processing'
                AND q.lease_until <= now_
            ORDER BY q.started_at
            LIMIT max_
        ) AS c
    ),

    expired AS MATERIALIZED (
        SELECT
            q.enqueued_at,
            /*
            Of what was claimed together, nobody knows which was begun. Asked of the table and not of what is locked
            here: another recovery may have the rest of it in hands.
            */
            EXISTS (
                SELECT 1
                FROM "readpast"."notification" AS o
                WHERE
                    o.status = 'Processing'
                    AND o.started_at BETWEEN q.started_at AND q.started_at
                    AND o.lease_owner = q.lease_owner
                    AND o.enqueued_at <> q.enqueued_at
            ) AS together
        FROM dead AS d
        CROSS JOIN LATERAL (
            SELECT
                q.enqueued_at,
                q.started_at,
                q.lease_owner
            FROM "readpast"."notification" AS q
            WHERE
                q.status = 'Processing'
                AND q.started_at BETWEEN d.started_at AND d.started_at
                AND q.lease_owner = d.lease_owner
                AND q.lease_until <= now_
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS q
    ),

    recovered AS (
        UPDATE "readpast"."notification" AS q
        SET
            status = CASE WHEN e.together OR q.attempt_num < max_attempts_ THEN 'Error' ELSE 'Failed' END,
            updated_at = GREATEST(now_, q.updated_at + interval '1 microsecond'),
            attempt_num = q.attempt_num - e.together::integer,
            error = format(
                'The lease of worker %s ran out on attempt %s of %s; the worker is taken for dead.',
                q.lease_owner, q.attempt_num, max_attempts_
            ) || CASE
                WHEN e.together
                    THEN ' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
                ELSE ''
            END,
            /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
            lease_until = CASE WHEN e.together OR q.attempt_num < max_attempts_ THEN LEAST(q.lease_until, now_) END,
            duration = CASE
                WHEN e.together OR q.attempt_num < max_attempts_ THEN q.duration
                ELSE EXTRACT(EPOCH FROM now_ - q.started_at) * 1000
            END
        FROM expired AS e
        /* They are locked and found given up: the key is enough. */
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