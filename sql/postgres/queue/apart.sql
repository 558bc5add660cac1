{%- import "part/macros.sql" as m -%}
{%- import "part/checks.sql" as check -%}
{%- import "part/narrow.sql" as narrow -%}
{%- import "part/write.sql" as write -%}
{%- set procedure = "next_" ~ queue ~ "_apart_trx" -%}
{%- set function = object(procedure) -%}
{#- The columns of what it changed, by the writer's names. -#}
{%- set s = "_" if own else "" -%}
{% filter made("FUNCTION", procedure) %}
/*
Claim up to max_ due items, as next_{{ queue }}_set_trx does, while the table refuses some: a unique index, a CHECK or a trigger
of it lets no claim of them through. Those are left aside, for longer each time, and named in queue_refused; the others are
claimed. One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves
while the queue has such items; the first of them is found by calling this after a claim that the table refused.
Table access order: {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}, queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL
    {{- ",\n    started_at_ timestamptz DEFAULT NULL" if run_time }}
    {{- ",\n    types_ json DEFAULT NULL" if asks_types }}{{ ",\n    steps_ json DEFAULT NULL" if asks_steps }}{{ ",\n    claim_ bigint DEFAULT NULL" if marks_claims }}
)
RETURNS TABLE ({{ m.item_columns() }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
{%- include "part/claim_variables.sql" %}
{%- if not beside %}
    alone_ boolean;
    ended_ bigint;
{%- include "part/key_variables.sql" %}
{%- endif %}
{{- narrow.variables() }}
    decided_ bigint;
{%- for column in key %}
    taken_{{ loop.index }}_ {{ key_types[loop.index0] }}[];
{%- endfor %}
BEGIN
{%- include "part/local_time.sql" %}
{% include "part/settings.sql" %}
{{- check.checks(procedure, ["worker", "most", "lease"] + (["started"] if run_time else [])) }}
{%- include "part/kind_checks.sql" %}
{%- if group %}
{{- m.turn(procedure, queue) }}
{%- endif %}

    now_ := clock_timestamp();
{%- if beside %}
{%- if parks_errors %}
{% include "part/unpark.sql" %}
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

    IF key_1_ IS NOT NULL THEN
{%- set body %}
        WITH found AS MATERIALIZED (
            SELECT
                {{ m.list("k.key_") }},
                v.*,
                COALESCE(x.attempts, 0) AS refusals,
                x.reason AS refused
            FROM {{ m.keys_tried() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", ["token", "attempt", "died_at"]) }}
            ) AS v
                ON TRUE
            LEFT JOIN {{ object("queue_refused") }} AS x
                ON x.queue = '{{ queue }}' AND x.key = {{ m.key_kept("k.key_") }}
            ORDER BY k.position
        ),

{% include "part/taken.sql" %}
{%- if own %}
{{- write.changed(["attempts", "started", "error", "owner", "lease_until"], taken=true, claims=true, gives=["key_1", "position", "alone"]) }}
{%- else %}
{{- write.changed(claims=true) }}
{%- endif %}

        SELECT
{%- for column in key %}
            ARRAY_AGG(c.key_{{ loop.index }}{{ s }} ORDER BY c.position{{ s }}) FILTER (WHERE c.status{{ s }} = 'Processing'),
{%- endfor %}
            BOOL_OR(c.alone{{ s }}),
            COALESCE(ARRAY_AGG({{ m.key_kept("c.key_", s) }}), '{}'),
            COUNT(*),
            (SELECT COUNT(*) FROM decided)
        INTO {{ m.list("taken_", "_") }}, alone_, done_, ended_, decided_
        FROM changed AS c;
        IF ended_ < decided_ THEN
            RAISE EXCEPTION 'a trigger of the table leaves the row as it is';
        END IF;
{%- endset %}
{{ narrow.narrow("claim", body, ends="taken_1_ IS NOT NULL") | indent(4, true) }}
        IF taken_1_ IS NOT NULL THEN
{%- for column in key %}
            key_{{ loop.index }}_ := taken_{{ loop.index }}_;
{%- endfor %}
            RETURN QUERY
            SELECT
                CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
                NULL::integer,
                NULL::bigint,
{%- if beside %}
                {{ m.key_text("k.key_") }},
                v.item_token,
                v.item_attempt,
                v.item_status,
{{- m.item_of_view() }}
            FROM {{ m.keys_unnested() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", "shown") }}
            ) AS v
                ON TRUE
{%- else %}
                {{ m.columns() if own else m.key_text("k.key_") }},
                {{ m.of("token") }},
                {{ m.of("attempt") }},
                'Processing',
{{- m.item_of_row() }}
            FROM {{ m.keys_unnested() }}
            INNER JOIN {{ table }} AS q
                ON {{ m.at_key("k.key_") }}
{{- m.subtypes_joined() }}
{%- endif %}
            ORDER BY k.position;
        ELSE
            /* All that it found was refused, or ended: what comes behind them is due now. */
            answer := 'EMPTY';
            answer_due_ms := 0;
            RETURN NEXT;
        END IF;
        RETURN;
    END IF;
{%- include "part/next_due.sql" %}
    RETURN NEXT;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, integer, integer{{ ", timestamptz" if run_time }}{{ ", json" if asks_types }}{{ ", json" if asks_steps }}{{ ", bigint" if marks_claims }}) FROM public;
{% endfilter %}
