/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys
it reads the table in order until the page is full; with most_, no more than that many items. A last row with the answer
MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: invoice.
*/
CREATE OR REPLACE FUNCTION "readpast"."find_invoice"(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100, most_ integer DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer,
    response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "Number" varchar(20), "CustomerID" bigint,
    "Amount" numeric(12, 2), "Code" varchar(6), "Lines" json
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
    keys_ timestamptz[];
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
        RAISE EXCEPTION 'find_invoice: filter_ is not a JSON object' USING ERRCODE = 'RP021';
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
            'find_invoice: filter_ takes keys, status, types (arrays), before, after, error (text), longer_ms (a number), once'
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
        RAISE EXCEPTION 'find_invoice: longer_ms is a whole number of milliseconds' USING ERRCODE = 'RP021';
    END IF;
    longer_ := filter_ ->> 'longer_ms';
    IF CARDINALITY(keys_) > 1000 THEN
        RAISE EXCEPTION 'find_invoice: at most 1000 keys a call' USING ERRCODE = 'RP021';
    END IF;
    IF EXISTS (
        SELECT 1 FROM UNNEST(statuses_) AS s (status)
        WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_status" AS k WHERE k.status = s.status)
    )
    THEN
        RAISE EXCEPTION 'find_invoice: status names one that there is not' USING ERRCODE = 'RP021';
    END IF;
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 THEN
        RAISE EXCEPTION 'find_invoice: max_ must be from 1 to 1000' USING ERRCODE = 'RP021';
    END IF;
    SELECT NULLIF(after_, '')::timestamptz AS key_1
    INTO from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION 'find_invoice: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
    END IF;

    IF keys_ IS NOT NULL THEN
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), NULL::json
        FROM (
            SELECT DISTINCT
            i.key AS key_1
            FROM UNNEST(keys_) AS i (key)
        ) AS k
        INNER JOIN "readpast"."invoice" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
        WHERE
            (from_.key_1 IS NULL OR (q.enqueued_at) > (from_.key_1)) AND (statuses_ IS NULL OR q.status::text = ANY(statuses_))
            AND (types_ IS NULL OR q.type::text = ANY(types_)) AND (before_ IS NULL OR q.updated_at < before_)
            AND (since_ IS NULL OR q.updated_at >= since_)
            AND (
                longer_ IS NULL
                OR CASE
                    WHEN q.status::text = 'Processing' THEN "readpast"."queue_ms_fn"(q.started_at, clock_timestamp())
                    ELSE q.duration
                END > longer_
            )
            /* Found as it stands: nothing in it is a wildcard. */
            AND (part_ IS NULL OR STRPOS(q.error, part_) > 0)
        /* By expressions, so that the plan begins with the keys that were given, and not with the table in this order. */
        ORDER BY COALESCE(q.enqueued_at, q.enqueued_at)
        LIMIT max_;
    ELSIF statuses_ <@ ARRAY['Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'] THEN
        /* They have an index of their own: what is completed is not read. */
        /* How far: as many items on as are to be read, else to the last that there is now. */
        SELECT q.enqueued_at AS key_1
        INTO until_
        FROM "readpast"."invoice" AS q
        WHERE
            most_ IS NOT NULL AND q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT q.enqueued_at AS key_1
            INTO until_
            FROM "readpast"."invoice" AS q
            WHERE q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
                AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            ORDER BY q.enqueued_at DESC
            LIMIT 1;
        END IF;
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), NULL::json
        FROM "readpast"."invoice" AS q
        WHERE
            q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND q.enqueued_at > COALESCE(from_.key_1, '-infinity') AND q.enqueued_at <= until_.key_1
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
        LIMIT max_;
    ELSIF
        statuses_ <@ ARRAY['Processing']
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM "readpast"."invoice" AS q WHERE q.status IN ('Processing') LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), NULL::json
        FROM "readpast"."invoice" AS q
        WHERE
            q.status IN ('Processing') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
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
        LIMIT max_;
    ELSIF
        statuses_ <@ ARRAY['Pending', 'Error']
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM "readpast"."invoice" AS q WHERE q.status IN ('Pending', 'Error') LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), NULL::json
        FROM "readpast"."invoice" AS q
        WHERE
            q.status IN ('Pending', 'Error') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
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
        LIMIT max_;
    ELSIF from_.key_1 IS NULL THEN
        /* How far: as many items on as are to be read, else to the last that there is now. */
        SELECT q.enqueued_at AS key_1
        INTO until_
        FROM "readpast"."invoice" AS q
        WHERE most_ IS NOT NULL AND TRUE
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT q.enqueued_at AS key_1
            INTO until_
            FROM "readpast"."invoice" AS q
            WHERE TRUE
            ORDER BY q.enqueued_at DESC
            LIMIT 1;
        END IF;
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), NULL::json
        FROM "readpast"."invoice" AS q
        WHERE
            (q.enqueued_at) <= (until_.key_1) AND (statuses_ IS NULL OR q.status::text = ANY(statuses_))
            AND (types_ IS NULL OR q.type::text = ANY(types_)) AND (before_ IS NULL OR q.updated_at < before_)
            AND (since_ IS NULL OR q.updated_at >= since_)
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
        LIMIT max_;
    ELSE
        /* How far: as many items on as are to be read, else to the last that there is now. */
        SELECT q.enqueued_at AS key_1
        INTO until_
        FROM "readpast"."invoice" AS q
        WHERE most_ IS NOT NULL AND (q.enqueued_at) > (from_.key_1)
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        IF NOT further_ THEN
            SELECT q.enqueued_at AS key_1
            INTO until_
            FROM "readpast"."invoice" AS q
            WHERE (q.enqueued_at) > (from_.key_1)
            ORDER BY q.enqueued_at DESC
            LIMIT 1;
        END IF;
        RETURN QUERY
        SELECT
            'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response,
            q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
            q.lease_until, q."Number", q."CustomerID", q."Amount", q."Code"::varchar(6), NULL::json
        FROM "readpast"."invoice" AS q
        WHERE
            (q.enqueued_at) > (from_.key_1) AND (q.enqueued_at) <= (until_.key_1) AND (statuses_ IS NULL OR q.status::text = ANY(statuses_))
            AND (types_ IS NULL OR q.type::text = ANY(types_)) AND (before_ IS NULL OR q.updated_at < before_)
            AND (since_ IS NULL OR q.updated_at >= since_)
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
        LIMIT max_;
    END IF;
    GET DIAGNOSTICS count_ = ROW_COUNT;
    IF further_ AND count_ < max_ THEN
        answer := 'MORE';
        answer_key := until_.key_1;
        RETURN NEXT;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."find_invoice"(json, text, integer, integer) FROM public;
