/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. An item that its worker had claimed together with others gets its
attempt back, since nobody knows which of them was begun; whatever comes back is claimed alone next. The items of one
claim come back together: more than max_ of them, if need be. With worker_, everything that is in flight under this name
counts, whatever its lease. With recover_ above 2, nothing is done when somebody did it within
so many milliseconds; with 2 the caller has asked for its turn, and has it.
Claims do this too, so a queue with workers needs no other reaper.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."recover_notification_trx"(
    max_ integer DEFAULT 100, worker_ text DEFAULT NULL, recover_ integer DEFAULT 1
)
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
    max_attempts_ integer;
    turn_ boolean := recover_ = 2;
    found_ integer;
    key_1_ timestamptz[];
    together_ boolean[];
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
    /* The answers. */
    more_ json[];
    answers_ json[];
BEGIN
    PERFORM "readpast"."queue_check_fn"('recover_notification_trx', most => max_);
    IF recover_ > 2 THEN
        turn_ := "readpast"."queue_recovery_turn"('notification', recover_, now_);
        IF NOT turn_ THEN RETURN;
        END IF;
    END IF;
    max_attempts_ := "readpast"."queue_setting"('notification.maxAttempts', 3);
    /*
    The oldest claims first, each with all that is left of it: a chunk must not split one. Rows that others hold are passed
    over: they may be many, and the rest is behind them.
    */
    WITH dead AS MATERIALIZED (
        SELECT DISTINCT
            c.started_at, c.owner
        FROM (
            SELECT q.started_at AS started_at, q.lease_owner AS owner
            FROM "readpast"."notification" AS q
            WHERE
                q.status = 'Processing' AND (q.lease_until <= now_ OR q.lease_owner = worker_)
                AND NOT EXISTS (
                    SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'notification' AND x.key = "readpast"."queue_key_fn"(q.enqueued_at) AND x.until > now_
                )
            ORDER BY q.started_at
            LIMIT max_
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS c
    ),
    remains AS MATERIALIZED (
        SELECT v.key_1
        FROM dead AS d
        CROSS JOIN LATERAL (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
                q.status = 'Processing' AND q.started_at BETWEEN d.started_at AND d.started_at AND q.lease_owner = d.owner
                AND (q.lease_until <= now_ OR q.lease_owner = worker_)
                AND NOT EXISTS (
                    SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'notification' AND x.key = "readpast"."queue_key_fn"(q.enqueued_at) AND x.until > now_
                )
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS v
    )
    SELECT ARRAY_AGG(v.key_1)
    INTO key_1_
    FROM remains AS v;
    IF key_1_ IS NULL THEN RETURN;
    END IF;
    found_ := CARDINALITY(key_1_);
    IF turn_ AND found_ >= max_ THEN
        /* There may be more of them: the next who comes goes on at once. */
        UPDATE "readpast"."queue_recovery" AS r
        SET recovered_at = '-infinity'
        WHERE r.queue = 'notification';
    END IF;

    /*
    Items that were claimed together: nobody knows which was begun. Asked of all and not of what is locked here: another
    recovery may have the rest of them in hands.
    */
    SELECT
        ARRAY_AGG(
            EXISTS (
                SELECT 1
                FROM "readpast"."notification" AS q
                CROSS JOIN LATERAL (
                    /* With a limit, so that no plan reads all that is in flight. */
                    SELECT 1
                    FROM "readpast"."notification" AS o
                    WHERE
                        o.status = 'Processing' AND o.started_at BETWEEN q.started_at AND q.started_at AND o.lease_owner = q.lease_owner
                        AND (o.enqueued_at) <> (q.enqueued_at)
                    LIMIT 1
                ) AS o
                WHERE q.enqueued_at BETWEEN k.key_1 AND k.key_1
            )
            ORDER BY k.position
        )
    INTO together_
    FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position);

    from_ := 1;
    to_ := CARDINALITY(key_1_);
    WHILE from_ <= to_ LOOP
        refused_ := FALSE;
        BEGIN

                WITH expired AS MATERIALIZED (
                    SELECT
                        k.key_1, v.*, together_[from_ - 1 + k.position::integer] AS together, COALESCE(x.attempts, 0) AS refusals,
                        x.reason AS refused
                    FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                    INNER JOIN LATERAL (
                        SELECT
                        q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner,
                        q.lease_until AS item_lease_until
                        FROM "readpast"."notification" AS q
                        WHERE
                        q.enqueued_at = k.key_1
                        FOR NO KEY UPDATE
                    ) AS v ON TRUE
                    LEFT JOIN "readpast"."queue_refused" AS x ON x.queue = 'notification' AND x.key = "readpast"."queue_key_fn"(k.key_1)
                ),
                decided AS MATERIALIZED (
                    SELECT
                        v.key_1, 'OK' AS answer, CASE WHEN e.ends THEN 'Failed' ELSE 'Error' END AS status,
                        GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
                        v.item_attempt - v.together::integer AS attempt_num,
                        "readpast"."queue_died_fn"(
                            v.item_owner, worker_, v.item_attempt, max_attempts_, v.together, CASE WHEN e.ends THEN v.refusals END, v.refused
                        ) AS error,
                        e.ends AS finishes, FALSE AS enters,
                        /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                        CASE WHEN NOT e.ends THEN LEAST(v.item_lease_until, now_) END AS lease_until
                    FROM expired AS v
                    CROSS JOIN LATERAL (SELECT NOT v.together AND v.item_attempt + v.refusals >= max_attempts_ AS ends) AS e
                ),
            /* An item that a trigger of the table keeps from changing counts as not changed. */
            changed AS (
                UPDATE "readpast"."notification" AS q
                SET
                    status = d.status, updated_at = d.token,
                    duration = CASE WHEN d.finishes THEN "readpast"."queue_ms_fn"(q.started_at, now_) ELSE q.duration END,
                    attempt_num = d.attempt_num, lease_until = d.lease_until, error = COALESCE(d.error, q.error)
                FROM decided AS d
                /* They are locked, and decided upon: the key is enough. */
                WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK'
                RETURNING d.key_1 AS key_1_, d.token AS token_, d.attempt_num AS attempt_num_, d.answer AS answer_, d.status AS status_
            )

                SELECT
                    ARRAY_AGG(
                        json_build_object('key', c.key_1_, 'token', c.token_, 'attempt', c.attempt_num_, 'status', c.status_)
                        ORDER BY c.key_1_
                    ),
                    COALESCE(ARRAY_AGG("readpast"."queue_key_fn"(c.key_1_)), '{}')
                INTO more_, done_
                FROM changed AS c;
                answers_ := answers_ || more_;
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
            answer_status := 'recover: ' || reason_;
            answer_attempt := "readpast"."queue_note_refusal"(
                'notification', (SELECT "readpast"."queue_key_fn"(k.key_1) FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)),
                'recover', state_, reason_, constraint_
            );
            RETURN NEXT;
        END IF;
        from_ := to_ + 1;
        to_ := CARDINALITY(key_1_);
    END LOOP;

    RETURN QUERY
    SELECT 'RECOVERED', NULL::integer, NULL::bigint, r.key, r.token, r.attempt, r.status
    FROM UNNEST(answers_) AS a
    CROSS JOIN LATERAL json_to_record(a) AS r (key timestamptz, token timestamptz, attempt integer, status text);
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."recover_notification_trx"(integer, text, integer) FROM public;
