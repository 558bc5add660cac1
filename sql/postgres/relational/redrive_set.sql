{%- set function = object("redrive_" ~ queue ~ "_set_trx") -%}
/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
items_ is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.{{ " DUPLICATE is work that is in the queue again, unfinished." if dedup and dedup.unfinished_only }}
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: queue_operation, {{ queue }}.
*/
CREATE OR REPLACE FUNCTION {{ function }}(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
{% include "relational/_attributes.sql" %}
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
BEGIN
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'redrive_{{ queue }}_set_trx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

{% include "relational/_remember.sql" %}
    IF replayed_ THEN
        RETURN QUERY
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint,
            i.key, q.updated_at, q.attempt_num, q.status::text
        FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
        CROSS JOIN {{ object("queue_operation") }} AS p
        LEFT JOIN {{ object(queue) }} AS q
            ON q.enqueued_at = i.key
        WHERE p.operation_id = operation_
        ORDER BY i.position;
        RETURN;
    END IF;

{% include "relational/_forget.sql" %}
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
            i.token,
            ROW_NUMBER() OVER (PARTITION BY i.key ORDER BY i.position) AS occurrence
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, token timestamptz))
            WITH ORDINALITY AS i (key, token, position)
        ORDER BY
            i.key,
            i.position
    ),

    /* Locked in the order of their keys, so that two calls never wait for each other. */
    judged AS MATERIALIZED (
        SELECT
            i.ordinal,
            i.key,
            q.status::text AS status,
            q.updated_at,
            q.attempt_num,
            CASE
                WHEN q.enqueued_at IS NULL THEN 'NOT_FOUND'
                WHEN i.token <> q.updated_at THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                WHEN q.status IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
{%- if dedup and dedup.unfinished_only %}
                /* The same work came again meanwhile, or comes back twice in this call. */
                WHEN EXISTS (
                    SELECT 1
                    FROM {{ object(queue) }} AS e
                    WHERE
                        e.enqueued_at <> q.enqueued_at
                        AND e.status IN ('Pending', 'Processing', 'Error', 'Paused')
{%- for column in work %}
                        AND e.{{ column.quoted }} = q.{{ column.quoted }}
{%- endfor %}
                )
                    THEN 'DUPLICATE'
                WHEN
                    ROW_NUMBER() OVER (
                        PARTITION BY
                            q.status IN ('Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted')
{%- for column in work %},
                            q.{{ column.quoted }}
{%- endfor %}
                        ORDER BY i.ordinal
                    ) > 1
                    AND q.status IN ('Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted')
{%- for column in work if column.nullable %}
                    AND q.{{ column.quoted }} IS NOT NULL
{%- endfor %}
                    THEN 'DUPLICATE'
{%- endif %}
                ELSE 'OK'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT
                p.enqueued_at,
                p.status,
                p.updated_at,
                p.attempt_num{% if dedup and dedup.unfinished_only %}{% for column in work %},
                p.{{ column.quoted }}{% endfor %}{% endif %}
            FROM {{ object(queue) }} AS p
            WHERE p.enqueued_at = i.key
            FOR NO KEY UPDATE
        ) AS q
            ON TRUE
    ),

    decided AS MATERIALIZED (
        SELECT
            j.ordinal,
            j.key,
            j.answer,
            CASE WHEN j.answer = 'OK' THEN 'Pending' ELSE j.status END AS status,
            CASE
                WHEN j.answer = 'OK' THEN GREATEST(now_, j.updated_at + interval '1 microsecond')
                ELSE j.updated_at
            END AS token,
            CASE WHEN j.answer = 'OK' THEN 0 ELSE j.attempt_num END AS attempt_num
        FROM judged AS j
    ),

    changed AS (
        UPDATE {{ object(queue) }} AS q
        SET
            status = d.status,
            updated_at = d.token,
            attempt_num = d.attempt_num,
            scheduled_for = now_,
            started_at = NULL,
            duration = NULL,
            lease_owner = NULL,
            lease_until = NULL
        FROM decided AS d
        WHERE
            q.enqueued_at BETWEEN d.key AND d.key
            AND d.answer = 'OK'
    ),

    /* Remembered for whoever asks again: what cannot be told from the items later. */
    remembered AS (
        UPDATE {{ object("queue_operation") }} AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            p.operation_id = operation_
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT d.answer, d.ordinal, NULL::bigint, d.key, d.token, d.attempt_num, d.status
    FROM decided AS d
    ORDER BY d.ordinal;
END;
$$;
GO
REVOKE ALL ON FUNCTION {{ function }}(uuid, json) FROM public;
GO
