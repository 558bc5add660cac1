{%- import "macro/item.sql" as m -%}
{%- import "macro/settings.sql" as use -%}
{%- import "macro/narrow.sql" as narrow -%}
{%- import "macro/write.sql" as write -%}
{%- set procedure = "recover_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{%- set foreign = beside and role.started and not run_time and shows_claims -%}
{#- In flight under this name. Of whom who may not see all types, only those are taken that it may see; what ran out may be anybody's. -#}
{%- macro mine(owner, type) %}{{ owner ~ " = dead_ OR (" ~ owner ~ " = worker_ AND " ~ m.type_seen(type) ~ ")" if own_types_only else owner ~ " IN (dead_, worker_)" }}{% endmacro -%}
{#- The answer about an item of another type than the caller may see. -#}
{%- macro shown(value, type) %}{{ "CASE WHEN " ~ m.type_seen(type) ~ " THEN " ~ value ~ " END" if own_types_only else value }}{% endmacro -%}
{%- set beside_table = ", " ~ queue ~ "_lease" if beside else "" -%}
{%- if beside and parks_errors %}
{% include "part/unpark.sql" %}
{%- endif %}
{% filter made("FUNCTION", procedure) %}
/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent: those whose leases ran out,
and those of a worker whose lock has been free for its grace (queue_lifeline). One row per item,
with the answer RECOVERED and the status it has now. An item that its worker had claimed together with others gets its
attempt back, since nobody knows which of them was begun; whatever comes back is claimed alone next. The items of one
claim come back together: more than max_ of them, if need be. With worker_, everything that is in flight under this name
counts, whatever its lease{{ ", of types that the caller may see" if own_types_only }}. With recover_ above 2, nothing is done when somebody did it within
so many milliseconds.
Claims do this too, so a queue with workers needs no other reaper.
{%- if foreign %} Items that were taken by
others than readpast count as well, once they are as old as a lease is long.
{%- endif %}
{%- if beside and shows_errors %} What others have set to Error is
tried again, too; it gives no row here.
{%- endif %}
Table access order: queue_recovery, queue_lifeline, {{ table_name }}{{ beside_table }}{{ ", " ~ queue ~ "_attempt" if attempt_history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(
    max_ integer DEFAULT 100, worker_ text DEFAULT NULL, recover_ integer DEFAULT 1
)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
{%- if foreign %}
    lease_ms_ integer;
{%- endif %}
    max_attempts_ integer;
    found_ integer;
    dead_ text;
{%- include "part/key_variables.sql" %}
    together_ boolean[];
{{- narrow.variables() }}
    /* The answers. */
    more_ json[];
    answers_ json[];
BEGIN
{%- include "part/local_time.sql" %}
{{- use.settings(procedure, ["most"], lease=foreign) }}
    IF recover_ > 2 AND NOT {{ object("queue_recovery_turn") }}('{{ queue }}', recover_, now_) THEN RETURN;
    END IF;
    dead_ := {{ object("queue_lifeline_seize") }}('{{ queue }}', now_);
{%- if claimed_by_others and parks_errors %}
{% include "part/unpark_call.sql" %}
{%- endif %}
{%- if beside %}
{% include "part/recover_beside.sql" %}
{%- endif %}

{%- if not beside %}
    /*
    The oldest claims first, each with all that is left of it: a chunk must not split one. Rows that others hold are passed
    over: they may be many, and the rest is behind them.
    */
    WITH dead AS MATERIALIZED (
        SELECT DISTINCT
            c.started_at,
            c.owner
        FROM (
            SELECT
                q.{{ role.started }} AS started_at,
                q.{{ role.owner }} AS owner
            FROM {{ table }} AS q
            WHERE
                {{ m.stands(processing) }}
                AND ({{ m.of("lease_until") }} <= now_ OR {{ mine("q." ~ role.owner, "q." ~ role.kind) }})
                AND {{ m.not_refused(m.key_kept_of_row()) }}
            ORDER BY q.{{ role.started }}
            LIMIT max_
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS c
    ),
    remains AS MATERIALIZED (
        SELECT {{ m.list("v.key_") }}
        FROM dead AS d
        CROSS JOIN LATERAL (
            SELECT {% for column in key %}q.{{ column.quoted }} AS key_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}
            FROM {{ table }} AS q
            WHERE
                {{ m.stands(processing) }}
                AND q.{{ role.started }} BETWEEN d.started_at AND d.started_at
                AND q.{{ role.owner }} {{ "=" if own else "IS NOT DISTINCT FROM" }} d.owner
                AND ({{ m.of("lease_until") }} <= now_ OR {{ mine("q." ~ role.owner, "q." ~ role.kind) }})
                AND {{ m.not_refused(m.key_kept_of_row()) }}
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS v
    )
    SELECT {% for column in key %}ARRAY_AGG(v.key_{{ loop.index }}){{ ", " if not loop.last }}{% endfor %}
    INTO {{ m.list("key_", "_") }}
    FROM remains AS v;
{% include "part/recover_more.sql" %}
    IF key_1_ IS NULL THEN RETURN;
    END IF;
{%- endif %}

    /*
    Items that were claimed together: nobody knows which was begun. Asked of all and not of what is locked here: another
    recovery may have the rest of them in hands.
    */
    SELECT
        ARRAY_AGG(
            EXISTS (
                SELECT 1
{%- if beside %}
                FROM {{ object(queue ~ "_lease") }} AS s
                CROSS JOIN LATERAL (
                    /* With a limit, so that no plan reads all that is in flight. */
                    SELECT 1
                    FROM {{ object(queue ~ "_lease") }} AS o
                    WHERE
                        o.status = 'Processing'
                        AND o.started_at BETWEEN s.started_at AND s.started_at
                        AND o.lease_owner = s.lease_owner
                        AND ({{ m.list("o.key_") }}) <> ({{ m.list("s.key_") }})
                    LIMIT 1
                ) AS o
                WHERE
                    s.status = 'Processing'
                    AND {{ m.lease_at_key("k.key_") }}
{%- else %}
                FROM {{ table }} AS q
                CROSS JOIN LATERAL (
                    /* With a limit, so that no plan reads all that is in flight. */
                    SELECT 1
                    FROM {{ table }} AS o
                    WHERE
                        {{ m.stands(processing, "o.") }}
                        AND o.{{ role.started }} BETWEEN q.{{ role.started }} AND q.{{ role.started }}
                        AND o.{{ role.owner }} {{ "=" if own else "IS NOT DISTINCT FROM" }} q.{{ role.owner }}
                        AND ({{ m.columns("o.") }}) <> ({{ m.columns("q.") }})
                    LIMIT 1
                ) AS o
                WHERE {{ m.at_key("k.key_") }}
{%- endif %}
            )
            ORDER BY k.position
        )
    INTO together_
    FROM {{ m.keys_unnested() }};
{%- set body %}
        WITH {% if beside %}held AS MATERIALIZED (
            /* A lease that is being renewed right now is alive. */
            SELECT {{ m.list("k.key_") }}, k.position
            FROM {{ m.keys_tried() }}
            WHERE
                NOT EXISTS (
                    SELECT 1
                    FROM {{ object(queue ~ "_lease") }} AS s
                    WHERE {{ m.lease_at_key("k.key_") }}
                )
            UNION ALL
            SELECT {{ m.list("k.key_") }}, k.position
            FROM {{ m.keys_tried() }}
            CROSS JOIN LATERAL (
                SELECT 1
                FROM {{ object(queue ~ "_lease") }} AS s
                WHERE
                    {{ m.lease_at_key("k.key_") }}
                    AND (s.lease_until <= now_ OR s.lease_owner IN (dead_, worker_) OR s.status <> 'Processing')
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS s
        ),

        {% endif %}expired AS MATERIALIZED (
            SELECT
                {{ m.list("k.key_") }},
                v.*,
                together_[from_ - 1 + k.position::integer] AS together,
                COALESCE(x.attempts, 0) AS refusals,
                x.reason AS refused
            FROM {{ "held AS k" if beside else m.keys_tried() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", ["token", "attempt", "owner", "lease_until"] + (["type"] if own_types_only else []) + (["started_at", "step"] if attempt_history else [])) | indent(16) }}
            ) AS v
                ON TRUE
            LEFT JOIN {{ object("queue_refused") }} AS x
                ON x.queue = '{{ queue }}' AND x.key = {{ m.key_kept("k.key_") }}
{%- if beside %}
            WHERE
                v.item_status = 'Processing'
                AND (v.item_lease_until <= now_ OR {{ mine("v.item_owner", "v.item_type") }})
{%- endif %}
        ),
        decided AS MATERIALIZED (
            SELECT
                {{ m.list("v.key_") }},
                {{ m.seeks("v.item_seek_", "seek_") }}'OK' AS answer,
                CASE WHEN e.ends THEN 'Failed' ELSE 'Error' END AS status,
                {{ m.later("v.item_token") }} AS token,
{%- if own_types_only %}
                v.item_type AS type,
{%- endif %}
                v.item_attempt - v.together::integer AS attempt_num,
                {{ object("queue_died_fn") }}(
                    v.item_owner, worker_, dead_, v.item_attempt, max_attempts_, v.together, CASE WHEN e.ends THEN v.refusals END, v.refused
                ) AS error,
                e.ends AS finishes,
{%- if attempt_history %}
                TRUE AS ended,
                v.item_attempt AS ended_attempt,
                v.item_owner AS ended_owner,
                v.item_started_at AS ended_started_at,
                v.item_step AS ended_step,
                NULL::text AS ended_response,
{%- endif %}
                FALSE AS enters,
                /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
{%- if own %}
                CASE WHEN NOT e.ends THEN LEAST(v.item_lease_until, now_) END AS lease_until
{%- else %}
                CASE WHEN NOT e.ends THEN LEAST(v.item_lease_until, now_) END AS died_at,
                NULL::timestamptz AS lease_until,
                v.item_step AS step,
                v.item_response AS response,
                v.item_started_at AS started_at,
                v.item_started_at AS run_started_at,
                CASE WHEN e.ends THEN {{ m.ms("v.item_started_at", "now_") }} END AS duration,
                {{ "LEAST(v.item_due_at, now_)" if role.due and not (beside and parks_errors) else "now_" }} AS due_at,
                v.item_owner AS owner,
                FALSE AS reopens,
                TRUE AS stays
{%- endif %}
            FROM expired AS v
            CROSS JOIN LATERAL (SELECT NOT v.together AND v.item_attempt + v.refusals >= max_attempts_ AS ends) AS e
        ),

{{ write.changed(["attempts", "error", "lease_until", "duration"], gives=["key_1", "token", "attempt_num", "answer"] + (["type"] if own_types_only else []) if own else []) | indent(4, true) }}
{%- if attempt_history %},
{%- import "macro/attempted.sql" as history %}
{{- history.attempted("error") | indent(4) }}
{%- endif %}

        SELECT
            ARRAY_AGG(
                json_build_object(
                    'key', {{ shown("c.key_1_", "c.type_") if own else shown(m.key_text("c.key_"), "c.type") }},
                    'token', {{ shown("c.token_" if own else "c.token", "c.type_" if own else "c.type") }},
                    'attempt', c.attempt_num{{ "_" if own }},
                    'status', c.status{{ "_" if own }}
                )
                ORDER BY {{ "c.key_1_" if own else m.list("c.key_") }}
            ),
            COALESCE(ARRAY_AGG({{ m.key_kept("c.key_", "_" if own else "") }}), '{}')
        INTO more_, done_
        FROM changed AS c;
        answers_ := answers_ || more_;
{%- endset %}
{{ narrow.narrow("recover", body) }}

    RETURN QUERY
    SELECT 'RECOVERED', NULL::integer, NULL::bigint, r.key, r.token, r.attempt, r.status
    FROM UNNEST(answers_) AS a
    CROSS JOIN LATERAL json_to_record(a) AS r (key {{ m.key_type() }}, token timestamptz, attempt integer, status text);
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(integer, text, integer) FROM public;
{% endfilter %}
