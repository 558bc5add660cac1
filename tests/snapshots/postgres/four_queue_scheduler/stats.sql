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
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
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
    counted AS MATERIALIZED (
        SELECT
            i.status, COUNT(*) AS items,
            COUNT(*) FILTER (WHERE i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= now_, TRUE)) AS due,
            MAX("readpast"."queue_ms_fn"(i.due_at, now_)) FILTER (WHERE i.status IN ('Pending', 'Error') AND i.due_at <= now_) AS oldest,
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND i.lease_until <= now_) AS expired,
            /* An item that other code has taken may have no deadline. */
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND COALESCE(i.lease_until > now_, TRUE)) AS claimed
        FROM item AS i
        GROUP BY i.status
    ),
    recent AS MATERIALIZED (
        SELECT GREATEST(0, "readpast"."queue_ms_fn"(COALESCE(i.due_at, i.enqueued_at), i.started_at)) AS wait_ms, i.claimed_ms
        FROM item AS i
        WHERE i.started_at IS NOT NULL AND i.claimed_ms IS NOT NULL AND "readpast"."queue_is_finished_fn"(i.status)
        ORDER BY i.started_at DESC
        LIMIT 10000
    )
    SELECT f.*
    FROM "readpast"."queue_figures"(
        (SELECT json_agg(c) FROM counted AS c), ARRAY(SELECT r.wait_ms FROM recent AS r), ARRAY(SELECT r.claimed_ms FROM recent AS r)
    ) AS f;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."stats_four_queue_scheduler"() FROM public;
