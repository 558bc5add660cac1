/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
items_ is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: queue_operation, four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."redrive_four_queue_scheduler_set_trx"(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
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
    answers_ json;
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    items_ := "readpast"."queue_taken_fn"(
        'redrive_four_queue_scheduler_set_trx', items_, '{
            "key": "any", "token": "timestamp"
        }',
        ARRAY['key', 'token']
    );

    replayed_ := "readpast"."queue_begun"(operation_, 'redrive_four_queue_scheduler_set_trx', now_);
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM "readpast"."queue_operation" AS p WHERE p.operation_id = operation_);
    ELSE
    /*
    The rows of the table first, in the order of their keys, so that two calls never wait for each other. What they and
    four_queue_scheduler_lease hold is read in the next statement: only then nobody changes it any more.
    */
    PERFORM
    FROM (
        SELECT i.key AS key_1
        FROM json_to_recordset(items_) AS i (key bigint)
        ORDER BY key_1
    ) AS i
    CROSS JOIN LATERAL (
        SELECT 1 AS one
        FROM "public"."four_queue" AS q
        WHERE q."id" BETWEEN i.key_1 AND i.key_1 AND q."in_process" IN (FALSE, TRUE)
        FOR NO KEY UPDATE
    ) AS q;
    now_ := clock_timestamp();
    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal, i.key AS key_1, "readpast"."queue_time_fn"(i.token) AS token, i.position
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key bigint, token text))
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
            SELECT
                w.item_seek_1, w.item_type, w.item_status, w.item_step, w.item_attempt, w.item_response, w.item_error, w.item_started_at,
                w.item_duration, w.item_due_at, w.item_token, w.item_owner, w.item_lease_until, w.item_died_at, w.item_has_lease
            FROM "readpast"."four_queue_scheduler_item_v" AS w
            WHERE w.item_key_1 = i.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
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
            v.ordinal, v.key_1, v.item_seek_1 AS seek_1, v.answer,
            CASE WHEN v.answer = 'OK' THEN 'Pending' ELSE v.item_status END AS status,
            CASE WHEN v.answer = 'OK' THEN GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') ELSE v.item_token END AS token,
            CASE WHEN v.answer = 'OK' THEN 0 ELSE v.item_attempt END AS attempt_num, v.item_step AS step, v.item_response AS response,
            v.item_error AS error, NULL::timestamptz AS started_at, NULL::timestamptz AS run_started_at, NULL::bigint AS duration,
            NULL::text AS owner, NULL::timestamptz AS lease_until, NULL::timestamptz AS died_at, FALSE AS enters, FALSE AS finishes,
            TRUE AS reopens, TRUE AS stays, now_ AS due_at
        FROM judged AS v
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "public"."four_queue" AS q
        SET
            "scheduled_start_date" = COALESCE(d.due_at, q."scheduled_start_date"),
            "start_date" = CASE WHEN d.enters THEN d.run_started_at ELSE q."start_date" END,
            "end_date" = CASE
                WHEN
                    d.status IN ('Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted', 'Pending', 'Error')
                    THEN NULL
                WHEN
                    d.status IN ('Completed')
                    THEN CASE WHEN d.finishes THEN now_ ELSE COALESCE(q."end_date", now_) END
                ELSE CASE WHEN d.finishes THEN now_ WHEN d.reopens THEN NULL ELSE q."end_date" END
            END,
            "attempts" = d.attempt_num, "app_server" = CASE WHEN d.enters THEN d.owner ELSE q."app_server" END,
            "in_process" = CASE
                WHEN
                    d.status IN ('Pending', 'Error')
                    THEN FALSE
                WHEN
                    d.status IN ('Processing', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                    THEN TRUE
                ELSE q."in_process"
            END
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q."id" BETWEEN d.key_1 AND d.key_1 AND q."in_process" = ANY(ARRAY[d.seek_1]) AND d.answer = 'OK'
        RETURNING d.*
    ),

    leased AS (
        INSERT INTO "readpast"."four_queue_scheduler_lease" AS s (
            key_1, status, step, attempt_num, response, error, started_at,
            finished_at, duration, due_at, updated_at, lease_owner, lease_until
        )
        SELECT
            c.key_1, c.status, c.step, c.attempt_num, c.response, c.error, c.started_at,
            CASE WHEN c.finishes THEN now_ END, c.duration, c.due_at, c.token, c.owner, COALESCE(c.lease_until, c.died_at)
        FROM changed AS c
        WHERE c.stays
        ORDER BY c.key_1
        ON CONFLICT (key_1) DO UPDATE
        SET
            status = excluded.status, step = excluded.step, attempt_num = excluded.attempt_num, response = excluded.response,
            error = excluded.error, started_at = excluded.started_at, finished_at = excluded.finished_at, duration = excluded.duration,
            due_at = excluded.due_at, updated_at = excluded.updated_at, lease_owner = excluded.lease_owner,
            lease_until = excluded.lease_until
    ),

    /* A row that was to change and did not is held back by a trigger of the table. */
    told AS (
        SELECT DISTINCT ON (a.ordinal) a.ordinal, a.answer, a.key, a.token, a.attempt_num, a.status
        FROM (
            SELECT
                d.ordinal, CASE WHEN d.answer = 'OK' THEN 'CONFLICT' ELSE d.answer END AS answer,
                d.key_1::text AS key, d.token, d.attempt_num, d.status, 2 AS rank
            FROM decided AS d
            UNION ALL
            SELECT c.ordinal, c.answer, c.key_1::text, c.token, c.attempt_num, c.status, 1
            FROM changed AS c
        ) AS a
        ORDER BY
            a.ordinal, a.rank
    )
    SELECT json_agg(t ORDER BY t.ordinal)
    INTO answers_
    FROM told AS t;
    /* Remembered for whoever asks again, when the items may be gone. */
    UPDATE "readpast"."queue_operation" AS p
    SET result = answers_
    WHERE p.operation_id = operation_;
    END IF;

    RETURN QUERY
    SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
    FROM json_to_recordset(COALESCE(answers_, '[]')) AS a (
        ordinal integer, answer text, key text, token timestamptz, attempt_num integer, status text
    )
    ORDER BY a.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."redrive_four_queue_scheduler_set_trx"(uuid, json) FROM public;
