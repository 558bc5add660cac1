/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_four_queue_scheduler; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: four_queue, four_queue_scheduler_lease.
*/
CREATE OR REPLACE FUNCTION "readpast"."purge_four_queue_scheduler_trx"(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
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
    key_1_ bigint[];
BEGIN
    /* A condition with a slip in it must not be passed over: what it was to keep out would be met too. */
    IF json_typeof(filter_) <> 'object' THEN
        RAISE EXCEPTION 'purge_four_queue_scheduler_trx: filter_ is not a JSON object' USING ERRCODE = 'RP021';
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
            'purge_four_queue_scheduler_trx: filter_ takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once'
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
        RAISE EXCEPTION 'purge_four_queue_scheduler_trx: longer_ms is a whole number of milliseconds' USING ERRCODE = 'RP021';
    END IF;
    longer_ := filter_ ->> 'longer_ms';
    IF CARDINALITY(keys_) > 1000 THEN
        RAISE EXCEPTION 'purge_four_queue_scheduler_trx: at most 1000 keys a call' USING ERRCODE = 'RP021';
    END IF;
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_status" AS k WHERE k.status = s.status)
    )
    THEN
        RAISE EXCEPTION 'purge_four_queue_scheduler_trx: status names one that there is not' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'purge_four_queue_scheduler_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    /* The times in the table are the server's local ones: from here to the end of the function. */
    SET LOCAL timezone TO DEFAULT;
    statuses_ := COALESCE(statuses_, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT "readpast"."queue_is_finished_fn"(s.status)
    )
    THEN
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

            AND (statuses_ IS NULL OR v.item_status = ANY(statuses_)) AND (types_ IS NULL OR v.item_type = ANY(types_))
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

            AND (statuses_ IS NULL OR v.item_status = ANY(statuses_)) AND (types_ IS NULL OR v.item_type = ANY(types_))
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

            AND (statuses_ IS NULL OR v.item_status = ANY(statuses_)) AND (types_ IS NULL OR v.item_type = ANY(types_))
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
