/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with
the milliseconds until the next item is due (NULL when there is none; 0 when it only ended items whose attempts are
spent: ask again). With recover_ 1, first give back the items of dead workers; with 3 or more, unless somebody did
within so many milliseconds.
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
among_1_: only of those keys (next_notification_apart_trx asks for halves of what it found).
claim_ is a number of the claim's own, above zero: with it claimed_notification returns what was claimed, when the answer was lost.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_notification_set_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1, claim_ bigint DEFAULT NULL,
    among_1_ timestamptz[] DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text,
    attempt_num integer, response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "ResetPassword_OTP" varchar(16),
    "ResetPassword_UserID" integer, "ResetPassword_Username" varchar(128), "Email_EmailTo" varchar(254),
    "Email_PreferredLanguage" varchar(60), "Email_Response" text, "Email_Error" text, "Sms_PhoneNumber" varchar(20),
    "Sms_Response" text, "Sms_Error" text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
    turn_ boolean;
    head_ timestamptz := '-infinity';
    /* Counted until the server takes the figures over, which may be later than with this transaction. */
    read_ CONSTANT bigint := pg_stat_get_xact_tuples_returned('"readpast"."notification_due"'::regclass);
BEGIN
    max_attempts_ := "readpast"."queue_setting"('notification.maxAttempts', 3);
    lease_ms_ := "readpast"."queue_check_fn"('next_notification_set_trx', worker_, max_, lease_ms => COALESCE(lease_ms_, "readpast"."queue_setting"('notification.leaseMs', 60000)));
    /* Asked here, or most claims would call for nothing. */
    IF recover_ > 2 THEN
        turn_ := "readpast"."queue_recovery_turn"('notification', recover_, clock_timestamp());
    END IF;
    IF recover_ > 0 AND turn_ IS NOT FALSE THEN
        FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN
            SELECT r.*
            FROM "readpast"."recover_notification_trx"(100, recover_ => CASE WHEN recover_ > 2 AND turn_ THEN 2 ELSE 1 END) AS r
            WHERE r.answer = 'REFUSED'
        LOOP
            RETURN NEXT;
        END LOOP;
    END IF;
    IF among_1_ IS NULL AND EXISTS (SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'notification') THEN
        /* The table refuses some: around those. */
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_notification_apart_trx"(worker_, max_, lease_ms_, claim_ => claim_) AS n;
        RETURN;
    END IF;

    now_ := clock_timestamp();
    IF among_1_ IS NULL AND COALESCE(current_setting('readpast.head_notification', TRUE), '') <> '' THEN
        head_ := "readpast"."queue_head_fn"(current_setting('readpast.head_notification'), '"readpast"."notification_due"', now_);
    END IF;
    RETURN QUERY

    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_until AS item_died_at
        FROM "readpast"."notification" AS q
        WHERE
            q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_ AND q.scheduled_for >= head_
            AND (among_1_ IS NULL OR q.enqueued_at = ANY(among_1_))
        ORDER BY
            q.scheduled_for, q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    /*
    In their order up to the first that goes alone, or that one; the others are let go with the transaction. It came
    back from a dead worker, which it may have killed.
    */
    decided AS MATERIALIZED (
        SELECT
            v.key_1, v.position, v.alone, CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
            GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
            v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
            CASE
                WHEN v.is_spent AND v.refusals > 0
                    THEN format(
                        'The table refused it %s times, and attempts are spent: %s', v.refusals,
                        ("readpast"."queue_refusal"('notification', "readpast"."queue_key_fn"(v.key_1))).reason
                    )
                WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
            END AS error,
            CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until, NOT v.is_spent AS enters
        FROM (
            SELECT
                r.*, ROW_NUMBER() OVER w AS position, COUNT(*) FILTER (WHERE NOT r.is_spent) OVER w AS place,
                COUNT(*) FILTER (WHERE r.alone) OVER w AS alone_so_far
            FROM (
                SELECT
                    f.*, f.item_attempt + f.refusals >= max_attempts_ AS is_spent,
                    f.item_attempt + f.refusals < max_attempts_ AND f.item_died_at IS NOT NULL AS alone
                FROM (
                    SELECT
                        f.*,
                        /* Only where the table refuses some. */
                        CASE
                            WHEN among_1_ IS NULL THEN 0
                            ELSE COALESCE(("readpast"."queue_refusal"('notification', "readpast"."queue_key_fn"(f.key_1))).attempts, 0)
                        END AS refusals
                    FROM found AS f
                ) AS f
            ) AS r
            WINDOW w AS (ROWS UNBOUNDED PRECEDING)
        ) AS v
        WHERE
            v.is_spent
            OR v.alone_so_far = 0
            OR (v.alone AND v.place = 1)
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."notification" AS q
        SET
            status = d.status, updated_at = d.token, claim_num = d.claim_num,
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END, attempt_num = d.attempt_num,
            lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            error = COALESCE(d.error, q.error)
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1
        RETURNING q.*, d.position AS position_, d.alone AS alone_, d.status AS status_
    )

    SELECT
        /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
        CASE WHEN q.status_ IS NULL THEN 'EMPTY' WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN q.status_ IS NULL THEN 0 ELSE lease_ms_::bigint END, q.enqueued_at, q.updated_at, q.attempt_num, q.status_,
        q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration,
        q.scheduled_for, q.updated_at, q.lease_owner, q.lease_until, s1."OTP", s1."UserID", s1."Username", s2."EmailTo",
        s2."PreferredLanguage", s2."Response", s2."Error", s3."PhoneNumber", s3."Response", s3."Error"
    FROM (SELECT COUNT(*) AS items FROM changed) AS c
    LEFT JOIN changed AS q ON q.status_ = 'Processing'
    LEFT JOIN "readpast"."notification_reset_password" AS s1 ON s1.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at
    LEFT JOIN "readpast"."notification_email" AS s2 ON s2.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at
    LEFT JOIN "readpast"."notification_sms" AS s3 ON s3.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at
    WHERE
        CASE
            WHEN among_1_ IS NOT NULL AND c.items < (SELECT COUNT(*) FROM decided)
                THEN "readpast"."queue_refuse_fn"('a trigger of the table leaves the row as it is', 'P0001') IS NULL
            ELSE c.items > 0
        END
    ORDER BY q.position_;
    IF NOT FOUND AND head_ > '-infinity' THEN
        /* Nothing from there on: once more, from the first. */
        PERFORM set_config('readpast.head_notification', '', FALSE);
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_notification_set_trx"(worker_, max_, lease_ms_, 0, claim_ => claim_) AS n;
        RETURN;
    END IF;
    IF
        FOUND AND clock_timestamp() - now_ > interval '2 ms'
        AND pg_stat_get_xact_tuples_returned('"readpast"."notification_due"'::regclass) - read_ > 1000 + 10 * max_
    THEN
        /* It has passed over much that is dead. */
        PERFORM "readpast"."queue_begin_at_fn"('readpast.head_notification', '"readpast"."notification_due"', now_, MIN(q.scheduled_for))
        FROM "readpast"."notification" AS q
        WHERE q.status = 'Processing' AND q.started_at BETWEEN now_ AND now_ AND q.lease_owner = worker_
        HAVING COUNT(*) > 0;
        RETURN;
    END IF;
    IF FOUND THEN RETURN;
    END IF;

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
    answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
    answer_due_ms := (
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
            (
                SELECT MIN(x.until) AS due_at
                FROM "readpast"."queue_refused" AS x
                WHERE x.queue = 'notification' AND x.until > now_
            )
            UNION ALL
            (
                SELECT q.scheduled_for AS due_at
                FROM "readpast"."notification" AS q
                WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for > now_
                ORDER BY q.scheduled_for
                LIMIT 1
            )

        ) AS n
        /* An item that is never due is nothing to wait for. */
        WHERE n.due_at < 'infinity'
    );
    RETURN NEXT;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_notification_set_trx"(text, integer, integer, integer, bigint, timestamptz[]) FROM public;
