/* The row that a deleting call locks. */
INSERT INTO "readpast"."queue_retention" (queue, done_at) VALUES ('notification', '-infinity') ON CONFLICT DO NOTHING;

/*
Delete up to max_ items that ended longer ago than the description lets them stay: Completed after 2592000 s, Failed after 31536000 s.
Workers call it again and again; it does something once in interval_ms_, and then with each call until nothing is over, for one
caller at a time. It takes no other terms than these, so whoever may claim may have it. One row: purged, and how many
it were; 0 when it was not the caller's turn or nothing is over.
Table access order: queue_retention, passed over when somebody holds the row; then as purge_notification_trx.
*/
CREATE OR REPLACE FUNCTION "readpast"."retain_notification_trx"(interval_ms_ integer DEFAULT 60000, max_ integer DEFAULT 250)
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    purged_ integer := 0;
BEGIN
    IF max_ IS NULL OR max_ < 1 OR max_ > 1000 OR interval_ms_ IS NULL OR interval_ms_ < 0 THEN
        RAISE EXCEPTION 'retain_notification_trx: max_ must be from 1 to 1000, and interval_ms_ not negative' USING ERRCODE = 'RP021';
    END IF;
    PERFORM 1
    FROM "readpast"."queue_retention" AS r
    WHERE
        r.queue = 'notification'
        /* A time to come is of a clock that was ahead. */
        AND NOT (r.done_at > now_ - interval_ms_ * interval '1 ms' AND r.done_at <= now_ + interval_ms_ * interval '1 ms')
    FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'purged', 0::bigint;
        RETURN;
    END IF;

    IF purged_ < max_ THEN
        purged_ := purged_ + (
            SELECT p.value
            FROM "readpast"."purge_notification_trx"(
                JSON_BUILD_OBJECT('status', JSON_BUILD_ARRAY('Completed'), 'before', (now_ - 2592000 * interval '1 s')::text),
                max_ - purged_
            ) AS p
        );
    END IF;

    IF purged_ < max_ THEN
        purged_ := purged_ + (
            SELECT p.value
            FROM "readpast"."purge_notification_trx"(
                JSON_BUILD_OBJECT('status', JSON_BUILD_ARRAY('Failed'), 'before', (now_ - 31536000 * interval '1 s')::text), max_ - purged_
            ) AS p
        );
    END IF;

    IF purged_ < max_ THEN
        /* All is done. Else the next call goes on. */
        UPDATE "readpast"."queue_retention" AS r
        SET done_at = now_
        WHERE r.queue = 'notification';
    END IF;

    RETURN QUERY SELECT 'purged', purged_::bigint;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."retain_notification_trx"(integer, integer) FROM public;
