{%- import "part/macros.sql" as m -%}
{%- set procedure = "stats_" ~ queue -%}
{%- set function = object(procedure) -%}
{%- set history = history_table if own and history_table else none -%}
{%- set knows_arrivals = role.enqueued and (completion == "keep" or history) -%}
{% filter made("FUNCTION", procedure) %}
/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table;
percentiles and means are of the 10,000 newest items that were started and finished, and are still there. Times in
milliseconds: wait is from {{ "the due time" if role.due else "the enqueueing" }} to the claim, claimed from there to the end, the
wait in the worker's hand included.
{%- if steps %}
step.<status>.<step> is how many items of a state are at a step of the description; without a step's name, at none of them.
A figure that would be 0 has no row.
{%- endif %}
{%- if knows_arrivals %}
workers.needed is how many must work at once to keep up (Little's law): arrivals per time, times the mean time claimed, at 80 per
cent of their time, and one at least while items are due or in flight.
{%- else %}
Arrivals cannot be counted in this table, so workers.needed is NULL.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", its history" if history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}()
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
{%- include "part/local_time.sql" %}
    RETURN QUERY
    WITH item AS {{ "MATERIALIZED" if beside else "NOT MATERIALIZED" }} (
        SELECT
{%- if beside %}
            v.item_status AS status,
{%- if steps %}
            CASE v.item_step {% for step in steps %}WHEN {{ text(step) }} THEN {{ loop.index }} {% endfor %}ELSE 0 END AS step,
{%- endif %}
            v.item_started_at AS started_at,
            v.item_duration AS claimed_ms,
            COALESCE({{ "v.item_due_at" if role.due else "CASE WHEN v.item_status = 'Error' THEN v.item_due_at END" }}, v.item_enqueued_at) AS due_at,
            v.item_enqueued_at AS enqueued_at,
            v.item_lease_until AS lease_until
        FROM {{ object(queue ~ "_item_v") }} AS v
{%- else %}
            {{ m.of("status") }} AS status,
{%- if steps %}
            CASE {{ m.of("step") }} {% for step in steps %}WHEN {{ text(step) }} THEN {{ loop.index }} {% endfor %}ELSE 0 END AS step,
{%- endif %}
            {{ m.of("started_at") }} AS started_at,
            {{ m.of("duration") }} AS claimed_ms,
            {{ m.of("due_at") if own else "COALESCE(" ~ m.of("due_at") ~ ", " ~ m.of("enqueued_at") ~ ")" }} AS due_at,
            {{ m.of("enqueued_at") }} AS enqueued_at,
            {{ m.of("lease_until") }} AS lease_until
        FROM {{ table }} AS q
{%- endif %}
    ),
{%- if history %}

    ended AS NOT MATERIALIZED (
        SELECT
            {{ m.of("started_at") }} AS started_at,
            {{ m.of("duration") }} AS claimed_ms,
            {{ m.of("due_at") }} AS due_at,
            {{ m.of("enqueued_at") }} AS enqueued_at
        FROM {{ history }} AS q
    ),
{%- endif %}

{% if steps %}    counted AS MATERIALIZED (
        SELECT i.status, i.step, COUNT(*) AS items
        FROM item AS i
        GROUP BY i.status, i.step
    ),

{% endif %}    recent AS MATERIALIZED (
        SELECT
            GREATEST(0, {{ m.ms("COALESCE(i.due_at, i.enqueued_at)", "i.started_at") }}) AS wait_ms,
            i.claimed_ms
        FROM {% if history %}(
            SELECT a.started_at, a.claimed_ms, a.due_at, a.enqueued_at FROM item AS a
            UNION ALL
            SELECT b.started_at, b.claimed_ms, b.due_at, b.enqueued_at FROM ended AS b
        ){% else %}item{% endif %} AS i
        WHERE
            i.started_at IS NOT NULL
            AND i.claimed_ms IS NOT NULL
{%- if not own %}
            AND {{ object("queue_is_finished_fn") }}(i.status)
{%- endif %}
        ORDER BY {{ "i.enqueued_at" if own else "i.started_at" }} DESC
        LIMIT 10000
    ),

    mean AS MATERIALIZED (
        SELECT ROUND(AVG(r.wait_ms))::bigint AS wait_ms, ROUND(AVG(r.claimed_ms))::bigint AS claimed_ms
        FROM recent AS r
    ),

    arrived AS MATERIALIZED (
{%- if knows_arrivals %}
        SELECT
            (SELECT COUNT(*) FROM item AS i WHERE {{ m.lately("i.enqueued_at") }})
{%- if history %}
            + (SELECT COUNT(*) FROM ended AS i WHERE {{ m.lately("i.enqueued_at") }})
{%- endif %} AS items
{%- else %}
        SELECT NULL::bigint AS items
{%- endif %}
    )

    SELECT
        'count.' || s.status,
        COALESCE(c.items, 0)
    FROM {{ object("queue_status") }} AS s
    LEFT JOIN (
        SELECT i.status, {{ "SUM(i.items)::bigint" if steps else "COUNT(*)" }} AS items
        FROM {{ "counted" if steps else "item" }} AS i
        GROUP BY i.status
    ) AS c
        ON c.status = s.status
{%- if steps %}
    UNION ALL
    SELECT 'step.' || c.status || '.' || n.name, c.items
    FROM (VALUES (0, ''){% for step in steps %}, ({{ loop.index }}, {{ text(step) }}){% endfor %}) AS n (step, name)
    INNER JOIN counted AS c
        ON c.step = n.step
{%- endif %}
    UNION ALL
    SELECT 'due.count', COUNT(*)
    FROM item AS i
    WHERE i.status IN ('Pending', 'Error') AND {{ "i.due_at <= now_" if own else "COALESCE(i.due_at <= now_, TRUE)" }}
    UNION ALL
    SELECT 'due.oldest_ms', MAX({{ m.ms("i.due_at", "now_") }})
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
            SELECT percentile_disc(p.fraction) WITHIN GROUP (
                ORDER BY CASE f.figure WHEN 'wait' THEN r.wait_ms ELSE r.claimed_ms END
            )
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
    WHERE i.status = 'Processing' AND {{ "i.lease_until > now_" if own else "COALESCE(i.lease_until > now_, TRUE)" }}
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
                            OR (i.status IN ('Pending', 'Error') AND {{ "i.due_at <= now_" if own else "COALESCE(i.due_at <= now_, TRUE)" }})
                    ) THEN 1
                    ELSE 0
                END
            )
        END
    FROM mean AS m
    CROSS JOIN arrived AS a;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}() FROM public;
{% endfilter %}
