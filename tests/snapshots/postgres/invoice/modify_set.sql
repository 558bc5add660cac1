/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_invoice_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, claimed_invoice returns by its claim_.
Table access order: queue_operation, invoice, queue_transition.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_invoice_set_trx"(
    operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text,
    attempt_num integer, response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "Number" varchar(20), "CustomerID" bigint,
    "Amount" numeric(12, 2), "Code" varchar(6), "Lines" json
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
BEGIN
    max_attempts_ := "readpast"."queue_setting"('invoice.maxAttempts', 3);
    lease_ms_ := "readpast"."queue_check_fn"('modify_invoice_set_trx', worker_, max_, fewest => 0, lease_ms => COALESCE(lease_ms_, "readpast"."queue_setting"('invoice.leaseMs', 60000)));
    items_ := "readpast"."queue_taken_fn"(
        'modify_invoice_set_trx', items_, '{
            "key": "any", "token": "timestamp", "attempt": "integer", "status": "text(20)", "step": "text",
            "response": "text", "error": "text", "release": "boolean", "set": "any", "due": "timestamp",
            "delay_ms": "bigint"
        }',
        ARRAY['key', 'token', 'attempt', 'status', 'step', 'response', 'error', 'release', 'set', 'due', 'delay_ms']
    );

    /* Most calls set nothing, and are not read for it. A name can be written with escapes. */
    IF position('"set"' IN items_::text) > 0 OR position('\u00' IN items_::text) > 0 THEN
        PERFORM "readpast"."queue_sets_fn"(
            'modify_invoice_set_trx', items_, ARRAY['Number', 'CustomerID', 'Amount', 'Code', 'Lines']::text[]
        );
    END IF;

    replayed_ := "readpast"."queue_begun"(operation_, 'modify_invoice_set_trx', now_);
    IF replayed_ THEN
        FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint, i.key,
            CASE WHEN g.gone THEN GREATEST(p.at, i.token + interval '1 microsecond') ELSE q.updated_at END,
            CASE WHEN g.gone THEN COALESCE(i.attempt, 0) ELSE q.attempt_num END, CASE WHEN g.gone THEN 'Completed' ELSE q.status END
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (key timestamptz, token timestamptz, attempt integer, status text)
            ) WITH ORDINALITY AS i (key, token, attempt, status, position)
        CROSS JOIN "readpast"."queue_operation" AS p
        LEFT JOIN "readpast"."invoice" AS q ON q.enqueued_at = i.key
        CROSS JOIN LATERAL (
            SELECT q.enqueued_at IS NULL AND i.status = 'Completed' AND p.result ->> (i.position - 1)::text IS NULL AS gone
        ) AS g
        WHERE p.operation_id = operation_
        ORDER BY i.position
        LOOP
            RETURN NEXT;
        END LOOP;
        RETURN;
    END IF;
    FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN

    WITH given AS (
        SELECT
            (i.position - 1)::integer AS ordinal, i.key AS key_1, i.token AS token, COALESCE(i.attempt, 0) AS attempt, i.status, i.step,
            i.response, i.error, COALESCE("readpast"."queue_finite_fn"(i.due), now_ + i.delay_ms * interval '1 millisecond') AS due_at,
            COALESCE(i.release, FALSE) AS release, i.set AS new_values, i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (
            key timestamptz, token timestamptz, attempt integer, status text, step text, response text,
            error text, due timestamptz, delay_ms bigint, release boolean, set json
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
                q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner,
                q.lease_until AS item_lease_until, q.scheduled_for AS item_due_at
            FROM "readpast"."invoice" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE
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
            r.ordinal, r.key_1, r.answer, r.becomes AS status, r.new_values,
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
            n.enters, n.finishes
        FROM ruled AS r
        CROSS JOIN LATERAL (
            SELECT
                (r.answer = 'OK' AND r.item_status <> 'Processing' AND r.becomes = 'Processing') AS enters,
                (r.answer = 'OK' AND "readpast"."queue_is_finished_fn"(r.becomes)) AS finishes, r.step AS step, r.response AS response,
                CASE
                    WHEN r.error IS NOT NULL THEN r.error
                    WHEN r.becomes = 'Failed' AND r.status <> 'Failed'
                        THEN format('Attempts are spent: %s of %s; asked for %s.', r.item_attempt, max_attempts_, r.status)
                    /* Earlier errors are over. */
                    WHEN r.becomes = 'Completed' THEN ''
                END AS error
        ) AS n
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."invoice" AS q
        SET
            status = d.status, updated_at = d.token, scheduled_for = COALESCE(d.due_at, q.scheduled_for),
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END,
            duration = CASE WHEN d.finishes THEN "readpast"."queue_ms_fn"(q.started_at, now_) ELSE q.duration END,
            attempt_num = d.attempt_num, lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            step = COALESCE(d.step, q.step), response = COALESCE(d.response, q.response), error = COALESCE(d.error, q.error),
            "Number" = CASE
                WHEN (d.new_values -> 'Number') IS NULL THEN q."Number"
                ELSE (SELECT n."Number" FROM json_to_record(d.new_values) AS n ("Number" varchar(20)))
            END,
            "CustomerID" = CASE
                WHEN (d.new_values -> 'CustomerID') IS NULL THEN q."CustomerID"
                ELSE (SELECT n."CustomerID" FROM json_to_record(d.new_values) AS n ("CustomerID" bigint))
            END,
            "Amount" = CASE
                WHEN (d.new_values -> 'Amount') IS NULL THEN q."Amount"
                ELSE (SELECT n."Amount" FROM json_to_record(d.new_values) AS n ("Amount" numeric(12, 2)))
            END,
            "Code" = CASE
                WHEN (d.new_values -> 'Code') IS NULL THEN q."Code"
                ELSE (SELECT n."Code" FROM json_to_record(d.new_values) AS n ("Code" varchar(6)))
            END,
            "Lines" = CASE
                WHEN (d.new_values -> 'Lines') IS NULL THEN q."Lines"
                ELSE (SELECT n."Lines" FROM json_to_record(d.new_values) AS n ("Lines" json))
            END
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK' AND d.status <> 'Completed'
    ),

    /* Completed items move to the history. */
    removed AS (
        DELETE FROM "readpast"."invoice" AS q
        USING decided AS d
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK' AND d.status = 'Completed'
        RETURNING
            q.enqueued_at, q.type, d.status, COALESCE(d.step, q.step), d.attempt_num, COALESCE(d.response, q.response),
            COALESCE(d.error, ''), q.started_at, "readpast"."queue_ms_fn"(q.started_at, now_), d.due_at, d.token, q.lease_owner,
            CASE
                WHEN (d.new_values -> 'Number') IS NULL THEN q."Number"
                ELSE (SELECT n."Number" FROM json_to_record(d.new_values) AS n ("Number" varchar(20)))
            END,
            CASE
                WHEN (d.new_values -> 'CustomerID') IS NULL THEN q."CustomerID"
                ELSE (SELECT n."CustomerID" FROM json_to_record(d.new_values) AS n ("CustomerID" bigint))
            END,
            CASE
                WHEN (d.new_values -> 'Amount') IS NULL THEN q."Amount"
                ELSE (SELECT n."Amount" FROM json_to_record(d.new_values) AS n ("Amount" numeric(12, 2)))
            END,
            CASE
                WHEN (d.new_values -> 'Code') IS NULL THEN q."Code"
                ELSE (SELECT n."Code" FROM json_to_record(d.new_values) AS n ("Code" varchar(6)))
            END,
            CASE
                WHEN (d.new_values -> 'Lines') IS NULL THEN q."Lines"
                ELSE (SELECT n."Lines" FROM json_to_record(d.new_values) AS n ("Lines" json))
            END
    ),

    kept AS (
        INSERT INTO "readpast"."Invoice_History" (
            enqueued_at, type, status, step, attempt_num, response, error, started_at, duration, scheduled_for, updated_at, lease_owner,
            "Number", "CustomerID", "Amount", "Code", "Lines"
        )
        SELECT g.*
        FROM removed AS g
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
    ORDER BY d.ordinal
    LOOP
        RETURN NEXT;
    END LOOP;

    IF max_ > 0 THEN
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_invoice_set_trx"(worker_, max_, lease_ms_, recover_, claim_ => claim_) AS n;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_invoice_set_trx"(uuid, text, json, integer, integer, integer, bigint) FROM public;

/*
modify_invoice_set_trx by the name that says that the call is a part of the caller's transaction, as every call here is: it has the
locks until that ends, and is undone with it. What is refused is an answer, and leaves the transaction as it is. Whether
others recovered lately does not count.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_invoice_set_utx"(
    operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text,
    attempt_num integer, response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "Number" varchar(20), "CustomerID" bigint,
    "Amount" numeric(12, 2), "Code" varchar(6), "Lines" json
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT m.*
    FROM "readpast"."modify_invoice_set_trx"(
        operation_, worker_, items_, max_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END, claim_ => claim_
    ) AS m;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_invoice_set_utx"(uuid, text, json, integer, integer, integer, bigint) FROM public;
