{%- import "macro/item.sql" as m -%}
{%- set procedure = "watch_" ~ queue -%}
{%- set function = object(procedure) -%}
{%- set history = history_table if own and history_table else none -%}
{%- set by_type = role.kind and types | length > 1 -%}
{%- set arrivals = role.enqueued and completion != "delete" and (own or completion == "keep") -%}
{#- Whether an item that is completed, and stays, says when it began and how long it took: else nobody can count what ended. -#}
{%- set ends = arrivals and (own or (role.started and (role.finished or role.duration) and not run_time)) -%}
{#- An item as each look reads it: from the row, or from what both rows tell. -#}
{%- macro read(what) %}{{ "v.item_" ~ what if beside else m.of(what) }}{% endmacro -%}
{#- As much of an error as is shown, of items whose errors are: thousands of long ones would be more than an array takes. -#}
{%- macro first_line() -%}
CASE WHEN {{ read("status") }} IN ('Error', 'Failed') AND {{ read("error") }} <> '' THEN SPLIT_PART(LEFT({{ read("error") }}, 200), E'\n', 1) END
{%- endmacro -%}
{%- macro key_shown() %}{% if own %}{{ m.shown_time("q." ~ key[0].quoted) }} || '0'{% else %}{{ m.key_text("v.item_key_") if beside else m.key_text_of_row() }}{% endif %}{% endmacro -%}
{%- macro columns() %}
                ROW(
{%- filter listed(20) %}{{ key_shown() }}
{%- for what in ["type", "status", "error", "enqueued_at", "started_at", "duration", "due_at", "owner", "lease_until"] %}, {{ first_line() if what == "error" else read(what) }}{% endfor %}
{%- endfilter %}
                )::{{ object("queue_look") }} AS look
{%- endmacro -%}
{#- At most so many rows, by an index. -#}
{%- macro seen(where, order, from=table, most="most_ + 1") %}
            SELECT
{{- columns() }}
            FROM {{ from }} AS q
            WHERE {{ where }}
            {{ order }}
            LIMIT {{ most }}
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
{%- if limits %}
due.startable_ms: for how long the oldest item has been due that has room within the limits, of a hundred keys that have any.
{%- endif %}
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}{{ ", its history" if history }}{{ "; queue_limit" if limits }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(most_ integer DEFAULT 10000)
RETURNS TABLE (name text, value bigint, capped boolean, ms bigint, detail text, key text)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    looked_ record;
{%- if own %}
    /* Citus sends its nodes only values of simple types. */
    last_taken_ timestamptz;
    oldest_present_ timestamptz;
    before_ {{ object("queue_look") }}[];
{%- endif %}
{%- if limits %}
    room_ record;
{%- endif %}
BEGIN
    IF most_ IS NULL OR most_ NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'watch_{{ queue }}: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
{%- include "part/local_time.sql" %}
    SELECT
{%- if shards %}
        (
            /* Each shard gives its part, so that the oldest of all is among them. */
            SELECT ARRAY_AGG(h.look)
            FROM {{ m.all_shards() }}
            CROSS JOIN LATERAL ({{ seen(m.shard() ~ " = g.shard AND " ~ m.waiting(), claimed, most="most_ / " ~ shards ~ " + 1") }}
            ) AS h
        ) AS waiting,
        /* One may have more than its part, whatever the others have. */
        EXISTS (
            SELECT 1
            FROM {{ m.all_shards() }}
            CROSS JOIN LATERAL (
                SELECT 1 FROM {{ table }} AS q WHERE {{ m.shard() }} = g.shard AND {{ m.waiting() }} LIMIT 1 OFFSET most_ / {{ shards }}
            ) AS h
        ) AS more,
{%- elif beside %}
{%- set parked = " UNION " ~ kept_keys("Error", "due_at") if parks_errors else "" %}
{%- set left = " UNION " ~ keys(m.stands(errors), "") if shows_errors else "" %}
        ARRAY({{ (both(keys(m.waiting(), claimed) ~ parked ~ left)) }}
        ) AS waiting,
{%- else %}
        ARRAY({{ (seen(m.waiting(), claimed)) }}
        ) AS waiting,
{%- endif %}
{%- if beside %}
{%- set taken = " UNION " ~ keys(m.stands(processing), "") if shows_claims else "" %}
        ARRAY({{ (both(kept_keys("Processing", "started_at") ~ taken)) }}
        ) AS flying,
        ARRAY({{ (both(keys(m.is_its(), newest))) }}
        ) AS present
{%- else %}
        ARRAY({{ (seen(m.stands(processing), "ORDER BY q." ~ role.started)) }}
        ) AS flying,
        ARRAY({{ (seen(m.is_its(), newest)) }}
        ) AS present
{%- endif %}
{%- if own %},
        ARRAY({{ (seen("q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')", newest)) }}
        ) AS stopped
{%- endif %}
{%- if history %},
        ARRAY({{ (seen("TRUE", newest, from=history)) }}
        ) AS gone
{%- endif %}
    INTO looked_;
{%- if own %}

    /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
    last_taken_ := COALESCE(
        (SELECT MAX(f.enqueued_at) FROM UNNEST(looked_.flying) AS f), (SELECT MIN(w.enqueued_at) FROM UNNEST(looked_.waiting) AS w)
    );
    oldest_present_ := (SELECT MIN(p.enqueued_at) FROM UNNEST(looked_.present) AS p);
    SELECT ARRAY({{ seen("q.enqueued_at <= last_taken_ AND q.enqueued_at < oldest_present_", newest) }}
    )
    INTO before_;
{%- endif %}

    /* A statement of its own, in which there is no table: Citus would have it called on the table's node. */
    RETURN QUERY
    SELECT w.*
    FROM {{ object("queue_watched") }}(
        '{{ queue }}', most_, now_, looked_.waiting, looked_.flying, {{ "looked_.stopped" if own else "NULL" }}, looked_.present,
        {{ "before_" if own else "NULL" }}, {{ "looked_.gone" if history else "NULL" }},
        {{ "looked_.more" if shards else "CARDINALITY(looked_.waiting) > most_" }},
        {% if own_types_only %}ARRAY(SELECT a.type FROM {{ object("queue_own_type_v") }} AS a WHERE a.queue = '{{ queue }}'){% else %}NULL{% endif %},
        {{ arrivals | bool | upper }}, {{ ends | bool | upper }}, {{ by_type | bool | upper }}
    ) AS w;
{%- if limits %}
{%- include "part/startable.sql" %}
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(integer) FROM public;
{% endfilter %}
