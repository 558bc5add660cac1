/*
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
One row per element: its position, key and token. DUPLICATE where the same work is there already,
with no key and without a token.
Table access order: queue_operation, four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_four_queue_scheduler_set_trx"(operation_ uuid, items_ json)
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
    now_ CONSTANT timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    item_ record;
    list_ json[] := '{}';
    answers_ json;
    key_ text;
    new_1_ bigint;
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    items_ := "readpast"."queue_taken_fn"(
        'add_four_queue_scheduler_set_trx', items_, '{
            "type": ["Default"], "step": "text(60)", "due": "timestamp", "delay_ms": "bigint",
            "columns": {
                "reputation": "integer not null"
            }
        }',
        ARRAY['reputation']::text[], 'columns'
    );

    replayed_ := "readpast"."queue_begun"(operation_, 'add_four_queue_scheduler_set_trx', now_);
    IF replayed_ THEN
        answers_ := (SELECT p.result FROM "readpast"."queue_operation" AS p WHERE p.operation_id = operation_);
    ELSE

    /* One call at a time looks whether the same work is there, and adds what is not, or takes it up again. */
    PERFORM "readpast"."queue_take_turn"('add_four_queue_scheduler_set_trx', 'four_queue_scheduler add');
    FOR item_ IN
        SELECT
            (i.position - 1)::integer AS ordinal, d.due_at, 'Pending' AS status, COALESCE(i.type, 'Default') AS kind, i.step,
            COALESCE(i.columns, '{}') AS columns
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (type text, step text, due text, delay_ms bigint, columns json)
            ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, position)
        CROSS JOIN LATERAL (
            SELECT COALESCE("readpast"."queue_finite_fn"("readpast"."queue_time_fn"(i.due)), now_ + i.delay_ms * interval '1 millisecond') AS due_at
        ) AS d
        ORDER BY i.position
    LOOP
        key_ := NULL;
        SELECT v.item_key_1::text
        INTO key_
        FROM json_to_record(item_.columns) AS c ("reputation" integer)
        INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v ON v."reputation" = c."reputation"
        ORDER BY v.item_key_1
        LIMIT 1;
        IF key_ IS NULL THEN
        INSERT INTO "public"."four_queue" AS q ("reputation", "scheduled_start_date", "attempts", "in_process", "end_date")
        SELECT c."reputation", COALESCE(item_.due_at, now_), 0, FALSE, NULL
        FROM json_to_record(item_.columns) AS c ("reputation" integer)
        ON CONFLICT DO NOTHING
        RETURNING q."id"
        INTO new_1_;
            IF NOT FOUND THEN
                /* Somebody who goes other ways than this one was first. */
        SELECT v.item_key_1::text
        INTO key_
        FROM json_to_record(item_.columns) AS c ("reputation" integer)
        INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v ON v."reputation" = c."reputation"
        ORDER BY v.item_key_1
        LIMIT 1;
                IF key_ IS NULL THEN
                    RAISE EXCEPTION 'add_four_queue_scheduler_set_trx: item % repeats a unique value of four_queue',
                        item_.ordinal
                    USING ERRCODE = 'RP021';
                END IF;
            ELSE
        /* A row of an item that once had this key is of no concern any more. */
        DELETE FROM "readpast"."four_queue_scheduler_lease" AS s
        WHERE s.key_1 = new_1_ ;
        IF item_.step IS NOT NULL THEN
            INSERT INTO "readpast"."four_queue_scheduler_lease" (key_1, status, step, attempt_num, due_at, updated_at)
            VALUES (new_1_, item_.status, item_.step, 0, item_.due_at, now_);
        END IF;
        list_ := list_ || json_build_object(
            'ordinal', item_.ordinal, 'answer', 'OK', 'key', new_1_::text, 'token', now_, 'attempt_num', 0, 'status', item_.status
        );
            END IF;
        END IF;
        IF key_ IS NOT NULL THEN
            list_ := list_ || json_build_object('ordinal', item_.ordinal, 'answer', 'DUPLICATE', 'attempt_num', 0);
        END IF;
    END LOOP;
    answers_ := array_to_json(list_);
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

REVOKE ALL ON FUNCTION "readpast"."add_four_queue_scheduler_set_trx"(uuid, json) FROM public;

/*
add_four_queue_scheduler_set_trx by the name that says that the call is a part of the caller's transaction, as every call here is: the items
are there when that commits, together with its other work.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_four_queue_scheduler_set_utx"(items_ json, operation_ uuid DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key text, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT a.*
    FROM "readpast"."add_four_queue_scheduler_set_trx"(operation_, items_) AS a;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_four_queue_scheduler_set_utx"(json, uuid) FROM public;
