/*
Claim up to max_ due items, as next_notification_set_trx does, while the table refuses some: a unique index, a CHECK or a trigger
of it lets no claim of them through. Those are left aside, for longer each time, and named in queue_refused; the others are
claimed. One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves
while the queue has such items; the first of them is found by calling this after a claim that the table refused.
Table access order: notification, queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_notification_apart_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, claim_ bigint DEFAULT NULL
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
    key_1_ timestamptz[];
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
    taken_ boolean := FALSE;
BEGIN
    PERFORM "readpast"."queue_check_fn"('next_notification_apart_trx', worker_, max_);

    now_ := clock_timestamp();

    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_until AS item_died_at
        FROM "readpast"."notification" AS q
        WHERE
            q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_
            AND NOT EXISTS (
                SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'notification' AND x.key = "readpast"."queue_key_fn"(q.enqueued_at) AND x.until > now_
            )
        ORDER BY
            q.scheduled_for, q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    )

    SELECT ARRAY_AGG(f.key_1)
    INTO key_1_
    FROM found AS f;

    IF key_1_ IS NULL THEN
        /* Nothing is due: the claim of nothing says when. */
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_notification_set_trx"(worker_, max_, lease_ms_, 0, among_1_ => '{}') AS n;
        RETURN;
    END IF;

    from_ := 1;
    to_ := CARDINALITY(key_1_);
    WHILE from_ <= to_ LOOP
        refused_ := FALSE;
        BEGIN

                RETURN QUERY
                SELECT n.*
                FROM "readpast"."next_notification_set_trx"(
                    worker_, max_, lease_ms_, 0, claim_ => claim_, among_1_ => key_1_[from_:to_]
                ) AS n
                WHERE n.answer <> 'EMPTY';
                taken_ := FOUND;
                /* They are let through, and no longer wait. */
                done_ := ARRAY(
                    SELECT "readpast"."queue_key_fn"(k.key_1)
                    FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                    INNER JOIN "readpast"."notification" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
                    WHERE NOT (q.status IN ('Pending', 'Error'))
                );
            DELETE FROM "readpast"."queue_refused" AS x
            WHERE x.queue = 'notification' AND x.key = ANY(done_);
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS state_ = RETURNED_SQLSTATE, reason_ = MESSAGE_TEXT, constraint_ = CONSTRAINT_NAME;
            IF NOT "readpast"."queue_is_refusal_fn"(state_) THEN
                RAISE;
            END IF;
            refused_ := TRUE;
        END;
        IF refused_ AND to_ > from_ THEN
            to_ := (from_ + to_) / 2;
            CONTINUE;
        ELSIF refused_ THEN
            answer := 'REFUSED';
            answer_key := (SELECT k.key_1 FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position));
            answer_status := 'claim: ' || reason_;
            answer_attempt := "readpast"."queue_note_refusal"(
                'notification', (SELECT "readpast"."queue_key_fn"(k.key_1) FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)),
                'claim', state_, reason_, constraint_
            );
            RETURN NEXT;
        ELSE
            EXIT WHEN taken_;
        END IF;
        from_ := to_ + 1;
        to_ := CARDINALITY(key_1_);
    END LOOP;
    IF NOT taken_ THEN
        /* All that it found was refused, or ended: what comes behind them is due now. */
        answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
        answer_due_ms := 0;
        RETURN NEXT;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_notification_apart_trx"(text, integer, integer, bigint) FROM public;
