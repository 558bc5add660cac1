/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table;
percentiles and means are of the 10,000 newest items that were started and finished, and are still there. Times in
milliseconds: wait is from the due time to the claim, claimed from there to the end, the
wait in the worker's hand included.
workers.needed is how many must work at once to keep up (Little's law): arrivals per time, times the mean time claimed, at 80 per
cent of their time, and one at least while items are due or in flight.
Table access order: invoice, its history.
*/
CREATE OR REPLACE FUNCTION "readpast"."stats_invoice"()
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH item AS NOT MATERIALIZED (
        SELECT
            q.status::text AS status, q.started_at AS started_at, q.duration AS claimed_ms, q.scheduled_for AS due_at,
            q.enqueued_at AS enqueued_at, q.lease_until AS lease_until
        FROM "readpast"."invoice" AS q
    ),
    counted AS MATERIALIZED (
        SELECT
            i.status, COUNT(*) AS items,
            COUNT(*) FILTER (WHERE i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= now_, TRUE)) AS due,
            MAX("readpast"."queue_ms_fn"(i.due_at, now_)) FILTER (WHERE i.status IN ('Pending', 'Error') AND i.due_at <= now_) AS oldest,
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND i.lease_until <= now_) AS expired,
            COUNT(*) FILTER (WHERE i.enqueued_at > now_ - interval '1 hour' AND i.enqueued_at <= now_ + interval '1 minute') AS arrived,
            /* An item that other code has taken may have no deadline. */
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND COALESCE(i.lease_until > now_, TRUE)) AS claimed
        FROM item AS i
        GROUP BY i.status
    ),
    recent AS MATERIALIZED (
        SELECT GREATEST(0, "readpast"."queue_ms_fn"(COALESCE(i.due_at, i.enqueued_at), i.started_at)) AS wait_ms, i.claimed_ms
        FROM (
            SELECT a.started_at, a.claimed_ms, a.due_at, a.enqueued_at FROM item AS a
            UNION ALL
            SELECT q.started_at, q.duration, q.scheduled_for, q.enqueued_at FROM "readpast"."Invoice_History" AS q
        ) AS i
        WHERE i.started_at IS NOT NULL AND i.claimed_ms IS NOT NULL
        ORDER BY i.enqueued_at DESC
        LIMIT 10000
    )
    SELECT f.*
    FROM "readpast"."queue_figures"(
        (SELECT json_agg(c) FROM counted AS c), ARRAY(SELECT r.wait_ms FROM recent AS r), ARRAY(SELECT r.claimed_ms FROM recent AS r),
        (SELECT COUNT(*) FROM "readpast"."Invoice_History" AS q WHERE q.enqueued_at > now_ - interval '1 hour' AND q.enqueued_at <= now_ + interval '1 minute')
    ) AS f;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."stats_invoice"() FROM public;
