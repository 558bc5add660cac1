/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and locks nothing.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."claimed_invoice"(worker_ text, claim_ bigint)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text,
    attempt_num integer, response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "Number" varchar(20), "CustomerID" bigint,
    "Amount" numeric(12, 2), "Code" varchar(6), "Lines" json
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT
        CASE WHEN q.claim_num < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        GREATEST(1, "readpast"."queue_ms_fn"(now_, q.lease_until)), q.enqueued_at, q.updated_at, q.attempt_num, 'Processing',
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at,
            q.duration, q.scheduled_for, q.updated_at, q.lease_owner, q.lease_until, q."Number", q."CustomerID", q."Amount",
            q."Code"::varchar(6), q."Lines"
    FROM "readpast"."invoice" AS q
    WHERE q.status = 'Processing' AND q.lease_owner = worker_ AND q.claim_num IN (claim_, -claim_) AND q.lease_until > now_
    ORDER BY q.scheduled_for, q.enqueued_at;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."claimed_invoice"(text, bigint) FROM public;
