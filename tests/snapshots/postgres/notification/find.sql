/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys
it reads the table in order until the page is full; with most_, no more than that many items. A last row with the answer
MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."find_notification"(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100, most_ integer DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz,
    answer_attempt integer, answer_status text, enqueued_at timestamptz, type text, status text, step text,
    attempt_num integer, response text, error text, started_at timestamptz, duration bigint, scheduled_for timestamptz,
    updated_at timestamptz, lease_owner text, lease_until timestamptz, "ResetPassword_OTP" varchar(16),
    "ResetPassword_UserID" integer, "ResetPassword_Username" varchar(128), "Email_EmailTo" varchar(254),
    "Email_PreferredLanguage" varchar(60), "Email_Response" text, "Email_Error" text, "Sms_PhoneNumber" varchar(20),
    "Sms_Response" text, "Sms_Error" text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    f_ record;
    keys_ timestamptz[];
    key_1_ timestamptz[];
    from_ record;
    until_ record;
    further_ boolean := FALSE;
BEGIN
    SELECT f.*
    INTO f_
    FROM "readpast"."queue_filter"('find_notification', filter_, max_) AS f;
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(SELECT k.key::timestamptz FROM json_array_elements_text(f_.keys) AS k (key));
    END IF;
    SELECT NULLIF(after_, '')::timestamptz AS key_1
    INTO from_;
    until_ := from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION 'find_notification: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
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
    ELSIF f_.statuses <@ ARRAY['Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'] THEN
        /* They have an index of their own: what is completed is not read. */
        /* How far: as many items on as are to be read. */
        SELECT q.enqueued_at AS key_1
        INTO until_
        FROM "readpast"."notification" AS q
        WHERE most_ IS NOT NULL AND q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
            q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            AND q.enqueued_at <= COALESCE(until_.key_1, 'infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    ELSIF
        f_.statuses <@ ARRAY['Processing']
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM "readpast"."notification" AS q WHERE q.status IN ('Processing') LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
            q.status IN ('Processing') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    ELSIF
        f_.statuses <@ ARRAY['Pending', 'Error']
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM "readpast"."notification" AS q WHERE q.status IN ('Pending', 'Error') LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
            q.status IN ('Pending', 'Error') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    ELSE
        /* How far: as many items on as are to be read. */
        SELECT q.enqueued_at AS key_1
        INTO until_
        FROM "readpast"."notification" AS q
        WHERE most_ IS NOT NULL AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
            q.enqueued_at > COALESCE(from_.key_1, '-infinity') AND q.enqueued_at <= COALESCE(until_.key_1, 'infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    END IF;

    RETURN QUERY
    SELECT
        'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text,
        q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration,
        q.scheduled_for, q.updated_at, q.lease_owner, q.lease_until, s1."OTP", s1."UserID", s1."Username", s2."EmailTo",
        s2."PreferredLanguage", s2."Response", s2."Error", s3."PhoneNumber", s3."Response", s3."Error"
    FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
    INNER JOIN "readpast"."notification" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
    LEFT JOIN "readpast"."notification_reset_password" AS s1 ON s1.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at
    LEFT JOIN "readpast"."notification_email" AS s2 ON s2.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at
    LEFT JOIN "readpast"."notification_sms" AS s3 ON s3.enqueued_at BETWEEN q.enqueued_at AND q.enqueued_at
    WHERE
        TRUE
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
    /* By expressions, so that the plan begins with the keys, and not with the table in this order. */
    ORDER BY COALESCE(q.enqueued_at, q.enqueued_at)
    LIMIT max_;
    IF further_ AND COALESCE(CARDINALITY(key_1_), 0) < max_ THEN
        answer := 'MORE';
        answer_key := until_.key_1;
        RETURN NEXT;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."find_notification"(json, text, integer, integer) FROM public;
