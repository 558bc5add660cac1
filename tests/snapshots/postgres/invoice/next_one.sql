/*
Claim one item inside the caller's transaction, to be worked on and settled there by modify_invoice_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due. With recover_ 1, first give back the items of dead workers, whose rows are locked to the end of the
transaction too.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_invoice_utx"(
    worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
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
DECLARE
    answer_ text;
    due_ms_ bigint;
    token_ timestamptz;
    key_ timestamptz;
BEGIN
    LOOP
        SELECT n.answer, n.answer_due_ms, n.answer_key, n.answer_token
        INTO answer_, due_ms_, key_, token_
        FROM "readpast"."next_invoice_set_trx"(
            COALESCE(worker_, session_user || '/' || pg_backend_pid()), 1, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END
        ) AS n
        WHERE n.answer <> 'REFUSED';
        /* Items were ended whose attempts are spent, or left aside; what comes behind them is due now. */
        EXIT WHEN answer_ <> 'EMPTY' OR due_ms_ > 0 OR due_ms_ IS NULL;
    END LOOP;
    IF answer_ <> 'EMPTY' THEN RETURN QUERY SELECT key_, token_;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_invoice_utx"(text, integer, integer) FROM public;

/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following modify_invoice_trx. With recover_ 1, first give back
the items of dead workers; with 3 or more, unless somebody did within so many milliseconds.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_invoice_trx"(
    worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
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
DECLARE
    answer_ text;
    due_ms_ bigint;
    token_ timestamptz;
    key_ timestamptz;
BEGIN
    LOOP
        SELECT n.answer, n.answer_due_ms, n.answer_key, n.answer_token
        INTO answer_, due_ms_, key_, token_
        FROM "readpast"."next_invoice_set_trx"(COALESCE(worker_, session_user || '/' || pg_backend_pid()), 1, lease_ms_, recover_) AS n
        WHERE n.answer <> 'REFUSED';
        /* Items were ended whose attempts are spent, or left aside; what comes behind them is due now. */
        EXIT WHEN answer_ <> 'EMPTY' OR due_ms_ > 0 OR due_ms_ IS NULL;
    END LOOP;
    IF answer_ <> 'EMPTY' THEN RETURN QUERY SELECT key_, token_;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_invoice_trx"(text, integer, integer) FROM public;
