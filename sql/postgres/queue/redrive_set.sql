{%- import "macro/item.sql" as m -%}
{%- import "macro/checks.sql" as check -%}
{%- set procedure = "redrive_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
{%- set again = dedup and dedup.unfinished_only -%}
{%- set leaves = false -%}
{% filter made("FUNCTION", procedure) %}
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
items_ is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.{{ " DUPLICATE is work that is in the queue again, unfinished." if again }}
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: queue_operation, {{ table_name }}{{ ", " ~ queue ~ "_lease" if beside }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(operation_ uuid, items_ json)
RETURNS TABLE ({{ m.answer_columns() | listed(4) }}
)
{% include "part/attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
{%- if not own %}
    answers_ json;
{%- endif %}
BEGIN
{%- include "part/local_time.sql" %}
{{- check.takes(procedure, takes.redrive) }}

{% include "part/remember.sql" %}
    IF replayed_ THEN
{%- if own %}
        RETURN QUERY
{{ m.kept_answers() | indent(8, true) }};
        RETURN;
    END IF;
    RETURN QUERY
{%- else %}
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{%- if again %}
{{ m.one_adds(procedure) }}
{%- endif %}
{%- if beside %}
{% include "part/lock_items.sql" %}
{%- endif %}
{%- endif %}
    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal,
{{- m.key_read("i.key") }},
            {{ m.time_read("i.token") }} AS token,
            i.position
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key {{ m.key_given() }}, token {{ m.time_given() }}))
            WITH ORDINALITY AS i (key, token, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT
            g.*,
            ROW_NUMBER() OVER (PARTITION BY {{ m.list("g.key_") }} ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY {{ m.list("g.key_") }}, g.position
    ),
    found AS MATERIALIZED (
        SELECT i.*, v.*
        FROM item AS i
        LEFT JOIN LATERAL (
            {{ m.found("i.key_", ["status", "token", "attempt"]) | indent(12) }}
        ) AS v ON TRUE
    ),
    judged AS MATERIALIZED (
        SELECT
            v.*,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN v.token <> v.item_token THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN v.occurrence > 1 THEN 'CONFLICT'
                WHEN v.item_status IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
{%- if again %}
                /* The same work came again meanwhile, or comes back twice in this call. */
                WHEN EXISTS (
                    SELECT 1
{%- if beside %}
                    FROM {{ object(queue ~ "_item_v") }} AS e
                    WHERE
                        ({{ m.list("e.item_key_") }}) <> ({{ m.list("v.key_") }})
                        AND NOT {{ object("queue_is_finished_fn") }}(e.item_status)
{%- else %}
                    FROM {{ table }} AS e
                    WHERE
                        ({{ m.columns("e.") }}) <> ({{ m.list("v.key_") }})
                        AND {{ m.open("e.") }}
{%- endif %}
{%- for column in same %}
                        AND e.{{ column.shown if beside else column.quoted }} = w.{{ column.quoted }}
{%- endfor %}
                )
                    THEN 'DUPLICATE'
                WHEN
                    ROW_NUMBER() OVER (
                        PARTITION BY
                            v.item_status IN ('Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted')
{%- for column in same %},
                            w.{{ column.quoted }}
{%- endfor %}
                        ORDER BY v.ordinal
                    ) > 1
                    AND v.item_status IN ('Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted')
{%- for column in same %}
                    AND w.{{ column.quoted }} IS NOT NULL
{%- endfor %}
                    THEN 'DUPLICATE'
{%- endif %}
                ELSE 'OK'
            END AS answer
        FROM found AS v
{%- if again %}
{% include "part/redrive_same.sql" %}
{%- endif %}
    ),
    decided AS MATERIALIZED (
        SELECT
            v.ordinal,
            {{ m.list("v.key_") }},
            {{ m.seeks("v.item_seek_", "seek_") }}v.answer,
            CASE WHEN v.answer = 'OK' THEN 'Pending' ELSE v.item_status END AS status,
            CASE WHEN v.answer = 'OK' THEN {{ m.later("v.item_token") }} ELSE v.item_token END AS token,
            CASE WHEN v.answer = 'OK' THEN 0 ELSE v.item_attempt END AS attempt_num,
{%- if not own %}
            v.item_step AS step, v.item_response AS response, v.item_error AS error, NULL::timestamptz AS started_at,
            NULL::timestamptz AS run_started_at, NULL::bigint AS duration, NULL::text AS owner,
            NULL::timestamptz AS lease_until, NULL::timestamptz AS died_at, FALSE AS enters, FALSE AS finishes,
            TRUE AS reopens, TRUE AS stays,
{%- endif %}
            now_ AS due_at
        FROM judged AS v
    ),

{% import "macro/write.sql" as write %}
{{- write.changed(["attempts", "due"], clears=["started", "duration", "owner", "lease_until"]) }},

{% if own %}
{%- include "part/remembered.sql" %}

    SELECT d.answer, d.ordinal, NULL::bigint, d.key_1, d.token, d.attempt_num, d.status
    FROM decided AS d
    ORDER BY d.ordinal;
{%- else %}
{%- include "part/told.sql" %}
{% include "part/keep_answers.sql" %}
    END IF;

    RETURN QUERY
    SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
    FROM {{ m.answers_again() }}
    ORDER BY a.ordinal;
{%- endif %}
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ function }}(uuid, json) FROM public;
{% endfilter %}
