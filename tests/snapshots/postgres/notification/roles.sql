/*
Rights of each role on notification. A role needs no right on any table: functions and the views read and write
with the rights of their owner.
*/
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'notification_producer') THEN
        CREATE ROLE "notification_producer";
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'permission denied to create the role %; have it created first', 'notification_producer'
    USING ERRCODE = SQLSTATE;
END;
$$;

GRANT USAGE ON SCHEMA "readpast" TO "notification_producer";

GRANT EXECUTE ON FUNCTION "readpast"."queue_catalog"() TO "notification_producer";

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_utx" TO "notification_producer";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_trx" TO "notification_producer";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_set_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_set_utx" TO "notification_producer";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_set_trx" TO "notification_producer";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."queue_is_done"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."queue_is_done" TO "notification_producer";
    END IF;
END;
$$;

GRANT SELECT ON "readpast"."producer_notification_v" TO "notification_producer";

DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'notification_worker') THEN
        CREATE ROLE "notification_worker";
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'permission denied to create the role %; have it created first', 'notification_worker'
    USING ERRCODE = SQLSTATE;
END;
$$;

GRANT USAGE ON SCHEMA "readpast" TO "notification_worker";

GRANT EXECUTE ON FUNCTION "readpast"."queue_catalog"() TO "notification_worker";

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_utx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_set_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_apart_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_apart_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_utx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_set_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_set_utx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_set_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."renew_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."renew_notification_set_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."recover_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."recover_notification_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."retain_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."retain_notification_trx" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."claimed_notification"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."claimed_notification" TO "notification_worker";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."queue_is_done"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."queue_is_done" TO "notification_worker";
    END IF;
END;
$$;

GRANT SELECT ON "readpast"."worker_notification_v" TO "notification_worker";

DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'notification_operator') THEN
        CREATE ROLE "notification_operator";
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'permission denied to create the role %; have it created first', 'notification_operator'
    USING ERRCODE = SQLSTATE;
END;
$$;

GRANT USAGE ON SCHEMA "readpast" TO "notification_operator";

GRANT EXECUTE ON FUNCTION "readpast"."queue_catalog"() TO "notification_operator";

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_utx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_set_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_set_utx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."add_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."add_notification_set_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_utx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_set_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."next_notification_apart_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."next_notification_apart_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_utx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_set_utx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_set_utx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."modify_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."modify_notification_set_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."renew_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."renew_notification_set_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."recover_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."recover_notification_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."retain_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."retain_notification_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."claimed_notification"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."claimed_notification" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."queue_is_done"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."queue_is_done" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."stats_notification"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."stats_notification" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."watch_notification"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."watch_notification" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."find_notification"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."find_notification" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."redrive_notification_set_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."redrive_notification_set_trx" TO "notification_operator";
    END IF;
END;
$$;

DO $$
BEGIN
    /* By name: the function of the queue, whatever columns it takes. */
    IF TO_REGPROC('"readpast"."purge_notification_trx"') IS NOT NULL THEN
        GRANT EXECUTE ON FUNCTION "readpast"."purge_notification_trx" TO "notification_operator";
    END IF;
END;
$$;

GRANT SELECT ON "readpast"."worker_notification_v" TO "notification_operator";
