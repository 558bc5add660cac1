/*
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms. What a subtype has is an
object among the columns, by the subtype's name.
One row per element: its position, key and token.
Table access order: queue_operation, notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_notification_set_trx"(operation_ uuid, items_ json)
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
    now_ CONSTANT timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
BEGIN
    items_ := "readpast"."queue_taken_fn"(
        'add_notification_set_trx', items_, '{
            "type": ["ResetPassword","Email","Sms"], "step": "text(60)", "due": "timestamp", "delay_ms": "bigint",
            "columns": {
                "ResetPassword": {
                    "OTP": "text(16) not null", "UserID": "integer not null", "Username": "text(128) not null"
                },
                "Email": {
                    "EmailTo": "text(254) not null", "PreferredLanguage": "text(60)", "Response": "text",
                    "Error": "text"
                },
                "Sms": {
                    "PhoneNumber": "text(20) not null", "Response": "text", "Error": "text"
                }
            }
        }',
        ARRAY['ResetPassword', 'Email', 'Sms']::text[], 'columns'
    );

    replayed_ := "readpast"."queue_begun"(operation_, 'add_notification_set_trx', now_);
    IF replayed_ THEN
        RETURN QUERY
        SELECT 'OK', (r.position - 1)::integer, NULL::bigint, r.key, p.at, 0, 'Pending'
        FROM "readpast"."queue_operation" AS p
        CROSS JOIN LATERAL (
            SELECT e.value::timestamptz AS key, e.ordinality AS position
            FROM json_array_elements_text(p.result) WITH ORDINALITY AS e (value, ordinality)
        ) AS r
        WHERE p.operation_id = operation_
        ORDER BY r.position;
        RETURN;
    END IF;
    FOR attempt_ IN 1..5 LOOP
        BEGIN
            RETURN QUERY
    /*
    The key is a time, and two items may be enqueued within one tick of the clock. So the key is the time on a grid of
    10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000 items in
    succession have different keys, and the keys of one call ascend with its numbers.
    */
    WITH numbered AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal, nextval('"readpast"."notification_seq"') AS number,
            COALESCE("readpast"."queue_finite_fn"(i.due), now_ + i.delay_ms * interval '1 millisecond', now_) AS scheduled_for,
            COALESCE(i.type, 'ResetPassword') AS type, i.step, i.columns
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (type text, step text, due timestamptz, delay_ms bigint, columns json)
            ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, position)
    ),
    item AS MATERIALIZED (
        SELECT
            n.ordinal, date_bin('10 milliseconds', now_, timestamptz 'epoch')
            + (n.number - f.number + f.number % 10000) * interval '1 microsecond' AS key, n.scheduled_for, n.type, n.step, n.columns
        FROM numbered AS n
        CROSS JOIN (SELECT MIN(m.number) AS number FROM numbered AS m) AS f
    ),
    added AS (
        INSERT INTO "readpast"."notification" (enqueued_at, type, status, step, attempt_num, scheduled_for, updated_at)
        SELECT i.key, i.type, 'Pending', i.step, 0, i.scheduled_for, now_
        FROM item AS i
        RETURNING 1 AS one
    ),

    added_1 AS (
        INSERT INTO "readpast"."notification_reset_password" (enqueued_at, "OTP", "UserID", "Username")
        SELECT i.key, c."OTP", c."UserID", c."Username"
        FROM item AS i
        /* Counted, so that the items are in before what belongs to them. */
        CROSS JOIN (SELECT COUNT(*) FROM added) AS a
        CROSS JOIN LATERAL json_to_record(
            CASE json_typeof(i.columns -> 'ResetPassword')
                WHEN 'object' THEN i.columns -> 'ResetPassword'
                ELSE '{}'
            END
        ) AS c (
            "OTP" varchar(16), "UserID" integer, "Username" varchar(128)
        )
        WHERE
            /* Every item of the type has a row; that no other has one is checked by the table. */
            (i.type = 'ResetPassword' OR json_typeof(i.columns -> 'ResetPassword') = 'object')
    ),

    added_2 AS (
        INSERT INTO "readpast"."notification_email" (enqueued_at, "EmailTo", "PreferredLanguage", "Response", "Error")
        SELECT
            i.key, c."EmailTo", CASE WHEN (i.columns -> 'Email' -> 'PreferredLanguage') IS NULL THEN 'en' ELSE c."PreferredLanguage" END,
            CASE WHEN (i.columns -> 'Email' -> 'Response') IS NULL THEN '' ELSE c."Response" END,
            CASE WHEN (i.columns -> 'Email' -> 'Error') IS NULL THEN '' ELSE c."Error" END
        FROM item AS i
        /* Counted, so that the items are in before what belongs to them. */
        CROSS JOIN (SELECT COUNT(*) FROM added) AS a
        CROSS JOIN LATERAL json_to_record(
            CASE json_typeof(i.columns -> 'Email')
                WHEN 'object' THEN i.columns -> 'Email'
                ELSE '{}'
            END
        ) AS c (
            "EmailTo" varchar(254), "PreferredLanguage" varchar(60), "Response" text, "Error" text
        )
        WHERE json_typeof(i.columns -> 'Email') = 'object'
    ),

    added_3 AS (
        INSERT INTO "readpast"."notification_sms" (enqueued_at, "PhoneNumber", "Response", "Error")
        SELECT
            i.key, c."PhoneNumber", CASE WHEN (i.columns -> 'Sms' -> 'Response') IS NULL THEN '' ELSE c."Response" END,
            CASE WHEN (i.columns -> 'Sms' -> 'Error') IS NULL THEN '' ELSE c."Error" END
        FROM item AS i
        /* Counted, so that the items are in before what belongs to them. */
        CROSS JOIN (SELECT COUNT(*) FROM added) AS a
        CROSS JOIN LATERAL json_to_record(
            CASE json_typeof(i.columns -> 'Sms')
                WHEN 'object' THEN i.columns -> 'Sms'
                ELSE '{}'
            END
        ) AS c (
            "PhoneNumber" varchar(20), "Response" text, "Error" text
        )
        WHERE json_typeof(i.columns -> 'Sms') = 'object'
    ),

            remembered AS (
                UPDATE "readpast"."queue_operation" AS p
                SET result = (SELECT json_agg(i.key ORDER BY i.ordinal) FROM item AS i)
                WHERE p.operation_id = operation_
            )
            SELECT 'OK', i.ordinal, NULL::bigint, i.key, now_, 0, 'Pending'
            FROM item AS i
            /* Counted, so that nothing is returned before all of them are in. */
            CROSS JOIN (SELECT COUNT(*) FROM added) AS a
            ORDER BY i.ordinal;
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            /* A key was taken (the clock was set back): the sequence has moved on, so the next keys differ. */
            IF attempt_ = 5 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_notification_set_trx"(uuid, json) FROM public;

/*
add_notification_set_trx by the name that says that the call is a part of the caller's transaction, as every call here is: the items
are there when that commits, together with its other work.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_notification_set_utx"(items_ json, operation_ uuid DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT a.*
    FROM "readpast"."add_notification_set_trx"(operation_, items_) AS a;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_notification_set_utx"(json, uuid) FROM public;
