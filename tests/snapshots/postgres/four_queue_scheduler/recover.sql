/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent. One row per item,
with the answer RECOVERED and the status it has now. An item that its worker had claimed together with others gets its
attempt back, since nobody knows which of them was begun; whatever comes back is claimed alone next. The items of one
claim come back together: more than max_ of them, if need be. With worker_, everything that is in flight under this name
counts, whatever its lease. With recover_ above 2, nothing is done when somebody did it within
so many milliseconds; with 2 the caller has asked for its turn, and has it.
Claims do this too, so a queue with workers needs no other reaper. Items that were taken by
others than readpast count as well, once they are as old as a lease is long.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."recover_four_queue_scheduler_trx"(
    max_ integer DEFAULT 100, worker_ text DEFAULT NULL, recover_ integer DEFAULT 1
)
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
    lease_ms_ integer;
    max_attempts_ integer;
    turn_ boolean := recover_ = 2;
    found_ integer;
    key_1_ bigint[];
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
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    PERFORM "readpast"."queue_check_fn"('recover_four_queue_scheduler_trx', most => max_);
    IF recover_ > 2 THEN
        turn_ := "readpast"."queue_recovery_turn"('four_queue_scheduler', recover_, now_);
        IF NOT turn_ THEN RETURN;
        END IF;
    END IF;
    max_attempts_ := "readpast"."queue_setting"('fourqueuescheduler.maxAttempts', 3);
    lease_ms_ := COALESCE(lease_ms_, "readpast"."queue_setting"('fourqueuescheduler.leaseMs', 600000));

    /* Workers that may be dead; rows that others hold are passed over, theirs are not. */
    SELECT ARRAY_AGG(q."id")
    INTO key_1_
    FROM (
        (
            SELECT s.key_1
            FROM (
                SELECT DISTINCT
                    c.started_at, c.lease_owner
                FROM (
                    SELECT s.started_at, s.lease_owner
                    FROM "readpast"."four_queue_scheduler_lease" AS s
                    /* Not those that others hold: they may be many, and the rest is behind them. */
                    CROSS JOIN LATERAL (
                        SELECT 1
                        FROM "public"."four_queue" AS q
                        WHERE q."id" BETWEEN s.key_1 AND s.key_1 AND q."in_process" IN (FALSE, TRUE)
                        FOR NO KEY UPDATE SKIP LOCKED
                    ) AS q
                    WHERE
                        s.status = 'Processing' AND (s.lease_until <= now_ OR s.lease_owner = worker_)
                        AND NOT EXISTS (
                            SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'four_queue_scheduler' AND x.key = s.key_1::text AND x.until > now_
                        )
                    ORDER BY s.started_at
                    LIMIT max_
                ) AS c
            ) AS d
            /* The oldest claims first, each with all that is left of it: a chunk must not split one. */
            INNER JOIN "readpast"."four_queue_scheduler_lease" AS s
                ON
                    s.status = 'Processing' AND s.started_at BETWEEN d.started_at AND d.started_at AND s.lease_owner = d.lease_owner
                    AND (s.lease_until <= now_ OR s.lease_owner = worker_)
                    AND NOT EXISTS (
                        SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'four_queue_scheduler' AND x.key = s.key_1::text AND x.until > now_
                    )
        )
        UNION ALL
        (
            SELECT t.*
            FROM (
                SELECT q."id"
                FROM "public"."four_queue" AS q
                WHERE
                    q."in_process" = TRUE AND q."end_date" IS NULL
                    AND (q."start_date" <= now_ - lease_ms_ * interval '1 millisecond' OR q."app_server" = worker_)
                    AND NOT EXISTS (
                        SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'four_queue_scheduler' AND x.key = q."id"::text AND x.until > now_
                    )
                    AND NOT EXISTS (
                        SELECT 1
                        FROM "readpast"."four_queue_scheduler_lease" AS s
                        WHERE s.key_1 = q."id" AND s.status <> 'Pending'
                    )
                ORDER BY q."start_date"
                LIMIT max_
                FOR NO KEY UPDATE OF q SKIP LOCKED
            ) AS t
        )
    ) AS w (key_1)
    CROSS JOIN LATERAL (
        SELECT q."id"
        FROM "public"."four_queue" AS q
        WHERE q."id" BETWEEN w.key_1 AND w.key_1 AND q."in_process" IN (FALSE, TRUE)
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS q;

    /* Items that are gone from the table leave nothing behind. */
    DELETE FROM "readpast"."four_queue_scheduler_lease" AS s
    USING (
        SELECT g.key_1
        FROM "readpast"."four_queue_scheduler_lease" AS g
        WHERE
            g.status = 'Processing' AND g.lease_until <= now_
            AND NOT EXISTS (
                SELECT 1
                FROM "public"."four_queue" AS q
                WHERE q."id" BETWEEN g.key_1 AND g.key_1 AND q."in_process" IN (FALSE, TRUE)
            )
        ORDER BY g.started_at
        LIMIT max_
    ) AS g
    WHERE s.key_1 BETWEEN g.key_1 AND g.key_1;

    IF key_1_ IS NULL THEN RETURN;
    END IF;
    found_ := CARDINALITY(key_1_);
    IF turn_ AND found_ >= max_ THEN
        /* There may be more of them: the next who comes goes on at once. */
        UPDATE "readpast"."queue_recovery" AS r
        SET recovered_at = '-infinity'
        WHERE r.queue = 'four_queue_scheduler';
    END IF;

    /* The table is right about items that somebody changed by hand. */
    UPDATE "readpast"."four_queue_scheduler_lease" AS s
    SET status = v.item_status, lease_until = NULL
    FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
    INNER JOIN LATERAL (
        SELECT
                w.item_seek_1, w.item_type, w.item_status, w.item_step, w.item_attempt, w.item_response, w.item_error, w.item_started_at,
                w.item_duration, w.item_due_at, w.item_token, w.item_owner, w.item_lease_until, w.item_died_at, w.item_has_lease
            FROM "readpast"."four_queue_scheduler_item_v" AS w
            WHERE w.item_key_1 = k.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
    ) AS v ON TRUE
    WHERE s.key_1 BETWEEN k.key_1 AND k.key_1 AND s.status = 'Processing' AND v.item_status <> 'Processing';

    /*
    Items that were claimed together: nobody knows which was begun. Asked of all and not of what is locked here: another
    recovery may have the rest of them in hands.
    */
    SELECT
        ARRAY_AGG(
            EXISTS (
                SELECT 1
                FROM "readpast"."four_queue_scheduler_lease" AS s
                CROSS JOIN LATERAL (
                    /* With a limit, so that no plan reads all that is in flight. */
                    SELECT 1
                    FROM "readpast"."four_queue_scheduler_lease" AS o
                    WHERE
                        o.status = 'Processing' AND o.started_at BETWEEN s.started_at AND s.started_at AND o.lease_owner = s.lease_owner
                        AND (o.key_1) <> (s.key_1)
                    LIMIT 1
                ) AS o
                WHERE s.status = 'Processing' AND s.key_1 BETWEEN k.key_1 AND k.key_1
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

                WITH held AS MATERIALIZED (
                    /* A lease that is being renewed right now is alive. */
                    SELECT k.key_1, k.position
                    FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                    WHERE
                        NOT EXISTS (
                            SELECT 1
                            FROM "readpast"."four_queue_scheduler_lease" AS s
                            WHERE s.key_1 BETWEEN k.key_1 AND k.key_1
                        )
                    UNION ALL
                    SELECT k.key_1, k.position
                    FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                    CROSS JOIN LATERAL (
                        SELECT 1
                        FROM "readpast"."four_queue_scheduler_lease" AS s
                        WHERE
                            s.key_1 BETWEEN k.key_1 AND k.key_1
                            AND (s.lease_until <= now_ OR s.lease_owner = worker_ OR s.status <> 'Processing')
                        FOR NO KEY UPDATE SKIP LOCKED
                    ) AS s
                ),

                expired AS MATERIALIZED (
                    SELECT
                        k.key_1, v.*, together_[from_ - 1 + k.position::integer] AS together, COALESCE(x.attempts, 0) AS refusals,
                        x.reason AS refused
                    FROM held AS k
                    INNER JOIN LATERAL (
                        SELECT
                        w.item_seek_1, w.item_type, w.item_status, w.item_step, w.item_attempt, w.item_response, w.item_error,
                        w.item_started_at, w.item_duration, w.item_due_at, w.item_token, w.item_owner, w.item_lease_until, w.item_died_at,
                        w.item_has_lease
                        FROM "readpast"."four_queue_scheduler_item_v" AS w
                        WHERE
                        w.item_key_1 = k.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
                        /* So that it is one search per key, whatever the size of the table when this is planned. */
                        OFFSET 0
                    ) AS v ON TRUE
                    LEFT JOIN "readpast"."queue_refused" AS x ON x.queue = 'four_queue_scheduler' AND x.key = k.key_1::text
                    WHERE v.item_status = 'Processing' AND (v.item_lease_until <= now_ OR v.item_owner = worker_)
                ),
                decided AS MATERIALIZED (
                    SELECT
                        v.key_1, v.item_seek_1 AS seek_1, 'OK' AS answer, CASE WHEN e.ends THEN 'Failed' ELSE 'Error' END AS status,
                        GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
                        v.item_attempt - v.together::integer AS attempt_num,
                        "readpast"."queue_died_fn"(
                            v.item_owner, worker_, v.item_attempt, max_attempts_, v.together, CASE WHEN e.ends THEN v.refusals END, v.refused
                        ) AS error,
                        e.ends AS finishes, FALSE AS enters,
                        /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                        CASE WHEN NOT e.ends THEN LEAST(v.item_lease_until, now_) END AS died_at, NULL::timestamptz AS lease_until,
                        v.item_step AS step, v.item_response AS response, v.item_started_at AS started_at,
                        v.item_started_at AS run_started_at,
                        CASE WHEN e.ends THEN "readpast"."queue_ms_fn"(v.item_started_at, now_) END AS duration,
                        LEAST(v.item_due_at, now_) AS due_at, v.item_owner AS owner, FALSE AS reopens, TRUE AS stays
                    FROM expired AS v
                    CROSS JOIN LATERAL (SELECT NOT v.together AND v.item_attempt + v.refusals >= max_attempts_ AS ends) AS e
                ),
            /* An item that a trigger of the table keeps from changing counts as not changed. */
            changed AS (
                UPDATE "public"."four_queue" AS q
                SET
                    "scheduled_start_date" = COALESCE(d.due_at, q."scheduled_start_date"),
                    "start_date" = CASE WHEN d.enters THEN d.run_started_at ELSE q."start_date" END,
                    "end_date" = CASE
                        WHEN
                            d.status IN (
                                'Processing', 'Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted', 'Pending', 'Error'
                            )
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
                    error = excluded.error, started_at = excluded.started_at, finished_at = excluded.finished_at,
                    duration = excluded.duration, due_at = excluded.due_at, updated_at = excluded.updated_at,
                    lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
            )

                SELECT
                    ARRAY_AGG(
                        json_build_object('key', c.key_1::text, 'token', c.token, 'attempt', c.attempt_num, 'status', c.status)
                        ORDER BY c.key_1
                    ),
                    COALESCE(ARRAY_AGG(c.key_1::text), '{}')
                INTO more_, done_
                FROM changed AS c;
                answers_ := answers_ || more_;
            DELETE FROM "readpast"."queue_refused" AS x
            WHERE x.queue = 'four_queue_scheduler' AND x.key = ANY(done_);
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
            answer_key := (SELECT k.key_1::text FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position));
            answer_status := 'recover: ' || reason_;
            answer_attempt := "readpast"."queue_note_refusal"(
                'four_queue_scheduler', (SELECT k.key_1::text FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)),
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
    CROSS JOIN LATERAL json_to_record(a) AS r (key text, token timestamptz, attempt integer, status text);
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."recover_four_queue_scheduler_trx"(integer, text, integer) FROM public;
