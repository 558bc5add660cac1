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
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF most_ IS NULL OR most_ NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'watch_notification: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
    RETURN QUERY
    WITH waiting AS MATERIALIZED (
        SELECT
            to_char(q.enqueued_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0' AS key, q.type::text AS type,
            q.status::text AS status, q.error AS error, q.enqueued_at AS enqueued_at, q.started_at AS started_at, q.duration AS claimed_ms,
            q.scheduled_for AS due_at, q.lease_owner AS owner, q.lease_until AS lease_until
        FROM "readpast"."notification" AS q
        WHERE q.status IN ('Pending', 'Error')
        ORDER BY
        q.scheduled_for, q.enqueued_at
        LIMIT most_ + 1
    ),

    flying AS MATERIALIZED (
        SELECT
            to_char(q.enqueued_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0' AS key, q.type::text AS type,
            q.status::text AS status, q.error AS error, q.enqueued_at AS enqueued_at, q.started_at AS started_at, q.duration AS claimed_ms,
            q.scheduled_for AS due_at, q.lease_owner AS owner, q.lease_until AS lease_until
        FROM "readpast"."notification" AS q
        WHERE q.status = 'Processing'
        ORDER BY q.started_at
        LIMIT most_ + 1
    ),

    stopped AS MATERIALIZED (
        SELECT
            to_char(q.enqueued_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0' AS key, q.type::text AS type,
            q.status::text AS status, q.error AS error, q.enqueued_at AS enqueued_at, q.started_at AS started_at, q.duration AS claimed_ms,
            q.scheduled_for AS due_at, q.lease_owner AS owner, q.lease_until AS lease_until
        FROM "readpast"."notification" AS q
        WHERE q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
        ORDER BY q.enqueued_at DESC
        LIMIT most_ + 1
    ),

    present AS MATERIALIZED (
        SELECT
            to_char(q.enqueued_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0' AS key, q.type::text AS type,
            q.status::text AS status, q.error AS error, q.enqueued_at AS enqueued_at, q.started_at AS started_at, q.duration AS claimed_ms,
            q.scheduled_for AS due_at, q.lease_owner AS owner, q.lease_until AS lease_until
        FROM "readpast"."notification" AS q
        WHERE TRUE
        ORDER BY q.enqueued_at DESC
        LIMIT most_ + 1
    ),

    /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
    done AS MATERIALIZED (
        SELECT
            to_char(q.enqueued_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0' AS key, q.type::text AS type,
            q.status::text AS status, q.error AS error, q.enqueued_at AS enqueued_at, q.started_at AS started_at, q.duration AS claimed_ms,
            q.scheduled_for AS due_at, q.lease_owner AS owner, q.lease_until AS lease_until
        FROM "readpast"."notification" AS q
        WHERE q.enqueued_at <= (
            SELECT COALESCE(MAX(f.enqueued_at), (SELECT MIN(w.enqueued_at) FROM waiting AS w))
            FROM flying AS f
        )
        AND q.enqueued_at < (SELECT MIN(p.enqueued_at) FROM present AS p)
        ORDER BY q.enqueued_at DESC
        LIMIT most_ + 1
    ),

    recent AS NOT MATERIALIZED (
        SELECT p.* FROM present AS p
        UNION ALL
        SELECT d.* FROM done AS d
    ),

    measured AS MATERIALIZED (
        SELECT
            GREATEST(0, "readpast"."queue_ms_fn"(COALESCE(r.due_at, r.enqueued_at), r.started_at)) AS wait_ms, r.claimed_ms, r.type,
            r.started_at + r.claimed_ms * interval '1 millisecond' AS ended_at
        FROM recent AS r
        WHERE r.started_at IS NOT NULL AND r.claimed_ms IS NOT NULL AND "readpast"."queue_is_finished_fn"(r.status)
    ),

    problem AS MATERIALIZED (
        SELECT p.status, p.key, LEFT(SPLIT_PART(p.error, E'\n', 1), 200) AS detail
        FROM (
            SELECT w.status, w.key, w.type, w.error FROM waiting AS w WHERE w.status = 'Error'
            UNION ALL
            SELECT s.status, s.key, s.type, s.error FROM stopped AS s WHERE s.status = 'Failed'
        ) AS p
        WHERE p.error <> ''
    ),

    figure (name, value, capped, ms, detail, key) AS (
        SELECT 'count.' || s.status, COALESCE(c.items, 0), COALESCE(c.capped, FALSE), NULL::bigint, NULL::text, NULL::text
        FROM "readpast"."queue_status" AS s
        LEFT JOIN (
            SELECT w.status, COUNT(*) AS items, (SELECT COUNT(*) FROM waiting) > most_ AS capped
            FROM waiting AS w
            WHERE w.status IN ('Pending', 'Error')
            GROUP BY w.status
            UNION ALL
            SELECT 'Processing', COUNT(*), (SELECT COUNT(*) FROM flying) > most_
            FROM flying AS f
            WHERE f.status = 'Processing'
            UNION ALL
            SELECT s.status, COUNT(*), (SELECT COUNT(*) FROM stopped) > most_
            FROM stopped AS s
            GROUP BY s.status
            UNION ALL
            SELECT r.status, COUNT(*), (SELECT COUNT(*) FROM present) > most_
            FROM present AS r
            WHERE r.status = 'Completed'
            GROUP BY r.status
        ) AS c ON c.status = s.status
        UNION ALL
        SELECT 'due.count', COUNT(*), (SELECT COUNT(*) FROM waiting) > most_, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at <= now_, TRUE)
        UNION ALL
        SELECT 'due.within_hour', COUNT(*), (SELECT COUNT(*) FROM waiting) > most_, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND w.due_at > now_ AND w.due_at <= now_ + interval '1 hour'
        UNION ALL
        SELECT
            'due.oldest_ms', MAX("readpast"."queue_ms_fn"(COALESCE(w.due_at, w.enqueued_at), now_)),
            (SELECT COUNT(*) FROM waiting) > most_, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at, w.enqueued_at) <= now_
        UNION ALL
        SELECT 'lease.expired', COUNT(*), (SELECT COUNT(*) FROM flying) > most_, NULL, NULL, NULL
        FROM flying AS f
        WHERE f.status = 'Processing' AND f.lease_until <= now_
        UNION ALL
        SELECT 'claimed.count', COUNT(*), (SELECT COUNT(*) FROM flying) > most_, NULL, NULL, NULL
        FROM flying AS f
        WHERE f.status = 'Processing' AND COALESCE(f.lease_until > now_, TRUE)
        UNION ALL
        SELECT 'window.items', COUNT(*), COUNT(*) > most_, NULL, NULL, NULL
        FROM present
        UNION ALL
        SELECT 'sample.items', COUNT(*), FALSE, NULL, NULL, NULL
        FROM measured
        UNION ALL
        SELECT 'ended.last_minute', COUNT(*), COUNT(*) >= most_, MAX("readpast"."queue_ms_fn"(d.ended_at, now_)), NULL, NULL
        FROM measured AS d
        WHERE d.ended_at > now_ - interval '1 minute'
        UNION ALL
        SELECT 'ended.last_hour', COUNT(*), COUNT(*) >= most_, MAX("readpast"."queue_ms_fn"(d.ended_at, now_)), NULL, NULL
        FROM measured AS d
        WHERE d.ended_at > now_ - interval '1 hour'
        UNION ALL
        SELECT
            'came.waiting', COUNT(*), COUNT(*) > most_,
            "readpast"."queue_ms_fn"(MIN(w.enqueued_at), CASE WHEN COUNT(*) > most_ THEN MAX(w.enqueued_at) ELSE now_ END), NULL, NULL
        FROM waiting AS w
        WHERE w.enqueued_at > '-infinity' AND w.enqueued_at <= now_
        UNION ALL
        SELECT 'type.waiting', COUNT(*), (SELECT COUNT(*) FROM waiting) > most_, NULL, w.type, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error')
        GROUP BY w.type
        UNION ALL
        SELECT
            'type.due', COUNT(*), (SELECT COUNT(*) FROM waiting) > most_,
            MAX("readpast"."queue_ms_fn"(COALESCE(w.due_at, w.enqueued_at), now_)), w.type, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at <= now_, TRUE)
        GROUP BY w.type
        UNION ALL
        SELECT 'type.flying', COUNT(*), (SELECT COUNT(*) FROM flying) > most_, NULL, f.type, NULL
        FROM flying AS f
        WHERE f.status = 'Processing'
        GROUP BY f.type
        UNION ALL
        SELECT
            'type.ended', COUNT(*), (SELECT COUNT(*) FROM measured) >= most_, MAX("readpast"."queue_ms_fn"(d.ended_at, now_)), d.type, NULL
        FROM measured AS d
        WHERE d.ended_at > now_ - interval '1 hour'
        GROUP BY d.type
        UNION ALL
        SELECT 'type.claimed_mean_ms', ROUND(AVG(d.claimed_ms))::bigint, FALSE, NULL, d.type, NULL
        FROM measured AS d
        GROUP BY d.type
        UNION ALL
        SELECT 'type.arrivals', COUNT(*), (SELECT COUNT(*) FROM present) > most_, NULL, r.type, NULL
        FROM present AS r
        WHERE r.enqueued_at > now_ - interval '1 hour' AND r.enqueued_at <= now_ + interval '1 minute'
        GROUP BY r.type
        UNION ALL
        SELECT 'arrivals.last_hour', COUNT(*), COUNT(*) > most_, NULL, NULL, NULL
        FROM present AS r
        WHERE r.enqueued_at > now_ - interval '1 hour' AND r.enqueued_at <= now_ + interval '1 minute'
        UNION ALL
        SELECT 'came.last_hour', COUNT(*), COUNT(*) > most_, "readpast"."queue_ms_fn"(MIN(r.enqueued_at), now_), NULL, NULL
        FROM present AS r
        WHERE
            r.enqueued_at > now_ - interval '1 hour' AND r.enqueued_at <= now_ + interval '1 minute'
            AND (r.status <> 'Pending' OR COALESCE(r.due_at <= now_, TRUE))
        UNION ALL
        SELECT 'wait.mean_ms', ROUND(AVG(d.wait_ms))::bigint, FALSE, NULL, NULL, NULL
        FROM measured AS d
        UNION ALL
        SELECT 'claimed.mean_ms', ROUND(AVG(d.claimed_ms))::bigint, FALSE, NULL, NULL, NULL
        FROM measured AS d
        UNION ALL
        SELECT
            f.figure || '.' || p.label || '_ms',
            (
                SELECT percentile_disc(p.fraction) WITHIN GROUP (ORDER BY CASE f.figure WHEN 'wait' THEN d.wait_ms ELSE d.claimed_ms END)
                FROM measured AS d
            ),
            FALSE, NULL, NULL, NULL
        FROM (VALUES ('wait'), ('claimed')) AS f (figure)
        CROSS JOIN (VALUES ('p50', 0.50), ('p90', 0.90), ('p99', 0.99)) AS p (label, fraction)
        UNION ALL
        (
            SELECT 'worker', COUNT(*), FALSE, MAX("readpast"."queue_ms_fn"(f.started_at, now_)), f.owner, NULL
            FROM flying AS f
            WHERE f.status = 'Processing'
            GROUP BY f.owner
            ORDER BY COUNT(*) DESC, f.owner
            LIMIT 100
        )
        UNION ALL
        (
            SELECT 'refused', x.times, FALSE, "readpast"."queue_ms_fn"(now_, x.until), x.doing || ': ' || x.reason, x.key
            FROM "readpast"."queue_refused" AS x
            WHERE x.queue = 'notification'
            ORDER BY x.since
            LIMIT 50
        )
        UNION ALL
        (
            SELECT 'error.' || p.status, COUNT(*), FALSE, NULL, p.detail, MAX(p.key)
            FROM problem AS p
            GROUP BY p.status, p.detail
            ORDER BY COUNT(*) DESC, p.detail
            LIMIT 50
        )
    )

    SELECT
        f.name,
        CASE WHEN f.capped AND f.name NOT IN ('due.oldest_ms', 'ended.last_minute', 'ended.last_hour') THEN LEAST(f.value, most_) ELSE f.value END,
        f.capped, f.ms, f.detail, f.key
    FROM figure AS f;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."watch_notification"(integer) FROM public;
