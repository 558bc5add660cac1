/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
most_ rows and one by an index. Four looks: what waits, in the order of the claim; what is in flight; and the newest items of all.
A row is a figure, with its value and, if that is so, capped: there are as many or more.
worker: how many items it holds (value), and for how long the oldest of them (ms); its name is detail.
error.<state>: how many of the items looked at say detail as the first line of their error, and the key of one of them.
window.items: how many of the newest items the figures count and arrivals are of; capped says that there are more. wait,
claimed: of those of them that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (ms). due.within_hour: how many are due later, within an hour.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."watch_four_queue_scheduler"(most_ integer DEFAULT 10000)
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
        RAISE EXCEPTION 'watch_four_queue_scheduler: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    RETURN QUERY
    WITH waiting AS MATERIALIZED (
        SELECT
            v.item_key_1::text AS key, v.item_type AS type, v.item_status AS status, v.item_error AS error,
            v.item_enqueued_at AS enqueued_at, v.item_started_at AS started_at, v.item_duration AS claimed_ms, v.item_due_at AS due_at,
            v.item_owner AS owner, v.item_lease_until AS lease_until
        FROM (
            (
                SELECT q."id"
                FROM "public"."four_queue" AS q
                WHERE q."in_process" = FALSE
                ORDER BY
                q."id"
                LIMIT most_ + 1
            )
        ) AS k (key_1)
        INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
            ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
    ),

    flying AS MATERIALIZED (
        SELECT
            v.item_key_1::text AS key, v.item_type AS type, v.item_status AS status, v.item_error AS error,
            v.item_enqueued_at AS enqueued_at, v.item_started_at AS started_at, v.item_duration AS claimed_ms, v.item_due_at AS due_at,
            v.item_owner AS owner, v.item_lease_until AS lease_until
        FROM (
            (
                SELECT s.key_1
                FROM "readpast"."four_queue_scheduler_lease" AS s
                WHERE s.status = 'Processing'
                ORDER BY s.started_at
                LIMIT most_ + 1
            ) UNION 
            (
                SELECT q."id"
                FROM "public"."four_queue" AS q
                WHERE q."in_process" = TRUE AND q."end_date" IS NULL
                    
                LIMIT most_ + 1
            )
        ) AS k (key_1)
        INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
            ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
    ),

    present AS MATERIALIZED (
        SELECT
            v.item_key_1::text AS key, v.item_type AS type, v.item_status AS status, v.item_error AS error,
            v.item_enqueued_at AS enqueued_at, v.item_started_at AS started_at, v.item_duration AS claimed_ms, v.item_due_at AS due_at,
            v.item_owner AS owner, v.item_lease_until AS lease_until
        FROM (
            (
                SELECT q."id"
                FROM "public"."four_queue" AS q
                WHERE TRUE
                ORDER BY q."id" DESC
                LIMIT most_ + 1
            )
        ) AS k (key_1)
        INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
            ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
    ),

    recent AS NOT MATERIALIZED (SELECT p.* FROM present AS p),

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
            SELECT r.status, r.key, r.type, r.error FROM recent AS r WHERE r.status = 'Failed'
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
            SELECT r.status, COUNT(*), (SELECT COUNT(*) FROM present) > most_
            FROM present AS r
            WHERE r.status NOT IN ('Pending', 'Error', 'Processing')
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
        SELECT
            'came.waiting', COUNT(*), COUNT(*) > most_,
            "readpast"."queue_ms_fn"(MIN(w.enqueued_at), CASE WHEN COUNT(*) > most_ THEN MAX(w.enqueued_at) ELSE now_ END), NULL, NULL
        FROM waiting AS w
        WHERE w.enqueued_at > '-infinity' AND w.enqueued_at <= now_
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
            WHERE x.queue = 'four_queue_scheduler'
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

REVOKE ALL ON FUNCTION "readpast"."watch_four_queue_scheduler"(integer) FROM public;
