/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_four_queue_scheduler_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, claimed_four_queue_scheduler returns by its claim_.
Table access order: queue_operation, four_queue, four_queue_scheduler_lease, queue_transition.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_four_queue_scheduler_set_trx"(
    operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text, "reputation" integer, "id" bigint, item_status text, item_step text,
    item_attempt integer, item_response text, item_error text, item_started_at timestamptz, item_duration bigint,
    item_due_at timestamptz, item_token timestamptz, item_owner text, item_lease_until timestamptz
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    max_attempts_ integer;
    answers_ json;
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    max_attempts_ := "readpast"."queue_setting"('fourqueuescheduler.maxAttempts', 3);
    lease_ms_ := "readpast"."queue_check_fn"('modify_four_queue_scheduler_set_trx', worker_, max_, fewest => 0, lease_ms => COALESCE(lease_ms_, "readpast"."queue_setting"('fourqueuescheduler.leaseMs', 600000)));
    items_ := "readpast"."queue_taken_fn"(
        'modify_four_queue_scheduler_set_trx', items_, '{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }',
        ARRAY['key', 'token', 'attempt', 'status', 'step', 'response', 'error', 'release', 'set', 'due', 'delay_ms']
    );

    /* Most calls set nothing, and are not read for it. A name can be written with escapes. */
    IF position('"set"' IN items_::text) > 0 OR position('\u00' IN items_::text) > 0 THEN
        PERFORM "readpast"."queue_sets_fn"('modify_four_queue_scheduler_set_trx', items_, ARRAY[]::text[]);
    END IF;

    replayed_ := "readpast"."queue_begun"(operation_, 'modify_four_queue_scheduler_set_trx', now_);
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
        SELECT
            (i.position - 1)::integer AS ordinal, i.key AS key_1, "readpast"."queue_time_fn"(i.token) AS token,
            COALESCE(i.attempt, 0) AS attempt, i.status, i.step, i.response, i.error,
            COALESCE("readpast"."queue_finite_fn"("readpast"."queue_time_fn"(i.due)), now_ + i.delay_ms * interval '1 millisecond') AS due_at,
            COALESCE(i.release, FALSE) AS release, i.set AS new_values, i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (
            key bigint, token text, attempt integer, status text, step text, response text,
            error text, due text, delay_ms bigint, release boolean, set json
        )) WITH ORDINALITY AS i (key, token, attempt, status, step, response, error, due, delay_ms, release, set, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT g.*, ROW_NUMBER() OVER (PARTITION BY g.key_1 ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY g.key_1, g.position
    ),
    /*
    Decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is
    the token (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still
    counts while nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.*, v.*, (v.item_status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN i.attempt > 0 AND (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) IS NOT TRUE THEN 'LEASE_LOST'
                WHEN i.token <> v.item_token THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                /* The legal changes are read once for all items. */
                WHEN
                    (v.item_status || ' ' || i.status = ANY (ARRAY(
                        SELECT t.from_status || ' ' || t.to_status FROM "readpast"."queue_transition" AS t
                    ))) IS NOT TRUE
                    THEN 'ILLEGAL_TRANSITION'
                /* Response, error and values do not go to an item that its status closes to workers. */
                WHEN
                    (i.response IS NOT NULL OR i.error IS NOT NULL OR i.new_values IS NOT NULL)
                    AND NOT "readpast"."queue_is_editable_fn"(v.item_status)
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS answer
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
    ruled AS (
        SELECT
            j.*,
            CASE
                WHEN j.answer <> 'OK' THEN j.item_status
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.item_status = 'Processing' AND j.status = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN NOT j.released AND j.item_attempt >= max_attempts_ AND j.status <> 'Completed' THEN 'Failed'
                ELSE j.status
            END AS becomes
        FROM judged AS j
        /* So that each gets one answer. */
        OFFSET 0
    ),
    decided AS MATERIALIZED (
        SELECT
            r.ordinal, r.key_1, r.item_seek_1 AS seek_1, r.answer, r.becomes AS status, r.new_values,
            CASE WHEN r.answer <> 'OK' THEN r.item_token ELSE GREATEST(now_, NULLIF(r.item_token, 'infinity') + interval '1 microsecond') END AS token,
            CASE
                WHEN r.answer <> 'OK' THEN r.item_attempt
                WHEN r.released THEN r.item_attempt - 1
                /* Processing from another state is a claim of this one item. */
                WHEN r.item_status <> 'Processing' AND r.becomes = 'Processing' THEN r.item_attempt + 1
                ELSE r.item_attempt
            END AS attempt_num,
            n.step, n.response, n.error,
            COALESCE(
                r.due_at,
                CASE
                    WHEN r.becomes = 'Error' THEN now_ + "readpast"."queue_backoff_fn"(r.item_attempt, 5000, 200, 3600000, 50)
                END,
                r.item_due_at
            ) AS due_at,
            CASE
                WHEN r.becomes = 'Processing' THEN now_ + lease_ms_ * interval '1 millisecond'
            END AS lease_until,
            CASE WHEN n.enters THEN now_ ELSE r.item_started_at END AS started_at,
            CASE WHEN n.enters THEN now_ ELSE r.item_started_at END AS run_started_at,
            CASE WHEN n.finishes THEN "readpast"."queue_ms_fn"(r.item_started_at, now_) ELSE r.item_duration END AS duration,
            CASE WHEN n.enters THEN worker_ ELSE r.item_owner END AS owner, NULL::timestamptz AS died_at, FALSE AS reopens,
            /* Completed work leaves a row beside only for what the table has no column for. */
            r.becomes <> 'Completed' OR n.step IS NOT NULL OR n.response IS NOT NULL OR n.error IS NOT NULL AS stays, n.enters, n.finishes
        FROM ruled AS r
        CROSS JOIN LATERAL (
            SELECT
                (r.answer = 'OK' AND r.item_status <> 'Processing' AND r.becomes = 'Processing') AS enters,
                (r.answer = 'OK' AND "readpast"."queue_is_finished_fn"(r.becomes)) AS finishes, COALESCE(r.step, r.item_step) AS step,
                COALESCE(r.response, r.item_response) AS response,
                CASE
                    WHEN r.error IS NOT NULL THEN r.error
                    WHEN r.becomes = 'Failed' AND r.status <> 'Failed'
                        THEN format('Attempts are spent: %s of %s; asked for %s.', r.item_attempt, max_attempts_, r.status)
                    /* Earlier errors are over. */
                    WHEN r.becomes = 'Completed' THEN NULL
                    ELSE r.item_error
                END AS error
        ) AS n
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

    dropped AS (
        DELETE FROM "readpast"."four_queue_scheduler_lease" AS s
        USING decided AS d
        WHERE s.key_1 BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK' AND NOT d.stays
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

    FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN
        SELECT a.answer, a.ordinal, NULL::bigint, a.key, a.token, a.attempt_num, a.status
        FROM json_to_recordset(COALESCE(answers_, '[]')) AS a (
            ordinal integer, answer text, key text, token timestamptz, attempt_num integer, status text
        )
        ORDER BY a.ordinal
    LOOP
        RETURN NEXT;
    END LOOP;

    IF max_ > 0 AND NOT replayed_ THEN
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_four_queue_scheduler_set_trx"(worker_, max_, lease_ms_, recover_, claim_ => claim_) AS n;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_four_queue_scheduler_set_trx"(uuid, text, json, integer, integer, integer, bigint) FROM public;

/*
modify_four_queue_scheduler_set_trx by the name that says that the call is a part of the caller's transaction, as every call here is: it has the
locks until that ends, and is undone with it. What is refused is an answer, and leaves the transaction as it is. Whether
others recovered lately does not count.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_four_queue_scheduler_set_utx"(
    operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text, "reputation" integer, "id" bigint, item_status text, item_step text,
    item_attempt integer, item_response text, item_error text, item_started_at timestamptz, item_duration bigint,
    item_due_at timestamptz, item_token timestamptz, item_owner text, item_lease_until timestamptz
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT m.*
    FROM "readpast"."modify_four_queue_scheduler_set_trx"(
        operation_, worker_, items_, max_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END, claim_ => claim_
    ) AS m;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_four_queue_scheduler_set_utx"(uuid, text, json, integer, integer, integer, bigint) FROM public;
