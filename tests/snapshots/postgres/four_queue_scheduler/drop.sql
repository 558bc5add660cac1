/*
Drops the queue FourQueueScheduler. Untouched with their rows: public.four_queue.
Rendered by readpast (version) for objects of version 1.

To run it, as the role that installed the queue:
    psql --set ON_ERROR_STOP=1 --file <file> <database>
An error takes everything back. What is there already as it should be is left alone, so it may be run again.
*/
BEGIN;

SET LOCAL client_min_messages = warning;

SELECT pg_advisory_xact_lock(hashtextextended('readpast/install/readpast', 0))
WHERE NOT EXISTS (
    SELECT 1
    FROM pg_catalog.pg_tables AS t
    WHERE t.schemaname::text = 'readpast' AND t.tablename::text = 'queue_schema_version'
);

/* Nothing of anybody else's is run on the way. */
SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
DECLARE
    other_ record;
BEGIN
    FOR other_ IN
        /*
        Objects of somebody who is not trusted: not the role that installs, nor one that it is a member of,
        nor the database's owner, nor a superuser. His triggers and functions would run with the rights of who installs.
        Members are looked up here, since a superuser counts as a member of every role.
        */
        WITH RECURSIVE mine (oid) AS (
            SELECT r.oid
            FROM pg_catalog.pg_roles AS r
            WHERE r.rolname::text = current_user::text
            UNION
            SELECT m.roleid
            FROM mine AS i
            INNER JOIN pg_catalog.pg_auth_members AS m ON m.member = i.oid
        ),
        names (name) AS MATERIALIZED (
            SELECT n.name FROM pg_catalog.json_array_elements_text('["add_four_queue_scheduler_set_trx", "add_four_queue_scheduler_set_utx", "add_four_queue_scheduler_trx", "add_four_queue_scheduler_utx", "app_settings", "claimed_four_queue_scheduler",
    "find_four_queue_scheduler", "four_queue_scheduler_item_v", "four_queue_scheduler_lease", "four_queue_scheduler_lease_in_flight", "four_queue_scheduler_lease_pk", "modify_four_queue_scheduler_set_trx",
    "modify_four_queue_scheduler_set_utx", "modify_four_queue_scheduler_trx", "modify_four_queue_scheduler_utx", "next_four_queue_scheduler_apart_trx", "next_four_queue_scheduler_set_trx", "next_four_queue_scheduler_trx",
    "next_four_queue_scheduler_utx", "purge_four_queue_scheduler_trx", "queue_backoff_fn", "queue_begin_at_fn", "queue_begun", "queue_catalog",
    "queue_check_fn", "queue_died_fn", "queue_figures", "queue_filter", "queue_finite_fn", "queue_fits_fn",
    "queue_head_fn", "queue_is_done", "queue_is_editable_fn", "queue_is_finished_fn", "queue_is_processable_fn", "queue_is_refusal_fn",
    "queue_json_fn", "queue_key_fn", "queue_look", "queue_ms_fn", "queue_named_fn", "queue_note_refusal",
    "queue_operation", "queue_operation_at", "queue_own_type_v", "queue_recovery", "queue_recovery_turn", "queue_refusal",
    "queue_refuse_fn", "queue_refused", "queue_retention", "queue_schema_version", "queue_sets_fn", "queue_setting",
    "queue_spec", "queue_state", "queue_status", "queue_take_turn", "queue_taken_fn", "queue_time_fn",
    "queue_times_fn", "queue_transition", "queue_turn", "queue_type_access", "queue_unfit_fn", "queue_utc_fn",
    "queue_watched", "recover_four_queue_scheduler_trx", "redrive_four_queue_scheduler_set_trx", "renew_four_queue_scheduler_set_trx", "stats_four_queue_scheduler", "watch_four_queue_scheduler",
    "worker_four_queue_scheduler_v"]'::json) AS n (name)
        ),
        place (oid) AS MATERIALIZED (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname::text = 'readpast'),
        found (kind, name, owner) AS (
            SELECT 'schema', n.nspname::text, n.nspowner
            FROM pg_catalog.pg_namespace AS n
            WHERE n.oid IN (SELECT p.oid FROM place AS p)
            UNION ALL
            SELECT 'relation', c.relname::text, c.relowner
            FROM pg_catalog.pg_class AS c
            WHERE c.relnamespace IN (SELECT p.oid FROM place AS p) AND c.relname::text IN (SELECT s.name FROM names AS s)
            UNION ALL
            SELECT 'function', f.proname::text, f.proowner
            FROM pg_catalog.pg_proc AS f
            WHERE f.pronamespace IN (SELECT p.oid FROM place AS p) AND f.proname::text IN (SELECT s.name FROM names AS s)
            UNION ALL
            SELECT 'type', t.typname::text, t.typowner
            FROM pg_catalog.pg_type AS t
            WHERE t.typnamespace IN (SELECT p.oid FROM place AS p) AND t.typname::text IN (SELECT s.name FROM names AS s)
            UNION ALL
            /* A maker of triggers on a table need not own it; the function that they run is somebody's. */
            SELECT 'function of the trigger ' || g.tgname || ' on ' || c.relname || ':', f.proname::text, f.proowner
            FROM pg_catalog.pg_class AS c
            INNER JOIN pg_catalog.pg_trigger AS g ON g.tgrelid = c.oid
            INNER JOIN pg_catalog.pg_proc AS f ON f.oid = g.tgfoid
            WHERE c.relnamespace IN (SELECT p.oid FROM place AS p) AND c.relname::text IN (SELECT s.name FROM names AS s)
        )

        SELECT
            f.kind, f.name, 'belongs to' AS verb, r.rolname::text AS owner,
            'Its owner''s triggers and functions would run with the rights of who installs. Drop it, change its owner, '
            || 'install as that role or as a member of it, or choose another schema.' AS remedy
        FROM found AS f
        INNER JOIN pg_catalog.pg_roles AS r ON r.oid = f.owner
        WHERE
            NOT r.rolsuper AND r.rolname::text <> 'pg_database_owner' AND r.oid NOT IN (SELECT i.oid FROM mine AS i)
            AND r.oid NOT IN (SELECT d.datdba FROM pg_catalog.pg_database AS d WHERE d.datname::text = pg_catalog.current_database()::text)
        ORDER BY
            f.kind = 'schema' DESC, f.kind, f.name
        LIMIT 1
    LOOP
        RAISE EXCEPTION '% % % %', other_.kind, other_.name, other_.verb, other_.owner
        USING ERRCODE = '42501', HINT = other_.remedy;
    END LOOP;
END;
$$;

/*
Two installs at once take turns, at a table that nobody else can lock: for a minute. Where it is not there yet, they do at the
advisory lock before this, which any login could keep.
*/
DO $$
DECLARE
    before_ CONSTANT text := pg_catalog.current_setting('lock_timeout');
BEGIN
    IF EXISTS (
        SELECT 1
        FROM pg_catalog.pg_tables AS t
        WHERE t.schemaname::text = 'readpast' AND t.tablename::text = 'queue_schema_version'
    ) THEN
        SET LOCAL lock_timeout = 60000;
        LOCK TABLE "readpast"."queue_schema_version" IN SHARE ROW EXCLUSIVE MODE;
        PERFORM pg_catalog.set_config('lock_timeout', before_, TRUE);
    END IF;
END;
$$;

/* Calls that are under way come to their end first; those that follow find the queue gone. */
DO $$
DECLARE
    table_ regclass;
BEGIN
    FOREACH table_ IN ARRAY ARRAY[
        TO_REGCLASS('"readpast"."four_queue_scheduler_lease"'),
        TO_REGCLASS('"readpast"."four_queue_scheduler_attempt"')
    ]
    LOOP
        IF table_ IS NOT NULL THEN
            EXECUTE FORMAT('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', table_);
        END IF;
    END LOOP;
END;
$$;

DROP TABLE IF EXISTS "readpast"."four_queue_scheduler_attempt";

DROP FUNCTION IF EXISTS "readpast"."purge_four_queue_scheduler_trx";

DROP FUNCTION IF EXISTS "readpast"."redrive_four_queue_scheduler_set_trx";

DROP FUNCTION IF EXISTS "readpast"."find_four_queue_scheduler";

DROP FUNCTION IF EXISTS "readpast"."watch_four_queue_scheduler";

DROP FUNCTION IF EXISTS "readpast"."stats_four_queue_scheduler";

DROP FUNCTION IF EXISTS "readpast"."renew_four_queue_scheduler_set_trx";

DROP FUNCTION IF EXISTS "readpast"."modify_four_queue_scheduler_trx";

DROP FUNCTION IF EXISTS "readpast"."modify_four_queue_scheduler_utx";

DROP FUNCTION IF EXISTS "readpast"."modify_four_queue_scheduler_set_utx";

DROP FUNCTION IF EXISTS "readpast"."modify_four_queue_scheduler_set_trx";

DROP FUNCTION IF EXISTS "readpast"."claimed_four_queue_scheduler";

DROP FUNCTION IF EXISTS "readpast"."next_four_queue_scheduler_utx";

DROP FUNCTION IF EXISTS "readpast"."next_four_queue_scheduler_trx";

DROP FUNCTION IF EXISTS "readpast"."next_four_queue_scheduler_set_trx";

DROP FUNCTION IF EXISTS "readpast"."next_four_queue_scheduler_apart_trx";

DROP FUNCTION IF EXISTS "readpast"."recover_four_queue_scheduler_trx";

DROP FUNCTION IF EXISTS "readpast"."add_four_queue_scheduler_trx";

DROP FUNCTION IF EXISTS "readpast"."add_four_queue_scheduler_utx";

DROP FUNCTION IF EXISTS "readpast"."add_four_queue_scheduler_set_utx";

DROP FUNCTION IF EXISTS "readpast"."add_four_queue_scheduler_set_trx";

DROP VIEW IF EXISTS "readpast"."worker_four_queue_scheduler_v";

DROP VIEW IF EXISTS "readpast"."four_queue_scheduler_item_v";

DROP INDEX IF EXISTS "public"."four_queue_scheduler_same";

DROP INDEX IF EXISTS "public"."four_queue_scheduler_in_flight";

DROP TABLE IF EXISTS "readpast"."four_queue_scheduler_lease";

DELETE FROM "readpast"."queue_turn" WHERE queue IN ('four_queue_scheduler', 'four_queue_scheduler add');

DELETE FROM "readpast"."queue_recovery" WHERE queue = 'four_queue_scheduler';

DELETE FROM "readpast"."queue_retention" WHERE queue = 'four_queue_scheduler';

DELETE FROM "readpast"."queue_type_access" WHERE queue = 'four_queue_scheduler';

DELETE FROM "readpast"."queue_refused" WHERE queue = 'four_queue_scheduler';

DELETE FROM "readpast"."app_settings"
WHERE LEFT(param, 19) = 'fourqueuescheduler.' AND STRPOS(SUBSTR(param, 20), '.') = 0;

DELETE FROM "readpast"."queue_spec" WHERE queue = 'FourQueueScheduler';

/* A queue of this name that is made anew has done none of these calls. */
DELETE FROM "readpast"."queue_operation"
WHERE call IN ('add_four_queue_scheduler_set_trx', 'modify_four_queue_scheduler_set_trx', 'redrive_four_queue_scheduler_set_trx');

COMMIT;
