/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following modify_four_queue_scheduler_trx. With recover_ 1, first give back
the items of dead workers; with 3 or more, unless somebody did within so many milliseconds.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_four_queue_scheduler_trx"(
    worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1
)
RETURNS TABLE (item_key text, item_token timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    next_ record;
BEGIN
    LOOP
        SELECT n.answer, n.answer_due_ms, n.answer_key, n.answer_token
        INTO next_
        FROM "readpast"."next_four_queue_scheduler_set_trx"(
            COALESCE(worker_, session_user || '/' || pg_backend_pid()), 1, lease_ms_, recover_
        ) AS n
        WHERE n.answer <> 'REFUSED';
        /* Items were ended whose attempts are spent, or left aside; what comes behind them is due now. */
        EXIT WHEN next_.answer <> 'EMPTY' OR next_.answer_due_ms > 0 OR next_.answer_due_ms IS NULL;
    END LOOP;
    IF next_.answer <> 'EMPTY' THEN RETURN QUERY SELECT next_.answer_key, next_.answer_token;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_four_queue_scheduler_trx"(text, integer, integer) FROM public;

/*
Claim one item inside the caller's transaction, to be worked on and settled there by modify_four_queue_scheduler_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due. With recover_ 1, first give back the items of dead workers, whose rows are locked to the end of the
transaction too.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_four_queue_scheduler_utx"(
    worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0
)
RETURNS TABLE (item_key text, item_token timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT n.*
    FROM "readpast"."next_four_queue_scheduler_trx"(worker_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END) AS n;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_four_queue_scheduler_utx"(text, integer, integer) FROM public;
