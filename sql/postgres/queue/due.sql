{%- if not claimed_by_others %}
{%- import "macro/item.sql" as m -%}
{#- Asked for all that waits: of its kinds the claim finds out. -#}
{%- set kind_searches = [] if searches_all else kind_searches -%}
{%- set procedure = "due_" ~ queue -%}
{%- set of_claim = false -%}
{#- Something is due; in a paused queue it is claimed when the pause ends. -#}
{%- macro found() %}
    IF FOUND THEN
        SELECT p.until
        INTO until_
        FROM {{ object("queue_pause") }} AS p
        WHERE p.queue = '{{ queue }}' AND p.type = '' AND (p.until > now_) IS NOT FALSE;
        RETURN CASE WHEN FOUND THEN CEIL(EXTRACT(EPOCH FROM until_ - now_) * 1000)::bigint ELSE 0 END;
    END IF;
{%- endmacro -%}
{%- set function = object(procedure) -%}
{#- The conditions under which something is due, each of which is one seek. -#}
{%- set whens = ["TRUE"] if not role.due
    else ["(q." ~ role.due ~ " IS NULL OR q." ~ role.due ~ " <= now_)"] if not due_in_order
    else [m.due() ~ " <= now_"] if not index.name
    else ["q." ~ role.due ~ " IS NULL", "q." ~ role.due ~ " <= now_"] -%}
{% filter made("FUNCTION", procedure) %}
/*
In how many milliseconds a claim may find something: 0 is now, NULL is not as things stand, and -1 that somebody is to look for
the items of dead workers, as nobody has within recover_ milliseconds. It locks no
row of the table, and notes free locks of workers. More may look due than a claim gets:
what others are about to take, what waits behind its group, what is of a kind that the caller does not claim.
Called by queue_due.
Table access order: queue_recovery, queue_lifeline, {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, queue_pause, queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ function }}(recover_ integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    every_ CONSTANT interval := recover_ * interval '1 millisecond';
    until_ timestamptz;
    recovers_ boolean;
    looks_ boolean;
{%- if not searches_all %}
    kind_types_ CONSTANT text[] := ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}];
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{%- set in_flight = "SELECT 1 FROM " ~ object(queue ~ "_lease") ~ " AS s WHERE s.status = 'Processing' ORDER BY s.started_at LIMIT 1" if beside
    else "SELECT 1 FROM " ~ table ~ " AS q WHERE " ~ m.stands(processing) ~ " ORDER BY q." ~ role.started ~ " LIMIT 1" %}
    SELECT
        r.recovered_at NOT BETWEEN now_ - every_ AND now_ + every_{% if not beside %} AND EXISTS ({{ in_flight }}){% endif %},
        r.looked_at NOT BETWEEN now_ - interval '500 ms' AND now_ + interval '500 ms' AND EXISTS ({{ in_flight }})
    INTO recovers_, looks_
    FROM {{ object("queue_recovery") }} AS r
    WHERE r.queue = '{{ queue }}';
    IF looks_ THEN
        recovers_ := {{ object("queue_lifeline_look") }}('{{ queue }}', now_) OR recovers_;
    END IF;
    IF recovers_ THEN RETURN -1;
    END IF;
{%- for due_is in whens %}
{%- if shards or not searches_all %}
    PERFORM
    FROM {% if shards %}{{ m.all_shards() }}{% else %}{{ m.kinds_unnested() }} AS w ({{ m.kind_columns() }}){% endif %}
    CROSS JOIN LATERAL (
        SELECT 1
        FROM {{ table }} AS q
        WHERE
            {% if shards %}{{ m.shard() }} = g.shard{% else %}{{ m.is_kind(kind_searches | last, "w") }}{% endif %}
            AND {{ m.waiting() }}
            AND {{ due_is }}
        ORDER BY {{ m.by_due() }}
        LIMIT 1
    ) AS h
    LIMIT 1;
{%- else %}
    PERFORM
    FROM {{ table }} AS q
    WHERE
        {{ m.waiting() }}
{%- if due_is != "TRUE" %}
        AND {{ due_is }}
{%- endif %}
{%- include "part/order.sql" %}
    LIMIT 1;
{%- endif %}
{{- found() }}
{%- endfor %}
{%- if beside and parks_errors %}
    PERFORM
    FROM {{ object(queue ~ "_lease") }} AS s
    WHERE s.status = 'Error' AND s.due_at <= now_
    ORDER BY s.due_at
    LIMIT 1;
{{- found() }}
{%- endif %}
{%- set refused = true %}
    RETURN {% include "part/due_ms.sql" %};
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(integer) FROM public;
{% endfilter %}
{%- endif %}
