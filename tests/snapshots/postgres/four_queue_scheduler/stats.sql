/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table;
percentiles and means are of the 10,000 newest items that were started and finished, and are still there. Times in
milliseconds: wait is from the due time to the claim, claimed from there to the end, the
wait in the worker's hand included.
Arrivals cannot be counted in this table, so workers.needed is NULL.
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
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            v.item_status AS status, v.item_started_at AS started_at, v.item_duration AS claimed_ms,
            COALESCE(v.item_due_at, v.item_enqueued_at) AS due_at, v.item_enqueued_at AS enqueued_at, v.item_lease_until AS lease_until
        FROM "readpast"."four_queue_scheduler_item_v" AS v
    ),

    recent AS MATERIALIZED (
        SELECT GREATEST(0, "readpast"."queue_ms_fn"(COALESCE(i.due_at, i.enqueued_at), i.started_at)) AS wait_ms, i.claimed_ms
        FROM item AS i
        WHERE i.started_at IS NOT NULL AND i.claimed_ms IS NOT NULL AND "readpast"."queue_is_finished_fn"(i.status)
        ORDER BY i.started_at DESC
        LIMIT 10000
    ),

    mean AS MATERIALIZED (
        SELECT ROUND(AVG(r.wait_ms))::bigint AS wait_ms, ROUND(AVG(r.claimed_ms))::bigint AS claimed_ms
        FROM recent AS r
    ),

    arrived AS MATERIALIZED (SELECT NULL::bigint AS items)

    SELECT 'count.' || s.status, COALESCE(c.items, 0)
    FROM "readpast"."queue_status" AS s
    LEFT JOIN (
        SELECT i.status, COUNT(*) AS items
        FROM item AS i
        GROUP BY i.status
    ) AS c ON c.status = s.status
    UNION ALL
    SELECT 'due.count', COUNT(*)
    FROM item AS i
    WHERE i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= now_, TRUE)
    UNION ALL
    SELECT 'due.oldest_ms', MAX("readpast"."queue_ms_fn"(i.due_at, now_))
    FROM item AS i
    WHERE i.status IN ('Pending', 'Error') AND i.due_at <= now_
    UNION ALL
    SELECT 'lease.expired', COUNT(*)
    FROM item AS i
    WHERE i.status = 'Processing' AND i.lease_until <= now_
    UNION ALL
    SELECT 'sample.items', COUNT(*)
    FROM recent
    UNION ALL
    SELECT
        f.figure || '.' || p.label || '_ms',
        (
            SELECT percentile_disc(p.fraction) WITHIN GROUP (ORDER BY CASE f.figure WHEN 'wait' THEN r.wait_ms ELSE r.claimed_ms END)
            FROM recent AS r
        )
    FROM (VALUES ('wait'), ('claimed')) AS f (figure)
    CROSS JOIN (VALUES ('p50', 0.50), ('p90', 0.90), ('p99', 0.99)) AS p (label, fraction)
    UNION ALL
    SELECT 'wait.mean_ms', m.wait_ms
    FROM mean AS m
    UNION ALL
    SELECT 'claimed.mean_ms', m.claimed_ms
    FROM mean AS m
    UNION ALL
    SELECT 'arrivals.last_hour', a.items
    FROM arrived AS a
    UNION ALL
    SELECT 'claimed.count', COUNT(*)
    FROM item AS i
    /* An item that other code has taken may have no deadline. */
    WHERE i.status = 'Processing' AND COALESCE(i.lease_until > now_, TRUE)
    UNION ALL
    SELECT
        'workers.needed',
        CASE
            WHEN a.items IS NOT NULL THEN GREATEST(
                CEIL(a.items * COALESCE(m.claimed_ms, 0) / (3600000 * 0.8))::bigint,
                CASE
                    WHEN EXISTS (
                        SELECT 1
                        FROM item AS i
                        WHERE
                            i.status = 'Processing'
                            OR (i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= now_, TRUE))
                    ) THEN 1
                    ELSE 0
                END
            )
        END
    FROM mean AS m
    CROSS JOIN arrived AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."stats_four_queue_scheduler"() FROM public;
