/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_invoice; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."purge_invoice_trx"(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
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
    keys_ timestamptz[];
    statuses_ text[];
    types_ text[];
    before_ timestamptz;
    since_ timestamptz;
    part_ text;
    longer_ bigint;
BEGIN
    /* A condition with a slip in it must not be passed over: what it was to keep out would be met too. */
    IF json_typeof(filter_) <> 'object' THEN
        RAISE EXCEPTION 'purge_invoice_trx: filter_ is not a JSON object' USING ERRCODE = 'RP021';
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
            'purge_invoice_trx: filter_ takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once'
        USING ERRCODE = 'RP021';
    END IF;
    IF json_typeof(filter_ -> 'keys') = 'array' THEN
        keys_ := ARRAY(
            SELECT k.key::timestamptz
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
        RAISE EXCEPTION 'purge_invoice_trx: longer_ms is a whole number of milliseconds' USING ERRCODE = 'RP021';
    END IF;
    longer_ := filter_ ->> 'longer_ms';
    IF CARDINALITY(keys_) > 1000 THEN
        RAISE EXCEPTION 'purge_invoice_trx: at most 1000 keys a call' USING ERRCODE = 'RP021';
    END IF;
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_status" AS k WHERE k.status = s.status)
    )
    THEN
        RAISE EXCEPTION 'purge_invoice_trx: status names one that there is not' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'purge_invoice_trx: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    statuses_ := COALESCE(statuses_, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT "readpast"."queue_is_finished_fn"(s.status)
    )
    THEN
        RAISE EXCEPTION 'purge_invoice_trx: only finished items can be purged; cancel or terminate the others'
        USING ERRCODE = 'RP021';
    END IF;

    IF keys_ IS NULL AND statuses_ <@ ARRAY['Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted'] THEN
    /* They have an index of their own: what is completed is not read. */

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1
        FROM "readpast"."invoice" AS q
        WHERE
            (
                keys_ IS NULL
                OR (q.enqueued_at) IN (
                    SELECT k.key_1
                    FROM (
                        SELECT
                        i.key AS key_1
                        FROM UNNEST(keys_) AS i (key)
                    ) AS k
                )
            )
            AND q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')

            AND (statuses_ IS NULL OR q.status::text = ANY(statuses_)) AND (types_ IS NULL OR q.type::text = ANY(types_))
            AND (before_ IS NULL OR q.updated_at < before_) AND (since_ IS NULL OR q.updated_at >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN q.status::text = 'Processing' THEN "readpast"."queue_ms_fn"(q.started_at, clock_timestamp())
                    ELSE q.duration
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(q.error, part_) > 0)
        ORDER BY q.enqueued_at
        LIMIT max_
        FOR UPDATE SKIP LOCKED
    ),

    purged AS (
        DELETE FROM "readpast"."invoice" AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE q.enqueued_at BETWEEN f.key_1 AND f.key_1
        RETURNING f.*
    )

    SELECT 'purged', COUNT(*) FROM purged;

    ELSE

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1
        FROM "readpast"."invoice" AS q
        WHERE
            (
                keys_ IS NULL
                OR (q.enqueued_at) IN (
                    SELECT k.key_1
                    FROM (
                        SELECT
                        i.key AS key_1
                        FROM UNNEST(keys_) AS i (key)
                    ) AS k
                )
            )
            /* An item that was enqueued later cannot have changed before. */
            AND q.enqueued_at < COALESCE(before_, 'infinity')

            AND (statuses_ IS NULL OR q.status::text = ANY(statuses_)) AND (types_ IS NULL OR q.type::text = ANY(types_))
            AND (before_ IS NULL OR q.updated_at < before_) AND (since_ IS NULL OR q.updated_at >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN q.status::text = 'Processing' THEN "readpast"."queue_ms_fn"(q.started_at, clock_timestamp())
                    ELSE q.duration
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(q.error, part_) > 0)
        ORDER BY q.enqueued_at
        LIMIT max_
        FOR UPDATE SKIP LOCKED
    ),

    purged AS (
        DELETE FROM "readpast"."invoice" AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE q.enqueued_at BETWEEN f.key_1 AND f.key_1
        RETURNING f.*
    )

    SELECT 'purged', COUNT(*) FROM purged;

    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."purge_invoice_trx"(json, integer) FROM public;
