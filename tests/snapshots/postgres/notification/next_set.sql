/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with
the milliseconds until the next item is due (NULL when there is none). With recover_ 1, first give back the items of
dead workers; a caller that polls often need not each time.
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_notification_set_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
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
    now_ timestamptz;
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
        RAISE EXCEPTION 'next_notification_set_trx: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'next_notification_set_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'next_notification_set_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;
    IF recover_ > 0 THEN
        PERFORM FROM "readpast"."recover_notification_trx"(100);
    END IF;

    now_ := clock_timestamp();
    RETURN QUERY
    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH due AS MATERIALIZED (
        SELECT
            q.enqueued_at,
            q.scheduled_for,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            q.attempt_num >= max_attempts_ AS spent,
            /* It came back from a dead worker: such a row keeps its lease that is over. */
            q.attempt_num < max_attempts_ AND q.lease_until IS NOT NULL AS alone
        FROM "readpast"."notification" AS q
        WHERE
            q.status IN ('Pending', 'Error')
            AND q.scheduled_for <= now_
        ORDER BY
            q.scheduled_for,
            q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    /* In their order up to the first that goes alone, or that one. The others are let go with the transaction. */
    taken AS MATERIALIZED (
        SELECT
            r.enqueued_at,
            r.scheduled_for,
            r.spent,
            r.alone
        FROM (
            SELECT
                d.*,
                COUNT(*) FILTER (WHERE NOT d.spent) OVER w AS place,
                COUNT(*) FILTER (WHERE d.alone) OVER w AS alone_so_far
            FROM due AS d
            WINDOW w AS (ROWS UNBOUNDED PRECEDING)
        ) AS r
        WHERE
            r.spent
            OR r.alone_so_far = 0
            OR (r.alone AND r.place = 1)
    ),

    claimed AS (
        UPDATE "readpast"."notification" AS q
        SET
            status = CASE WHEN d.spent THEN 'Failed' ELSE 'Processing' END,
            updated_at = GREATEST(now_, q.updated_at + interval '1 microsecond'),
            attempt_num = CASE WHEN d.spent THEN q.attempt_num ELSE q.attempt_num + 1 END,
            started_at = CASE WHEN d.spent THEN q.started_at ELSE now_ END,
            error = CASE
                WHEN d.spent THEN format('Attempts are spent: %s of %s.', q.attempt_num, max_attempts_)
                ELSE q.error
            END,
            lease_owner = CASE WHEN d.spent THEN q.lease_owner ELSE worker_ END,
            lease_until = CASE WHEN d.spent THEN NULL ELSE now_ + lease_ms_ * interval '1 millisecond' END
        FROM taken AS d
        /* They are locked and found due: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.enqueued_at AND d.enqueued_at
        RETURNING q.*, d.scheduled_for AS due_since, d.alone
    )

    SELECT
        CASE WHEN c.alone THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END,
        NULL::integer,
        NULL::bigint,
        c.enqueued_at,
        c.updated_at,
        c.attempt_num,
        c.status::text,
        c.enqueued_at,
        c.type::text,
        c.status::text,
        c.step,
        c.attempt_num,
        c.response,
        c.error,
        c.started_at,
        c.duration,
        c.scheduled_for,
        c.updated_at,
        c.lease_owner,
        c.lease_until,
        c."Subject",
        s1."OTP",
        s1."UserID",
        s1."Username",
        s2."EmailTo",
        s2."PreferredLanguage",
        s3."PhoneNumber"
    FROM claimed AS c
    LEFT JOIN "readpast"."notification_reset_password" AS s1
        ON s1.enqueued_at BETWEEN c.enqueued_at AND c.enqueued_at
    LEFT JOIN "readpast"."notification_email" AS s2
        ON s2.enqueued_at BETWEEN c.enqueued_at AND c.enqueued_at
    LEFT JOIN "readpast"."notification_sms" AS s3
        ON s3.enqueued_at BETWEEN c.enqueued_at AND c.enqueued_at
    WHERE c.status = 'Processing'
    ORDER BY
        c.due_since,
        c.enqueued_at;

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
    IF NOT FOUND THEN
        answer := 'EMPTY';
        answer_due_ms := (
            SELECT CEIL(EXTRACT(EPOCH FROM q.scheduled_for - now_) * 1000)::bigint
            FROM "readpast"."notification" AS q
            WHERE
                q.status IN ('Pending', 'Error')
                AND q.scheduled_for > now_
            ORDER BY
                q.scheduled_for,
                q.enqueued_at
            LIMIT 1
        );
        RETURN NEXT;
    END IF;
END;
$$;
GO
REVOKE ALL ON FUNCTION "readpast"."next_notification_set_trx"(text, integer, integer, integer) FROM public;
GO