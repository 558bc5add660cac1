/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
most_ rows and one by an index. Four looks: what waits, in the order of the claim; what is in flight; and the newest items of all.
A row is a figure, with its value and, if that is so, capped: there are as many or more.
worker: how many items it holds (value), and for how long the oldest of them (ms); its name is detail.
error.<state>: how many of the items looked at say detail as the first line of their error, and the key of one of them.
window.items: how many of the newest items the figures count and arrivals are of; capped says that there are more. wait,
claimed: of those of them that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (ms). due.within_hour: how many are due later, within an hour.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."watch_four_queue_scheduler"(most_ integer DEFAULT 10000)
RETURNS TABLE (name text, value bigint, capped boolean, ms bigint, detail text, key text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    IF most_ IS NULL OR most_ NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'watch_four_queue_scheduler: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    RETURN QUERY
    WITH looked AS MATERIALIZED (
        SELECT
            ARRAY(
                SELECT
                    ROW(
                        v.item_key_1::text, v.item_type, v.item_status, v.item_error, v.item_enqueued_at, v.item_started_at,
                        v.item_duration, v.item_due_at, v.item_owner, v.item_lease_until
                    )::"readpast"."queue_look" AS look
                FROM (
                    (
                        SELECT q."id"
                        FROM "public"."four_queue" AS q
                        WHERE q."in_process" = FALSE
                        ORDER BY
                        q."id"
                        LIMIT most_ + 1
                    )
                ) AS k (key_1)
                INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
                    ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
            ) AS waiting,
            ARRAY(
                SELECT
                    ROW(
                        v.item_key_1::text, v.item_type, v.item_status, v.item_error, v.item_enqueued_at, v.item_started_at,
                        v.item_duration, v.item_due_at, v.item_owner, v.item_lease_until
                    )::"readpast"."queue_look" AS look
                FROM (
                    (
                        SELECT s.key_1
                        FROM "readpast"."four_queue_scheduler_lease" AS s
                        WHERE s.status = 'Processing'
                        ORDER BY s.started_at
                        LIMIT most_ + 1
                    ) UNION 
                    (
                        SELECT q."id"
                        FROM "public"."four_queue" AS q
                        WHERE q."in_process" = TRUE AND q."end_date" IS NULL
                        
                        LIMIT most_ + 1
                    )
                ) AS k (key_1)
                INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
                    ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
            ) AS flying,
            ARRAY(
                SELECT
                    ROW(
                        v.item_key_1::text, v.item_type, v.item_status, v.item_error, v.item_enqueued_at, v.item_started_at,
                        v.item_duration, v.item_due_at, v.item_owner, v.item_lease_until
                    )::"readpast"."queue_look" AS look
                FROM (
                    (
                        SELECT q."id"
                        FROM "public"."four_queue" AS q
                        WHERE TRUE
                        ORDER BY q."id" DESC
                        LIMIT most_ + 1
                    )
                ) AS k (key_1)
                INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
                    ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
            ) AS present
    )
    SELECT w.*
    FROM looked AS l
    CROSS JOIN LATERAL "readpast"."queue_watched"(
        'four_queue_scheduler', most_, now_, l.waiting, l.flying, NULL, l.present, NULL, NULL, CARDINALITY(l.waiting) > most_, NULL,
        FALSE, FALSE, FALSE
    ) AS w;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."watch_four_queue_scheduler"(integer) FROM public;
