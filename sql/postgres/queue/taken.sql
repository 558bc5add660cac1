{%- import "macro/item.sql" as m -%}
{%- import "macro/settings.sql" as use -%}
{%- import "macro/checks.sql" as check -%}
{%- if claimed_by_others %}
{%- set procedure = "taken_" ~ queue ~ "_trx" -%}
{%- set function = object(procedure) -%}
{% filter made("FUNCTION", procedure) %}
/*
An item that somebody else's function has claimed becomes a worker's: its attempt is counted, and {{ queue }}_lease says
whose it is and until when. Called with the key that the function gave. One row: CLAIMED, with the item; CLAIMED_ALONE, when it
came back from a dead worker; EMPTY, when it is not to be worked on (its attempts are spent and it is Failed now, or it was
paused or cancelled, which the table does not tell); LEASE_LOST, when the table does not say that this worker has it.
Asked again for the same claim it gives the same answer, and counts nothing.
Table access order: {{ table_name }}, {{ queue }}_lease{{ ", " ~ queue ~ "_attempt" if attempt_history }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(worker_ text, key_ text)
RETURNS TABLE ({{ m.item_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    lease_ms_ integer;
    max_attempts_ integer;
    is_ text;
    alone_ boolean;
{%- include "part/key_variables.sql" %}
BEGIN
{%- include "part/local_time.sql" %}
{{- use.settings(procedure, ["worker"], lease=true) }}

    /* The row of the table first. What stands beside it is read in the next statement: only then nobody changes it any more. */
    SELECT {{ m.arrays() }}
    INTO {{ m.list("key_", "_") }}
    FROM (
        SELECT
{{- m.key_read(m.key_from_text("key_")) }}
    ) AS i
    CROSS JOIN LATERAL (
        SELECT {{ m.columns() }}
        FROM {{ table }} AS q
        WHERE
            {{ m.at_key("i.key_") }}
            AND {{ m.stands(processing) }}
            AND q.{{ role.owner }}::text = worker_
        FOR NO KEY UPDATE
    ) AS q;
    now_ := clock_timestamp();

    IF key_1_ IS NOT NULL THEN
        SELECT v.item_status
        INTO is_
        FROM {{ m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", []) | indent(12) }}
        ) AS v ON TRUE;
    END IF;

    IF is_ IN ('Processing', 'Error') THEN
{%- if role.attempts %}
        IF EXISTS (
            SELECT 1
            FROM {{ m.keys_unnested() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", []) | indent(16) }}
            ) AS v ON TRUE
            WHERE v.item_attempt < 1
        ) THEN
            RAISE EXCEPTION '{{ procedure }}: the claim has not counted the attempt in %: let it, or leave table.lifecycle.attempts out of the description, and readpast counts', {{ text(role.attempts) }}
            USING ERRCODE = 'RP014';
        END IF;
{%- endif %}

        WITH found AS MATERIALIZED (
            SELECT
                {{ m.list("k.key_") }},
                v.*, s.status AS was, s.lease_owner AS was_owner, s.started_at AS was_started_at,
                /* The attempt that this claim follows. */
                CASE WHEN {{ object("queue_is_finished_fn") }}(s.status) THEN 0 ELSE COALESCE(s.attempt_num, 0) END AS before,
                /* The answer to this very claim was lost. */
                COALESCE(
                    s.status = 'Processing' AND s.lease_owner = worker_ AND s.started_at = v.item_started_at, FALSE
                ) AS again,
                /* A lease that is over, on an item that waited, and one that another claim has broken. */
                COALESCE(
                    s.status = 'Processing' OR (s.status IN ('Pending', 'Error') AND s.lease_until IS NOT NULL), FALSE
                ) AS died
            FROM {{ m.keys_unnested() }}
            INNER JOIN LATERAL (
                {{ m.found("k.key_", []) | indent(16) }}
            ) AS v ON TRUE
            LEFT JOIN {{ object(queue ~ "_lease") }} AS s
                ON {{ m.lease_at_key("k.key_") }}
        ),
        decided AS MATERIALIZED (
            SELECT
                {{ m.list("v.key_") }},
                {{ m.seeks("v.item_seek_", "seek_") }}'OK' AS answer,
                v.died AND NOT v.again AS alone, CASE WHEN n.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
                {{ m.later("v.item_token") }} AS token,
                n.attempt - n.is_spent::integer AS attempt_num,
                CASE
                    WHEN n.is_spent THEN format('Attempts are spent: %s of %s.', n.attempt - 1, max_attempts_)
                    ELSE v.item_error
                END AS error,
                CASE WHEN NOT n.is_spent THEN v.item_started_at + {{ m.interval_ms("lease_ms_") }} END AS lease_until,
                v.item_step AS step, v.item_response AS response, v.item_started_at AS started_at,
                v.item_started_at AS run_started_at, NULL::bigint AS duration, NULL::timestamptz AS due_at,
                worker_ AS owner, NULL::timestamptz AS died_at, n.is_spent AS finishes, FALSE AS reopens,
                TRUE AS stays,
{%- if attempt_history %}
                v.was = 'Processing' AND NOT v.again AS ended, v.before AS ended_attempt, v.was_owner AS ended_owner,
                v.was_started_at AS ended_started_at, v.item_step AS ended_step, NULL::text AS ended_response,
                format(
                    'The lock of worker %s was broken by worker %s; the worker is taken for dead.', v.was_owner, worker_
                ) AS ended_error,
{%- endif %}
                FALSE AS enters
            FROM found AS v
            CROSS JOIN LATERAL (
                SELECT {{ "v.item_attempt" if role.attempts else "CASE WHEN v.again THEN v.before ELSE v.before + 1 END" }} AS attempt
            ) AS a
            CROSS JOIN LATERAL (SELECT a.attempt, NOT v.again AND a.attempt > max_attempts_ AS is_spent) AS n
        ),

{% import "macro/write.sql" as write %}{{ write.changed() }}
{%- if attempt_history %},
{%- import "macro/attempted.sql" as history %}
{{- history.attempted("ended_error", outcome="CASE WHEN d.status = 'Failed' THEN 'Failed' ELSE 'Error' END") }}
{%- endif %}

        SELECT {% for column in key %}ARRAY_AGG(c.key_{{ loop.index }}), {% endfor %}BOOL_OR(c.alone)
        INTO {{ m.list("key_", "_") }}, alone_
        FROM changed AS c
        WHERE c.status = 'Processing';

        RETURN QUERY
        SELECT
            CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer, lease_ms_::bigint,
            {{ m.key_text("k.key_") }},
            v.item_token, v.item_attempt, v.item_status,
{{- m.item_of_view() | listed(12) }}
        FROM {{ m.keys_unnested() }}
        INNER JOIN LATERAL (
            {{ m.found("k.key_", "shown") | indent(12) }}
        ) AS v ON TRUE;
        IF FOUND THEN RETURN;
        END IF;
    END IF;

    RETURN QUERY
    SELECT
        CASE WHEN is_ IS NULL THEN 'LEASE_LOST' ELSE 'EMPTY' END, NULL::integer, NULL::bigint, NULL::text,
        NULL::timestamptz, NULL::integer, is_,
{{- m.no_item() | listed(12) }};
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(text, text) FROM public;
{% endfilter %}
{%- endif %}
