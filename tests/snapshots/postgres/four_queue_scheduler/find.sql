/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys
it reads the table in order until the page is full; with most_, no more than that many items. A last row with the answer
MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."find_four_queue_scheduler"(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100, most_ integer DEFAULT NULL
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
    now_ CONSTANT timestamptz := clock_timestamp();
    f_ record;
    keys_ bigint[];
    key_1_ bigint[];
    from_ record;
    until_ record;
    further_ boolean := FALSE;
BEGIN
    SELECT f.*
    INTO f_
    FROM "readpast"."queue_filter"('find_four_queue_scheduler', filter_, max_) AS f;
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(SELECT k.key::bigint FROM json_array_elements_text(f_.keys) AS k (key));
    END IF;
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    SELECT NULLIF(after_, '')::bigint AS key_1
    INTO from_;
    until_ := from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
    END IF;

    IF keys_ IS NOT NULL THEN
        SELECT ARRAY_AGG(k.key_1)
        INTO key_1_
        FROM (
            SELECT DISTINCT
            i.key AS key_1
            FROM UNNEST(keys_) AS i (key)
        ) AS k
        WHERE from_.key_1 IS NULL OR (k.key_1) > (from_.key_1);
    ELSIF from_.key_1 IS NULL THEN
        /* How far: as many items on as are to be read, else to the last that there is now. */
        SELECT q."id" AS key_1
        INTO until_
        FROM "public"."four_queue" AS q
        WHERE most_ IS NOT NULL AND TRUE
        ORDER BY q."id"
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT q."id" AS key_1
            INTO until_
            FROM "public"."four_queue" AS q
            WHERE TRUE
            ORDER BY q."id" DESC
            LIMIT 1;
        END IF;
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT v.item_key_1 AS key_1
            FROM "readpast"."four_queue_scheduler_item_v" AS v
            WHERE
            (v.item_key_1) <= (until_.key_1)
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at),
                v.item_started_at, v.item_duration, v.item_error
            )
            ORDER BY v.item_key_1
            LIMIT max_
        ) AS w;
    ELSE
        /* How far: as many items on as are to be read, else to the last that there is now. */
        SELECT q."id" AS key_1
        INTO until_
        FROM "public"."four_queue" AS q
        WHERE most_ IS NOT NULL AND (q."id") > (from_.key_1)
        ORDER BY q."id"
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT q."id" AS key_1
            INTO until_
            FROM "public"."four_queue" AS q
            WHERE (q."id") > (from_.key_1)
            ORDER BY q."id" DESC
            LIMIT 1;
        END IF;
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT v.item_key_1 AS key_1
            FROM "readpast"."four_queue_scheduler_item_v" AS v
            WHERE
            (v.item_key_1) > (from_.key_1) AND (v.item_key_1) <= (until_.key_1)
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at),
                v.item_started_at, v.item_duration, v.item_error
            )
            ORDER BY v.item_key_1
            LIMIT max_
        ) AS w;
    END IF;

    RETURN QUERY
    SELECT
        'FOUND', NULL::integer, NULL::bigint, v.item_key_1::text, v.item_token, v.item_attempt, v.item_status,
        v."reputation"::integer, v."id"::bigint, v.item_status, v.item_step, v.item_attempt, v.item_response, v.item_error,
        v.item_started_at, v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
    FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
    INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
    WHERE
        TRUE
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                v.item_status, v.item_type, COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at),
                v.item_started_at, v.item_duration, v.item_error
            )
    /* By expressions, so that the plan begins with the keys, and not with the table in this order. */
    ORDER BY COALESCE(v.item_key_1, v.item_key_1)
    LIMIT max_;
    IF further_ AND COALESCE(CARDINALITY(key_1_), 0) < max_ THEN
        answer := 'MORE';
        answer_key := until_.key_1::text;
        RETURN NEXT;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."find_four_queue_scheduler"(json, text, integer, integer) FROM public;
