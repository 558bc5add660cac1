/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and locks nothing.
Table access order: four_queue_scheduler_lease, four_queue.
*/
CREATE OR REPLACE FUNCTION "readpast"."claimed_four_queue_scheduler"(worker_ text, claim_ bigint)
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
    now_ timestamptz := clock_timestamp();
BEGIN
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    RETURN QUERY
    SELECT
        CASE WHEN s.claim_num < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        GREATEST(1, "readpast"."queue_ms_fn"(now_, v.item_lease_until)), s.key_1::text, v.item_token, v.item_attempt, v.item_status,
            v."reputation"::integer, v."id"::bigint, v.item_status, v.item_step, v.item_attempt, v.item_response,
            v.item_error, v.item_started_at, v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
    FROM "readpast"."four_queue_scheduler_lease" AS s
    INNER JOIN LATERAL (
        SELECT w.*
            FROM "readpast"."four_queue_scheduler_item_v" AS w
            WHERE w.item_key_1 = s.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
    ) AS v ON TRUE
    INNER JOIN "public"."four_queue" AS q ON q."id" BETWEEN s.key_1 AND s.key_1 AND q."in_process" IN (FALSE, TRUE)
    WHERE
        s.status = 'Processing' AND s.lease_owner = worker_ AND s.claim_num IN (claim_, -claim_) AND v.item_status = 'Processing'
        AND v.item_owner = worker_ AND v.item_lease_until > now_
    ORDER BY q."id";
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."claimed_four_queue_scheduler"(text, bigint) FROM public;
