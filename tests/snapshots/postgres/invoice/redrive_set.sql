/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
items_ is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: queue_operation, invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."redrive_invoice_set_trx"(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
BEGIN
    items_ := "readpast"."queue_taken_fn"(
        'redrive_invoice_set_trx', items_, '{
            "key": "any", "token": "timestamp"
        }',
        ARRAY['key', 'token']
    );

    replayed_ := "readpast"."queue_begun"(operation_, 'redrive_invoice_set_trx', now_);
    IF replayed_ THEN
        RETURN QUERY
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint, i.key, q.updated_at, q.attempt_num,
            q.status::text
        FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
        CROSS JOIN "readpast"."queue_operation" AS p
        LEFT JOIN "readpast"."invoice" AS q ON q.enqueued_at = i.key
        WHERE p.operation_id = operation_
        ORDER BY i.position;
        RETURN;
    END IF;
    RETURN QUERY
    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, i.token AS token, i.position
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, token timestamptz))
            WITH ORDINALITY AS i (key, token, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT g.*, ROW_NUMBER() OVER (PARTITION BY g.key_1 ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY g.key_1, g.position
    ),
    found AS MATERIALIZED (
        SELECT i.*, v.*
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt
            FROM "readpast"."invoice" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE
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
                ELSE 'OK'
            END AS answer
        FROM found AS v
    ),
    decided AS MATERIALIZED (
        SELECT
            v.ordinal, v.key_1, v.answer, CASE WHEN v.answer = 'OK' THEN 'Pending' ELSE v.item_status END AS status,
            CASE WHEN v.answer = 'OK' THEN GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') ELSE v.item_token END AS token,
            CASE WHEN v.answer = 'OK' THEN 0 ELSE v.item_attempt END AS attempt_num, now_ AS due_at
        FROM judged AS v
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."invoice" AS q
        SET
            status = d.status, updated_at = d.token, scheduled_for = COALESCE(d.due_at, q.scheduled_for), attempt_num = d.attempt_num,
            started_at = NULL, duration = NULL, lease_owner = NULL, lease_until = NULL
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK'
    ),

    /* Remembered for whoever asks again: what cannot be told from the items later. */
    remembered AS (
        UPDATE "readpast"."queue_operation" AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE p.operation_id = operation_ AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT d.answer, d.ordinal, NULL::bigint, d.key_1, d.token, d.attempt_num, d.status
    FROM decided AS d
    ORDER BY d.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."redrive_invoice_set_trx"(uuid, json) FROM public;
