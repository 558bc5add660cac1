/*
Claim up to max_ due items, as next_invoice_set_trx does, while the table refuses some: a unique index, a CHECK or a trigger
of it lets no claim of them through. Those are left aside, for longer each time, and named in queue_refused; the others are
claimed. One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves
while the queue has such items; the first of them is found by calling this after a claim that the table refused.
Table access order: invoice, queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_invoice_apart_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer,
    response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "Number" varchar(20), "CustomerID" bigint,
    "Amount" numeric(12, 2), "Code" varchar(6), "Lines" json
)
LANGUAGE plpgsql VOLATILE
/* With its owner's rights: a role that may execute this needs none on the tables. */
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
/*
One access path is right, however many rows there are today: the index, in its order. Tables are joined by BETWEEN two equal
keys for the same reason: by =, a plan that is made for an empty table would read all of it, and be kept when it is full.
*/
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
    alone_ boolean;
    ended_ bigint;
    key_1_ timestamptz[];
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
    decided_ bigint;
    taken_1_ timestamptz[];
BEGIN
    max_attempts_ := COALESCE((
        SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'invoice.maxAttempts' AND a.val_int > 0
    ), 3);
    IF lease_ms_ IS NULL THEN
        lease_ms_ := COALESCE((
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'invoice.leaseMs' AND a.val_int > 0
        ), 60000);
    END IF;
    IF COALESCE(worker_, '') = '' THEN
        RAISE EXCEPTION 'next_invoice_apart_trx: worker_ is empty' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'next_invoice_apart_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    IF lease_ms_ < 1 THEN
        RAISE EXCEPTION 'next_invoice_apart_trx: lease_ms_ must be at least 1' USING ERRCODE = 'RP021';
    END IF;

    now_ := clock_timestamp();

    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_until AS item_died_at
        FROM "readpast"."invoice" AS q
        WHERE
            q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_
            AND NOT EXISTS (
                SELECT 1
                FROM "readpast"."queue_refused" AS x
                WHERE
                    x.queue = 'invoice' AND x.key = to_char(q.enqueued_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
                    AND x.until > now_
            )
        ORDER BY
            q.scheduled_for, q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    )

    SELECT ARRAY_AGG(f.key_1)
    INTO key_1_
    FROM found AS f;

    IF key_1_ IS NOT NULL THEN

        from_ := 1;
        to_ := CARDINALITY(key_1_);
        WHILE from_ <= to_ LOOP
            refused_ := FALSE;
            BEGIN

                    WITH found AS MATERIALIZED (
                        SELECT k.key_1, v.*, COALESCE(x.attempts, 0) AS refusals, x.reason AS refused
                        FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                        INNER JOIN LATERAL (
                            SELECT
                            q.updated_at AS item_token, q.attempt_num AS item_attempt,
                            CASE WHEN q.status IN ('Pending', 'Error') THEN q.lease_until END AS item_died_at
                            FROM "readpast"."invoice" AS q
                            WHERE
                            q.enqueued_at = k.key_1
                            FOR NO KEY UPDATE
                        ) AS v ON TRUE
                        LEFT JOIN "readpast"."queue_refused" AS x
                            ON x.queue = 'invoice' AND x.key = to_char(k.key_1::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
                        ORDER BY k.position
                    ),

                /*
                In their order up to the first that goes alone, or that one; the others are let go with the transaction. It came
                back from a dead worker, which it may have killed.
                */
                decided AS MATERIALIZED (
                    SELECT
                        v.key_1, 
                        v.position, v.alone, CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
                        /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
                        CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
                        GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
                        v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
                        CASE
                            WHEN v.is_spent AND v.refusals > 0
                                THEN format('The table refused it %s times, and attempts are spent: %s', v.refusals, v.refused)
                            WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
                        END AS error,
                        CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until,
                        NOT v.is_spent AS enters
                    FROM (
                        SELECT
                            r.*, ROW_NUMBER() OVER w AS position, COUNT(*) FILTER (WHERE NOT r.is_spent) OVER w AS place,
                            COUNT(*) FILTER (WHERE r.alone) OVER w AS alone_so_far
                        FROM (
                            SELECT
                                f.*, f.item_attempt + f.refusals >= max_attempts_ AS is_spent,
                                f.item_attempt + f.refusals < max_attempts_ AND f.item_died_at IS NOT NULL AS alone
                            FROM found AS f
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
                    UPDATE "readpast"."invoice" AS q
                    SET
                        status = d.status, updated_at = d.token, claim_num = d.claim_num,
                        started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END, attempt_num = d.attempt_num,
                        lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
                        error = COALESCE(d.error, q.error)
                    FROM decided AS d
                    /* They are locked, and decided upon: the key is enough. */
                    WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1
                    RETURNING d.key_1 AS key_1_, d.position AS position_, d.alone AS alone_, d.status AS status_
                )

                    SELECT
                        ARRAY_AGG(c.key_1_ ORDER BY c.position_) FILTER (WHERE c.status_ = 'Processing'), BOOL_OR(c.alone_),
                        COALESCE(ARRAY_AGG(to_char(c.key_1_::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')), '{}'),
                        COUNT(*), (SELECT COUNT(*) FROM decided)
                    INTO taken_1_, alone_, done_, ended_, decided_
                    FROM changed AS c;
                    IF ended_ < decided_ THEN
                        RAISE EXCEPTION 'a trigger of the table leaves the row as it is';
                    END IF;
            EXCEPTION WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS
                    state_ = RETURNED_SQLSTATE, reason_ = MESSAGE_TEXT, constraint_ = CONSTRAINT_NAME;
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
                answer_key := (
                    SELECT k.key_1
                    FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                );
                answer_status := 'claim: ' || reason_;
                answer_attempt := "readpast"."queue_note_refusal"(
                    'invoice',
                    (
                        SELECT to_char(k.key_1::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
                        FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                    ),
                    'claim', state_, reason_, constraint_
                );
                RETURN NEXT;
                answer_key := NULL;
                answer_attempt := NULL;
                answer_status := NULL;
            ELSE
                DELETE FROM "readpast"."queue_refused" AS x
                WHERE x.queue = 'invoice' AND x.key = ANY(done_);
                EXIT WHEN taken_1_ IS NOT NULL;
            END IF;
            from_ := to_ + 1;
            to_ := CARDINALITY(key_1_);
        END LOOP;
        IF taken_1_ IS NOT NULL THEN
            key_1_ := taken_1_;
            RETURN QUERY
            SELECT
                CASE WHEN alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at,
                q.attempt_num, 'Processing',
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), q."Lines"
            FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
            INNER JOIN "readpast"."invoice" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
            ORDER BY k.position;
        ELSE
            /* All that it found was refused, or ended: what comes behind them is due now. */
            answer := 'EMPTY';
            answer_due_ms := 0;
            RETURN NEXT;
        END IF;
        RETURN;
    END IF;
    answer := 'EMPTY';
    answer_due_ms := (
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
            (
                SELECT MIN(x.until) AS due_at
                FROM "readpast"."queue_refused" AS x
                WHERE x.queue = 'invoice' AND x.until > now_
            )
            UNION ALL
            (
                SELECT q.scheduled_for AS due_at
                FROM "readpast"."invoice" AS q
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

REVOKE ALL ON FUNCTION "readpast"."next_invoice_apart_trx"(text, integer, integer, bigint) FROM public;
