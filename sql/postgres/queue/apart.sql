{%- import "macro/item.sql" as m -%}
{%- import "macro/settings.sql" as use -%}
{%- import "macro/narrow.sql" as narrow -%}
{%- set of_claim = true -%}
{% include "part/claim_keys.sql" %}
{%- set procedure = "next_" ~ queue ~ "_apart_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
Claim up to max_ due items, as next_{{ queue }}_set_trx does, while some are paused, or the table refuses some: a unique index, a CHECK or a trigger
of it lets no claim of them through. Those are left aside, for longer each time, and named in queue_refused; the others are
claimed. One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves
while the queue has such items; the first of them is found by calling this after a claim that the table refused.
Table access order: queue_pause, {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ function }}(

{%- filter listed(4) -%}
worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL
    {{- ", started_at_ timestamptz DEFAULT NULL" if run_time }}{{ ", types_ json DEFAULT NULL" if asks_types }}{{ ", steps_ json DEFAULT NULL" if asks_steps }}
    {{- ", claim_ bigint DEFAULT NULL" if marks_claims }}
{%- endfilter %}
)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
{%- include "part/claim_variables.sql" %}
{%- if not beside %}
{%- include "part/key_variables.sql" %}
{%- endif %}
{{- narrow.variables() }}
    taken_ boolean := FALSE;
    pause_ record;
{%- if role.kind %}
    paused_ text[];
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- use.settings(procedure, ["worker", "most", "lease"] + (["started"] if run_time else [])) }}
{%- include "part/kind_checks.sql" %}
{%- if group or limits %}
{{- m.turn(procedure, queue) }}
{%- endif %}

    now_ := clock_timestamp();
    SELECT BOOL_OR(p.type = '') AS everything, MAX(p.until) FILTER (WHERE p.type = '') AS until, ARRAY_AGG(p.type) AS types
    INTO pause_
    FROM {{ object("queue_pause") }} AS p
    WHERE p.queue = '{{ queue }}' AND (p.until > now_) IS NOT FALSE;
    IF pause_.everything THEN
        answer := 'EMPTY';
        answer_due_ms := CEIL(EXTRACT(EPOCH FROM pause_.until - now_) * 1000)::bigint;
        RETURN NEXT;
        RETURN;
    END IF;
{%- if role.kind %}
    paused_ := COALESCE(pause_.types, '{}');
{%- if own and asks_types and not asks_steps and searches_all and types | length <= 100 %}
    /* Sought by the other types, none of what is paused is passed over. */
    IF types_ IS NULL AND pause_.types IS NOT NULL THEN
        types_ := COALESCE(
            (
                SELECT JSON_AGG(g.type)
                FROM UNNEST(ARRAY[{% for type in types %}{{ text(type) }}{{ ", " if not loop.last }}{% endfor %}]) AS g (type)
                WHERE NOT g.type = ANY(paused_)
            ),
            /* No item has this one. */
            '[""]'
        );
    END IF;
{%- endif %}
{%- endif %}
{%- if limits %}
{%- include "part/limit_room.sql" %}
{%- endif %}
{%- if beside %}
{%- if parks_errors %}
{% include "part/unpark_call.sql" %}
{%- endif %}
{% include "part/lock_beside.sql" %}
{%- else %}
{%- set into %}
    SELECT {% for column in key %}ARRAY_AGG(f.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ m.list("key_", "_") }}
    FROM found AS f;
{%- endset %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    IF {{ m.kinds_given(search) }} THEN
{%- endif %}
{% include "part/kinds_asked.sql" %}
{% include "part/found_due.sql" %}

{{ into }}
{%- if not loop.last or searches_all %}
    ELSE
{%- endif %}
{%- endfor %}
{%- if searches_all %}
{%- set search = none %}
{%- if shards %}
    shard_turn_ := nextval({{ literal(queue ~ "_shard_turn") }});
{%- endif %}
{% include "part/found_due.sql" %}

{{ into }}
{%- endif %}
{%- for search in kind_searches %}
{%- if not loop.last or searches_all %}
    END IF;
{%- endif %}
{%- endfor %}
{%- endif %}

    IF key_1_ IS NULL THEN
        /* Nothing is due now: say when. */
{%- set refused = true %}
{%- filter indent(4) %}{% include "part/next_due.sql" %}{% endfilter %}
        RETURN NEXT;
        RETURN;
    END IF;
{%- set body %}
        RETURN QUERY
        SELECT n.*
        FROM {% include "part/claim_call.sql" %}
        WHERE n.answer <> 'EMPTY';
        taken_ := FOUND;
{%- endset %}
{%- set after %}
            /* They are let through, and no longer wait. */
            done_ := ARRAY(
                SELECT {{ m.key_kept("k.key_") }}
                FROM {{ m.keys_tried() }}
                INNER JOIN {{ table }} AS q
                    ON {{ m.at_key("k.key_") }}
                WHERE ({{ m.waiting() }}) IS NOT TRUE
            );
{%- endset %}
{{ narrow.narrow("claim", body, after=after, ends="taken_") }}
    IF NOT taken_ THEN
        /* All that it found was refused, or ended: what comes behind them is due now. */
        answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
        answer_due_ms := 0;
        RETURN NEXT;
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
