/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_notification; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: notification.
*/
CREATE OR REPLACE FUNCTION "readpast"."purge_notification_trx"(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
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
BEGIN
    SELECT f.*
    INTO f_
    FROM "readpast"."queue_filter"('purge_notification_trx', filter_, max_) AS f;
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(SELECT k.key::timestamptz FROM json_array_elements_text(f_.keys) AS k (key));
    END IF;
    f_.statuses := COALESCE(f_.statuses, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (SELECT 1 FROM UNNEST(f_.statuses) AS s (status) WHERE NOT "readpast"."queue_is_finished_fn"(s.status)) THEN
        RAISE EXCEPTION 'purge_notification_trx: only finished items can be purged; cancel or terminate the others'
        USING ERRCODE = 'RP021';
    END IF;

    IF keys_ IS NOT NULL THEN
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM (
                SELECT DISTINCT
                i.key AS key_1
                FROM UNNEST(keys_) AS i (key)
            ) AS k
            INNER JOIN "readpast"."notification" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
            WHERE
            TRUE
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
            FOR UPDATE OF q SKIP LOCKED
        ) AS w;
    ELSIF f_.statuses <@ ARRAY['Failed', 'Cancelled', 'Terminated', 'PartiallyCompleted'] THEN
        /* They have an index of their own: what is completed is not read. */
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
            q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
            FOR UPDATE OF q SKIP LOCKED
        ) AS w;
    ELSE
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."notification" AS q
            WHERE
            /* An item that was enqueued later cannot have changed before. */
            q.enqueued_at < COALESCE(f_.before, 'infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_,
                q.status::text, q.type::text, q.updated_at, q.started_at, q.duration, q.error
            )
            ORDER BY q.enqueued_at
            LIMIT max_
            FOR UPDATE OF q SKIP LOCKED
        ) AS w;
    END IF;

    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT k.key_1
        FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
    ),

    purged AS (
        DELETE FROM "readpast"."notification" AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE q.enqueued_at BETWEEN f.key_1 AND f.key_1
        RETURNING f.*
    )

    SELECT 'purged', COUNT(*) FROM purged;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."purge_notification_trx"(json, integer) FROM public;
