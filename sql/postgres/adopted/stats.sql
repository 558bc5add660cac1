{%- set function = object("stats_" ~ queue) -%}
{%- set knows_arrivals = completion == "keep" and role.enqueued -%}
/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table; the
percentiles are of the 10,000 newest items that were started and finished, and are still there. Times in milliseconds:
wait is from {{ "the due time" if role.due else "the enqueueing" }} to the start, run from there to the end.
{%- if knows_arrivals %}
workers.needed answers how many workers keep up with what arrives: arrivals per millisecond, times the mean run, is how
many items are in work at a time (Little's law); divided by 0.8, so that nobody waits for long in a busy minute.
{%- else %}
What has arrived cannot be counted in this table, so workers.needed is NULL.
{%- endif %}
Table access order: {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}()
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
#variable_conflict use_column
BEGIN
{%- include "adopted/_local_time.sql" %}
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            v.item_status AS status,
            v.item_started_at AS started_at,
            v.item_duration AS run_ms,
{%- if role.due %}
            COALESCE(v.item_due_at, v.item_enqueued_at) AS due_at,
{%- else %}
            COALESCE(CASE WHEN v.item_status = 'Error' THEN v.item_due_at END, v.item_enqueued_at) AS due_at,
{%- endif %}
            v.item_enqueued_at AS enqueued_at,
            v.item_lease_until AS lease_until
        FROM {{ object(queue ~ "_item_v") }} AS v
    ),

    recent AS MATERIALIZED (
        SELECT
            GREATEST(0, EXTRACT(EPOCH FROM i.started_at - COALESCE(i.due_at, i.enqueued_at)) * 1000)::bigint AS wait_ms,
            i.run_ms
        FROM item AS i
        WHERE
            {{ object("queue_is_finished_fn") }}(i.status)
            AND i.started_at IS NOT NULL
            AND i.run_ms IS NOT NULL
        ORDER BY i.started_at DESC
        LIMIT 10000
    ),

    figure (label, amount) AS (
{%- if knows_arrivals %}
        SELECT 'arrivals.last_hour', COUNT(*) FILTER (WHERE i.enqueued_at > clock_timestamp() - interval '1 hour')
        FROM item AS i
{%- else %}
        SELECT 'arrivals.last_hour', NULL::bigint
{%- endif %}
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
    FROM {{ object("queue_status") }} AS s
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
{%- if knows_arrivals %}
        GREATEST(
            CEIL(
                (SELECT f.amount FROM figure AS f WHERE f.label = 'arrivals.last_hour') / 3600000.0
                * (SELECT f.amount FROM figure AS f WHERE f.label = 'run.mean_ms') / 0.8
            )::bigint,
            (SELECT COUNT(*) FROM (
                SELECT 1 FROM item AS i
                WHERE NOT {{ object("queue_is_finished_fn") }}(i.status)
                LIMIT 1
            ) AS o)
        );
{%- else %}
        NULL::bigint;
{%- endif %}
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}() FROM public;
GO
