/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status, and where wanted
step, response, error, due (UTC) or delay_ms, release (with status Pending: give the attempt back).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_notification_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
items claimed by the first call are left to their lease.
Table access order: queue_operation, notification, queue_transition.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_notification_set_trx"(
    operation_ uuid,
    worker_ text,
    items_ json,
    max_ integer DEFAULT 0,
    lease_ms_ integer DEFAULT NULL,
    recover_ integer DEFAULT 0
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text,
    enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text,
    lease_until timestamptz,
    "Subject" varchar(200),
    "ResetPassword_OTP" varchar(16),
    "ResetPassword_UserID" integer,
    "ResetPassword_Username" varchar(128),
    "Email_EmailTo" varchar(254),
    "Email_PreferredLanguage" varchar(10),
    "Sms_PhoneNumber" varchar(20)
)
LANGUAGE plpgsql VOLATILE
/* With its owner's rights: a role that may execute this needs none on the tables. */
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
/*
One access path is right, however many rows the table has today: the index, in its order. Tables are joined by BETWEEN
two equal keys for the same reason: by =, a plan that is made while a table is empty would read all of it, and be kept
when it is full.
*/
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    max_attempts_ integer;
BEGIN
    max_attempts_ := COALESCE(
        (SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'notification.maxAttempts'), 3
    );
    IF lease_ms_ IS NULL THEN
        lease_ms_ := COALESCE(
            (SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'notification.leaseMs'), 60000
        );
    END IF;
    IF COALESCE(worker_, '') = '' THEN
        RAISE EXCEPTION 'modify_notification_set_trx: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 0 OR max_ > 1000 THEN
        RAISE EXCEPTION 'modify_notification_set_trx: max_ must be from 0 to 1000' USING ERRCODE = 'RP021';
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'modify_notification_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
    IF json_array_length(items_) > 1000 THEN
        RAISE EXCEPTION 'modify_notification_set_trx: at most 1000 items a call' USING ERRCODE = 'RP021';
    END IF;

    /* First of all: if another attempt of this very call is under way, this waits for it. */
    IF operation_ IS NOT NULL THEN
        INSERT INTO "readpast"."queue_operation" (operation_id, at)
        VALUES (operation_, now_)
        ON CONFLICT (operation_id) DO NOTHING;
        replayed_ := NOT FOUND;
    END IF;
    IF replayed_ THEN
        RETURN QUERY
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint,
            i.key, q.updated_at, q.attempt_num, q.status::text,
            NULL::timestamptz, NULL::text, NULL::text, NULL::text, NULL::integer, NULL::text, NULL::text,
            NULL::timestamptz, NULL::bigint, NULL::timestamptz, NULL::timestamptz, NULL::text,
            NULL::timestamptz,
            NULL::varchar(200),
            NULL::varchar(16),
            NULL::integer,
            NULL::varchar(128),
            NULL::varchar(254),
            NULL::varchar(10),
            NULL::varchar(20)
        FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
        CROSS JOIN "readpast"."queue_operation" AS p
        LEFT JOIN "readpast"."notification" AS q
            ON q.enqueued_at = i.key
        WHERE p.operation_id = operation_
        ORDER BY i.position;
        RETURN;
    END IF;

    /* Answers are asked for again within minutes. One call in 64 clears away what is older than an hour. */
    IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
        WITH old AS MATERIALIZED (
            SELECT o.operation_id
            FROM "readpast"."queue_operation" AS o
            WHERE o.at < now_ - interval '1 hour'
            ORDER BY o.at
            LIMIT 256
            FOR UPDATE SKIP LOCKED
        )

        DELETE FROM "readpast"."queue_operation" AS p
        USING old AS o
        WHERE p.operation_id BETWEEN o.operation_id AND o.operation_id;
    END IF;
    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal,
            i.key,
            i.token,
            COALESCE(i.attempt, 0) AS attempt,
            i.status,
            i.step,
            i.response,
            i.error,
            COALESCE(i.due, now_ + i.delay_ms * interval '1 millisecond') AS scheduled_for,
            COALESCE(i.release, FALSE) AS release,
            ROW_NUMBER() OVER (PARTITION BY i.key ORDER BY i.position) AS occurrence
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (
                    key timestamptz, token timestamptz, attempt integer, status text, step text, response text,
                    error text, due timestamptz, delay_ms bigint, release boolean
                )
            ) WITH ORDINALITY AS i (
                key, token, attempt, status, step, response, error, due, delay_ms, release, position
            )
        ORDER BY
            i.key,
            i.position
    ),

    /*
    Lock the items, in the order of their keys so that two calls never wait for each other, and decide each one's
    answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is the token
    (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still counts while
    nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.ordinal,
            i.key,
            i.status AS asked,
            i.step,
            i.response,
            i.error,
            i.scheduled_for,
            q.status::text AS status_now,
            q.updated_at AS token_now,
            q.attempt_num AS attempt_now,
            (q.status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN q.enqueued_at IS NULL THEN 'NOT_FOUND'
                WHEN
                    i.attempt > 0
                    AND (
                        q.status <> 'Processing'
                        OR q.lease_owner IS DISTINCT FROM worker_
                        OR q.attempt_num <> i.attempt
                    )
                    THEN 'LEASE_LOST'
                WHEN i.token <> q.updated_at THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                WHEN t.to_status IS NULL THEN 'ILLEGAL_TRANSITION'
                /* Response and error data do not go to an item that its status closes to workers. */
                WHEN
                    (i.response IS NOT NULL OR i.error IS NOT NULL)
                    AND NOT "readpast"."queue_is_editable_fn"(q.status)
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT p.enqueued_at, p.status, p.updated_at, p.attempt_num, p.lease_owner
            FROM "readpast"."notification" AS p
            WHERE p.enqueued_at = i.key
            FOR NO KEY UPDATE
        ) AS q
            ON TRUE
        LEFT JOIN "readpast"."queue_transition" AS t
            ON t.from_status = q.status AND t.to_status = i.status
    ),

    decided AS MATERIALIZED (
        SELECT
            j.ordinal,
            j.key,
            j.answer,
            j.asked,
            j.step,
            j.response,
            j.error,
            j.scheduled_for,
            CASE
                WHEN j.answer <> 'OK' THEN j.status_now
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.status_now = 'Processing' AND j.asked = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN j.released THEN 'Pending'
                WHEN j.attempt_now >= max_attempts_ AND j.asked <> 'Completed' THEN 'Failed'
                ELSE j.asked
            END AS status,
            CASE
                WHEN j.answer <> 'OK' THEN j.token_now
                ELSE GREATEST(now_, j.token_now + interval '1 microsecond')
            END AS token,
            CASE
                WHEN j.answer <> 'OK' THEN j.attempt_now
                WHEN j.released THEN j.attempt_now - 1
                /* Processing from another state is a claim of this one item. */
                WHEN j.status_now <> 'Processing' AND j.asked = 'Processing' AND j.attempt_now < max_attempts_
                    THEN j.attempt_now + 1
                ELSE j.attempt_now
            END AS attempt_num
        FROM judged AS j
    ),

    changed AS (
        UPDATE "readpast"."notification" AS q
        SET
            status = d.status,
            updated_at = d.token,
            attempt_num = d.attempt_num,
            step = COALESCE(d.step, q.step),
            response = COALESCE(d.response, q.response),
            error = CASE
                WHEN d.error IS NOT NULL THEN d.error
                WHEN d.status = 'Failed' AND d.asked <> 'Failed'
                    THEN format(
                        'Attempts are spent: %s of %s; asked for %s.', q.attempt_num, max_attempts_, d.asked
                    )
                /* What went wrong before is over. */
                WHEN d.status = 'Completed' THEN ''
                ELSE q.error
            END,
            scheduled_for = COALESCE(
                d.scheduled_for,
                /*
                1000 ms after the first attempt, 200 per cent of the delay before after each further one,
                at most 300000 ms; up to 50 per cent less by chance, for each item anew.
                The exponent is bounded, so that the power never overflows: the longest delay is reached before.
                */
                CASE
                    WHEN d.status = 'Error' AND q.status = 'Processing'
                        THEN now_ + interval '1 millisecond' * ROUND(
                            CASE
                                WHEN
                                    (d.attempt_num - 1) * LN(200 / 100.0::double precision)
                                    >= LN(300000::double precision / 1000)
                                    THEN 300000
                                ELSE 1000 * POWER(200 / 100.0::double precision, d.attempt_num - 1)
                            END
                            * (1 - 50 / 100.0 * random())
                        )
                END,
                q.scheduled_for
            ),
            started_at = CASE WHEN d.status = 'Processing' AND q.status <> 'Processing' THEN now_ ELSE q.started_at END,
            duration = CASE
                WHEN "readpast"."queue_is_finished_fn"(d.status)
                    THEN (EXTRACT(EPOCH FROM now_ - q.started_at) * 1000)::bigint
                ELSE q.duration
            END,
            lease_owner = CASE
                WHEN d.status = 'Processing' AND q.status <> 'Processing' THEN worker_
                ELSE q.lease_owner
            END,
            lease_until = CASE WHEN d.status = 'Processing' THEN now_ + lease_ms_ * interval '1 millisecond' END
        FROM decided AS d
        WHERE
            q.enqueued_at BETWEEN d.key AND d.key
            AND d.answer = 'OK'
    ),

    /* Remembered for whoever asks again: what cannot be told from the items later. */
    remembered AS (
        UPDATE "readpast"."queue_operation" AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            p.operation_id = operation_
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT
        d.answer, d.ordinal, NULL::bigint, d.key, d.token, d.attempt_num, d.status,
            NULL::timestamptz, NULL::text, NULL::text, NULL::text, NULL::integer, NULL::text, NULL::text,
            NULL::timestamptz, NULL::bigint, NULL::timestamptz, NULL::timestamptz, NULL::text,
            NULL::timestamptz,
            NULL::varchar(200),
            NULL::varchar(16),
            NULL::integer,
            NULL::varchar(128),
            NULL::varchar(254),
            NULL::varchar(10),
            NULL::varchar(20)
    FROM decided AS d
    ORDER BY d.ordinal;

    IF max_ > 0 THEN
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_notification_set_trx"(worker_, max_, lease_ms_, recover_) AS n;
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION "readpast"."modify_notification_set_trx"(uuid, text, json, integer, integer, integer) FROM public;
GO