/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table; the
percentiles are of the 10,000 newest items that were started and finished, and are still there. Times in milliseconds:
wait is from the due time to the start, run from there to the end.
What has arrived cannot be counted in this table, so workers.needed is NULL.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."stats_four_queue_scheduler"()
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
#variable_conflict use_column
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            v.item_status AS status,
            v.item_started_at AS started_at,
            v.item_duration AS run_ms,
            COALESCE(v.item_due_at, v.item_enqueued_at) AS due_at,
            v.item_enqueued_at AS enqueued_at,
            v.item_lease_until AS lease_until
        FROM "readpast"."four_queue_scheduler_item_v" AS v
    ),

    recent AS MATERIALIZED (
        SELECT
            GREATEST(0, EXTRACT(EPOCH FROM i.started_at - COALESCE(i.due_at, i.enqueued_at)) * 1000)::bigint AS wait_ms,
            i.run_ms
        FROM item AS i
        WHERE
            "readpast"."queue_is_finished_fn"(i.status)
            AND i.started_at IS NOT NULL
            AND i.run_ms IS NOT NULL
        ORDER BY i.started_at DESC
        LIMIT 10000
    ),

    figure (label, amount) AS (
        SELECT 'arrivals.last_hour', NULL::bigint
        UNION ALL
        SELECT 'run.mean_ms', ROUND(AVG(r.run_ms))::bigint
        FROM recent AS r
        UNION ALL
        SELECT 'wait.mean_ms', ROUND(AVG(r.wait_ms))::bigint
        FROM recent AS r
        UNION ALL
        SELECT 'workers.busy', COUNT(*)
        FROM item AS i
        /* What other code has taken may have no deadline. */
        WHERE i.status = 'Processing' AND COALESCE(i.lease_until > clock_timestamp(), TRUE)
    )

    SELECT
        'count.' || s.status,
        COALESCE(c.items, 0)
    FROM "readpast"."queue_status" AS s
    LEFT JOIN (
        SELECT i.status, COUNT(*) AS items
        FROM item AS i
        GROUP BY i.status
    ) AS c
        ON c.status = s.status
    UNION ALL
    SELECT 'due.count', COUNT(*)
    FROM item AS i
    WHERE i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= clock_timestamp(), TRUE)
    UNION ALL
    SELECT 'due.oldest_ms', (EXTRACT(EPOCH FROM clock_timestamp() - MIN(i.due_at)) * 1000)::bigint
    FROM item AS i
    WHERE i.status IN ('Pending', 'Error') AND i.due_at <= clock_timestamp()
    UNION ALL
    SELECT 'lease.expired', COUNT(*)
    FROM item AS i
    WHERE i.status = 'Processing' AND i.lease_until <= clock_timestamp()
    UNION ALL
    SELECT 'sample.items', COUNT(*)
    FROM recent
    UNION ALL
    SELECT
        'wait.' || p.label || '_ms',
        (SELECT percentile_disc(p.fraction) WITHIN GROUP (ORDER BY r.wait_ms) FROM recent AS r)
    FROM (VALUES ('p50', 0.50), ('p90', 0.90), ('p99', 0.99)) AS p (label, fraction)
    UNION ALL
    SELECT
        'run.' || p.label || '_ms',
        (SELECT percentile_disc(p.fraction) WITHIN GROUP (ORDER BY r.run_ms) FROM recent AS r)
    FROM (VALUES ('p50', 0.50), ('p90', 0.90), ('p99', 0.99)) AS p (label, fraction)
    UNION ALL
    SELECT f.label, f.amount
    FROM figure AS f
    UNION ALL
    SELECT
        'workers.needed',
        NULL::bigint;
END;
$$;
GO
REVOKE ALL ON FUNCTION "readpast"."stats_four_queue_scheduler"() FROM public;
GO