/*
Claim up to max_ due items, as next_four_queue_scheduler_set_trx does, while the table refuses some: a unique index, a CHECK or a trigger
of it lets no claim of them through. Those are left aside, for longer each time, and named in queue_refused; the others are
claimed. One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves
while the queue has such items; the first of them is found by calling this after a claim that the table refused.
Table access order: four_queue, four_queue_scheduler_lease, queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_four_queue_scheduler_apart_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, claim_ bigint DEFAULT NULL
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
    key_1_ bigint[];
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
    taken_ boolean := FALSE;
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    PERFORM "readpast"."queue_check_fn"('next_four_queue_scheduler_apart_trx', worker_, max_);

    now_ := clock_timestamp();
/*
    Lock due items of the table; those that others hold are passed over. What
    four_queue_scheduler_lease says of them is read in the next statement: only then nobody changes it any more.
    */
    /* Materialized, so that the rows are chosen once. */
    WITH due AS MATERIALIZED (
        SELECT q."id" AS key_1
        FROM "public"."four_queue" AS q
        WHERE
            q."in_process" = FALSE AND (q."scheduled_start_date" IS NULL OR q."scheduled_start_date" <= now_)
            AND NOT EXISTS (
                SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'four_queue_scheduler' AND x.key = q."id"::text AND x.until > now_
            )
        ORDER BY
            q."id"
        LIMIT max_
        FOR NO KEY UPDATE OF q SKIP LOCKED
    )
    SELECT ARRAY_AGG(d.key_1)
    INTO key_1_
    FROM due AS d;

    IF key_1_ IS NULL THEN
        /* Nothing is due: the claim of nothing says when. */
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_four_queue_scheduler_set_trx"(worker_, max_, lease_ms_, 0, among_1_ => '{}') AS n;
        RETURN;
    END IF;

    from_ := 1;
    to_ := CARDINALITY(key_1_);
    WHILE from_ <= to_ LOOP
        refused_ := FALSE;
        BEGIN

                RETURN QUERY
                SELECT n.*
                FROM "readpast"."next_four_queue_scheduler_set_trx"(
                    worker_, max_, lease_ms_, 0, claim_ => claim_, among_1_ => key_1_[from_:to_]
                ) AS n
                WHERE n.answer <> 'EMPTY';
                taken_ := FOUND;
                /* They are let through, and no longer wait. */
                done_ := ARRAY(
                    SELECT k.key_1::text
                    FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                    INNER JOIN "public"."four_queue" AS q ON q."id" BETWEEN k.key_1 AND k.key_1 AND q."in_process" IN (FALSE, TRUE)
                    WHERE NOT (q."in_process" = FALSE)
                );
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
            answer_status := 'claim: ' || reason_;
            answer_attempt := "readpast"."queue_note_refusal"(
                'four_queue_scheduler', (SELECT k.key_1::text FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)),
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

REVOKE ALL ON FUNCTION "readpast"."next_four_queue_scheduler_apart_trx"(text, integer, integer, bigint) FROM public;
