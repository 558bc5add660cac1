{%- import "part/macros.sql" as m -%}
{%- set procedure = "watch_" ~ queue -%}
{%- set function = object(procedure) -%}
{%- set history = history_table if own and history_table else none -%}
{%- set by_type = role.kind and types | length > 1 -%}
{%- set arrivals = role.enqueued and completion != "delete" and (own or completion == "keep") -%}
{#- Whether an item that is completed, and stays, says when it began and how long it took: else nobody can count what ended. -#}
{%- set ends = arrivals and (own or (role.started and (role.finished or role.duration) and not run_time)) -%}
{#- An item as each look reads it: from the row, or from what both rows tell. -#}
{%- macro read(what) %}{{ "v.item_" ~ what if beside else m.of(what) }}{% endmacro -%}
{%- macro key_shown() %}{% if own %}{{ m.shown_time("q." ~ key[0].quoted) }} || '0'{% else %}{{ m.key_text("v.item_key_") if beside else m.key_text_of_row() }}{% endif %}{% endmacro -%}
{%- macro columns() %}
                {{ key_shown() }} AS key,
                {{ read("type") }} AS type,
                {{ read("status") }} AS status,
                {{ read("error") }} AS error,
                {{ read("enqueued_at") }} AS enqueued_at,
                {{ read("started_at") }} AS started_at,
                {{ read("duration") }} AS claimed_ms,
                {{ read("due_at") }} AS due_at,
                {{ read("owner") }} AS owner,
                {{ read("lease_until") }} AS lease_until
{%- endmacro -%}
{#- Whether the caller may see more of the type than numbers. -#}
{%- macro may_see(type) %}EXISTS (SELECT 1 FROM seen AS a WHERE a.type IN ({{ type }}, '*')){% endmacro -%}
{#- At most so many rows, by an index. -#}
{%- macro rows(where, order, from=table, most="most_ + 1") %}
            SELECT
{{- columns() }}
            FROM {{ from }} AS q
            WHERE {{ where }}
            {{ order }}
            LIMIT {{ most }}
{%- endmacro -%}
{#- Whether there is more that waits than was looked at. Of shards one may have more than its part, whatever the others have. -#}
{%- macro waiting_capped() %}
{%- if shards -%}
(SELECT COALESCE(MAX(p.items) > most_ / {{ shards }}, FALSE) FROM (SELECT COUNT(*) AS items FROM waiting AS w GROUP BY w.shard) AS p)
{%- else -%}
(SELECT COUNT(*) FROM waiting) > most_
{%- endif -%}
{%- endmacro -%}
{%- macro keys(where, order) %}
                (
                    SELECT {{ m.columns() }}
                    FROM {{ table }} AS q
                    WHERE {{ where }}
                    {{ order }}
                    LIMIT most_ + 1
                )
{%- endmacro -%}
{%- macro kept_keys(state, order) %}
                (
                    SELECT {{ m.list("s.key_") }}
                    FROM {{ object(queue ~ "_lease") }} AS s
                    WHERE s.status = '{{ state }}'
                    ORDER BY s.{{ order }}
                    LIMIT most_ + 1
                )
{%- endmacro -%}
{#- The items with these keys as both tables have them. -#}
{%- macro both(keys) %}
            SELECT
{{- columns() }}
            FROM (
{{- keys }}
            ) AS k ({{ m.list("key_") }})
            INNER JOIN {{ object(queue ~ "_item_v") }} AS v
                ON {% for column in key %}{{ "AND " if not loop.first }}v.item_key_{{ loop.index }} BETWEEN k.key_{{ loop.index }} AND k.key_{{ loop.index }}{{ " " if not loop.last }}{% endfor %}
                {%- for column in seek %} AND v.item_seek_{{ loop.index }} IN ({{ column["values"] | join(", ") }}){% endfor %}
{%- endmacro -%}
{%- set newest -%}ORDER BY {% for column in key %}q.{{ column.quoted }} DESC{{ ", " if not loop.last }}{% endfor %}{%- endset -%}
{%- set claimed -%}
{%- if own and own_types_only -%}
ORDER BY q.{{ role.kind }}{% for column in order %}, q.{{ column.quoted }}{{ " DESC" if column.descending }}{% endfor %}
{%- else -%}
{%- filter trim %}{% include "part/order.sql" %}{% endfilter -%}
{%- endif -%}
{%- endset -%}
{% filter made("FUNCTION", procedure) %}
/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
most_ rows and {{ "a few" if shards else "one" }} by an index. Four looks: what waits, in the order of the claim; what is in flight;
{%- if own %} what has ended other than
Completed, the newest first;{% endif %} and the newest items of all{{ ", in the table and in its history" if history }}.
A row is a figure, with its value and, if that is so, capped: there are as many or more.
worker: how many items it holds (value), and for how long the oldest of them (ms); its name is detail.
error.<state>: how many of the items looked at say detail as the first line of their error, and the key of one of them.
{%- if own_types_only %}
These two{{ ", and type.<figure>," if by_type }} count only types that the caller may see.
{%- endif %}
window.items: how many of the newest items the figures count and arrivals are of; capped says that there are more. wait,
claimed: of those of them{{ ", and of those before what was taken last," if own }} that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (ms). due.within_hour: how many are due later, within an hour.{% if arrivals %} came.last_hour:
the arrivals that are no longer scheduled for later, and how long ago the first of them came (ms).{% endif %}
{%- if by_type %}
type.<figure>: the same of one type, which is detail: waiting, due (ms: for how long the oldest), flying, ended{{ ", arrivals" if arrivals }} (both of the last
hour), claimed_mean_ms.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", its history" if history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(most_ integer DEFAULT 10000)
RETURNS TABLE (name text, value bigint, capped boolean, ms bigint, detail text, key text)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF most_ IS NULL OR most_ NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'watch_{{ queue }}: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
{%- include "part/local_time.sql" %}
    RETURN QUERY
    WITH {% if own_types_only %}seen AS MATERIALIZED (
        SELECT a.type FROM {{ object("queue_own_type_v") }} AS a WHERE a.queue = '{{ queue }}'
    ),

    {% endif %}waiting AS MATERIALIZED (
{%- if beside %}
{%- set parked = " UNION " ~ kept_keys("Error", "due_at") if parks_errors else "" %}
{%- set left = " UNION " ~ keys(m.stands(errors), "") if shows_errors else "" %}
{{- both(keys(m.waiting(), claimed) ~ parked ~ left) }}
{%- elif shards %}
            /* Each shard gives its part, so that the oldest of all is among them. */
            SELECT g.shard, h.*
            FROM {{ m.all_shards() }}
            CROSS JOIN LATERAL (
{%- filter indent(4) %}{{ rows(m.shard() ~ " = g.shard AND " ~ m.waiting(), claimed, most="most_ / " ~ shards ~ " + 1") }}{% endfilter %}
            ) AS h
{%- else %}
{{- rows(m.waiting(), claimed) }}
{%- endif %}
    ),

    flying AS MATERIALIZED (
{%- if beside %}
{%- set taken = " UNION " ~ keys(m.stands(processing), "") if shows_claims else "" %}
{{- both(kept_keys("Processing", "started_at") ~ taken) }}
{%- else %}
{{- rows(m.stands(processing), "ORDER BY q." ~ role.started) }}
{%- endif %}
    ),
{%- if own %}

    stopped AS MATERIALIZED (
{{- rows("q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')", newest) }}
    ),
{%- endif %}

    present AS MATERIALIZED (
{%- if beside %}
{{- both(keys("TRUE", newest)) }}
{%- else %}
{{- rows("TRUE", newest) }}
{%- endif %}
    ),
{%- if history %}

    gone AS MATERIALIZED (
{{- rows("TRUE", newest, from=history) }}
    ),
{%- endif %}

{%- if own %}

    /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
    done AS MATERIALIZED (
{{- rows("q.enqueued_at <= (
                SELECT COALESCE(MAX(f.enqueued_at), (SELECT MIN(w.enqueued_at) FROM waiting AS w))
                FROM flying AS f
            )
            AND q.enqueued_at < (SELECT MIN(p.enqueued_at) FROM present AS p)", newest) }}
    ),
{%- endif %}

    recent AS NOT MATERIALIZED (
        SELECT p.* FROM present AS p
{%- if own %}
        UNION ALL
        SELECT d.* FROM done AS d
{%- endif %}
{%- if history %}
        UNION ALL
        SELECT g.* FROM gone AS g
{%- endif %}
    ),

    measured AS MATERIALIZED (
        SELECT
            GREATEST(0, {{ m.ms("COALESCE(r.due_at, r.enqueued_at)", "r.started_at") }}) AS wait_ms,
            r.claimed_ms,
            r.type,
            r.started_at + r.claimed_ms * interval '1 millisecond' AS ended_at
        FROM recent AS r
        WHERE r.started_at IS NOT NULL AND r.claimed_ms IS NOT NULL AND {{ object("queue_is_finished_fn") }}(r.status)
    ),

    problem AS MATERIALIZED (
        SELECT p.status, p.key, LEFT(SPLIT_PART(p.error, E'\n', 1), 200) AS detail
        FROM (
            SELECT w.status, w.key, w.type, w.error FROM waiting AS w WHERE w.status = 'Error'
            UNION ALL
{%- if own %}
            SELECT s.status, s.key, s.type, s.error FROM stopped AS s WHERE s.status = 'Failed'
{%- else %}
            SELECT r.status, r.key, r.type, r.error FROM recent AS r WHERE r.status = 'Failed'
{%- endif %}
        ) AS p
        WHERE p.error <> ''{{ " AND " ~ may_see("p.type") if own_types_only }}
    ),

    figure (name, value, capped, ms, detail, key) AS (
        SELECT
            'count.' || s.status,
            COALESCE(c.items, 0),
            COALESCE(c.capped, FALSE),
            NULL::bigint, NULL::text, NULL::text
        FROM {{ object("queue_status") }} AS s
        LEFT JOIN (
            SELECT w.status, COUNT(*) AS items, {{ waiting_capped() }} AS capped
            FROM waiting AS w
            WHERE w.status IN ('Pending', 'Error')
            GROUP BY w.status
            UNION ALL
            SELECT 'Processing', COUNT(*), (SELECT COUNT(*) FROM flying) > most_
            FROM flying AS f
            WHERE f.status = 'Processing'
{%- if own %}
            UNION ALL
            SELECT s.status, COUNT(*), (SELECT COUNT(*) FROM stopped) > most_
            FROM stopped AS s
            GROUP BY s.status
{%- endif %}
            UNION ALL
            SELECT r.status, COUNT(*), (SELECT COUNT(*) FROM present) > most_
            FROM present AS r
            WHERE r.status {{ "= 'Completed'" if own else "NOT IN ('Pending', 'Error', 'Processing')" }}
            GROUP BY r.status
        ) AS c
            ON c.status = s.status
        UNION ALL
        SELECT 'due.count', COUNT(*), {{ waiting_capped() }}, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at <= now_, TRUE)
        UNION ALL
        SELECT 'due.within_hour', COUNT(*), {{ waiting_capped() }}, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND w.due_at > now_ AND w.due_at <= now_ + interval '1 hour'
        UNION ALL
        SELECT
            'due.oldest_ms', MAX({{ m.ms("COALESCE(w.due_at, w.enqueued_at)", "now_") }}),
            {{ waiting_capped() }}, NULL, NULL, NULL
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
        SELECT 'ended.last_minute', COUNT(*), COUNT(*) >= most_, MAX({{ m.ms("d.ended_at", "now_") }}), NULL, NULL
        FROM measured AS d
        WHERE d.ended_at > now_ - interval '1 minute'
        UNION ALL
{%- if ends %}
        SELECT 'ended.last_hour', COUNT(*), COUNT(*) >= most_, MAX({{ m.ms("d.ended_at", "now_") }}), NULL, NULL
        FROM measured AS d
        WHERE d.ended_at > now_ - interval '1 hour'
        UNION ALL
{%- endif %}
        SELECT
{%- set is_capped = waiting_capped() if shards else "COUNT(*) > most_" %}
            'came.waiting', COUNT(*), {{ is_capped }},
            {{ m.ms("MIN(w.enqueued_at)", "CASE WHEN " ~ is_capped ~ " THEN MAX(w.enqueued_at) ELSE now_ END") }}, NULL, NULL
        FROM waiting AS w
        WHERE w.enqueued_at > '-infinity' AND w.enqueued_at <= now_
{%- if by_type %}
        UNION ALL
        SELECT 'type.waiting', COUNT(*), {{ waiting_capped() }}, NULL, w.type, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error')
        GROUP BY w.type
        UNION ALL
        SELECT
            'type.due', COUNT(*), {{ waiting_capped() }},
            MAX({{ m.ms("COALESCE(w.due_at, w.enqueued_at)", "now_") }}), w.type, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at <= now_, TRUE)
        GROUP BY w.type
        UNION ALL
        SELECT 'type.flying', COUNT(*), (SELECT COUNT(*) FROM flying) > most_, NULL, f.type, NULL
        FROM flying AS f
        WHERE f.status = 'Processing'
        GROUP BY f.type
        UNION ALL
{%- if ends %}
        SELECT
            'type.ended', COUNT(*), (SELECT COUNT(*) FROM measured) >= most_, MAX({{ m.ms("d.ended_at", "now_") }}), d.type, NULL
        FROM measured AS d
        WHERE d.ended_at > now_ - interval '1 hour'
        GROUP BY d.type
        UNION ALL
{%- endif %}
        SELECT 'type.claimed_mean_ms', ROUND(AVG(d.claimed_ms))::bigint, FALSE, NULL, d.type, NULL
        FROM measured AS d
        GROUP BY d.type
{%- if arrivals %}
        UNION ALL
        SELECT 'type.arrivals', COUNT(*), (SELECT COUNT(*) FROM present) > most_, NULL, r.type, NULL
        FROM {{ "(SELECT p.* FROM present AS p UNION ALL SELECT g.* FROM gone AS g)" if history else "present" }} AS r
        WHERE {{ m.lately("r.enqueued_at") }}
        GROUP BY r.type
{%- endif %}
{%- endif %}
{%- if arrivals %}
        UNION ALL
        SELECT 'arrivals.last_hour', COUNT(*), COUNT(*) > most_, NULL, NULL, NULL
        FROM {{ "(SELECT p.* FROM present AS p UNION ALL SELECT g.* FROM gone AS g)" if history else "present" }} AS r
        WHERE {{ m.lately("r.enqueued_at") }}
        UNION ALL
        SELECT 'came.last_hour', COUNT(*), COUNT(*) > most_, {{ m.ms("MIN(r.enqueued_at)", "now_") }}, NULL, NULL
        FROM {{ "(SELECT p.* FROM present AS p UNION ALL SELECT g.* FROM gone AS g)" if history else "present" }} AS r
        WHERE
            {{ m.lately("r.enqueued_at") }}
            AND (r.status <> 'Pending' OR COALESCE(r.due_at <= now_, TRUE))
{%- endif %}
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
                SELECT percentile_disc(p.fraction) WITHIN GROUP (
                    ORDER BY CASE f.figure WHEN 'wait' THEN d.wait_ms ELSE d.claimed_ms END
                )
                FROM measured AS d
            ),
            FALSE, NULL, NULL, NULL
        FROM (VALUES ('wait'), ('claimed')) AS f (figure)
        CROSS JOIN (VALUES ('p50', 0.50), ('p90', 0.90), ('p99', 0.99)) AS p (label, fraction)
        UNION ALL
        (
            SELECT 'worker', COUNT(*), FALSE, MAX({{ m.ms("f.started_at", "now_") }}), f.owner, NULL
            FROM flying AS f
            WHERE f.status = 'Processing'{{ " AND " ~ may_see("f.type") if own_types_only }}
            GROUP BY f.owner
            ORDER BY COUNT(*) DESC, f.owner
            LIMIT 100
        )
        UNION ALL
        (
            SELECT 'refused', x.times, FALSE, {{ m.ms("now_", "x.until") }}, x.doing || ': ' || x.reason, x.key
            FROM {{ object("queue_refused") }} AS x
            WHERE x.queue = '{{ queue }}'{{ " AND " ~ may_see("'*'") if own_types_only }}
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
        f.capped,
        f.ms,
        f.detail,
        f.key
    FROM figure AS f
{%- if own_types_only and by_type %}
    WHERE f.name NOT LIKE 'type.%' OR {{ may_see("f.detail") }}
{%- endif -%}
    ;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(integer) FROM public;
{% endfilter %}
