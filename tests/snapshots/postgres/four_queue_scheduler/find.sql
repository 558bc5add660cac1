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
    answer_attempt integer, answer_status text, "reputation" integer, "id" bigint, item_status text, item_step text, item_attempt integer,
    item_response text, item_error text, item_started_at timestamptz, item_duration bigint, item_due_at timestamptz,
    item_token timestamptz, item_owner text, item_lease_until timestamptz
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
    keys_ bigint[];
    statuses_ text[];
    types_ text[];
    before_ timestamptz;
    since_ timestamptz;
    part_ text;
    longer_ bigint;
    from_ record;
    until_ record;
    count_ integer;
    further_ boolean := FALSE;
BEGIN
    /* A condition with a slip in it must not be passed over: what it was to keep out would be met too. */
    IF json_typeof(filter_) <> 'object' THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: filter_ is not a JSON object' USING ERRCODE = 'RP021';
    END IF;
    IF
        EXISTS (
            SELECT 1 FROM json_each(filter_) AS m (name, value)
            WHERE
                m.name NOT IN ('keys', 'status', 'types', 'before', 'after', 'error', 'longer_ms')
                OR json_typeof(m.value) NOT IN (
                    'null',
                    CASE
                        WHEN m.name IN ('keys', 'status', 'types') THEN 'array'
                        WHEN m.name = 'longer_ms' THEN 'number'
                        ELSE 'string'
                    END
                )
        )
        OR EXISTS (SELECT 1 FROM json_object_keys(filter_) AS m (name) GROUP BY m.name HAVING COUNT(*) > 1)
    THEN
        RAISE EXCEPTION
            'find_four_queue_scheduler: filter_ takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once'
        USING ERRCODE = 'RP021';
    END IF;
    IF json_typeof(filter_ -> 'keys') = 'array' THEN
        keys_ := ARRAY(
            SELECT k.key::bigint
            FROM json_array_elements_text(filter_ -> 'keys') AS k (key)
        );
    END IF;
    IF json_typeof(filter_ -> 'status') = 'array' THEN
        statuses_ := ARRAY(SELECT s.status FROM json_array_elements_text(filter_ -> 'status') AS s (status));
    END IF;
    IF json_typeof(filter_ -> 'types') = 'array' THEN
        types_ := ARRAY(SELECT t.type FROM json_array_elements_text(filter_ -> 'types') AS t (type));
    END IF;
    before_ := filter_ ->> 'before';
    since_ := filter_ ->> 'after';
    part_ := filter_ ->> 'error';
    IF filter_ ->> 'longer_ms' !~ '^[0-9]{1,18}$' THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: longer_ms is a whole number of milliseconds' USING ERRCODE = 'RP021';
    END IF;
    longer_ := filter_ ->> 'longer_ms';
    IF CARDINALITY(keys_) > 1000 THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: at most 1000 keys a call' USING ERRCODE = 'RP021';
    END IF;
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_status" AS k WHERE k.status = s.status)
    )
    THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: status names one that there is not' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    SELECT NULLIF(after_, '')::bigint AS key_1
    INTO from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION 'find_four_queue_scheduler: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
    END IF;

    IF keys_ IS NOT NULL THEN
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, v.item_key_1::text, v.item_token, v.item_attempt, v.item_status,
            v."reputation"::integer, v."id"::bigint, v.item_status, v.item_step, v.item_attempt, v.item_response,
            v.item_error, v.item_started_at, v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
        FROM (
            SELECT DISTINCT
            i.key AS key_1
            FROM UNNEST(keys_) AS i (key)
        ) AS k
        INNER JOIN "readpast"."four_queue_scheduler_item_v" AS v
            ON v.item_key_1 BETWEEN k.key_1 AND k.key_1 AND v.item_seek_1 IN (FALSE, TRUE)
        WHERE
            (from_.key_1 IS NULL OR (v.item_key_1) > (from_.key_1)) AND (statuses_ IS NULL OR v.item_status = ANY(statuses_))
            AND (types_ IS NULL OR v.item_type = ANY(types_))
            AND (before_ IS NULL OR COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at) < before_)
            AND (since_ IS NULL OR COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at) >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN v.item_status = 'Processing' THEN "readpast"."queue_ms_fn"(v.item_started_at, clock_timestamp())
                    ELSE v.item_duration
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(v.item_error, part_) > 0)
        /* By expressions, so that the plan begins with the keys that were given, and not with the table in this order. */
        ORDER BY COALESCE(v.item_key_1, v.item_key_1)
        LIMIT max_;
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
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, v.item_key_1::text, v.item_token, v.item_attempt, v.item_status,
            v."reputation"::integer, v."id"::bigint, v.item_status, v.item_step, v.item_attempt, v.item_response,
            v.item_error, v.item_started_at, v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
        FROM "readpast"."four_queue_scheduler_item_v" AS v
        WHERE
            (v.item_key_1) <= (until_.key_1) AND (statuses_ IS NULL OR v.item_status = ANY(statuses_))
            AND (types_ IS NULL OR v.item_type = ANY(types_))
            AND (before_ IS NULL OR COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at) < before_)
            AND (since_ IS NULL OR COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at) >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN v.item_status = 'Processing' THEN "readpast"."queue_ms_fn"(v.item_started_at, clock_timestamp())
                    ELSE v.item_duration
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(v.item_error, part_) > 0)
        ORDER BY v.item_key_1
        LIMIT max_;
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
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, v.item_key_1::text, v.item_token, v.item_attempt, v.item_status,
            v."reputation"::integer, v."id"::bigint, v.item_status, v.item_step, v.item_attempt, v.item_response,
            v.item_error, v.item_started_at, v.item_duration, v.item_due_at, v.item_token, v.item_owner, v.item_lease_until
        FROM "readpast"."four_queue_scheduler_item_v" AS v
        WHERE
            (v.item_key_1) > (from_.key_1) AND (v.item_key_1) <= (until_.key_1) AND (statuses_ IS NULL OR v.item_status = ANY(statuses_))
            AND (types_ IS NULL OR v.item_type = ANY(types_))
            AND (before_ IS NULL OR COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at) < before_)
            AND (since_ IS NULL OR COALESCE(GREATEST(v.item_token, v.item_finished_at), v.item_enqueued_at) >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN v.item_status = 'Processing' THEN "readpast"."queue_ms_fn"(v.item_started_at, clock_timestamp())
                    ELSE v.item_duration
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(v.item_error, part_) > 0)
        ORDER BY v.item_key_1
        LIMIT max_;
    END IF;
    GET DIAGNOSTICS count_ = ROW_COUNT;
    IF further_ AND count_ < max_ THEN
        answer := 'MORE';
        answer_key := until_.key_1::text;
        RETURN NEXT;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."find_four_queue_scheduler"(json, text, integer, integer) FROM public;
