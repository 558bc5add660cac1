/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
most_ rows and one by an index. Four looks: what waits, in the order of the claim; what is in flight; what has ended other than
Completed, the newest first; and the newest items of all.
A row is a figure, with its value and, if that is so, capped: there are as many or more.
worker: how many items it holds (value), and for how long the oldest of them (ms); its name is detail.
error.<state>: how many of the items looked at say detail as the first line of their error, and the key of one of them.
window.items: how many of the newest items the figures count and arrivals are of; capped says that there are more. wait,
claimed: of those of them, and of those before what was taken last, that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (ms). due.within_hour: how many are due later, within an hour. came.last_hour:
the arrivals that are no longer scheduled for later, and how long ago the first of them came (ms).
type.<figure>: the same of one type, which is detail: waiting, due (ms: for how long the oldest), flying, ended, arrivals (both of the last
hour), claimed_mean_ms.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."watch_notification"(most_ integer DEFAULT 10000)
RETURNS TABLE (name text, value bigint, capped boolean, ms bigint, detail text, key text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF most_ IS NULL OR most_ NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'watch_notification: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
    RETURN QUERY
    WITH looked AS MATERIALIZED (
        SELECT
            ARRAY(
                SELECT
                    ROW(
                        "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text, q.error, q.enqueued_at,
                        q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                    )::"readpast"."queue_look" AS look
                FROM "readpast"."notification" AS q
                WHERE q.status IN ('Pending', 'Error')
                ORDER BY
                q.scheduled_for, q.enqueued_at
                LIMIT most_ + 1
            ) AS waiting,
            ARRAY(
                SELECT
                    ROW(
                        "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text, q.error, q.enqueued_at,
                        q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                    )::"readpast"."queue_look" AS look
                FROM "readpast"."notification" AS q
                WHERE q.status = 'Processing'
                ORDER BY q.started_at
                LIMIT most_ + 1
            ) AS flying,
            ARRAY(
                SELECT
                    ROW(
                        "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text, q.error, q.enqueued_at,
                        q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                    )::"readpast"."queue_look" AS look
                FROM "readpast"."notification" AS q
                WHERE TRUE
                ORDER BY q.enqueued_at DESC
                LIMIT most_ + 1
            ) AS present,
            ARRAY(
                SELECT
                    ROW(
                        "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text, q.error, q.enqueued_at,
                        q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                    )::"readpast"."queue_look" AS look
                FROM "readpast"."notification" AS q
                WHERE q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                ORDER BY q.enqueued_at DESC
                LIMIT most_ + 1
            ) AS stopped
    )
    SELECT w.*
    FROM looked AS l
    CROSS JOIN LATERAL "readpast"."queue_watched"(
        'notification', most_, now_, l.waiting, l.flying, l.stopped, l.present,
        /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
        ARRAY(
            SELECT
                ROW(
                    "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text, q.error, q.enqueued_at,
                    q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                )::"readpast"."queue_look" AS look
            FROM "readpast"."notification" AS q
            WHERE q.enqueued_at <= COALESCE(
                (SELECT MAX(f.enqueued_at) FROM UNNEST(l.flying) AS f), (SELECT MIN(w.enqueued_at) FROM UNNEST(l.waiting) AS w)
            )
            AND q.enqueued_at < (SELECT MIN(p.enqueued_at) FROM UNNEST(l.present) AS p)
            ORDER BY q.enqueued_at DESC
            LIMIT most_ + 1
        ),
        NULL, CARDINALITY(l.waiting) > most_, NULL, TRUE, TRUE, TRUE
    ) AS w;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."watch_notification"(integer) FROM public;
