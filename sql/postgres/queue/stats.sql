{%- import "macro/item.sql" as m -%}
{%- set procedure = "stats_" ~ queue -%}
{%- set function = object(procedure) -%}
{%- set history = history_table if own and history_table else none -%}
{%- set knows_arrivals = role.enqueued and (completion == "keep" or history) -%}
{%- macro step_known(step) %}CASE WHEN {{ step }} IN ({% for step in steps %}{{ text(step) }}{{ ", " if not loop.last }}{% endfor %}) THEN {{ step }} ELSE '' END{% endmacro -%}
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
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
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
            {{ step_known("v.item_step") }} AS step,
{%- endif %}
            v.item_started_at AS started_at, v.item_duration AS claimed_ms,
            COALESCE({{ "v.item_due_at" if role.due else "CASE WHEN v.item_status = 'Error' THEN v.item_due_at END" }}, v.item_enqueued_at) AS due_at,
            v.item_enqueued_at AS enqueued_at, v.item_lease_until AS lease_until
        FROM {{ object(queue ~ "_item_v") }} AS v
{%- else %}
            {{ m.of("status") }} AS status,
{%- if steps %}
            {{ step_known(m.of("step")) }} AS step,
{%- endif %}
            {{ m.of("started_at") }} AS started_at,
            {{ m.of("duration") }} AS claimed_ms,
            {{ m.of("due_at") if own else "COALESCE(" ~ m.of("due_at") ~ ", " ~ m.of("enqueued_at") ~ ")" }} AS due_at,
            {{ m.of("enqueued_at") }} AS enqueued_at,
            {{ m.of("lease_until") }} AS lease_until
        FROM {{ table }} AS q
{{- "\n        WHERE " ~ m.is_its() if rows }}
{%- endif %}
    ),
    counted AS MATERIALIZED (
        SELECT i.status,
{%- if steps %}
            i.step,
{%- endif %}
            COUNT(*) AS items,
            COUNT(*) FILTER (WHERE i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= now_, TRUE)) AS due,
            MAX({{ m.ms("i.due_at", "now_") }}) FILTER (WHERE i.status IN ('Pending', 'Error') AND i.due_at <= now_) AS oldest,
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND i.lease_until <= now_) AS expired,
{%- if knows_arrivals %}
            COUNT(*) FILTER (WHERE {{ m.lately("i.enqueued_at") }}) AS arrived,
{%- endif %}
            /* An item that other code has taken may have no deadline. */
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND COALESCE(i.lease_until > now_, TRUE)) AS claimed
        FROM item AS i
        GROUP BY i.status{{ ", i.step" if steps }}
    ),
    recent AS MATERIALIZED (
        SELECT
            GREATEST(0, {{ m.ms("COALESCE(i.due_at, i.enqueued_at)", "i.started_at") }}) AS wait_ms,
            i.claimed_ms
        FROM {% if history %}(
            SELECT a.started_at, a.claimed_ms, a.due_at, a.enqueued_at FROM item AS a
            UNION ALL
            SELECT {{ m.of("started_at") }}, {{ m.of("duration") }}, {{ m.of("due_at") }}, {{ m.of("enqueued_at") }} FROM {{ history }} AS q
        ){% else %}item{% endif %} AS i
        WHERE i.started_at IS NOT NULL AND i.claimed_ms IS NOT NULL
{%- if not own %}
            AND {{ object("queue_is_finished_fn") }}(i.status)
{%- endif %}
        ORDER BY {{ "i.enqueued_at" if own else "i.started_at" }} DESC
        LIMIT 10000
    )
    SELECT f.*
    FROM {{ object("queue_figures") }}(
        (SELECT json_agg(c) FROM counted AS c), ARRAY(SELECT r.wait_ms FROM recent AS r),
        ARRAY(SELECT r.claimed_ms FROM recent AS r)
{%- if knows_arrivals %},
        {% if history %}(SELECT COUNT(*) FROM {{ history }} AS q WHERE {{ m.lately("q." ~ role.enqueued) }}){% else %}0{% endif %}
{%- endif %}
    ) AS f;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}() FROM public;
{% endfilter %}
