/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with
the milliseconds until the next item is due (NULL when there is none; 0 when it only ended items whose attempts are
spent: ask again). With recover_ 1, first give back the items of dead workers; with 3 or more, unless somebody did
within so many milliseconds.
An item that came back from a dead worker may have been its death. It is handed out alone, with the answer
CLAIMED_ALONE; so a claim ends before such an item, unless it is the first.
With recover_ 2 it first takes up again what is in flight under this worker's own name as well: for a worker that has
just started, whose predecessor of that name left work behind.
among_1_: only of those keys (next_four_queue_scheduler_apart_trx asks for halves of what it found).
claim_ is a number of the claim's own, above zero: with it claimed_four_queue_scheduler returns what was claimed, when the answer was lost.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_four_queue_scheduler_set_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1, claim_ bigint DEFAULT NULL,
    among_1_ bigint[] DEFAULT NULL
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
    now_ timestamptz;
    max_attempts_ integer;
    turn_ boolean;
    alone_ boolean;
    ended_ bigint;
    decided_ bigint;
    key_1_ bigint[];
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    max_attempts_ := "readpast"."queue_setting"('fourqueuescheduler.maxAttempts', 3);
    lease_ms_ := "readpast"."queue_check_fn"('next_four_queue_scheduler_set_trx', worker_, max_, lease_ms => COALESCE(lease_ms_, "readpast"."queue_setting"('fourqueuescheduler.leaseMs', 600000)));
    IF recover_ = 2 THEN
        FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN
            SELECT r.* FROM "readpast"."recover_four_queue_scheduler_trx"(1000, worker_) AS r WHERE r.answer = 'REFUSED'
        LOOP
            RETURN NEXT;
        END LOOP;
    END IF;
    /* Asked here, or most claims would call for nothing. */
    IF recover_ > 2 THEN
        turn_ := "readpast"."queue_recovery_turn"('four_queue_scheduler', recover_, clock_timestamp());
    END IF;
    IF recover_ > 0 AND turn_ IS NOT FALSE THEN
        FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN
            SELECT r.*
            FROM "readpast"."recover_four_queue_scheduler_trx"(100, recover_ => CASE WHEN recover_ > 2 AND turn_ THEN 2 ELSE 1 END) AS r
            WHERE r.answer = 'REFUSED'
        LOOP
            RETURN NEXT;
        END LOOP;
    END IF;
    IF among_1_ IS NULL AND EXISTS (SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'four_queue_scheduler') THEN
        /* The table refuses some: around those. */
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_four_queue_scheduler_apart_trx"(worker_, max_, lease_ms_, claim_ => claim_) AS n;
        RETURN;
    END IF;

    now_ := clock_timestamp();
    IF among_1_ IS NOT NULL THEN
        key_1_ := among_1_;
    ELSE
/*
    Lock due items of the table; those that others hold are passed over. What
    four_queue_scheduler_lease says of them is read in the next statement: only then nobody changes it any more.
    */
    /* Materialized, so that the rows are chosen once. */
    WITH due AS MATERIALIZED (
        SELECT q."id" AS key_1
        FROM "public"."four_queue" AS q
        WHERE q."in_process" = FALSE AND (q."scheduled_start_date" IS NULL OR q."scheduled_start_date" <= now_)
        ORDER BY
            q."id"
        LIMIT max_
        FOR NO KEY UPDATE OF q SKIP LOCKED
    )
    SELECT ARRAY_AGG(d.key_1)
    INTO key_1_
    FROM due AS d;
    END IF;

    IF key_1_ IS NOT NULL THEN
        WITH found AS MATERIALIZED (
            SELECT k.key_1, v.*
            FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
            INNER JOIN LATERAL (
                SELECT
                w.item_seek_1, w.item_type, w.item_status, w.item_step, w.item_attempt, w.item_response, w.item_error, w.item_started_at,
                w.item_duration, w.item_due_at, w.item_token, w.item_owner, w.item_lease_until, w.item_died_at, w.item_has_lease
                FROM "readpast"."four_queue_scheduler_item_v" AS w
                WHERE
                w.item_key_1 = k.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
                /* So that it is one search per key, whatever the size of the table when this is planned. */
                OFFSET 0
            ) AS v ON TRUE
            ORDER BY k.position
        ),

    /*
    In their order up to the first that goes alone, or that one; the others are let go with the transaction. It came
    back from a dead worker, which it may have killed.
    */
    decided AS MATERIALIZED (
        SELECT
            v.key_1, v.item_seek_1 AS seek_1, 'OK' AS answer, v.position, v.alone,
            CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
            GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
            v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
            CASE
                WHEN v.is_spent AND v.refusals > 0
                    THEN format(
                        'The table refused it %s times, and attempts are spent: %s', v.refusals,
                        ("readpast"."queue_refusal"('four_queue_scheduler', v.key_1::text)).reason
                    )
                WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
                ELSE v.item_error
            END AS error,
            CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until, v.item_step AS step,
            v.item_response AS response, CASE WHEN v.is_spent THEN v.item_started_at ELSE now_ END AS started_at, now_ AS run_started_at,
            CASE WHEN v.is_spent THEN v.item_duration END AS duration, v.item_due_at AS due_at,
            CASE WHEN v.is_spent THEN v.item_owner ELSE worker_ END AS owner, NULL::timestamptz AS died_at, v.is_spent AS finishes,
            FALSE AS reopens, TRUE AS stays, NOT v.is_spent AS enters
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
                            ELSE COALESCE(("readpast"."queue_refusal"('four_queue_scheduler', f.key_1::text)).attempts, 0)
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
            finished_at, duration, due_at, updated_at, lease_owner, lease_until, claim_num
        )
        SELECT
            c.key_1, c.status, c.step, c.attempt_num, c.response, c.error, c.started_at,
            CASE WHEN c.finishes THEN now_ END, c.duration, c.due_at, c.token, c.owner, COALESCE(c.lease_until, c.died_at), c.claim_num
        FROM changed AS c
        WHERE c.stays
        ORDER BY c.key_1
        ON CONFLICT (key_1) DO UPDATE
        SET
            status = excluded.status, step = excluded.step, attempt_num = excluded.attempt_num, response = excluded.response,
            error = excluded.error, started_at = excluded.started_at, finished_at = excluded.finished_at, duration = excluded.duration,
            due_at = excluded.due_at, updated_at = excluded.updated_at, lease_owner = excluded.lease_owner,
            lease_until = excluded.lease_until, claim_num = excluded.claim_num
    )

        SELECT
            ARRAY_AGG(c.key_1 ORDER BY c.position) FILTER (WHERE c.status = 'Processing'), BOOL_OR(c.alone), COUNT(*),
            (SELECT COUNT(*) FROM decided)
        INTO key_1_, alone_, ended_, decided_
        FROM changed AS c;
        IF among_1_ IS NOT NULL AND ended_ < decided_ THEN
            RAISE EXCEPTION 'a trigger of the table leaves the row as it is';
        END IF;

        RETURN QUERY
        SELECT
            CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer, lease_ms_::bigint, k.key_1::text, v.item_token,
            v.item_attempt, v.item_status,
            v."reputation"::integer, v."id"::bigint, v.item_status, v.item_step, v.item_attempt, v.item_response,
            v.item_error, v.item_started_at, v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
        FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
        INNER JOIN LATERAL (
            SELECT w.*
            FROM "readpast"."four_queue_scheduler_item_v" AS w
            WHERE w.item_key_1 = k.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
        ) AS v ON TRUE
        ORDER BY k.position;
        IF FOUND THEN RETURN;
        END IF;
        IF ended_ > 0 THEN
            /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
            answer := 'EMPTY';
            answer_due_ms := 0;
            RETURN NEXT;
            RETURN;
        END IF;
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
                WHERE x.queue = 'four_queue_scheduler' AND x.until > now_
            )
            UNION ALL
            (
                SELECT (q."scheduled_start_date")::timestamptz AS due_at
                FROM "public"."four_queue" AS q
                WHERE q."in_process" = FALSE AND q."scheduled_start_date" > now_
                ORDER BY q."scheduled_start_date"
                LIMIT 1
            )

        ) AS n
        /* An item that is never due is nothing to wait for. */
        WHERE n.due_at < 'infinity'
    );
    RETURN NEXT;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_four_queue_scheduler_set_trx"(text, integer, integer, integer, bigint, bigint[]) FROM public;
