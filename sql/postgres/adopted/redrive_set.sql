{%- set procedure = "redrive_" ~ queue ~ "_set_trx" -%}
{%- set function = object(procedure) -%}
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay for
whoever wants to know. Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
items_ is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
operation_ makes the call repeatable: asked again with the same value, the same answers come again and nothing is
changed.
Table access order: queue_operation, {{ table_name }}, {{ queue }}_lease.
*/
CREATE OR REPLACE FUNCTION {{ function }}(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    answers_ json;
BEGIN
{%- include "adopted/_local_time.sql" %}
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION '{{ procedure }}: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

{% include "relational/_remember.sql" %}
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_);
    ELSE
{% include "relational/_forget.sql" %}
{% include "adopted/_lock_items.sql" %}
    WITH given AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
{%- set from = "i.key" %}
{%- include "adopted/_key_read.sql" %},
            {{ object("queue_time_fn") }}(i.token) AS token,
            i.position
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key text, token text)) WITH ORDINALITY AS i (key, token, position)
    ),

    item AS MATERIALIZED (
        SELECT
            g.*,
            ROW_NUMBER() OVER (PARTITION BY {% set of = "g.key_" %}{% include "adopted/_key_list.sql" %} ORDER BY g.position) AS occurrence
        FROM given AS g
    ),

    decided AS MATERIALIZED (
        SELECT
            i.ordinal,
            i.key,
            {% set of = "i.key_" %}{% include "adopted/_key_list.sql" %},
            {% for column in seek %}v.item_seek_{{ loop.index }} AS seek_{{ loop.index }}, {% endfor %}j.answer,
            CASE WHEN j.answer = 'OK' THEN 'Pending' ELSE v.item_status END AS status,
            CASE
                WHEN j.answer = 'OK' THEN GREATEST(now_, v.item_token + interval '1 microsecond')
                ELSE v.item_token
            END AS token,
            CASE WHEN j.answer = 'OK' THEN 0 ELSE v.item_attempt END AS attempt_num,
            v.item_step AS step,
            v.item_response AS response,
            v.item_error AS error,
            NULL::timestamptz AS started_at,
            NULL::timestamptz AS run_started_at,
            NULL::bigint AS duration,
            now_ AS due_at,
            NULL::text AS owner,
            NULL::timestamptz AS lease_until,
            NULL::timestamptz AS died_at,
            FALSE AS enters,
            FALSE AS finishes,
            TRUE AS reopens,
            TRUE AS stays
        FROM item AS i
        LEFT JOIN LATERAL (
            {% include "adopted/_view_at_key.sql" %}
        ) AS v
            ON TRUE
        CROSS JOIN LATERAL (
            SELECT
                CASE
                    WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                    WHEN i.token <> v.item_token THEN 'CONFLICT'
                    /* The same item twice in one call: the first of them counts. */
                    WHEN i.occurrence > 1 THEN 'CONFLICT'
                    WHEN v.item_status IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
                    ELSE 'OK'
                END AS answer
        ) AS j
    ),

{% include "adopted/_write.sql" %},

    /* What was to change and did not, a trigger of the table holds back. */
    told AS (
        SELECT DISTINCT ON (a.ordinal) a.ordinal, a.answer, a.key, a.token, a.attempt_num, a.status
        FROM (
            SELECT
                d.ordinal, CASE WHEN d.answer = 'OK' THEN 'CONFLICT' ELSE d.answer END AS answer, d.key, d.token,
                d.attempt_num, d.status, 2 AS rank
            FROM decided AS d
            UNION ALL
            SELECT c.ordinal, c.answer, c.key, c.{{ "written_token" if role.token else "token" }}, c.attempt_num, c.status, 1
            FROM changed AS c
        ) AS a
        ORDER BY
            a.ordinal,
            a.rank
    )

    SELECT json_agg(t ORDER BY t.ordinal)
    INTO answers_
    FROM told AS t;
{% include "adopted/_keep_answers.sql" %}
    END IF;

    RETURN QUERY
    SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
    FROM {% include "adopted/_answers_again.sql" %}
    ORDER BY a.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(uuid, json) FROM public;
GO
