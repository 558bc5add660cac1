/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table;
percentiles and means are of the 10,000 newest items that a worker has started and finished. Times in milliseconds: wait
is from scheduled_for to started_at, run is duration.
workers.needed is how many must work at once to keep up (Little's law): arrivals per time, times the mean run, at 80 per
cent of their time, and one at least while there is work.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."stats_notification"()
RETURNS TABLE (name text, value bigint)
LANGUAGE sql STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH recent AS MATERIALIZED (
        SELECT
            GREATEST(0, EXTRACT(EPOCH FROM q.started_at - q.scheduled_for) * 1000)::bigint AS wait_ms,
            q.duration AS run_ms
        FROM "readpast"."notification" AS q
        WHERE
            q.started_at IS NOT NULL
            AND q.duration IS NOT NULL
        ORDER BY q.enqueued_at DESC
        LIMIT 10000
    ),

    percent (label, fraction) AS (
        VALUES ('p50', 0.50), ('p90', 0.90), ('p99', 0.99)
    ),

    mean AS MATERIALIZED (
        SELECT AVG(r.wait_ms)::bigint AS wait_ms, AVG(r.run_ms)::bigint AS run_ms
        FROM recent AS r
    ),

    arrived AS MATERIALIZED (
        SELECT
            (
                SELECT COUNT(*)
                FROM "readpast"."notification" AS q
                WHERE q.enqueued_at > (SELECT clock_timestamp() - interval '1 hour')
            ) AS items
    )

    SELECT
        'count.' || s.status,
        COALESCE(c.items, 0)
    FROM "readpast"."queue_status" AS s
    LEFT JOIN (
        SELECT q.status, COUNT(*) AS items
        FROM "readpast"."notification" AS q
        GROUP BY q.status
    ) AS c
        ON c.status = s.status
    UNION ALL
    SELECT 'due.count', COUNT(*)
    FROM "readpast"."notification" AS q
    WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for <= clock_timestamp()
    UNION ALL
    SELECT 'due.oldest_ms', (EXTRACT(EPOCH FROM clock_timestamp() - MIN(q.scheduled_for)) * 1000)::bigint
    FROM "readpast"."notification" AS q
    WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for <= clock_timestamp()
    UNION ALL
    SELECT 'lease.expired', COUNT(*)
    FROM "readpast"."notification" AS q
    WHERE q.status = 'Processing' AND q.lease_until <= clock_timestamp()
    UNION ALL
    SELECT 'sample.items', COUNT(*)
    FROM recent
    UNION ALL
    SELECT
        'wait.' || p.label || '_ms',
        (SELECT percentile_disc(p.fraction) WITHIN GROUP (ORDER BY r.wait_ms) FROM recent AS r)
    FROM percent AS p
    UNION ALL
    SELECT
        'run.' || p.label || '_ms',
        (SELECT percentile_disc(p.fraction) WITHIN GROUP (ORDER BY r.run_ms) FROM recent AS r)
    FROM percent AS p
    UNION ALL
    SELECT 'wait.mean_ms', m.wait_ms
    FROM mean AS m
    UNION ALL
    SELECT 'run.mean_ms', m.run_ms
    FROM mean AS m
    UNION ALL
    SELECT 'arrivals.last_hour', a.items
    FROM arrived AS a
    UNION ALL
    SELECT 'workers.busy', COUNT(*)
    FROM "readpast"."notification" AS q
    WHERE q.status = 'Processing' AND q.lease_until > clock_timestamp()
    UNION ALL
    SELECT
        'workers.needed',
        CASE
            WHEN a.items IS NOT NULL THEN GREATEST(
                CEIL(a.items * COALESCE(m.run_ms, 0) / (3600000 * 0.8))::bigint,
                CASE
                    WHEN EXISTS (
                        SELECT 1 FROM "readpast"."notification" AS q WHERE q.status IN ('Pending', 'Processing', 'Error')
                    ) THEN 1
                    ELSE 0
                END
            )
        END
    FROM mean AS m
    CROSS JOIN arrived AS a;
$$;
GO
REVOKE ALL ON FUNCTION "readpast"."stats_notification"() FROM public;
GO