/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_four_queue_scheduler; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."purge_four_queue_scheduler_trx"(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    f_ record;
    keys_ bigint[];
    key_1_ bigint[];
BEGIN
    SELECT f.*
    INTO f_
    FROM "readpast"."queue_filter"('purge_four_queue_scheduler_trx', filter_, max_) AS f;
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(SELECT k.key::bigint FROM json_array_elements_text(f_.keys) AS k (key));
    END IF;
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    f_.statuses := COALESCE(f_.statuses, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (SELECT 1 FROM UNNEST(f_.statuses) AS s (status) WHERE NOT "readpast"."queue_is_finished_fn"(s.status)) THEN
        RAISE EXCEPTION 'purge_four_queue_scheduler_trx: only finished items can be purged; cancel or terminate the others'
        USING ERRCODE = 'RP021';
    END IF;
    /* Choose, then lock, then look again: only what is locked stays as it was found. */
    IF keys_ IS NOT NULL THEN
        SELECT ARRAY_AGG(q."id")
        INTO key_1_
        FROM (
            SELECT v.item_key_1 AS key_1
            FROM (
                SELECT DISTINCT
                i.key AS key_1
                FROM UNNEST(keys_) AS i (key)
            ) AS k
            INNER JOIN LATERAL (
                SELECT w.*
                FROM "readpast"."four_queue_scheduler_item_v" AS w
                WHERE
                w.item_key_1 = k.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
                /* So that it is one search per key, whatever the size of the table when this is planned. */
                OFFSET 0
            ) AS v ON TRUE
            WHERE TRUE

            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at),
                v.item_started_at, v.item_duration, v.item_error
            )
            ORDER BY v.item_key_1
            LIMIT max_
        ) AS w
        CROSS JOIN LATERAL (
            SELECT q."id"
            FROM "public"."four_queue" AS q
            WHERE q."id" BETWEEN w.key_1 AND w.key_1 AND q."in_process" IN (FALSE, TRUE)
            FOR UPDATE SKIP LOCKED
        ) AS q;
    ELSE
        SELECT ARRAY_AGG(q."id")
        INTO key_1_
        FROM (
            SELECT v.item_key_1 AS key_1
            FROM "readpast"."four_queue_scheduler_item_v" AS v
            WHERE TRUE

            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at),
                v.item_started_at, v.item_duration, v.item_error
            )
            ORDER BY v.item_key_1
            LIMIT max_
        ) AS w
        CROSS JOIN LATERAL (
            SELECT q."id"
            FROM "public"."four_queue" AS q
            WHERE q."id" BETWEEN w.key_1 AND w.key_1 AND q."in_process" IN (FALSE, TRUE)
            FOR UPDATE SKIP LOCKED
        ) AS q;
    END IF;

    /* Items that are gone from the table leave nothing behind. */
    DELETE FROM "readpast"."four_queue_scheduler_lease" AS s
    USING (
        SELECT g.key_1
        FROM "readpast"."four_queue_scheduler_lease" AS g
        WHERE
            NOT EXISTS (
                SELECT 1
                FROM "public"."four_queue" AS q
                WHERE q."id" BETWEEN g.key_1 AND g.key_1 AND q."in_process" IN (FALSE, TRUE)
            )
        ORDER BY g.key_1
        LIMIT max_
    ) AS g
    WHERE s.key_1 BETWEEN g.key_1 AND g.key_1;

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT v.item_seek_1 AS seek_1, k.key_1
        FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
        INNER JOIN LATERAL (
            SELECT w.*
            FROM "readpast"."four_queue_scheduler_item_v" AS w
            WHERE w.item_key_1 = k.key_1 AND w.item_seek_1 IN (FALSE, TRUE)
            /* So that it is one search per key, whatever the size of the table when this is planned. */
            OFFSET 0
        ) AS v ON TRUE
        WHERE TRUE

            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at),
                v.item_started_at, v.item_duration, v.item_error
            )
    ),

    purged AS (
        DELETE FROM "public"."four_queue" AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE q."id" BETWEEN f.key_1 AND f.key_1 AND q."in_process" = ANY(ARRAY[f.seek_1])
        RETURNING f.*
    ),

    dropped AS (
        DELETE FROM "readpast"."four_queue_scheduler_lease" AS s
        USING purged AS p
        WHERE s.key_1 BETWEEN p.key_1 AND p.key_1
    )

    SELECT 'purged', COUNT(*) FROM purged;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."purge_four_queue_scheduler_trx"(json, integer) FROM public;
