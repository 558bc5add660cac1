/*
The queue Job, and what all queues of its schema share.
Rendered by readpast (version); the objects have version 1. Made anew whenever it is rendered: change the
description, not this text.

To run it, as a role that may create schemas, tables and functions:
    psql --set ON_ERROR_STOP=1 --file <file> <database>
An error takes everything back. An object that is there as it should be is left alone, so it may be run again.

CONTENTS                                     each rule stands once, in the object named here
  Schema   queue_status, queue_transition    the states, and which may follow which
           queue_operation                   calls that were made: a second one of the same identity changes nothing
           queue_recovery     whose turn it is to look for dead workers
           queue_refused                     items that their table does not let a queue change
           queue_sleeper, queue_awaited      processes that wait to be woken: by items, by the ends of some
           queue_pause, _begin, _end; queue_paused_v    what is not to be claimed for now; each is a row of queue_refused too
           queue_action, _note, _step        what operators did; actions on many items
           queue_worker, _seen; queue_minute, _keep    the workers that are there; the figures of each minute
           queue_lifeline, _take, _look, _seize    locks that live as long as a worker's process, and whose have gone free
           app_settings, queue_spec, queue_schema_version, queue_type_access
           queue_terms, queue_taken_fn, queue_sets_fn, queue_filter      what a call is given, how it is refused (RP021); settings
           queue_begun, queue_clear          the identity of a call, and its clearing
           queue_recovery_turn, queue_note_refusal      turns; what a table has refused
           queue_head_fn, queue_begin_at_fn  where claims begin, beside dead rows that nothing may remove
           queue_fits_fn, queue_times_fn, queue_figures, queue_watched   whether an item fits a filter; figures
           queue_wanted_fn, queue_has_fn, queue_member_fn    the values that a filter looks for in columns and their JSON
           queue_catalog, queue_is_done      what is installed; whether a call has committed
           queue_due                         in which of many queues something is due, as due_<queue> finds
           queue_sleep, _ring, _may_ring_fn  who is woken when something is added
           queue_await, queue_ring_waiters   who is woken when an item ends
  Queue    Job, job_type, job_seq
  Public   _utx is called in the caller's transaction, _trx by itself, by the same statements; _set_ takes many items

CALLS
  add_job_trx, _utx, _set_utx          > add_job_set_trx
  next_job_utx > next_job_trx        > next_job_set_trx > recover_job_trx; among refused items, next_job_apart_trx,
                                         which has claim_job_trx try halves of them
  modify_job_trx > _utx > _set_utx     > modify_job_set_trx > ring_holders_job, ring_waiters_job; then, to claim as well, next_job_set_trx
  retain_job_trx, where it is          > purge_job_trx
  queue_due                              > due_job
  recover_, redrive_, renew_, find_, purge_, claimed_, stats_, watch_job call only what the schema has

LOCKS, IN THIS ORDER
  1. queue_operation   the call's row; a second call of its identity waits for it
  2. Job: rows FOR NO KEY UPDATE in the order of their keys (settle, redrive), waited for; else (claim, recover, renew)
     passing over those that others hold
  queue_transition is only read. queue_recovery, queue_lifeline, queue_sleeper and queue_awaited are passed over where another
  holds them. queue_refused comes last.
  queue_action, queue_worker and queue_minute: alone, in calls of their own.

SETTINGS OF THE FUNCTIONS
  SECURITY DEFINER, search_path     a role that may execute them needs no right on the tables, and nothing of its own is found by a name
  timezone = UTC                    texts are read, and written, in UTC
  plan_cache_mode, enable_...       one access path is right, however many rows there are today: the index, in its order. Tables are joined
                                    by BETWEEN two equal keys for the same reason: by =, a plan that is made for an empty table would read
                                    all of it, and be kept when it is full
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

/*
In a database of Citus, whether the schema is sharded by it. What is made in another schema stays on this node; Citus would have it made on
all nodes, and refuse to where this is not its coordinator.
*/
DO $$
DECLARE
    schema_ CONSTANT oid := (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname::text = 'readpast');
    is_sharded_ boolean := FALSE;
BEGIN
    IF EXISTS (SELECT 1 FROM pg_catalog.pg_extension AS e WHERE e.extname = 'citus') THEN
        IF schema_ IS NULL THEN
            is_sharded_ := COALESCE(current_setting('citus.enable_schema_based_sharding', TRUE) = 'on', FALSE);
        ELSIF TO_REGCLASS('pg_catalog.pg_dist_schema') IS NOT NULL THEN
            EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_dist_schema AS s WHERE s.schemaid = $1)' INTO is_sharded_ USING schema_;
        END IF;
        IF NOT is_sharded_ THEN SET LOCAL citus.enable_ddl_propagation = off;
        END IF;
    END IF;
    PERFORM set_config('readpast.is_sharded', CASE WHEN is_sharded_ THEN 'on' ELSE 'off' END, TRUE);
END;
$$;

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
            SELECT n.name FROM pg_catalog.json_array_elements_text('["add_job_set_trx", "add_job_set_utx", "add_job_trx", "add_job_utx", "app_settings",
    "claim_job_trx", "claimed_job", "due_job", "find_job", "job",
    "job_due", "job_ended", "job_in_flight", "job_seq", "job_type",
    "modify_job_set_trx", "modify_job_set_utx", "modify_job_trx", "modify_job_utx", "next_job_apart_trx",
    "next_job_set_trx", "next_job_trx", "next_job_utx", "purge_job_trx", "queue_action",
    "queue_action_ended_at", "queue_action_note", "queue_action_step", "queue_await", "queue_awaited",
    "queue_backoff_fn", "queue_begin_at_fn", "queue_begun", "queue_catalog", "queue_clear",
    "queue_died_fn", "queue_due", "queue_figures", "queue_filter", "queue_finite_fn",
    "queue_fits_fn", "queue_has_fn", "queue_head_fn", "queue_is_done", "queue_is_editable_fn",
    "queue_is_finished_fn", "queue_is_processable_fn", "queue_is_refusal_fn", "queue_json_fn", "queue_kept_fn",
    "queue_key_fn", "queue_lifeline", "queue_lifeline_look", "queue_lifeline_seize", "queue_lifeline_take",
    "queue_look", "queue_may_ring_fn", "queue_member_fn", "queue_minute", "queue_minute_keep",
    "queue_ms_fn", "queue_must", "queue_named_fn", "queue_note_refusal", "queue_operation",
    "queue_operation_at", "queue_own_type_v", "queue_pause", "queue_pause_begin", "queue_pause_end",
    "queue_paused_v", "queue_recovery", "queue_recovery_goes_on", "queue_recovery_turn", "queue_refuse_fn",
    "queue_refused", "queue_ring", "queue_ring_waiters", "queue_schema_version", "queue_sets_fn",
    "queue_sleep", "queue_sleeper", "queue_spec", "queue_state", "queue_status",
    "queue_taken_fn", "queue_terms", "queue_text_fn", "queue_time_fn", "queue_times_fn",
    "queue_transition", "queue_type_access", "queue_unfit_fn", "queue_utc_fn", "queue_wanted_fn",
    "queue_watched", "queue_worker", "queue_workers_seen", "recover_job_trx", "redrive_job_set_trx",
    "renew_job_set_trx", "ring_holders_job", "ring_waiters_job", "stats_job", "watch_job",
    "worker_job_v"]'::json) AS n (name)
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

/*
The vocabulary and the book-keeping that every queue of this schema shares.
Table access order in all functions: queue_operation, then the queue's table, then queue_transition.
*/
CREATE SCHEMA IF NOT EXISTS "readpast";

/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
DO $$
BEGIN
    IF TO_REGTYPE('"readpast"."queue_state"') IS NULL THEN
        CREATE DOMAIN "readpast"."queue_state" AS text CHECK (
            VALUE IN ('Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
        );
    END IF;
END;
$$;

/* One row per version that was applied here: an audit trail, never updated. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_schema_version" (
    version integer PRIMARY KEY, applied_at timestamptz NOT NULL, library text NOT NULL
);

/* The queues of this schema, each with the specification it was rendered from. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_spec" (
    queue text PRIMARY KEY, preset text NOT NULL, spec text NOT NULL, rendered_by integer NOT NULL, installed_at timestamptz NOT NULL
);

/* Settings that functions read, such as notification.maxAttempts. */
CREATE TABLE IF NOT EXISTS "readpast"."app_settings" (param text PRIMARY KEY, val_int integer NULL, val_text text NULL);

CREATE TABLE IF NOT EXISTS "readpast"."queue_status" (status "readpast"."queue_state" PRIMARY KEY);

INSERT INTO "readpast"."queue_status" (status)
VALUES
    ('Pending'), ('Processing'),
    ('Error'), /* retryable */
    ('Failed'), /* attempts spent, or the worker gave up */
    ('Completed'), ('Cancelled'), ('Paused'), ('Terminated'), ('PartiallyCompleted')
ON CONFLICT DO NOTHING;

/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_transition" (
    from_status "readpast"."queue_state" NOT NULL, to_status "readpast"."queue_state" NOT NULL, PRIMARY KEY (from_status, to_status)
);

INSERT INTO "readpast"."queue_transition" (from_status, to_status)
VALUES
    ('Pending', 'Processing'), ('Pending', 'Failed'), ('Pending', 'Cancelled'), ('Pending', 'Paused'),
    ('Pending', 'Terminated'), ('Processing', 'Processing'), ('Processing', 'Pending'), ('Processing', 'Error'),
    ('Processing', 'Failed'), ('Processing', 'Completed'), ('Processing', 'PartiallyCompleted'),
    ('Processing', 'Cancelled'), ('Processing', 'Paused'), ('Processing', 'Terminated'), ('Error', 'Processing'),
    ('Error', 'Pending'), ('Error', 'Failed'), ('Error', 'Cancelled'), ('Error', 'Paused'), ('Error', 'Terminated'),
    ('Paused', 'Processing'), ('Paused', 'Pending'), ('Paused', 'Failed'), ('Paused', 'Cancelled'),
    ('Paused', 'Terminated'), ('Failed', 'Cancelled')
ON CONFLICT DO NOTHING;

/*
One row per call that changed items, written in the same transaction: a caller that lost the answer asks again with the same
identity and gets the same answer instead of a second effect; in another queue, or for another kind of call, it is refused.
Result holds what cannot be read back from the items.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_operation" (
    operation_id uuid PRIMARY KEY,
    call text NOT NULL, /* the function */
    at timestamptz NOT NULL, result json NULL
)
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX IF NOT EXISTS queue_operation_at ON "readpast"."queue_operation" (at);

/*
Which logins see which types, of queues whose description says own_types_only. user_name is a role, that of the login or
one it is a member of; the type * is every type.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_type_access" (
    queue text NOT NULL, type text NOT NULL, user_name text NOT NULL, PRIMARY KEY (queue, user_name, type)
);

/*
The types that the caller may see, by queue: of the role that logged in, and of those it is a member of. session_user,
since functions that run with their owner's rights ask here too.
*/
CREATE OR REPLACE VIEW "readpast"."queue_own_type_v" AS
SELECT a.queue, a.type
FROM "readpast"."queue_type_access" AS a
LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = a.user_name
WHERE
    a.user_name = session_user
    OR PG_HAS_ROLE(session_user, r.oid, 'MEMBER');

/*
A row for each queue: when the items of its dead workers were last looked for. Of all who claim, one does it when it is
time; nobody waits for a row here. looked_at is the last look at its workers' locks (queue_lifeline).
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_recovery" (
    queue text NOT NULL PRIMARY KEY, recovered_at timestamptz NOT NULL, looked_at timestamptz NOT NULL DEFAULT '-infinity'
);

/*
Workers whose sessions hold a lock as long as their process lives: where it has been free for grace_ms, the worker is dead. A server
that began anew or took over has freed all locks: there a row says nothing until its worker reports again.
*/
CREATE UNLOGGED TABLE IF NOT EXISTS "readpast"."queue_lifeline" (
    queue text NOT NULL, worker text NOT NULL, grace_ms integer NOT NULL, server_began timestamptz NOT NULL, free_since timestamptz NULL,
    PRIMARY KEY (queue, worker)
)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

/* Processes that have nothing to do, each with the channel on which it listens: who adds to the queue wakes the last one. */
CREATE UNLOGGED TABLE IF NOT EXISTS "readpast"."queue_sleeper" (
    queue text NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, channel text NOT NULL, listener integer NOT NULL, PRIMARY KEY (queue, id)
)
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

/* Items for whose end a process waits, each with the channel on which it listens: who settles the item wakes it. */
CREATE UNLOGGED TABLE IF NOT EXISTS "readpast"."queue_awaited" (
    queue text NOT NULL, key text NOT NULL, channel text NOT NULL, listener integer NOT NULL, PRIMARY KEY (queue, key, channel)
)
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

/*
Items that their table does not let a queue change: a claim or a recovery of one met a unique index, a CHECK, a trigger. Each
is left aside until a time that goes farther at each refusal; all processes see it, so that none tries in vain. Key is the
item's as text. Attempts counts the refusals that spend an attempt: not those of a unique index or an exclusion, which pass
when another row does. The row goes when its item is let through. A row with the word pause stands for one of queue_pause.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_refused" (
    queue text NOT NULL, key text NOT NULL,
    doing text NOT NULL, /* claim, recover or pause */
    reason text NOT NULL, constraint_name text NULL, times integer NOT NULL, attempts integer NOT NULL,
    since timestamptz NOT NULL, until timestamptz NOT NULL, PRIMARY KEY (queue, key)
);

/* Queues of which nothing is claimed for now, or nothing of a type; the type '' is all of the queue. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_pause" (
    queue text NOT NULL, type text NOT NULL, since timestamptz NOT NULL, until timestamptz NULL, /* NULL: until it is resumed */
    who text NOT NULL, login text NOT NULL, reason text NULL, PRIMARY KEY (queue, type)
);

/* The pauses in force. The name of a type that the caller may not see stays hidden, and so does its pause. */
CREATE OR REPLACE VIEW "readpast"."queue_paused_v" AS
SELECT p.queue, p.type, p.since, p.until, p.who, p.login, p.reason
FROM "readpast"."queue_pause" AS p
WHERE
    (p.until > CLOCK_TIMESTAMP()) IS NOT FALSE
    AND (
        p.type = ''
        OR EXISTS (SELECT 1 FROM "readpast"."queue_own_type_v" AS o WHERE o.queue = p.queue AND o.type IN (p.type, '*'))
        OR NOT EXISTS (SELECT 1 FROM "readpast"."queue_type_access" AS a WHERE a.queue = p.queue)
    );

/*
The record of operators' actions: redrives, purges, cancels, pauses, settings. An action on many items goes on from its row: place is
the last key that is done, and the holder of the row's lease runs it. A row goes 90 days after the action's end.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_action" (
    action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL, verb text NOT NULL, who text NOT NULL, login text NOT NULL, filter text NULL,
    state text NOT NULL, /* Running, Cancelling, Done, Cancelled or Failed */
    begun_at timestamptz NOT NULL, ended_at timestamptz NULL, expected bigint NULL, done bigint NOT NULL, refused bigint NOT NULL,
    place text NULL, result text NULL, owner text NULL, lease_until timestamptz NULL
);

CREATE INDEX IF NOT EXISTS queue_action_ended_at ON "readpast"."queue_action" (ended_at);

/* The workers of each queue, idle ones too: each reports every half minute. A row goes a week after the last report. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_worker" (
    queue text NOT NULL, worker text NOT NULL, host text NOT NULL, process bigint NOT NULL, version text NOT NULL,
    started_at timestamptz NOT NULL, seen_at timestamptz NOT NULL, PRIMARY KEY (queue, worker)
);

/* Figures of each queue, one row a minute, for a day: kept by one of all who could. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_minute" (
    queue text NOT NULL, at timestamptz NOT NULL, due bigint NULL, oldest_ms bigint NULL, in_flight bigint NULL, failed bigint NULL,
    ended bigint NULL, PRIMARY KEY (queue, at)
);

/* The values of an item that a look at a queue reads (watch_<queue>). */
DO $$
BEGIN
    IF TO_REGTYPE('"readpast"."queue_look"') IS NULL THEN
        CREATE TYPE "readpast"."queue_look" AS (
            key text, type text, status text, error text, enqueued_at timestamptz, started_at timestamptz, claimed_ms bigint,
            due_at timestamptz, owner text, lease_until timestamptz
        );
    END IF;
END;
$$;

/*
The session takes the lock of its worker, beside the other sessions of that process. The server frees it with the last of them. A
recovery that has it just now takes the worker's items, and is waited for. The lock was free before: that counts no more.
Table access order: queue_lifeline.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_lifeline_take"(queue_ text, worker_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_lock_shared(hashtextextended('readpast readpast ' || worker_, 0));
    /* To the session itself its own lock looks free. */
    PERFORM set_config('readpast.lifeline', worker_, FALSE);
    UPDATE "readpast"."queue_lifeline" AS f
    SET free_since = NULL
    WHERE f.queue = queue_ AND f.worker = worker_ AND f.free_since IS NOT NULL;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_lifeline_take"(text, text) FROM public;

/*
One of all who look or claim notes whose locks are free, twice a second at most, and has recovery come at once where one has been
free for the grace of its worker: TRUE. Nobody waits here, and no lock is kept.
Called by the functions of a queue.
Table access order: queue_recovery, then queue_lifeline, each passed over when somebody holds the row.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_lifeline_look"(queue_ text, now_ timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    workers_ text[];
    free_ text[];
BEGIN
    IF NOT EXISTS (SELECT 1 FROM "readpast"."queue_lifeline" AS f WHERE f.queue = queue_) THEN RETURN FALSE;
    END IF;
    UPDATE "readpast"."queue_recovery" AS r
    SET looked_at = now_
    FROM (
        SELECT d.queue
        FROM "readpast"."queue_recovery" AS d
        WHERE d.queue = queue_ AND d.looked_at NOT BETWEEN now_ - interval '500 ms' AND now_ + interval '500 ms'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE r.queue = d.queue;
    IF NOT FOUND THEN RETURN FALSE;
    END IF;

    workers_ := ARRAY(
        SELECT o.worker FROM "readpast"."queue_lifeline" AS o WHERE o.queue = queue_ AND o.server_began = pg_postmaster_start_time()
    );
    /* A statement of its own, in which there is no table: Citus would have another node try the locks, or keep what it finds in a file. */
    free_ := ARRAY(
        SELECT w.worker
        FROM UNNEST(workers_) AS w (worker)
        WHERE
            CASE
                WHEN w.worker = current_setting('readpast.lifeline', TRUE) THEN FALSE
                WHEN pg_try_advisory_lock(hashtextextended('readpast readpast ' || w.worker, 0)) THEN pg_advisory_unlock(hashtextextended('readpast readpast ' || w.worker, 0))
                ELSE FALSE
            END
    );
    UPDATE "readpast"."queue_lifeline" AS f
    SET free_since = CASE WHEN f.worker = ANY (free_) THEN now_ END
    FROM (
        SELECT k.worker
        FROM "readpast"."queue_lifeline" AS k
        WHERE k.queue = queue_ AND k.worker = ANY (workers_) AND (k.free_since IS NULL) = (k.worker = ANY (free_))
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS l
    WHERE f.queue = queue_ AND f.worker = l.worker;

    PERFORM
    FROM "readpast"."queue_lifeline" AS f
    WHERE
        f.queue = queue_ AND f.server_began = pg_postmaster_start_time()
            AND f.free_since <= now_ - f.grace_ms * interval '1 millisecond';
    IF NOT FOUND THEN RETURN FALSE;
    END IF;
    UPDATE "readpast"."queue_recovery" AS r SET recovered_at = '-infinity' WHERE r.queue = queue_ AND r.recovered_at > '-infinity';
    RETURN TRUE;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_lifeline_look"(text, timestamptz) FROM public;

/*
A worker that is dead, if there is one: its lock is the caller's to the end of its transaction, so that no session of that worker
comes back while its items are taken.
Called by the functions of a queue.
Table access order: queue_lifeline.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_lifeline_seize"(queue_ text, now_ timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    worker_ text;
BEGIN
    FOR worker_ IN
        SELECT f.worker
        FROM "readpast"."queue_lifeline" AS f
        WHERE
            f.queue = queue_ AND f.server_began = pg_postmaster_start_time()
            AND f.free_since <= now_ - f.grace_ms * interval '1 millisecond'
            AND f.worker IS DISTINCT FROM current_setting('readpast.lifeline', TRUE)
        ORDER BY f.worker
    LOOP
        IF pg_try_advisory_xact_lock(hashtextextended('readpast readpast ' || worker_, 0)) THEN RETURN worker_;
        END IF;
    END LOOP;
    RETURN NULL;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_lifeline_seize"(text, timestamptz) FROM public;

/*
There may be more items of dead workers: the next who comes goes on at once. All of dead_ are given back, if it is given.
Called by the functions of a queue.
Table access order: queue_recovery, then queue_lifeline, each passed over when somebody holds the row.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_recovery_goes_on"(queue_ text, dead_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    UPDATE "readpast"."queue_recovery" AS r
    SET recovered_at = '-infinity'
    FROM (SELECT d.queue FROM "readpast"."queue_recovery" AS d WHERE d.queue = queue_ FOR NO KEY UPDATE SKIP LOCKED) AS d
    WHERE r.queue = d.queue;
    DELETE FROM "readpast"."queue_lifeline" AS f
    USING (SELECT d.worker FROM "readpast"."queue_lifeline" AS d WHERE d.queue = queue_ AND d.worker = dead_ FOR UPDATE SKIP LOCKED) AS d
    WHERE f.queue = queue_ AND f.worker = d.worker;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_recovery_goes_on"(text, text) FROM public;

/* The meaning of each status, in one place. Re-created by every install. */
CREATE OR REPLACE FUNCTION "readpast"."queue_is_processable_fn"(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Can this item be picked up for processing? */
    SELECT status IN ('Pending', 'Paused', 'Error');
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_is_finished_fn"(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Is this item in a terminal state? */
    SELECT status NOT IN ('Pending', 'Processing', 'Error', 'Paused');
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_is_editable_fn"(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Can a worker write response and error data to this item? */
    SELECT status NOT IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted');
$$;

/* Ends a statement that finds out in its midst that an argument, or what it did, is not allowed. */
CREATE OR REPLACE FUNCTION "readpast"."queue_refuse_fn"(why text, state text DEFAULT 'RP021') RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION '%', why USING ERRCODE = state;
END;
$$;

/*
Whether an error of this SQLSTATE is a table's word about a row: a constraint, a value, a trigger. Not an error that passes, nor a
lack of the server, nor a name that is missing or forbidden to the caller, nor an error of this library.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_is_refusal_fn"(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT LEFT(state, 2) NOT IN ('08', '25', '28', '40', '42', '53', '54', '55', '57', '58', 'F0', 'RP', 'XX');
$$;

/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. An item that no call has tried for long is forgotten: it is gone, or a person has mended it.
With so many at once it is no matter of one row: then the refusal is an error, and nothing is done. Called by the functions of a queue.
Table access order: queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_note_refusal"(queue_ text, key_ text, doing_ text, state_ text, reason_ text, constraint_ text)
RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    counts_ CONSTANT integer := (state_ NOT IN ('23505', '23P01'))::integer;
    /* Beforehand, since Citus computes nothing where a row meets another. */
    until_ CONSTANT timestamptz[] := ARRAY(SELECT now_ + LEAST(60, 2 ^ g.times) * interval '1 second' FROM generate_series(1, 6) AS g (times));
    times_ integer;
BEGIN
    DELETE FROM "readpast"."queue_refused" AS x
    WHERE x.queue = queue_ AND x.until < now_ - interval '10 minutes';

    IF (
        SELECT COUNT(*) >= 1000 OR COUNT(*) FILTER (WHERE x.attempts > 0) >= 100
        FROM "readpast"."queue_refused" AS x
        WHERE x.queue = queue_ AND x.until > now_ AND x.key <> key_
    )
    THEN
        RAISE EXCEPTION '%, and so of many other items, which are left aside', reason_ USING ERRCODE = state_;
    END IF;

    INSERT INTO "readpast"."queue_refused" AS x (queue, key, doing, reason, constraint_name, times, attempts, since, until)
    VALUES (queue_, key_, doing_, LEFT(reason_, 400), NULLIF(constraint_, ''), 1, counts_, now_, now_ + interval '1 second')
    ON CONFLICT (queue, key) DO UPDATE
    SET
        doing = excluded.doing, reason = excluded.reason, constraint_name = excluded.constraint_name,
        times = x.times + 1, attempts = x.attempts + excluded.attempts,
        /* Bare, Citus would take it for the place to write to. */
        until = COALESCE(until_[LEAST(x.times, 6)], now_)
    RETURNING x.times INTO times_;
    RETURN times_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_note_refusal"(text, text, text, text, text, text) FROM public;

/* A time that somebody gives: infinite ones are refused. Others' rows may have them, as "never". */
CREATE OR REPLACE FUNCTION "readpast"."queue_finite_fn"(value timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE
AS $$
    SELECT CASE
        WHEN isfinite(value) IS FALSE
            THEN "readpast"."queue_refuse_fn"('a time must be finite, and not ' || value::text)::timestamptz
        ELSE value
    END;
$$;

/* The milliseconds from a time until another, NULL where one of them is infinite. */
CREATE OR REPLACE FUNCTION "readpast"."queue_ms_fn"(since timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN isfinite(since) AND isfinite(until) THEN (date_part('epoch', until - since) * 1000)::bigint END;
$$;

/*
Refuses what a call is given, before anything is done; each caller hands on what it has. Else a setting of a queue, or what its
description says: a value below 1 does not count, since without attempts all that waits would be Failed at once. Both in one
call, since each costs most calls as much as all that it asks. Called by the functions of a queue.
Table access order: app_settings.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_terms"(
    called text, worker text DEFAULT '-', most integer DEFAULT 1, fewest integer DEFAULT 1, lease_ms integer DEFAULT NULL,
    started_at timestamptz DEFAULT NULL, param_ text DEFAULT NULL, otherwise integer DEFAULT NULL
) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
BEGIN
    IF
        COALESCE(worker, '') = '' OR most IS NULL OR most < fewest OR most > 1000 OR lease_ms < 1
        OR isfinite(started_at) IS FALSE
    THEN
        RAISE EXCEPTION '%: %', called, CASE
            WHEN COALESCE(worker, '') = '' THEN 'worker_ is empty'
            WHEN lease_ms < 1 THEN 'lease_ms_ must be at least 1'
            WHEN isfinite(started_at) IS FALSE THEN 'started_at_ must be finite'
            ELSE format('max_ must be from %s to 1000', fewest)
        END
        USING ERRCODE = 'RP021';
    END IF;
    IF param_ IS NULL THEN RETURN NULL;
    END IF;
    RETURN COALESCE((SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = param_ AND a.val_int > 0), otherwise);
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_terms"(text, text, integer, integer, integer, timestamptz, text, integer) FROM public;

/*
Clear away the identities that are older than an hour: answers are asked for again within minutes. The functions of a queue
do so in one call of 64, and decide that themselves, since the others then call nothing.
Table access order: queue_operation.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_clear"(operation_ uuid, now_ timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    WITH old AS MATERIALIZED (
        SELECT o.operation_id
        FROM "readpast"."queue_operation" AS o
        WHERE o.at < now_ - interval '1 hour'
        ORDER BY o.at
        LIMIT 256
        FOR UPDATE SKIP LOCKED
    )

    DELETE FROM "readpast"."queue_operation" AS p
    USING old AS o
    WHERE p.operation_id BETWEEN o.operation_id AND o.operation_id;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_clear"(uuid, timestamptz) FROM public;

/*
The first that a call with an identity does: TRUE when it was made before, and only its answers are asked for. Another
attempt of it that is under way is waited for. Called by the functions of a queue.
Table access order: queue_operation.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_begun"(operation_ uuid, call_ text, now_ timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    INSERT INTO "readpast"."queue_operation" (operation_id, call, at)
    VALUES (operation_, call_, now_)
    ON CONFLICT (operation_id) DO NOTHING;
    IF NOT FOUND THEN
        PERFORM FROM "readpast"."queue_operation" AS p WHERE p.operation_id = operation_ AND p.call = call_;
        IF NOT FOUND THEN
            RAISE EXCEPTION '%: the operation % was another call', call_, operation_ USING ERRCODE = 'RP021';
        END IF;
        RETURN TRUE;
    END IF;
    IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
        PERFORM "readpast"."queue_clear"(operation_, now_);
    END IF;
    RETURN FALSE;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_begun"(uuid, text, timestamptz) FROM public;

/*
One of all who claim looks for the items of dead workers, once in so many milliseconds. TRUE: it is the caller's turn; FALSE: it
is not; NULL: somebody has it, and keeps his transaction open for as long again, which is to hold nobody up. Nobody waits here.
Called by the functions of a queue.
Table access order: queue_recovery, queue_lifeline, queue_refused, each passed over when somebody holds the row.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_recovery_turn"(queue_ text, every_ms_ integer, now_ timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    every_ CONSTANT interval := every_ms_ * interval '1 millisecond';
BEGIN
    /* Most calls end here, without a look at locks. */
    PERFORM
    FROM "readpast"."queue_recovery" AS r
    WHERE
        r.queue = queue_ AND r.recovered_at BETWEEN now_ - every_ AND now_ + every_
        AND r.looked_at BETWEEN now_ - interval '500 ms' AND now_ + interval '500 ms';
    IF FOUND THEN RETURN FALSE;
    END IF;
    PERFORM "readpast"."queue_lifeline_look"(queue_, now_);
    UPDATE "readpast"."queue_recovery" AS r
    SET recovered_at = now_
    FROM (
        SELECT d.queue
        FROM "readpast"."queue_recovery" AS d
        WHERE d.queue = queue_ AND d.recovered_at NOT BETWEEN now_ - every_ AND now_ + every_
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE r.queue = d.queue;
    IF FOUND THEN
        /* Pauses that are over are gone around no longer. */
        DELETE FROM "readpast"."queue_refused" AS x
        WHERE
            x.queue = queue_ AND x.key IN (
                SELECT d.key FROM "readpast"."queue_refused" AS d
                WHERE d.queue = queue_ AND d.doing = 'pause' AND d.until <= now_
                FOR UPDATE SKIP LOCKED
            );
        RETURN TRUE;
    END IF;
    PERFORM
    FROM "readpast"."queue_recovery" AS r
    WHERE r.queue = queue_ AND r.recovered_at BETWEEN now_ - every_ * 2 AND now_ + every_;
    RETURN CASE WHEN FOUND THEN FALSE END;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_recovery_turn"(text, integer, timestamptz) FROM public;

/*
For many queues at once, in how many milliseconds a claim of each may find something, as due_<queue> answers. A row for each queue
that the login may claim from, by its place in queues_: a JSON array of objects with the queue's name in names of objects (queue)
and the milliseconds within which one recovery is enough (recover).
Table access order: as due_<queue>, one queue after the other.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_due"(queues_ json)
RETURNS TABLE (place integer, due_ms bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    queue_ text;
    recover_ integer;
BEGIN
    FOR place, queue_, recover_ IN
        SELECT (i.position - 1)::integer, i.queue, i.recover
        FROM ROWS FROM (json_to_recordset(queues_) AS (queue text, recover integer)) WITH ORDINALITY AS i (queue, recover, position)
    LOOP
        IF
            has_function_privilege(session_user, TO_REGPROC(format('%s.%I', '"readpast"', 'next_' || queue_ || '_set_trx')), 'EXECUTE')
            AND TO_REGPROC(format('%s.%I', '"readpast"', 'due_' || queue_)) IS NOT NULL
        THEN
            /* One whose table is being changed, or no longer fits, holds up no other: its own claims report it. */
            BEGIN
                /* The look at a table in the server's time has changed it. */
                SET LOCAL timezone TO 'UTC';
                SET LOCAL lock_timeout TO '1s';
                EXECUTE 'SELECT ' || format('%s.%I', '"readpast"', 'due_' || queue_) || '($1)' INTO due_ms USING recover_;
                RETURN NEXT;
            EXCEPTION WHEN OTHERS THEN CONTINUE;
            END;
        END IF;
    END LOOP;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_due"(json) FROM public;

/*
A process that has nothing to do asks to be woken: the next call that adds to one of queues_ (a JSON array of their names in names of
objects, of which those count that the login may claim from) notifies channel_, on which the session listener_ listens. It asks again
from time to time: that forgets the sleepers whose sessions are gone, and those that waited for an item, and rings the bell itself, so
that the process knows that it would hear it.
Table access order: queue_sleeper, queue_awaited, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_sleep"(queues_ json, channel_ text, listener_ integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    added_ integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = listener_ AND a.usename = session_user) THEN
        RAISE EXCEPTION 'queue_sleep: listener_ must be a session of this login' USING ERRCODE = 'RP021';
    END IF;
    DELETE FROM "readpast"."queue_sleeper" AS s
    WHERE
        s.id IN (
            SELECT d.id
            FROM "readpast"."queue_sleeper" AS d
            WHERE
                NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = d.listener)
                OR d.listener = listener_ AND d.channel <> channel_
            FOR UPDATE SKIP LOCKED
        );
    DELETE FROM "readpast"."queue_awaited" AS w
    WHERE
        (w.queue, w.key, w.channel) IN (
            SELECT d.queue, d.key, d.channel
            FROM "readpast"."queue_awaited" AS d
            WHERE NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = d.listener)
            FOR UPDATE SKIP LOCKED
        );
    INSERT INTO "readpast"."queue_sleeper" (queue, channel, listener)
    SELECT i.queue, channel_, listener_
    FROM json_array_elements_text(queues_) AS i (queue)
    WHERE
        has_function_privilege(session_user, TO_REGPROC(format('%s.%I', '"readpast"', 'next_' || i.queue || '_set_trx')), 'EXECUTE')
        AND NOT EXISTS (SELECT 1 FROM "readpast"."queue_sleeper" AS s WHERE s.queue = i.queue AND s.channel = channel_);
    GET DIAGNOSTICS added_ = ROW_COUNT;
    PERFORM pg_notify(channel_, '');
    RETURN added_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_sleep"(json, text, integer) FROM public;

/*
A process waits for the ends of the items keys_ (a JSON array of keys as the library shows them) of a queue that the login may read: the
next call that settles one notifies channel_, on which the session listener_ listens. Items for which it asked before and does not now
are forgotten, and so are processes whose sessions are gone. With rings_ it rings the bell itself, as queue_sleep does.
Table access order: queue_awaited, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_await"(queue_ text, keys_ json, channel_ text, listener_ integer, rings_ boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys_of_it_ CONSTANT text[] := ARRAY(SELECT k.value FROM json_array_elements_text(keys_) AS k (value) WHERE LENGTH(k.value) <= 1000);
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = listener_ AND a.usename = session_user) THEN
        RAISE EXCEPTION 'queue_await: listener_ must be a session of this login' USING ERRCODE = 'RP021';
    END IF;
    IF NOT COALESCE(has_function_privilege(session_user, TO_REGPROC(format('%s.%I', '"readpast"', 'find_' || queue_)), 'EXECUTE'), FALSE)
    THEN
        RAISE EXCEPTION 'queue_await: permission denied: this login may not find items of %', queue_ USING ERRCODE = 'RP015';
    END IF;
    DELETE FROM "readpast"."queue_awaited" AS w
    WHERE
        (w.queue, w.key, w.channel) IN (
            SELECT d.queue, d.key, d.channel
            FROM "readpast"."queue_awaited" AS d
            WHERE
                d.queue = queue_ AND CASE
                    WHEN d.channel = channel_ THEN d.key <> ALL(keys_of_it_)
                    ELSE NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = d.listener)
                END
            FOR UPDATE SKIP LOCKED
        );
    INSERT INTO "readpast"."queue_awaited" AS w (queue, key, channel, listener)
    SELECT queue_, k.key, channel_, listener_
    FROM UNNEST(keys_of_it_) AS k (key)
    ON CONFLICT (queue, key, channel) DO UPDATE SET listener = excluded.listener WHERE w.listener <> excluded.listener;
    PERFORM pg_notify(channel_, '') WHERE rings_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_await"(text, json, text, integer, boolean) FROM public;

/*
Whether a call may notify: not where a transaction may be prepared for a second phase, which must not, nor where listeners elsewhere
keep the server's list of notifications from getting shorter. A full list would fail the call.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_may_ring_fn"() RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT current_setting('max_prepared_transactions') = '0' AND pg_notification_queue_usage() <= 0.5;
$$;

/*
Wakes one process that sleeps over a queue, when the caller's transaction commits; its row is gone then, so that many calls wake it
once. The last to fall asleep is the first: of those before it some may be dead. A ring that fails is left out, since processes
look from time to time anyhow: where another has the row, where the caller's snapshot is older than the row's end, and where a call may
not ring. Called by the functions of a queue, if somebody sleeps.
Table access order: queue_sleeper, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_ring"(queue_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    channel_ text;
BEGIN
    IF NOT "readpast"."queue_may_ring_fn"() THEN RETURN;
    END IF;
    BEGIN
        DELETE FROM "readpast"."queue_sleeper" AS s
        WHERE
            s.id = (
                SELECT d.id
                FROM "readpast"."queue_sleeper" AS d
                WHERE d.queue = queue_
                ORDER BY d.id DESC
                LIMIT 1
                FOR UPDATE SKIP LOCKED
            )
        RETURNING s.channel INTO channel_;
    EXCEPTION WHEN serialization_failure THEN RETURN;
    END;
    PERFORM pg_notify(channel_, queue_) WHERE channel_ IS NOT NULL;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_ring"(text) FROM public;

/*
Wakes the processes that wait for the end of one of the items keys_, which have been settled, as queue_ring wakes those that sleep.
Called by the functions of a queue, if somebody waits.
Table access order: queue_awaited, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_ring_waiters"(queue_ text, keys_ text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    rung_ record;
BEGIN
    IF NOT "readpast"."queue_may_ring_fn"() THEN RETURN;
    END IF;
    FOR rung_ IN
        DELETE FROM "readpast"."queue_awaited" AS w
        WHERE
            (w.queue, w.key, w.channel) IN (
                SELECT d.queue, d.key, d.channel
                FROM "readpast"."queue_awaited" AS d
                WHERE d.queue = queue_ AND d.key = ANY(keys_)
                FOR UPDATE SKIP LOCKED
            )
        RETURNING w.channel, w.key
    LOOP
        PERFORM pg_notify(rung_.channel, queue_ || ' ' || rung_.key);
    END LOOP;
EXCEPTION WHEN serialization_failure THEN RETURN;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_ring_waiters"(text, text[]) FROM public;

/*
Whether a column of somebody's table may not be NULL. Called where there is no value for it.
Table access order: none but the catalog.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_must"(place_ text, column_ text) RETURNS boolean
LANGUAGE sql STABLE SECURITY INVOKER
AS $$
    SELECT a.attnotnull OR t.typnotnull
    FROM pg_catalog.pg_attribute AS a
    INNER JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
    WHERE a.attrelid = place_::regclass AND a.attname = column_;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_must"(text, text) FROM public;

/*
From which due time on a claim seeks, in the index of what is due. Entries of items that went long ago stay there while the oldest
transaction of the server could still see them, and each claim passes over all of them. So after a claim that has passed over many, those
of the same session begin where it found its first item: for twenty times as long as it took, at most a minute. An item that is
due before that place waits so long, unless nothing else is found.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_head_fn"(kept text, index_ regclass, now_ timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    head_ CONSTANT text[] := string_to_array(kept, '|');
BEGIN
    /* Seconds, since the text of a time may be written and read in two styles. */
    RETURN CASE
        WHEN head_[1] = index_::oid::text AND to_timestamp(head_[2]::float8) > now_ THEN to_timestamp(head_[3]::float8)
        ELSE '-infinity'
    END;
END;
$$;

/* Keeps for the claims of this session where they begin, after one that began at `since` and has read many entries of the index. */
CREATE OR REPLACE FUNCTION "readpast"."queue_begin_at_fn"(name text, index_ regclass, since timestamptz, head timestamptz)
RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN set_config(
        name,
        concat_ws('|', index_::oid, EXTRACT(EPOCH FROM now_ + LEAST(20 * (now_ - since), interval '1 minute')), EXTRACT(EPOCH FROM head)),
        FALSE
    );
END;
$$;

/*
The members of a filter, each with its type, or an error in the words of `called_`: a condition with a slip in it must not be
passed over, since what it was to keep out would be met too. Called by the functions of a queue.
Table access order: queue_status.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_filter"(called_ text, filter_ json, max_ integer)
RETURNS TABLE (keys json, statuses text[], types text[], before timestamptz, since timestamptz, part text, longer bigint)
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    why_ text := CASE WHEN json_typeof(filter_) <> 'object' THEN 'filter_ is not a JSON object' END;
BEGIN
    PERFORM "readpast"."queue_terms"(called_, most => max_);
    IF why_ IS NULL THEN
        why_ := CASE
            WHEN
                EXISTS (
                    SELECT 1 FROM json_each(filter_) AS m (name, value)
                    WHERE
                        m.name NOT IN ('keys', 'status', 'types', 'before', 'after', 'error', 'longer_ms', 'columns', 'members')
                        OR json_typeof(m.value) NOT IN (
                            'null',
                            CASE
                                WHEN m.name IN ('keys', 'status', 'types', 'members') THEN 'array'
                                WHEN m.name = 'columns' THEN 'object'
                                WHEN m.name = 'longer_ms' THEN 'number'
                                ELSE 'string'
                            END
                        )
                )
                OR EXISTS (SELECT 1 FROM json_object_keys(filter_) AS m (name) GROUP BY m.name HAVING COUNT(*) > 1)
                THEN 'filter_ takes keys, status, types, members (arrays), before, after, error (text), longer_ms (a number), '
                    'columns (an object), once'
            WHEN filter_ ->> 'longer_ms' !~ '^[0-9]{1,18}$' THEN 'longer_ms is a whole number of milliseconds'
        END;
    END IF;
    IF why_ IS NULL THEN
        keys := CASE json_typeof(filter_ -> 'keys') WHEN 'array' THEN filter_ -> 'keys' END;
        IF json_typeof(filter_ -> 'status') = 'array' THEN
            statuses := ARRAY(SELECT s.status FROM json_array_elements_text(filter_ -> 'status') AS s (status));
        END IF;
        IF json_typeof(filter_ -> 'types') = 'array' THEN
            types := ARRAY(SELECT t.type FROM json_array_elements_text(filter_ -> 'types') AS t (type));
        END IF;
        before := filter_ ->> 'before';
        since := filter_ ->> 'after';
        part := filter_ ->> 'error';
        longer := filter_ ->> 'longer_ms';
        why_ := CASE
            WHEN json_array_length(keys) > 1000 THEN 'at most 1000 keys a call'
            WHEN
                EXISTS (
                    SELECT 1 FROM UNNEST(statuses) AS s (status)
                    WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_status" AS k WHERE k.status = s.status)
                )
                THEN 'status names one that there is not'
        END;
    END IF;
    IF why_ IS NOT NULL THEN
        RAISE EXCEPTION '%: %', called_, why_ USING ERRCODE = 'RP021';
    END IF;
    RETURN NEXT;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_filter"(text, json, integer) FROM public;

/*
Whether an item fits the members of a filter; the error is searched as it stands, nothing in it is a wildcard. Where each of these is
a column, the planner puts this expression into the query that asks; a state that is found by a long CASE is handed on to it row by row.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_fits_fn"(
    statuses text[], types text[], before timestamptz, since timestamptz, longer bigint, part text, at timestamptz,
    status text, type text, changed timestamptz, started timestamptz, duration bigint, error text
) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT
        (statuses IS NULL OR status = ANY(statuses)) AND (types IS NULL OR type = ANY(types))
        AND (before IS NULL OR changed < before) AND (since IS NULL OR changed >= since)
        AND (longer IS NULL OR CASE status WHEN 'Processing' THEN "readpast"."queue_ms_fn"(started, at) ELSE duration END > longer)
        AND (part IS NULL OR STRPOS(error, part) > 0);
$$;

/*
The values that a filter looks for, as a row of this type has them: `is` are columns, `members` are members of the JSON in a column, by
their path. NULL looks for nothing. `names` are the columns that can be searched, and what the row calls them. A condition with a slip in it
is refused in the words of `called_`. Called by the functions of a queue.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_wanted_fn"(called_ text, filter_ json, names json, item anyelement) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    columns_ CONSTANT json := CASE json_typeof(filter_ -> 'columns') WHEN 'object' THEN filter_ -> 'columns' ELSE '{}' END;
    members_ CONSTANT json := CASE json_typeof(filter_ -> 'members') WHEN 'array' THEN filter_ -> 'members' ELSE '[]' END;
BEGIN
    IF json_typeof(filter_ -> 'columns') IS NULL AND json_typeof(filter_ -> 'members') IS NULL THEN RETURN NULL;
    END IF;
    IF
        EXISTS (
            SELECT 1 FROM json_each(columns_) AS c (name, value)
            WHERE names -> c.name IS NULL OR json_typeof(c.value) NOT IN ('string', 'number', 'boolean')
        )
        OR (SELECT COUNT(*) > COUNT(DISTINCT c.name) FROM json_object_keys(columns_) AS c (name))
        OR EXISTS (
            SELECT 1 FROM json_to_recordset(members_) AS m ("column" text, path text[], value text)
            WHERE names -> m."column" IS NULL OR CARDINALITY(m.path) BETWEEN 1 AND 3 IS NOT TRUE OR m.value IS NULL
        )
    THEN
        RAISE EXCEPTION '%: columns and members name columns that can be searched, each with a value, columns once', called_
        USING ERRCODE = 'RP021';
    END IF;
    item := json_populate_record(item, (SELECT json_object_agg(names ->> c.name, c.value) FROM json_each(columns_) AS c (name, value)));
    RETURN jsonb_build_object(
        'is', COALESCE((
            SELECT jsonb_object_agg(i.name, i.value)
            FROM jsonb_each(to_jsonb(item)) AS i (name, value)
            WHERE i.name IN (SELECT names ->> c.name FROM json_object_keys(columns_) AS c (name))
        ), '{}'),
        'members', COALESCE((
            SELECT jsonb_agg(jsonb_build_object('column', names ->> m."column", 'path', m.path, 'value', m.value))
            FROM json_to_recordset(members_) AS m ("column" text, path text[], value text)
        ), '[]')
    );
END;
$$;

/* A text, a number or a truth in a document, as it is written; NULL where there is none, and where the text is no JSON. */
CREATE OR REPLACE FUNCTION "readpast"."queue_member_fn"(document jsonb, path text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF jsonb_typeof(document) = 'string' THEN
        document := (document #>> '{}')::jsonb;
    END IF;
    document := document #> path;
    RETURN CASE WHEN jsonb_typeof(document) IN ('string', 'number', 'boolean') THEN document #>> '{}' END;
EXCEPTION
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN NULL;
END;
$$;

/* Whether an item, as a row of its table, has the values that queue_wanted_fn returns: each is compared in the type of its column. */
CREATE OR REPLACE FUNCTION "readpast"."queue_has_fn"(wanted jsonb, item jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN item @> (wanted -> 'is') AND NOT EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(wanted -> 'members') AS m ("column" text, path text[], value text)
        WHERE "readpast"."queue_member_fn"(item -> m."column", m.path) IS DISTINCT FROM m.value
    );
END;
$$;

/*
How long an item waits after an attempt: so many ms after the first, factor_percent of the delay before after each further one, at most
cap_ms; up to jitter_percent less by chance, for each item anew. The logarithm keeps the power from overflowing before the cap counts.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_backoff_fn"(
    attempt integer, first_ms float8, factor_percent float8, cap_ms float8, jitter_percent float8
) RETURNS interval
LANGUAGE sql VOLATILE
AS $$
    SELECT
        ROUND(
            EXP(LEAST(LN(first_ms) + (attempt - 1) * LN(factor_percent / 100), LN(cap_ms))) * (1 - random() * jitter_percent / 100)
        ) * interval '1 millisecond';
$$;

/*
The installation here: the version of the objects, and a row per queue, or one without a queue. A handle reads this
when it opens, so that a worker needs no right but to execute.
Table access order: queue_schema_version, queue_spec.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_catalog"()
RETURNS TABLE (version integer, queue text, preset text, spec text, rendered_by integer)
LANGUAGE sql STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT v.version, q.queue, q.preset, q.spec, q.rendered_by
    FROM (
        SELECT MAX(a.version) AS version
        FROM "readpast"."queue_schema_version" AS a
    ) AS v
    LEFT JOIN "readpast"."queue_spec" AS q ON TRUE
    ORDER BY q.queue;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_catalog"() FROM public;

/* A time of a table that keeps UTC in columns of either type. */
CREATE OR REPLACE FUNCTION "readpast"."queue_utc_fn"(value timestamp) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value AT TIME ZONE 'UTC';
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_utc_fn"(value timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value;
$$;

/* A response or an error as its column keeps it, by the type of the column: text is what it is, and JSON a string or a document. */
CREATE OR REPLACE FUNCTION "readpast"."queue_text_fn"(kept text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT kept;
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_text_fn"(kept json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        /* No text holds this character: the string stays as JSON writes it. */
        WHEN STRPOS(kept::text, '\u0000') > 0 THEN kept::text
        WHEN json_typeof(kept) IN ('string', 'null') THEN kept #>> '{}'
        ELSE kept::text
    END;
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_text_fn"(kept jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN jsonb_typeof(kept) IN ('string', 'null') THEN kept #>> '{}'
        ELSE kept::text
    END;
$$;

/* The last of a list. */
CREATE OR REPLACE FUNCTION "readpast"."queue_text_fn"(kept text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT "readpast"."queue_text_fn"(kept[ARRAY_UPPER(kept, 1)]);
$$;

/* The last of a list. */
CREATE OR REPLACE FUNCTION "readpast"."queue_text_fn"(kept json[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT "readpast"."queue_text_fn"(kept[ARRAY_UPPER(kept, 1)]);
$$;

/* The last of a list. */
CREATE OR REPLACE FUNCTION "readpast"."queue_text_fn"(kept jsonb[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT "readpast"."queue_text_fn"(kept[ARRAY_UPPER(kept, 1)]);
$$;

/* A response or an error for a column of this type: JSON keeps a document as such, and other text as a string. */
CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept text, value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value;
$$;

/* A state by its name. */
CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept anyenum, value text) RETURNS anyenum
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN value;
END;
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept json, value text) RETURNS json
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    /* Written back as it was read: "12" stays a string, and null in a column that may not be NULL stays null. */
    IF value = "readpast"."queue_text_fn"(kept) OR (value IS NULL AND "readpast"."queue_text_fn"(kept) IS NULL) THEN RETURN kept;
    END IF;
    IF json_typeof(value::json) NOT IN ('string', 'null') THEN RETURN value::json;
    END IF;
    RETURN to_json(value);
EXCEPTION WHEN data_exception OR statement_too_complex THEN
    RETURN to_json(value);
END;
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept jsonb, value text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    /* Written back as it was read: "12" stays a string, and null in a column that may not be NULL stays null. */
    IF value = "readpast"."queue_text_fn"(kept) OR (value IS NULL AND "readpast"."queue_text_fn"(kept) IS NULL) THEN RETURN kept;
    END IF;
    IF jsonb_typeof(value::jsonb) NOT IN ('string', 'null') THEN RETURN value::jsonb;
    END IF;
    RETURN to_jsonb(value);
EXCEPTION WHEN data_exception OR statement_too_complex THEN
    RETURN to_jsonb(value);
END;
$$;

/* A list of all of them: the new one comes last, and none is taken out. */
CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept text[], value text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN COALESCE(value, '') = '' OR value = "readpast"."queue_text_fn"(kept) THEN kept
        ELSE kept || ARRAY["readpast"."queue_kept_fn"(NULL::text, value)]
    END;
$$;

/* A list of all of them: the new one comes last, and none is taken out. */
CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept json[], value text) RETURNS json[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN COALESCE(value, '') = '' OR value = "readpast"."queue_text_fn"(kept) THEN kept
        ELSE kept || ARRAY["readpast"."queue_kept_fn"(NULL::json, value)]
    END;
$$;

/* A list of all of them: the new one comes last, and none is taken out. */
CREATE OR REPLACE FUNCTION "readpast"."queue_kept_fn"(kept jsonb[], value text) RETURNS jsonb[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN COALESCE(value, '') = '' OR value = "readpast"."queue_text_fn"(kept) THEN kept
        ELSE kept || ARRAY["readpast"."queue_kept_fn"(NULL::jsonb, value)]
    END;
$$;

/* A time as text, UTC unless it says otherwise, whatever the time zone of the session. */
CREATE OR REPLACE FUNCTION "readpast"."queue_time_fn"(value text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
SET timezone = 'UTC'
AS $$
    SELECT value::timestamptz;
$$;

/* The same for a column that keeps it in the type of `kept`, the local one in the time zone of the session. */
CREATE OR REPLACE FUNCTION "readpast"."queue_time_fn"(value text, kept timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT "readpast"."queue_time_fn"(value);
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_time_fn"(value text, kept timestamp) RETURNS timestamp
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT "readpast"."queue_time_fn"(value)::timestamp;
$$;

/* A time as a key that is text: in UTC. */
CREATE OR REPLACE FUNCTION "readpast"."queue_key_fn"(value timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT to_char(value AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US');
$$;

/* Why an item was taken from its worker, as its error says. */
CREATE OR REPLACE FUNCTION "readpast"."queue_died_fn"(
    owner text, began text, gone text, attempt integer, attempts integer, together boolean, refusals integer, refused text
) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT
        CASE
            WHEN refusals > 0 THEN format('The table refused %s times to have it given back: %s', refusals, refused)
            WHEN owner = began
                THEN format('Worker %s began anew on attempt %s of %s; the worker is taken for dead.', owner, attempt, attempts)
            WHEN owner = gone
                THEN format('Worker %s is gone from the server on attempt %s of %s; the worker is taken for dead.', owner, attempt, attempts)
            ELSE format(
                'The lease of worker %s ran out on attempt %s of %s; the worker is taken for dead.',
                COALESCE(owner, '(unknown)'), attempt, attempts
            )
        END || CASE
            WHEN together
                THEN ' It was claimed together with others: this attempt does not count, and the next claim of it is of it alone.'
            ELSE ''
        END;
$$;

/* A document for a column that keeps it in the type of `kept`. */
CREATE OR REPLACE FUNCTION "readpast"."queue_json_fn"(value json, kept json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value;
$$;

CREATE OR REPLACE FUNCTION "readpast"."queue_json_fn"(value json, kept jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value::jsonb;
$$;

/* The first thing wrong with an array of objects, by what their members take; NULL when nothing is. It names no values. */
CREATE OR REPLACE FUNCTION "readpast"."queue_unfit_fn"(items json, takes json) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
/* There are few rows in JSON, which no planner knows: it would cut a hash of six into thirty files. */
SET jit = off
SET enable_hashjoin = off SET enable_hashagg = off SET enable_mergejoin = on
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        WITH shape AS MATERIALIZED (
            SELECT
                x.place, x.name, x.takes,
                CASE json_typeof(x.takes) WHEN 'string' THEN substring(x.takes #>> '{}' FROM '^[a-z]+') ELSE json_typeof(x.takes) END AS kind,
                substring(x.takes #>> '{}' FROM '[(]([0-9]+)')::integer AS most,
                substring(x.takes #>> '{}' FROM ', ([0-9]+)[)]')::integer AS scale
            FROM (
                SELECT '' AS place, a.key AS name, a.value AS takes
                FROM json_each(takes) AS a
                UNION ALL
                SELECT a.key || '.', b.key, b.value
                FROM json_each(takes) AS a
                CROSS JOIN LATERAL json_each(CASE json_typeof(a.value) WHEN 'object' THEN a.value ELSE '{}' END) AS b
                UNION ALL
                SELECT a.key || '.' || b.key || '.', c.key, c.value
                FROM json_each(takes) AS a
                CROSS JOIN LATERAL json_each(CASE json_typeof(a.value) WHEN 'object' THEN a.value ELSE '{}' END) AS b
                CROSS JOIN LATERAL json_each(CASE json_typeof(b.value) WHEN 'object' THEN b.value ELSE '{}' END) AS c
            ) AS x
        ),
        outermost AS MATERIALIZED (
            SELECT e.position - 1 AS ordinal, m.key AS name, m.value
            FROM json_array_elements(items) WITH ORDINALITY AS e (value, position)
            CROSS JOIN LATERAL json_each(CASE json_typeof(e.value) WHEN 'object' THEN e.value ELSE '{"": null}' END) AS m
        ),
        within AS MATERIALIZED (
            SELECT g.ordinal, g.name || '.' AS place, m.key AS name, m.value
            FROM outermost AS g
            INNER JOIN shape AS s ON s.place = '' AND s.name = g.name AND s.kind = 'object'
            CROSS JOIN LATERAL (
                SELECT o.key, o.value
                FROM json_each(CASE WHEN g.name <> 'key' AND json_typeof(g.value) = 'object' THEN g.value ELSE '{}' END) AS o
                UNION ALL
                /* A key of several columns is an array. */
                SELECT (a.position - 1)::text, a.value
                FROM json_array_elements(CASE WHEN g.name = 'key' AND json_typeof(g.value) = 'array' THEN g.value ELSE '[]' END)
                    WITH ORDINALITY AS a (value, position)
            ) AS m
        ),
        given AS MATERIALIZED (
            SELECT y.ordinal, y.place, y.name, y.value, json_typeof(y.value) AS is, y.value #>> '{}' AS text
            FROM (
                SELECT g.ordinal, '' AS place, g.name, g.value FROM outermost AS g
                UNION ALL
                SELECT g.ordinal, g.place, g.name, g.value FROM within AS g
                UNION ALL
                SELECT g.ordinal, g.place || g.name || '.', m.key, m.value
                FROM within AS g
                INNER JOIN shape AS s ON s.place = g.place AND s.name = g.name AND s.kind = 'object'
                CROSS JOIN LATERAL json_each(CASE json_typeof(g.value) WHEN 'object' THEN g.value ELSE '{}' END) AS m
            ) AS y
        )

        SELECT format('item %s: %s', w.ordinal, w.why)
        FROM (
            SELECT
                g.ordinal,
                CASE
                    WHEN g.place = '' AND g.name = '' THEN 'it is no object'
                    WHEN s.name IS NULL THEN format(
                        'there is no "%s%s"; there are %s', g.place, g.name,
                        (SELECT string_agg(o.name, ', ') FROM shape AS o WHERE o.place = g.place)
                    )
                    ELSE format('"%s%s" takes %s', g.place, g.name, CASE s.kind WHEN 'object' THEN 'an ' || t.is ELSE s.takes #>> '{}' END)
                END AS why
            FROM given AS g
            LEFT JOIN shape AS s ON s.place = g.place AND s.name = g.name
            CROSS JOIN LATERAL (SELECT CASE WHEN g.place || g.name = 'key' THEN 'array' ELSE 'object' END AS is) AS t
            WHERE
                CASE
                    WHEN s.name IS NULL THEN FALSE
                    WHEN g.is = 'null' OR s.kind = 'any' THEN TRUE
                    WHEN s.kind = 'object' THEN g.is = t.is
                    WHEN s.kind = 'json' THEN g.is IN ('object', 'array')
                    WHEN g.is IN ('object', 'array') THEN FALSE
                    WHEN s.kind = 'text' THEN g.is = 'string' AND char_length(g.text) <= COALESCE(s.most, 2147483647)
                    WHEN s.kind = 'array' THEN EXISTS (SELECT 1 FROM json_array_elements_text(s.takes) AS o (one) WHERE o.one = g.text)
                    WHEN s.kind = 'boolean' THEN g.text IN ('true', 'false', '0', '1')
                    WHEN s.kind = 'integer' THEN
                        CASE WHEN g.text ~ '^-?[0-9]{1,10}$' THEN g.text::bigint BETWEEN -2147483648 AND 2147483647 ELSE FALSE END
                    WHEN s.kind = 'bigint' THEN
                        CASE
                            WHEN g.text ~ '^-?[0-9]{1,19}$'
                                THEN g.text::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
                            ELSE FALSE
                        END
                    WHEN s.kind = 'milliseconds' THEN
                        CASE WHEN g.text ~ '^[0-9]{1,13}$' THEN g.text::bigint <= 2147483647000 ELSE FALSE END
                    WHEN s.kind = 'decimal' THEN
                        CASE
                            WHEN g.text ~ '^-?[0-9]{1,60}([.][0-9]{0,60})?$'
                                THEN round(g.text::numeric, s.scale) = g.text::numeric
                                AND abs(g.text::numeric) < power(10::numeric, s.most - s.scale)
                            ELSE FALSE
                        END
                    WHEN s.kind = 'float' THEN g.text ~ '^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$|^NaN$|^-?Infinity$'
                    /* A row of others may have changed "never". */
                    WHEN g.place || g.name = 'token' AND g.text IN ('infinity', '-infinity') THEN TRUE
                    WHEN s.kind IN ('timestamp', 'date') THEN
                        CASE
                            WHEN
                                g.text ~ '^[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]$'
                                OR (
                                    s.kind = 'timestamp'
                                    AND g.text ~ ('^[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]'
                                        || '([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,7})?)?)?'
                                        || '([Zz]|[-+](0[0-9]|1[0-4])(:?[0-5][0-9])?)?$')
                                )
                                THEN left(g.text, 4) > '0000'
                                AND substring(g.text FROM 9 FOR 2)::integer BETWEEN 1 AND date_part(
                                    'day', make_date(GREATEST(left(g.text, 4)::integer, 1), substring(g.text FROM 6 FOR 2)::integer, 1)
                                    + interval '1 month - 1 day'
                                )
                            ELSE FALSE
                        END
                    WHEN s.kind = 'guid' THEN g.text ~ '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
                    WHEN s.kind = 'binary' THEN
                        CASE
                            WHEN replace(g.text, E'\n', '') ~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
                                THEN octet_length(decode(g.text, 'base64')) <= COALESCE(s.most, 2147483647)
                            ELSE FALSE
                        END
                END IS NOT TRUE
            UNION ALL
            SELECT g.ordinal, format('"%s%s" is given twice', g.place, g.name)
            FROM given AS g
            GROUP BY g.ordinal, g.place, g.name
            HAVING COUNT(*) > 1
            UNION ALL
            /*
            Members that must have a value, in each object that is there; columns are even where they are left out, and what is
            left out of "set" stays.
            */
            SELECT e.ordinal, format('"%s%s" must have a value', s.place, s.name)
            FROM shape AS s
            INNER JOIN (
                SELECT g.ordinal, g.place || g.name || '.' AS place
                FROM given AS g
                WHERE g.is = 'object'
                UNION
                SELECT n.number - 1, 'columns.'
                FROM generate_series(1, json_array_length(items)) AS n (number)
            ) AS e ON e.place = s.place
            LEFT JOIN given AS g ON g.ordinal = e.ordinal AND g.place = s.place AND g.name = s.name
            WHERE s.takes #>> '{}' LIKE '% not null' AND COALESCE(g.is = 'null', s.place NOT LIKE 'set.%')
        ) AS w
        ORDER BY w.ordinal
        LIMIT 1
    );
END;
$$;

/* An object with its members under the names that are known of them, where but one differs in case alone. */
CREATE OR REPLACE FUNCTION "readpast"."queue_named_fn"(given json, takes json) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF json_typeof(given) <> 'object' OR json_typeof(takes) <> 'object' THEN RETURN given;
    END IF;
    RETURN (
        SELECT COALESCE(json_object_agg(
            COALESCE(t.name, m.key), "readpast"."queue_named_fn"(m.value, takes -> t.name)
        ), '{}')
        FROM json_each(given) AS m
        CROSS JOIN LATERAL (
            SELECT CASE WHEN BOOL_OR(n.name = m.key) OR COUNT(*) <> 1 THEN m.key ELSE MIN(n.name) END AS name
            FROM json_object_keys(takes) AS n (name)
            WHERE lower(n.name) = lower(m.key)
        ) AS t
    );
END;
$$;

/*
The items that a function is given, if they are an array of objects with the members that it takes, each with a value that
fits: else an error in the words of `called`. takes is an object as a description writes columns and their types. The case of
a name matters only where several differ in nothing else.
The library has checked its own values; its sessions come here only with a name that is none of these.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_taken_fn"(called text, items json, takes json) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    named_ json;
    why_ text;
BEGIN
    IF items IS NULL THEN RETURN NULL;
    END IF;
    IF json_typeof(items) <> 'array' THEN
        RAISE EXCEPTION '%: the items are no JSON array', called USING ERRCODE = 'RP021';
    END IF;
    IF json_array_length(items) > 1000 THEN
        RAISE EXCEPTION '%: at most 1000 items a call', called USING ERRCODE = 'RP021';
    END IF;
    IF "readpast"."queue_unfit_fn"(items, takes) IS NULL THEN RETURN items;
    END IF;
    named_ := (
        SELECT json_agg("readpast"."queue_named_fn"(e.value, takes) ORDER BY e.position)
        FROM json_array_elements(items) WITH ORDINALITY AS e (value, position)
    );
    why_ := "readpast"."queue_unfit_fn"(named_, takes);
    IF why_ IS NOT NULL THEN
        RAISE EXCEPTION '%: %', called, why_ USING ERRCODE = 'RP021';
    END IF;
    RETURN named_;
END;
$$;

/*
Whether settlements set values, of the columns that may be set: an error in the words of `called` when others are named.
within: those of each subtype, by its name. deletes: what is completed goes, with all that is set.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_sets_fn"(
    called text, items json, settable text[], deletes boolean DEFAULT FALSE, within json DEFAULT '{}'
) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    why_ text;
BEGIN
    why_ := (
        SELECT w.why
        FROM
            ROWS FROM (json_to_recordset(items) AS (status text, set json))
            WITH ORDINALITY AS i (status, given, position)
        CROSS JOIN LATERAL (
            SELECT 'set is no object' AS why
            WHERE json_typeof(i.given) <> 'object'
            UNION ALL
            SELECT 'what is completed is deleted, with all that is set'
            WHERE deletes AND i.status = 'Completed'
            UNION ALL
            SELECT format('there is no column %s to set', k.name)
            FROM json_object_keys(CASE json_typeof(i.given) WHEN 'object' THEN i.given ELSE '{}' END) AS k (name)
            WHERE k.name <> ALL (settable)
            UNION ALL
            SELECT format('there is no column %s.%s to set', s.name, k.name)
            FROM json_each(within) AS s (name, names)
            CROSS JOIN LATERAL json_object_keys(
                CASE json_typeof(i.given -> s.name) WHEN 'object' THEN i.given -> s.name ELSE '{}' END
            ) AS k (name)
            WHERE k.name NOT IN (SELECT n.name FROM json_array_elements_text(s.names) AS n (name))
        ) AS w
        WHERE i.given IS NOT NULL
        ORDER BY i.position
        LIMIT 1
    );
    IF why_ IS NOT NULL THEN
        RAISE EXCEPTION '%: %', called, why_ USING ERRCODE = 'RP021';
    END IF;
    RETURN EXISTS (SELECT 1 FROM json_to_recordset(items) AS i (set json) WHERE i.set IS NOT NULL);
END;
$$;

/* The times of a sample of items: how many they are, percentiles and means. */
CREATE OR REPLACE FUNCTION "readpast"."queue_times_fn"(waits bigint[], claims bigint[])
RETURNS TABLE (name text, value bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT 'sample.items', CARDINALITY(waits)::bigint
    UNION ALL
    SELECT f.figure || '.' || p.label || '_ms', p.value
    FROM (VALUES ('wait', waits), ('claimed', claims)) AS f (figure, times)
    CROSS JOIN LATERAL (
        SELECT percentile_disc(ARRAY[0.50, 0.90, 0.99]) WITHIN GROUP (ORDER BY t.ms) AS at, ROUND(AVG(t.ms))::bigint AS mean
        FROM UNNEST(f.times) AS t (ms)
    ) AS s
    CROSS JOIN LATERAL (VALUES ('p50', s.at[1]), ('p90', s.at[2]), ('p99', s.at[3]), ('mean', s.mean)) AS p (label, value);
$$;

/*
The figures of stats_<queue>, from what is counted of each state, and of each step, where the queue has steps. Called by that.
Table access order: none.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_figures"(counted json, waits bigint[], claims bigint[], arrived_besides bigint DEFAULT NULL)
RETURNS TABLE (name text, value bigint)
LANGUAGE sql IMMUTABLE SECURITY INVOKER
AS $$
    WITH state AS MATERIALIZED (
        SELECT c.*
        FROM json_to_recordset(COALESCE(counted, '[]')) AS c (
            status text, step text, items bigint, due bigint, oldest bigint, expired bigint, claimed bigint, arrived bigint
        )
    ),
    total AS MATERIALIZED (
        SELECT
            COALESCE(SUM(s.due), 0)::bigint AS due, MAX(s.oldest) AS oldest,
            COALESCE(SUM(s.expired), 0)::bigint AS expired, COALESCE(SUM(s.claimed), 0)::bigint AS claimed,
            COALESCE(SUM(s.items) FILTER (WHERE s.status = 'Processing'), 0) AS flying,
            /* NULL where nobody can count them. */
            COALESCE(SUM(s.arrived), 0)::bigint + arrived_besides AS arrived
        FROM state AS s
    ),
    times AS MATERIALIZED (SELECT t.name, t.value FROM "readpast"."queue_times_fn"(waits, claims) AS t)

    SELECT 'count.' || k.status, COALESCE(SUM(s.items), 0)::bigint
    FROM UNNEST(ARRAY[
        'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted'
    ]) AS k (status)
    LEFT JOIN state AS s ON s.status = k.status
    GROUP BY k.status
    UNION ALL
    SELECT 'step.' || s.status || '.' || s.step, s.items FROM state AS s WHERE s.step IS NOT NULL
    UNION ALL
    SELECT f.name, f.value
    FROM total AS t
    CROSS JOIN LATERAL (
        VALUES
        ('due.count', t.due), ('due.oldest_ms', t.oldest), ('lease.expired', t.expired), ('claimed.count', t.claimed),
        ('arrivals.last_hour', t.arrived),
        (
            /* Little's law, at 80 per cent of their time. */
            'workers.needed',
            CASE
                WHEN t.arrived IS NOT NULL THEN GREATEST(
                    CEIL(
                        t.arrived * COALESCE((SELECT m.value FROM times AS m WHERE m.name = 'claimed.mean_ms'), 0)
                        / (3600000 * 0.8)
                    )::bigint,
                    (t.flying > 0 OR t.due > 0)::integer
                )
            END
        )
    ) AS f (name, value)
    UNION ALL
    SELECT t.name, t.value FROM times AS t;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_figures"(json, bigint[], bigint[], bigint) FROM public;

/*
The figures of watch_<queue>, from the items that it has looked at: those that wait, are in flight, have stopped (NULL: they have no
look of their own), the newest, those before the last ones taken, and those of the history. more: more items wait than it looked at.
seen: the types that the caller may see more of than numbers, NULL: all. arrivals, ends, by_type: whether the table has them.
Called by the functions of a queue.
Table access order: queue_status, queue_refused, queue_pause.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_watched"(
    queue_ text, most_ integer, now_ timestamptz, waiting_ "readpast"."queue_look"[], flying_ "readpast"."queue_look"[],
    stopped_ "readpast"."queue_look"[], present_ "readpast"."queue_look"[], done_ "readpast"."queue_look"[],
    gone_ "readpast"."queue_look"[], more_ boolean, seen_ text[], arrivals_ boolean, ends_ boolean, by_type_ boolean
)
RETURNS TABLE (name text, value bigint, capped boolean, ms bigint, detail text, key text)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
#variable_conflict use_column
DECLARE
    flies_more_ CONSTANT boolean := COALESCE(CARDINALITY(flying_), 0) > most_;
    more_come_ CONSTANT boolean := COALESCE(CARDINALITY(present_), 0) > most_;
BEGIN
    RETURN QUERY
    WITH waiting AS MATERIALIZED (SELECT w.* FROM UNNEST(waiting_) AS w), flying AS MATERIALIZED (SELECT f.* FROM UNNEST(flying_) AS f),
    stopped AS MATERIALIZED (SELECT s.* FROM UNNEST(stopped_) AS s), present AS MATERIALIZED (SELECT p.* FROM UNNEST(present_) AS p),
    recent AS MATERIALIZED (SELECT r.* FROM UNNEST(present_ || done_ || gone_) AS r),
    /* The items that came lately, as far as the table knows. */
    came AS MATERIALIZED (
        SELECT c.*
        FROM UNNEST(present_ || gone_) AS c
        WHERE arrivals_ AND c.enqueued_at > now_ - interval '1 hour' AND c.enqueued_at <= now_ + interval '1 minute'
    ),
    measured AS MATERIALIZED (
        SELECT
            GREATEST(0, "readpast"."queue_ms_fn"(COALESCE(r.due_at, r.enqueued_at), r.started_at)) AS wait_ms,
            r.claimed_ms, r.type, r.started_at + r.claimed_ms * interval '1 millisecond' AS ended_at
        FROM recent AS r
        WHERE r.started_at IS NOT NULL AND r.claimed_ms IS NOT NULL AND "readpast"."queue_is_finished_fn"(r.status)
    ),
    problem AS MATERIALIZED (
        SELECT p.status, p.key, p.error AS detail
        FROM (
            SELECT w.status, w.key, w.type, w.error FROM waiting AS w WHERE w.status = 'Error'
            UNION ALL
            SELECT s.status, s.key, s.type, s.error FROM stopped AS s WHERE s.status = 'Failed'
            UNION ALL
            SELECT r.status, r.key, r.type, r.error FROM recent AS r WHERE stopped_ IS NULL AND r.status = 'Failed'
        ) AS p
        WHERE p.error IS NOT NULL AND (seen_ IS NULL OR p.type = ANY(seen_) OR '*' = ANY(seen_))
    ),
    figure AS (
        SELECT
            'count.' || s.status AS name, COALESCE(c.items, 0) AS value, COALESCE(c.capped, FALSE) AS capped, NULL::bigint AS ms,
            NULL::text AS detail, NULL::text AS key
        FROM "readpast"."queue_status" AS s
        LEFT JOIN (
            SELECT w.status, COUNT(*) AS items, more_ AS capped
            FROM waiting AS w
            WHERE w.status IN ('Pending', 'Error')
            GROUP BY w.status
            UNION ALL
            SELECT 'Processing', COUNT(*), flies_more_ FROM flying AS f WHERE f.status = 'Processing'
            UNION ALL
            SELECT s.status, COUNT(*), CARDINALITY(stopped_) > most_ FROM stopped AS s GROUP BY s.status
            UNION ALL
            SELECT r.status, COUNT(*), more_come_
            FROM present AS r
            WHERE r.status = 'Completed' OR (stopped_ IS NULL AND r.status NOT IN ('Pending', 'Error', 'Processing'))
            GROUP BY r.status
        ) AS c ON c.status = s.status
        UNION ALL
        SELECT 'due.count', COUNT(*), more_, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at <= now_, TRUE)
        UNION ALL
        SELECT 'due.within_hour', COUNT(*), more_, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND w.due_at > now_ AND w.due_at <= now_ + interval '1 hour'
        UNION ALL
        SELECT 'due.oldest_ms', MAX("readpast"."queue_ms_fn"(COALESCE(w.due_at, w.enqueued_at), now_)), more_, NULL, NULL, NULL
        FROM waiting AS w
        WHERE w.status IN ('Pending', 'Error') AND COALESCE(w.due_at, w.enqueued_at) <= now_
        UNION ALL
        SELECT 'lease.expired', COUNT(*), flies_more_, NULL, NULL, NULL
        FROM flying AS f
        WHERE f.status = 'Processing' AND f.lease_until <= now_
        UNION ALL
        SELECT 'claimed.count', COUNT(*), flies_more_, NULL, NULL, NULL
        FROM flying AS f
        WHERE f.status = 'Processing' AND COALESCE(f.lease_until > now_, TRUE)
        UNION ALL
        SELECT 'window.items', COUNT(*), more_come_, NULL, NULL, NULL FROM present
        UNION ALL
        SELECT 'ended.last_' || e.label, COUNT(d.ended_at), COUNT(d.ended_at) >= most_, MAX("readpast"."queue_ms_fn"(d.ended_at, now_)), NULL, NULL
        FROM (VALUES ('minute', interval '1 minute'), ('hour', interval '1 hour')) AS e (label, within)
        LEFT JOIN measured AS d ON d.ended_at > now_ - e.within
        WHERE ends_ OR e.label = 'minute'
        GROUP BY e.label
        UNION ALL
        SELECT
            'came.waiting', COUNT(*), more_,
            "readpast"."queue_ms_fn"(MIN(w.enqueued_at), CASE WHEN more_ THEN MAX(w.enqueued_at) ELSE now_ END), NULL, NULL
        FROM waiting AS w
        WHERE w.enqueued_at > '-infinity' AND w.enqueued_at <= now_
        UNION ALL
        SELECT 'type.waiting', COUNT(*), more_, NULL, w.type, NULL
        FROM waiting AS w
        WHERE by_type_ AND w.status IN ('Pending', 'Error')
        GROUP BY w.type
        UNION ALL
        SELECT 'type.due', COUNT(*), more_, MAX("readpast"."queue_ms_fn"(COALESCE(w.due_at, w.enqueued_at), now_)), w.type, NULL
        FROM waiting AS w
        WHERE by_type_ AND w.status IN ('Pending', 'Error') AND COALESCE(w.due_at <= now_, TRUE)
        GROUP BY w.type
        UNION ALL
        SELECT 'type.flying', COUNT(*), flies_more_, NULL, f.type, NULL
        FROM flying AS f
        WHERE by_type_ AND f.status = 'Processing'
        GROUP BY f.type
        UNION ALL
        SELECT
            'type.ended', COUNT(*), (SELECT COUNT(*) FROM measured) >= most_, MAX("readpast"."queue_ms_fn"(d.ended_at, now_)), d.type, NULL
        FROM measured AS d
        WHERE by_type_ AND ends_ AND d.ended_at > now_ - interval '1 hour'
        GROUP BY d.type
        UNION ALL
        SELECT 'type.claimed_mean_ms', ROUND(AVG(d.claimed_ms))::bigint, FALSE, NULL, d.type, NULL
        FROM measured AS d
        WHERE by_type_
        GROUP BY d.type
        UNION ALL
        SELECT 'type.arrivals', COUNT(*), more_come_, NULL, c.type, NULL FROM came AS c WHERE by_type_ GROUP BY c.type
        UNION ALL
        SELECT 'arrivals.last_hour', COUNT(*), COUNT(*) > most_, NULL, NULL, NULL FROM came AS c HAVING arrivals_
        UNION ALL
        SELECT 'came.last_hour', COUNT(*), COUNT(*) > most_, "readpast"."queue_ms_fn"(MIN(c.enqueued_at), now_), NULL, NULL
        FROM came AS c
        WHERE c.status <> 'Pending' OR COALESCE(c.due_at <= now_, TRUE)
        HAVING arrivals_
        UNION ALL
        SELECT t.name, t.value, FALSE, NULL, NULL, NULL
        FROM "readpast"."queue_times_fn"(ARRAY(SELECT d.wait_ms FROM measured AS d), ARRAY(SELECT d.claimed_ms FROM measured AS d)) AS t
        UNION ALL
        (
            SELECT 'worker', COUNT(*), FALSE, MAX("readpast"."queue_ms_fn"(f.started_at, now_)), f.owner, NULL
            FROM flying AS f
            WHERE f.status = 'Processing' AND (seen_ IS NULL OR f.type = ANY(seen_) OR '*' = ANY(seen_))
            GROUP BY f.owner
            ORDER BY COUNT(*) DESC, f.owner
            LIMIT 100
        )
        UNION ALL
        (
            SELECT 'refused', x.times, FALSE, "readpast"."queue_ms_fn"(now_, x.until), x.doing || ': ' || x.reason, x.key
            FROM "readpast"."queue_refused" AS x
            WHERE x.queue = queue_ AND x.doing <> 'pause' AND (seen_ IS NULL OR '*' = ANY(seen_))
            ORDER BY x.since
            LIMIT 50
        )
        UNION ALL
        SELECT
            'pause', (DATE_PART('epoch', z.since) * 1000000)::bigint, FALSE, (DATE_PART('epoch', z.until) * 1000000)::bigint,
            json_build_object('who', z.who, 'login', z.login, 'reason', z.reason)::text, z.type
        FROM "readpast"."queue_paused_v" AS z
        WHERE z.queue = queue_
        UNION ALL
        (
            SELECT 'error.' || p.status, COUNT(*), FALSE, NULL, p.detail, MAX(p.key)
            FROM problem AS p
            GROUP BY p.status, p.detail
            ORDER BY COUNT(*) DESC, p.detail
            LIMIT 50
        )
    )

    SELECT
        f.name,
        CASE WHEN f.capped AND f.name NOT IN ('due.oldest_ms', 'ended.last_minute', 'ended.last_hour') THEN LEAST(f.value, most_) ELSE f.value END,
        f.capped, f.ms, f.detail, f.key
    FROM figure AS f
    WHERE f.name NOT LIKE 'type.%' OR seen_ IS NULL OR f.detail = ANY(seen_) OR '*' = ANY(seen_);
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_watched"(
    text, integer, timestamptz, "readpast"."queue_look"[], "readpast"."queue_look"[], "readpast"."queue_look"[], "readpast"."queue_look"[],
    "readpast"."queue_look"[], "readpast"."queue_look"[], boolean, text[], boolean, boolean, boolean
) FROM public;

/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, which
only who writes the same does: what is written for it goes again. A call may be forgotten after an hour.
Table access order: queue_operation.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_is_done"(operation_ uuid)
RETURNS TABLE (answer text, done_at timestamptz)
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO "readpast"."queue_operation" (operation_id, call, at)
    VALUES (operation_, '', clock_timestamp())
    ON CONFLICT (operation_id) DO NOTHING;
    IF FOUND THEN
        DELETE FROM "readpast"."queue_operation" AS p
        WHERE p.operation_id = operation_;
        RETURN QUERY
        SELECT 'NOT_FOUND', NULL::timestamptz;
    ELSE
        RETURN QUERY
        SELECT 'OK', p.at
        FROM "readpast"."queue_operation" AS p
        WHERE p.operation_id = operation_;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_is_done"(uuid) FROM public;

/*
Records an action of an operator and returns its number: one that has ended or, with the state Running, one on many items, which
its caller or another process runs by queue_action_step. Records of actions that ended 90 days ago go, a few with each call.
Table access order: queue_action.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_action_note"(
    queue_ text, verb_ text, who_ text, filter_ text, state_ text, expected_ bigint, done_ bigint, refused_ bigint, result_ text
) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    number_ bigint;
BEGIN
    IF state_ NOT IN ('Running', 'Done', 'Failed') THEN
        RAISE EXCEPTION 'queue_action_note: state_ must be Running, Done or Failed' USING ERRCODE = 'RP021';
    END IF;
    IF state_ = 'Running' THEN
        IF NOT COALESCE(
            HAS_FUNCTION_PRIVILEGE(
                session_user, TO_REGPROCEDURE('"readpast".' || QUOTE_IDENT('redrive_' || queue_ || '_set_trx') || '(uuid, json)'), 'EXECUTE'
            ), FALSE
        )
        THEN
            RAISE EXCEPTION 'queue_action_note: permission denied: this login may not redrive items of %', queue_ USING ERRCODE = 'RP015';
        END IF;
    END IF;

    DELETE FROM "readpast"."queue_action" AS a
    WHERE
        a.action_id IN (
            SELECT o.action_id FROM "readpast"."queue_action" AS o
            WHERE o.ended_at < now_ - interval '90 days'
            ORDER BY o.ended_at
            LIMIT 100
            FOR UPDATE SKIP LOCKED
        );

    INSERT INTO "readpast"."queue_action" AS a (
        queue, verb, who, login, filter, state, begun_at, ended_at, lease_until, expected, done, refused, result
    )
    VALUES (
        queue_, verb_, LEFT(who_, 200), session_user, filter_, state_, now_, CASE WHEN state_ <> 'Running' THEN now_ END,
        /* Its caller comes first. */
        CASE WHEN state_ = 'Running' THEN now_ + interval '10 seconds' END, expected_, done_, refused_, LEFT(result_, 4000)
    )
    RETURNING a.action_id INTO number_;
    RETURN number_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_action_note"(text, text, text, text, text, bigint, bigint, bigint, text) FROM public;

/*
Moves an action on many items on: adds what its holder has done since the last call, keeps the place, extends the lease, and ends the
action with state_ Done, Cancelled or Failed. The first call takes an action that nobody holds. Without an owner_ it asks for a cancel,
which the holder learns by the answer; an action that nobody holds is Cancelled at once. Items on their way to another place are in the
filter of their record (rebalance), so it cannot be cancelled, and its end forgets them. Returns the state, or NULL where the action
has ended or another process holds it.
Table access order: queue_action.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_action_step"(
    action_id_ bigint, owner_ text, lease_ms_ integer, done_ bigint, refused_ bigint, place_ text, state_ text, result_ text
) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    queue_ text;
    found_ text;
BEGIN
    IF state_ NOT IN ('Done', 'Cancelled', 'Failed') THEN
        RAISE EXCEPTION 'queue_action_step: state_ must be Done, Cancelled or Failed' USING ERRCODE = 'RP021';
    END IF;
    IF (state_ IS NOT NULL AND owner_ IS NULL) OR (owner_ IS NOT NULL AND lease_ms_ IS NULL) THEN
        RAISE EXCEPTION 'queue_action_step: state_ needs an owner_, and that a lease_ms_' USING ERRCODE = 'RP021';
    END IF;
    SELECT a.queue INTO queue_ FROM "readpast"."queue_action" AS a WHERE a.action_id = action_id_;
    IF NOT COALESCE(
        HAS_FUNCTION_PRIVILEGE(
            session_user, TO_REGPROCEDURE('"readpast".' || QUOTE_IDENT('redrive_' || queue_ || '_set_trx') || '(uuid, json)'), 'EXECUTE'
        ), FALSE
    )
    THEN
        RAISE EXCEPTION 'queue_action_step: permission denied: this login may not redrive items of %', queue_ USING ERRCODE = 'RP015';
    END IF;

    UPDATE "readpast"."queue_action" AS a
    SET
        state = COALESCE(
            state_,
            CASE
                WHEN owner_ IS NOT NULL THEN a.state
                WHEN a.owner IS NOT NULL AND a.lease_until > now_ THEN 'Cancelling'
                ELSE 'Cancelled'
            END
        ),
        filter = CASE WHEN a.verb <> 'rebalance' OR state_ IS DISTINCT FROM 'Done' THEN a.filter END,
        done = a.done + COALESCE(done_, 0), refused = a.refused + COALESCE(refused_, 0), place = COALESCE(place_, a.place),
        result = COALESCE(LEFT(result_, 4000), a.result), owner = COALESCE(owner_, a.owner),
        lease_until = CASE WHEN owner_ IS NULL THEN a.lease_until ELSE now_ + lease_ms_ * interval '1 ms' END,
        ended_at = CASE
            WHEN state_ IS NOT NULL OR (owner_ IS NULL AND (a.owner IS NOT NULL AND a.lease_until > now_) IS NOT TRUE) THEN now_
        END
    WHERE
        a.action_id = action_id_ AND a.ended_at IS NULL
        AND (owner_ IS NULL OR a.owner = owner_ OR a.owner IS NULL OR (a.lease_until > now_) IS NOT TRUE)
        AND (owner_ IS NOT NULL OR a.verb <> 'rebalance')
    RETURNING a.state INTO found_;
    RETURN found_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_action_step"(bigint, text, integer, bigint, bigint, text, text, text) FROM public;

/*
A process reports its workers, {"queue", "worker", "grace"} in workers_: when one begins and then every half minute, those of all its
queues at once. Another process of the same name begins anew. Rows of workers that have not reported for a week go when another begins.
With a grace in milliseconds, sessions of the worker hold its lock (queue_lifeline_take); with 0 they do not. It counts only for queues from which
the login may claim: it has the items of a worker taken whose lock is free.
Table access order: queue_lifeline, queue_worker.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_workers_seen"(workers_ json, host_ text, process_ bigint, version_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    known_ integer;
BEGIN
    DELETE FROM "readpast"."queue_lifeline" AS f
    USING JSON_TO_RECORDSET(workers_) AS r (queue text, worker text, grace integer)
    WHERE
        f.queue = r.queue AND f.worker = r.worker AND r.grace = 0
        AND has_function_privilege(session_user, TO_REGPROC(format('%s.%I', '"readpast"', 'next_' || r.queue || '_set_trx')), 'EXECUTE');
    INSERT INTO "readpast"."queue_lifeline" AS f (queue, worker, grace_ms, server_began)
    SELECT r.queue, r.worker, r.grace, pg_postmaster_start_time()
    FROM JSON_TO_RECORDSET(workers_) AS r (queue text, worker text, grace integer)
    WHERE
        r.grace > 0
        AND has_function_privilege(session_user, TO_REGPROC(format('%s.%I', '"readpast"', 'next_' || r.queue || '_set_trx')), 'EXECUTE')
        AND NOT EXISTS (
            SELECT 1
            FROM "readpast"."queue_lifeline" AS k
            WHERE k.queue = r.queue AND k.worker = r.worker AND k.grace_ms = r.grace AND k.server_began = pg_postmaster_start_time()
        )
    ORDER BY r.queue, r.worker
    ON CONFLICT (queue, worker) DO UPDATE
    SET grace_ms = excluded.grace_ms, server_began = excluded.server_began, free_since = NULL;

    UPDATE "readpast"."queue_worker" AS w
    SET seen_at = now_
    FROM JSON_TO_RECORDSET(workers_) AS r (queue text, worker text)
    WHERE w.queue = r.queue AND w.worker = r.worker AND w.host = host_ AND w.process = process_ AND w.version = version_;
    GET DIAGNOSTICS known_ = ROW_COUNT;
    IF known_ = JSON_ARRAY_LENGTH(workers_) THEN RETURN;
    END IF;

    DELETE FROM "readpast"."queue_worker" AS w
    USING (
        SELECT o.queue, o.worker FROM "readpast"."queue_worker" AS o
        WHERE o.queue IN (SELECT r.queue FROM JSON_TO_RECORDSET(workers_) AS r (queue text)) AND o.seen_at < now_ - interval '7 days'
        LIMIT 1000
        FOR UPDATE SKIP LOCKED
    ) AS d
    WHERE w.queue = d.queue AND w.worker = d.worker;
    DELETE FROM "readpast"."queue_lifeline" AS f
    WHERE
        f.queue IN (SELECT r.queue FROM JSON_TO_RECORDSET(workers_) AS r (queue text)) AND f.server_began <> pg_postmaster_start_time()
        AND NOT EXISTS (SELECT 1 FROM "readpast"."queue_worker" AS w WHERE w.queue = f.queue AND w.worker = f.worker);

    INSERT INTO "readpast"."queue_worker" AS w (queue, worker, host, process, version, started_at, seen_at)
    SELECT DISTINCT r.queue, r.worker, host_, process_, version_, now_, now_
    FROM JSON_TO_RECORDSET(workers_) AS r (queue text, worker text)
    WHERE NOT EXISTS (
        SELECT 1 FROM "readpast"."queue_worker" AS k
        WHERE k.queue = r.queue AND k.worker = r.worker AND k.host = host_ AND k.process = process_ AND k.version = version_
    )
    ORDER BY r.queue, r.worker
    ON CONFLICT (queue, worker) DO UPDATE
    SET host = excluded.host, process = excluded.process, version = excluded.version, started_at = now_, seen_at = now_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_workers_seen"(json, text, bigint, text) FROM public;

/*
Keeps figures as those of this minute, where no other process has: minutes_ is a JSON array of objects with a queue's name and its figures.
One without figures asks whether no process keeps them. A row for each that was kept, or is to be: its place in minutes_. Minutes before
yesterday go.
Table access order: queue_minute.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_minute_keep"(minutes_ json) RETURNS TABLE (place integer)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at_ CONSTANT timestamptz := DATE_TRUNC('minute', clock_timestamp());
BEGIN
    RETURN QUERY
    WITH given AS MATERIALIZED (
        SELECT i.*
        FROM ROWS FROM (
            JSON_TO_RECORDSET(minutes_) AS (queue text, due bigint, oldest_ms bigint, in_flight bigint, failed bigint, ended bigint)
        ) WITH ORDINALITY AS i (queue, due, oldest_ms, in_flight, failed, ended, position)
    ),

    kept AS (
        INSERT INTO "readpast"."queue_minute" AS m (queue, at, due, oldest_ms, in_flight, failed, ended)
        SELECT i.queue, at_, i.due, i.oldest_ms, i.in_flight, i.failed, i.ended
        FROM given AS i
        WHERE i.due IS NOT NULL
        ORDER BY i.queue
        ON CONFLICT (queue, at) DO NOTHING
        RETURNING m.queue
    ),

    past AS (
        DELETE FROM "readpast"."queue_minute" AS m
        USING kept AS k
        WHERE m.queue = k.queue AND m.at < at_ - interval '25 hours'
    )

    SELECT (i.position - 1)::integer
    FROM given AS i
    LEFT JOIN kept AS k ON k.queue = i.queue
    WHERE
        k.queue IS NOT NULL
        OR i.due IS NULL
        AND NOT EXISTS (SELECT 1 FROM "readpast"."queue_minute" AS m WHERE m.queue = i.queue AND m.at > at_ - interval '150 seconds');
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_minute_keep"(json) FROM public;

/*
Pauses a queue, or with type_ one type of it: nothing of it is claimed until it is resumed, or for_ms_ are over, or until_ is; items
that are added meanwhile wait too, and what is in work goes on. A pause that is there gets the new end and reason, and keeps since when
it is. Returns the end; NULL: there is none. Claims that are under way may still take items.
Table access order: queue_pause, queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_pause_begin"(
    queue_ text, type_ text, until_ timestamptz, for_ms_ bigint, who_ text, reason_ text
) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    end_ CONSTANT timestamptz := COALESCE(until_, now_ + for_ms_ * interval '1 millisecond');
BEGIN
    IF NOT COALESCE(
        HAS_FUNCTION_PRIVILEGE(
            session_user, TO_REGPROCEDURE('"readpast".' || QUOTE_IDENT('redrive_' || queue_ || '_set_trx') || '(uuid, json)'), 'EXECUTE'
        ), FALSE
    )
    THEN
        RAISE EXCEPTION 'queue_pause_begin: permission denied: this login may not redrive items of %', queue_ USING ERRCODE = 'RP015';
    END IF;
    IF COALESCE(who_, '') = '' OR NOT isfinite(COALESCE(end_, now_)) OR end_ <= now_ OR LENGTH(type_) > 400 THEN
        RAISE EXCEPTION 'queue_pause_begin: %', CASE
            WHEN COALESCE(who_, '') = '' THEN 'who_ is empty'
            WHEN LENGTH(type_) > 400 THEN 'type_ is longer than 400 characters'
            ELSE 'the pause must end in the future'
        END
        USING ERRCODE = 'RP021';
    END IF;
    /* Those that are over; a pause of the same kind begins anew. */
    DELETE FROM "readpast"."queue_pause" AS p WHERE p.queue = queue_ AND p.until <= now_;
    DELETE FROM "readpast"."queue_refused" AS x WHERE x.queue = queue_ AND x.doing = 'pause' AND x.until <= now_;
    INSERT INTO "readpast"."queue_pause" AS p (queue, type, since, until, who, login, reason)
    VALUES (queue_, COALESCE(type_, ''), now_, end_, LEFT(who_, 200), session_user, NULLIF(LEFT(reason_, 400), ''))
    ON CONFLICT (queue, type) DO UPDATE
    SET until = excluded.until, who = excluded.who, login = excluded.login, reason = excluded.reason;
    /* Claims look here anyhow, so that a queue without pauses pays nothing for them. */
    INSERT INTO "readpast"."queue_refused" AS x (queue, key, doing, reason, times, attempts, since, until)
    VALUES (queue_, CHR(1) || COALESCE(type_, ''), 'pause', '', 0, 0, now_, COALESCE(end_, 'infinity'))
    ON CONFLICT (queue, key) DO UPDATE
    SET until = excluded.until;
    RETURN end_;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_pause_begin"(text, text, timestamptz, bigint, text, text) FROM public;

/*
Resumes a queue, or with type_ one type of it, and wakes those who sleep over it: the pauses of the queue and of each type are ended
one by one. Returns whether there was such a pause.
Table access order: queue_pause, queue_refused, queue_sleeper.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_pause_end"(queue_ text, type_ text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    until_ timestamptz;
BEGIN
    IF NOT COALESCE(
        HAS_FUNCTION_PRIVILEGE(
            session_user, TO_REGPROCEDURE('"readpast".' || QUOTE_IDENT('redrive_' || queue_ || '_set_trx') || '(uuid, json)'), 'EXECUTE'
        ), FALSE
    )
    THEN
        RAISE EXCEPTION 'queue_pause_end: permission denied: this login may not redrive items of %', queue_ USING ERRCODE = 'RP015';
    END IF;
    DELETE FROM "readpast"."queue_pause" AS p
    WHERE p.queue = queue_ AND p.type = COALESCE(type_, '')
    RETURNING COALESCE(p.until, 'infinity') INTO until_;
    DELETE FROM "readpast"."queue_refused" AS x WHERE x.queue = queue_ AND x.key = CHR(1) || COALESCE(type_, '');
    IF until_ IS NULL THEN RETURN FALSE;
    END IF;
    PERFORM "readpast"."queue_ring"(s.queue)
    FROM (SELECT r.queue FROM "readpast"."queue_sleeper" AS r WHERE r.queue = queue_) AS s;
    RETURN until_ > clock_timestamp();
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."queue_pause_end"(text, text) FROM public;

/* job: the items. A row is both a domain record and a work item. */
DO $$
BEGIN
    IF TO_REGTYPE('"readpast"."job_type"') IS NULL THEN
        CREATE DOMAIN "readpast"."job_type" AS text;
    END IF;
END;
$$;

/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
ALTER DOMAIN "readpast"."job_type" DROP CONSTRAINT IF EXISTS job_is_discriminated;

ALTER DOMAIN "readpast"."job_type" ADD CONSTRAINT job_is_discriminated CHECK (VALUE IN ('A', 'B')) NOT VALID;

/* Items are numbered so that two of them enqueued within one tick of the clock get different keys. */
CREATE SEQUENCE IF NOT EXISTS "readpast"."job_seq" AS bigint CACHE 1;

CREATE TABLE IF NOT EXISTS "readpast"."job" (
    enqueued_at timestamptz NOT NULL, type "readpast"."job_type" NOT NULL, status "readpast"."queue_state" NOT NULL,
    step text NULL, attempt_num integer NOT NULL, response text NULL DEFAULT '', error text NULL DEFAULT '',
    started_at timestamptz NULL, duration bigint NULL, scheduled_for timestamptz NOT NULL,
    updated_at timestamptz NOT NULL, lease_owner text NULL, lease_until timestamptz NULL,
    /* The claim that took it, for a caller that lost its answer. Below zero: it goes alone. */
    claim_num bigint NULL, "Customer" varchar(40) NULL, "Rank" integer NOT NULL, "Reference" uuid NULL,
    CONSTRAINT job_pk PRIMARY KEY (enqueued_at)
)
/* Room on each page keeps renewals on it; finished versions are cleared before they slow the claim down. */
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

/* A table of an earlier state has no place yet for the number of a claim. */
DO $$
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = '"readpast"."job"'::regclass AND a.attname = 'claim_num' AND NOT a.attisdropped
    )
    THEN
        ALTER TABLE "readpast"."job" ADD COLUMN claim_num bigint NULL;
    END IF;
END;
$$;

/*
The claim seeks here in the order it takes. What is finished or in flight is not in it, so it stays as small as the
backlog.
*/
CREATE INDEX IF NOT EXISTS job_due ON "readpast"."job" (scheduled_for, enqueued_at)
WHERE status IN ('Pending', 'Error');

/* Recovery walks the items in flight, oldest claim first. The lease is in no index: a renewal moves no index row. */
CREATE INDEX IF NOT EXISTS job_in_flight ON "readpast"."job" (started_at)
WHERE status = 'Processing';

/* Items that somebody may look for, or take up again: without it each look would read all that is completed. */
CREATE INDEX IF NOT EXISTS job_ended ON "readpast"."job" (enqueued_at)
WHERE status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted');

/* Citus makes a sequence on its other nodes as the default of a column; it stays when the default goes. */
DO $$
DECLARE
    sequence_ text;
BEGIN
    IF current_setting('readpast.is_sharded', TRUE) = 'on' THEN
        FOREACH sequence_ IN ARRAY ARRAY['"readpast"."job_seq"']
        LOOP
            IF NOT EXISTS (
                SELECT 1
                FROM pg_catalog.pg_dist_object AS o
                WHERE o.classid = 'pg_catalog.pg_class'::regclass AND o.objid = sequence_::regclass
            )
            THEN
                EXECUTE 'ALTER TABLE "readpast"."job" ALTER COLUMN claim_num SET DEFAULT nextval(' || quote_literal(sequence_) || ')';
                ALTER TABLE "readpast"."job" ALTER COLUMN claim_num DROP DEFAULT;
            END IF;
        END LOOP;
    END IF;
END;
$$;

/* When the items of its dead workers were last looked for. */
INSERT INTO "readpast"."queue_recovery" (queue, recovered_at) VALUES ('job', '-infinity')
ON CONFLICT DO NOTHING;

/* All that a worker may see of job. */
CREATE OR REPLACE VIEW "readpast"."worker_job_v" AS
SELECT
    q.enqueued_at AS enqueued_at, q.type::text AS type, q.status::text AS status, q.step AS step, q.attempt_num AS attempt_num,
    q.response AS response, q.error AS error, q.started_at AS started_at, q.duration AS duration, q.scheduled_for AS scheduled_for,
    q.updated_at AS updated_at, q.lease_owner AS lease_owner, q.lease_until AS lease_until, q."Customer" AS "Customer", q."Rank" AS "Rank",
    q."Reference" AS "Reference"
FROM "readpast"."job" AS q;

/*
Enqueue many items in one call that can be repeated: asked again with the same operation_, the same keys come again and
nothing is added.
items_ is a JSON array of objects: columns (an object of the queue's own columns) and, where wanted, type, step,
due (UTC) or delay_ms.
One row per element: its position, key and token. checked_by_ is the library's: the number of the description that it has
checked the items by, which spares the check where that is the one installed.
Table access order: queue_operation, job; queue_sleeper, passing over what others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_job_set_trx"(operation_ uuid, items_ json, checked_by_ text DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    /* The library has checked its items. */
    IF
        checked_by_ IS DISTINCT FROM '8cf297c2-8189-5a77-888f-63aec7c506b3'
        OR (CASE json_typeof(items_) WHEN 'array' THEN json_array_length(items_) > 1000 ELSE TRUE END)
    THEN
        items_ := "readpast"."queue_taken_fn"('add_job_set_trx', items_, '{
            "type": ["A","B"], "step": "text(60)", "due": "timestamp",
            "delay_ms": "milliseconds (from 0 to 2147483647000)",
            "columns": {
                "Customer": "text(40)", "Rank": "integer not null", "Reference": "guid"
            }
        }');
    END IF;
    FOR attempt_ IN 1..5 LOOP
        BEGIN
            RETURN QUERY
    /*
    The key is a time, and two items may be enqueued within one tick of the clock. So the key is the time on a grid of
    10 ms plus the item's number in microseconds, modulo 10,000 for the first item of the call: 10,000 items in
    succession have different keys, and the keys of one call ascend with its numbers.
    */
    WITH numbered AS MATERIALIZED (
        SELECT
            (i.position - 1)::integer AS ordinal, nextval('"readpast"."job_seq"') AS number,
            COALESCE("readpast"."queue_finite_fn"(i.due), now_ + i.delay_ms * interval '1 millisecond', now_) AS scheduled_for,
            COALESCE(i.type, 'A') AS type, i.step, i.columns
        FROM
            ROWS FROM (
                json_to_recordset(items_) AS (type text, step text, due timestamptz, delay_ms bigint, columns json)
            ) WITH ORDINALITY AS i (type, step, due, delay_ms, columns, position)
    ),
    keyed AS MATERIALIZED (
        SELECT
            n.ordinal, date_bin('10 milliseconds', now_, timestamptz 'epoch')
            + (n.number - f.number + f.number % 10000) * interval '1 microsecond' AS key, n.scheduled_for, n.type, n.step, n.columns
        FROM numbered AS n
        CROSS JOIN (SELECT MIN(m.number) AS number FROM numbered AS m) AS f
    ),
    /* Written once, with its answers. Another attempt of the same call that is under way is waited for, before anything is added. */
    remembered AS (
        INSERT INTO "readpast"."queue_operation" (operation_id, call, at, result)
        SELECT operation_, 'add_job_set_trx', now_, json_agg(k.key ORDER BY k.ordinal)
        FROM keyed AS k
        HAVING operation_ IS NOT NULL
        ON CONFLICT (operation_id) DO NOTHING
        RETURNING 1 AS one
    ),
    item AS MATERIALIZED (
        SELECT k.*
        FROM keyed AS k
        WHERE operation_ IS NULL OR EXISTS (SELECT 1 FROM remembered)
    ),
    added AS (
        INSERT INTO "readpast"."job" (
            enqueued_at, type, status, step, attempt_num, scheduled_for, updated_at, "Customer", "Rank", "Reference"
        )
        SELECT i.key, i.type, 'Pending', i.step, 0, i.scheduled_for, now_, c."Customer", c."Rank", c."Reference"
        FROM item AS i
        CROSS JOIN LATERAL json_to_record(COALESCE(i.columns, '{}')) AS c ("Customer" varchar(40), "Rank" integer, "Reference" uuid)
        RETURNING 1 AS one
    )

            SELECT 'OK', i.ordinal, NULL::bigint, i.key, now_, 0, 'Pending'
            FROM item AS i
            /* Counted, so that nothing is returned before all of them are in. */
            CROSS JOIN (SELECT COUNT(*) FROM added) AS a
            ORDER BY i.ordinal;
            IF FOUND THEN
                IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
                    PERFORM "readpast"."queue_clear"(operation_, now_);
                END IF;
                PERFORM "readpast"."queue_ring"('job')
                WHERE EXISTS (SELECT 1 FROM "readpast"."queue_sleeper" AS z WHERE z.queue = 'job');
                RETURN;
            END IF;
            IF operation_ IS NULL THEN RETURN;
            END IF;
            /* It was made before; or its identity has been cleared away since, and another try makes it. */
            PERFORM FROM "readpast"."queue_operation" AS p WHERE p.operation_id = operation_ AND p.call <> 'add_job_set_trx';
            IF FOUND THEN
                RAISE EXCEPTION 'add_job_set_trx: the operation % was another call', operation_ USING ERRCODE = 'RP021';
            END IF;
            PERFORM FROM "readpast"."queue_operation" AS p WHERE p.operation_id = operation_;
            CONTINUE WHEN NOT FOUND;
            RETURN QUERY
            SELECT 'OK', (r.position - 1)::integer, NULL::bigint, r.key, p.at, 0, 'Pending'
            FROM "readpast"."queue_operation" AS p
            CROSS JOIN LATERAL (
                SELECT e.value::timestamptz AS key, e.ordinality AS position
                FROM json_array_elements_text(p.result) WITH ORDINALITY AS e (value, ordinality)
            ) AS r
            WHERE p.operation_id = operation_
            ORDER BY r.position;
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            /* A key was taken (the clock was set back): the sequence has moved on, so the next keys differ. */
            IF attempt_ = 5 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_job_set_trx"(uuid, json, text) FROM public;

/*
add_job_set_trx by the name that says that the call is a part of the caller's transaction, as every call here is: the items
are there when that commits, together with its other work.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_job_set_utx"(items_ json, operation_ uuid DEFAULT NULL, checked_by_ text DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT a.*
    FROM "readpast"."add_job_set_trx"(operation_, items_, checked_by_) AS a;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_job_set_utx"(json, uuid, text) FROM public;

/*
Enqueue one item, with the caller's other work. Returns its key and its concurrency token.
Table access order: job; queue_sleeper, passing over what others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_job_utx"(
    type_ text DEFAULT 'A', "Customer_" varchar(40) DEFAULT NULL, "Rank_" integer DEFAULT NULL, "Reference_" uuid DEFAULT NULL,
    scheduled_for_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    /*
    An item that fits goes in at once. The function for many names what is wrong with any other; it also finds another key where
    this one is taken.
    */
    IF
        (type_ IN ('A', 'B')) IS NOT FALSE AND (char_length(step_) <= 60) IS NOT FALSE
        AND (scheduled_for_ BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999') IS NOT FALSE
        AND (char_length("Customer_") <= 40) IS NOT FALSE AND "Rank_" IS NOT NULL
    THEN
        RETURN QUERY
        INSERT INTO "readpast"."job" AS q (
            enqueued_at, type, status, step, attempt_num, scheduled_for, updated_at, "Customer", "Rank", "Reference"
        )
        VALUES (
            date_bin('10 milliseconds', now_, timestamptz 'epoch')
            + nextval('"readpast"."job_seq"') % 10000 * interval '1 microsecond', COALESCE(type_, 'A'), 'Pending', step_, 0,
            COALESCE(scheduled_for_, now_), now_, "Customer_", "Rank_", "Reference_"
        )
        ON CONFLICT (enqueued_at) DO NOTHING
        RETURNING q.enqueued_at, q.updated_at;
        IF FOUND THEN
            PERFORM "readpast"."queue_ring"('job')
            WHERE EXISTS (SELECT 1 FROM "readpast"."queue_sleeper" AS z WHERE z.queue = 'job');
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
    SELECT a.answer_key, a.answer_token
    FROM "readpast"."add_job_set_trx"(
        NULL, json_build_array(json_build_object(
            'type', type_, 'due', scheduled_for_, 'step', step_,
            'columns', json_build_object('Customer', "Customer_", 'Rank', "Rank_", 'Reference', "Reference_")
        ))
    ) AS a;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_job_utx"(text, varchar(40), integer, uuid, timestamptz, text) FROM public;

/*
Enqueue one item. Returns its key and its concurrency token.
Table access order: job; queue_sleeper, passing over what others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."add_job_trx"(
    type_ text DEFAULT 'A', "Customer_" varchar(40) DEFAULT NULL, "Rank_" integer DEFAULT NULL, "Reference_" uuid DEFAULT NULL,
    scheduled_for_ timestamptz DEFAULT NULL, step_ text DEFAULT NULL
)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT a.*
    FROM "readpast"."add_job_utx"(type_, "Customer_", "Rank_", "Reference_", scheduled_for_, step_) AS a;
$$;

REVOKE ALL ON FUNCTION "readpast"."add_job_trx"(text, varchar(40), integer, uuid, timestamptz, text) FROM public;

/*
Give the items of dead workers back (Error, due at once), or to Failed when their attempts are spent: those whose leases ran out,
and those of a worker whose lock has been free for its grace (queue_lifeline). One row per item,
with the answer RECOVERED and the status it has now. An item that its worker had claimed together with others gets its
attempt back, since nobody knows which of them was begun; whatever comes back is claimed alone next. The items of one
claim come back together: more than max_ of them, if need be. With worker_, everything that is in flight under this name
counts, whatever its lease. With recover_ above 2, nothing is done when somebody did it within
so many milliseconds.
Claims do this too, so a queue with workers needs no other reaper.
Table access order: queue_recovery, queue_lifeline, job.
*/
CREATE OR REPLACE FUNCTION "readpast"."recover_job_trx"(max_ integer DEFAULT 100, worker_ text DEFAULT NULL, recover_ integer DEFAULT 1)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    max_attempts_ integer;
    found_ integer;
    dead_ text;
    key_1_ timestamptz[];
    together_ boolean[];
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
    /* The answers. */
    more_ json[];
    answers_ json[];
BEGIN
    max_attempts_ := "readpast"."queue_terms"('recover_job_trx', most => max_, param_ => 'job.maxAttempts', otherwise => 3);
    IF recover_ > 2 AND NOT "readpast"."queue_recovery_turn"('job', recover_, now_) THEN RETURN;
    END IF;
    dead_ := "readpast"."queue_lifeline_seize"('job', now_);
    /*
    The oldest claims first, each with all that is left of it: a chunk must not split one. Rows that others hold are passed
    over: they may be many, and the rest is behind them.
    */
    WITH dead AS MATERIALIZED (
        SELECT DISTINCT
            c.started_at, c.owner
        FROM (
            SELECT q.started_at AS started_at, q.lease_owner AS owner
            FROM "readpast"."job" AS q
            WHERE
                q.status = 'Processing' AND (q.lease_until <= now_ OR q.lease_owner IN (dead_, worker_))
                AND NOT EXISTS (
                    SELECT 1
                    FROM "readpast"."queue_refused" AS x
                    WHERE x.queue = 'job' AND x.key = "readpast"."queue_key_fn"(q.enqueued_at) AND x.until > now_
                )
            ORDER BY q.started_at
            LIMIT max_
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS c
    ),
    remains AS MATERIALIZED (
        SELECT v.key_1
        FROM dead AS d
        CROSS JOIN LATERAL (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."job" AS q
            WHERE
                q.status = 'Processing' AND q.started_at BETWEEN d.started_at AND d.started_at AND q.lease_owner = d.owner
                AND (q.lease_until <= now_ OR q.lease_owner IN (dead_, worker_))
                AND NOT EXISTS (
                    SELECT 1
                    FROM "readpast"."queue_refused" AS x
                    WHERE x.queue = 'job' AND x.key = "readpast"."queue_key_fn"(q.enqueued_at) AND x.until > now_
                )
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS v
    )
    SELECT ARRAY_AGG(v.key_1)
    INTO key_1_
    FROM remains AS v;
    found_ := COALESCE(CARDINALITY(key_1_), 0);
    IF found_ >= max_ OR dead_ IS NOT NULL THEN PERFORM "readpast"."queue_recovery_goes_on"('job', CASE WHEN found_ < max_ THEN dead_ END);
    END IF;
    IF key_1_ IS NULL THEN RETURN;
    END IF;

    /*
    Items that were claimed together: nobody knows which was begun. Asked of all and not of what is locked here: another
    recovery may have the rest of them in hands.
    */
    SELECT
        ARRAY_AGG(
            EXISTS (
                SELECT 1
                FROM "readpast"."job" AS q
                CROSS JOIN LATERAL (
                    /* With a limit, so that no plan reads all that is in flight. */
                    SELECT 1
                    FROM "readpast"."job" AS o
                    WHERE
                        o.status = 'Processing' AND o.started_at BETWEEN q.started_at AND q.started_at AND o.lease_owner = q.lease_owner
                        AND (o.enqueued_at) <> (q.enqueued_at)
                    LIMIT 1
                ) AS o
                WHERE q.enqueued_at BETWEEN k.key_1 AND k.key_1
            )
            ORDER BY k.position
        )
    INTO together_
    FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position);

    from_ := 1;
    to_ := CARDINALITY(key_1_);
    WHILE from_ <= to_ LOOP
        refused_ := FALSE;
        BEGIN
            WITH expired AS MATERIALIZED (
                SELECT
                    k.key_1, v.*, together_[from_ - 1 + k.position::integer] AS together, COALESCE(x.attempts, 0) AS refusals,
                    x.reason AS refused
                FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                INNER JOIN LATERAL (
                    SELECT
                        q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner,
                        q.lease_until AS item_lease_until
                    FROM "readpast"."job" AS q
                    WHERE q.enqueued_at = k.key_1
                    FOR NO KEY UPDATE
                ) AS v ON TRUE
                LEFT JOIN "readpast"."queue_refused" AS x ON x.queue = 'job' AND x.key = "readpast"."queue_key_fn"(k.key_1)
            ),
            decided AS MATERIALIZED (
                SELECT
                    v.key_1, 'OK' AS answer, CASE WHEN e.ends THEN 'Failed' ELSE 'Error' END AS status,
                    GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
                    v.item_attempt - v.together::integer AS attempt_num,
                    "readpast"."queue_died_fn"(
                        v.item_owner, worker_, dead_, v.item_attempt, max_attempts_, v.together, CASE WHEN e.ends THEN v.refusals END, v.refused
                    ) AS error,
                    e.ends AS finishes, FALSE AS enters,
                    /* A lease that is over, on an item that waits, is the mark of one that came back from a dead worker. */
                    CASE WHEN NOT e.ends THEN LEAST(v.item_lease_until, now_) END AS lease_until
                FROM expired AS v
                CROSS JOIN LATERAL (SELECT NOT v.together AND v.item_attempt + v.refusals >= max_attempts_ AS ends) AS e
            ),

            /* An item that a trigger of the table keeps from changing counts as not changed. */
            changed AS (
                UPDATE "readpast"."job" AS q
                SET
                    status = d.status, updated_at = d.token,
                    duration = CASE WHEN d.finishes THEN "readpast"."queue_ms_fn"(q.started_at, now_) ELSE q.duration END,
                    attempt_num = d.attempt_num, lease_until = d.lease_until, error = COALESCE(d.error, q.error)
                FROM decided AS d
                /* They are locked, and decided upon: the key is enough. */
                WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK'
                RETURNING d.key_1 AS key_1_, d.token AS token_, d.attempt_num AS attempt_num_, d.answer AS answer_, d.status AS status_
            )

            SELECT
                ARRAY_AGG(
                    json_build_object('key', c.key_1_, 'token', c.token_, 'attempt', c.attempt_num_, 'status', c.status_)
                    ORDER BY c.key_1_
                ),
                COALESCE(ARRAY_AGG("readpast"."queue_key_fn"(c.key_1_)), '{}')
            INTO more_, done_
            FROM changed AS c;
            answers_ := answers_ || more_;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS state_ = RETURNED_SQLSTATE, reason_ = MESSAGE_TEXT, constraint_ = CONSTRAINT_NAME;
            IF NOT "readpast"."queue_is_refusal_fn"(state_) THEN
                RAISE;
            END IF;
            refused_ := TRUE;
        END;
        IF refused_ AND to_ > from_ THEN
            to_ := (from_ + to_) / 2;
            CONTINUE;
        ELSIF refused_ THEN
            answer := 'REFUSED';
            answer_key := (SELECT k.key_1 FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position));
            answer_status := 'recover: ' || reason_;
            answer_attempt := "readpast"."queue_note_refusal"(
                'job', (SELECT "readpast"."queue_key_fn"(k.key_1) FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)),
                'recover', state_, reason_, constraint_
            );
            RETURN NEXT;
        ELSE
            DELETE FROM "readpast"."queue_refused" AS x
            WHERE x.queue = 'job' AND x.key = ANY(done_);
        END IF;
        from_ := to_ + 1;
        to_ := CARDINALITY(key_1_);
    END LOOP;

    RETURN QUERY
    SELECT 'RECOVERED', NULL::integer, NULL::bigint, r.key, r.token, r.attempt, r.status
    FROM UNNEST(answers_) AS a
    CROSS JOIN LATERAL json_to_record(a) AS r (key timestamptz, token timestamptz, attempt integer, status text);
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."recover_job_trx"(integer, text, integer) FROM public;

/*
The claim of the items with these keys that still wait, in their order, which the caller has found due and locked:
it answers as next_job_set_trx
does, or with no row. Called by next_job_apart_trx, which has it fail where a row stays as it is.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."claim_job_trx"(
    worker_ text, lease_ms_ integer, max_attempts_ integer, claim_ bigint, key_1_ timestamptz[]
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT k.key_1, v.*, COALESCE(x.attempts, 0) AS refusals, x.reason AS refused
        FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
        INNER JOIN LATERAL (
            SELECT
                q.updated_at AS item_token, q.attempt_num AS item_attempt,
                CASE WHEN q.status IN ('Pending', 'Error') THEN q.lease_until END AS item_died_at
            FROM "readpast"."job" AS q
            WHERE q.enqueued_at = k.key_1 AND q.status IN ('Pending', 'Error')
        ) AS v ON TRUE
        LEFT JOIN "readpast"."queue_refused" AS x ON x.queue = 'job' AND x.key = "readpast"."queue_key_fn"(k.key_1)
        ORDER BY k.position
    ),

    /*
    In their order up to the first that goes alone, or that one; the others are let go with the transaction. It came
    back from a dead worker, which it may have killed.
    */
    decided AS MATERIALIZED (
        SELECT
            v.key_1, v.position, v.alone, CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
            GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
            v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
            CASE
                WHEN v.is_spent AND v.refusals > 0
                    THEN format('The table refused it %s times, and attempts are spent: %s', v.refusals, v.refused)
                WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
            END AS error,
            CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until, NOT v.is_spent AS enters
        FROM (
            SELECT
                r.*, ROW_NUMBER() OVER w AS position, COUNT(*) FILTER (WHERE NOT r.is_spent) OVER w AS place,
                COUNT(*) FILTER (WHERE r.alone) OVER w AS alone_so_far
            FROM (
                SELECT
                    f.*, f.item_attempt + f.refusals >= max_attempts_ AS is_spent,
                    f.item_attempt + f.refusals < max_attempts_ AND f.item_died_at IS NOT NULL AS alone
                FROM found AS f
            ) AS r
            WINDOW w AS (ROWS UNBOUNDED PRECEDING)
        ) AS v
        WHERE
            v.is_spent
            OR v.alone_so_far = 0
            OR (v.alone AND v.place = 1)
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."job" AS q
        SET
            status = d.status, updated_at = d.token, claim_num = d.claim_num,
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END, attempt_num = d.attempt_num,
            lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            error = COALESCE(d.error, q.error)
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1
        RETURNING q.*, d.position AS position_, d.alone AS alone_, d.status AS status_
    )

    SELECT
        CASE WHEN c.handed_out = 0 THEN 'EMPTY' WHEN c.alone THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN c.handed_out = 0 THEN 0 ELSE lease_ms_::bigint END, q.*
    FROM (
        SELECT COUNT(*) AS items, COUNT(*) FILTER (WHERE q.status_ = 'Processing') AS handed_out, BOOL_OR(q.alone_) AS alone
        FROM changed AS q
    ) AS c
    LEFT JOIN LATERAL (
        SELECT
            q.enqueued_at, q.updated_at, q.attempt_num, q.status_, q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num,
            q.response, q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner, q.lease_until, q."Customer",
            q."Rank", q."Reference"
        FROM changed AS q
        WHERE q.status_ = 'Processing'
        ORDER BY q.position_
    ) AS q ON TRUE
    /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
    WHERE
        CASE
            WHEN c.items < (SELECT COUNT(*) FROM decided) THEN "readpast"."queue_refuse_fn"('a trigger of the table leaves the row as it is', 'P0001') IS NULL
            ELSE c.items > 0
        END;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."claim_job_trx"(text, integer, integer, bigint, timestamptz[]) FROM public;

/*
Claim up to max_ due items, as next_job_set_trx does, while some are paused, or the table refuses some: a unique index, a CHECK or a trigger
of it lets no claim of them through. Those are left aside, for longer each time, and named in queue_refused; the others are
claimed. One that is refused until its attempts are spent ends Failed, where the table lets it. Claims come here by themselves
while the queue has such items; the first of them is found by calling this after a claim that the table refused.
Table access order: queue_pause, job, queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_job_apart_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
    key_1_ timestamptz[];
    from_ integer;
    to_ integer;
    done_ text[];
    refused_ boolean;
    state_ text;
    reason_ text;
    constraint_ text;
    taken_ boolean := FALSE;
    pause_ record;
    paused_ text[];
BEGIN
    IF
        (worker_ <> '' AND max_ BETWEEN 1 AND 1000 AND COALESCE(lease_ms_ > 0, TRUE)) IS NOT TRUE
    THEN PERFORM "readpast"."queue_terms"('next_job_apart_trx', worker_, max_, lease_ms => lease_ms_);
    END IF;
    /* Both by one statement, since each costs a claim of one item some per cent. */
    SELECT
        COALESCE(lease_ms_, (
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'job.leaseMs' AND a.val_int > 0
        ), 60000),
        COALESCE((
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'job.maxAttempts' AND a.val_int > 0
        ), 3)
    INTO lease_ms_, max_attempts_;

    now_ := clock_timestamp();
    SELECT BOOL_OR(p.type = '') AS everything, MAX(p.until) FILTER (WHERE p.type = '') AS until, ARRAY_AGG(p.type) AS types
    INTO pause_
    FROM "readpast"."queue_pause" AS p
    WHERE p.queue = 'job' AND (p.until > now_) IS NOT FALSE;
    IF pause_.everything THEN
        answer := 'EMPTY';
        answer_due_ms := CEIL(EXTRACT(EPOCH FROM pause_.until - now_) * 1000)::bigint;
        RETURN NEXT;
        RETURN;
    END IF;
    paused_ := COALESCE(pause_.types, '{}');

    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_until AS item_died_at
        FROM "readpast"."job" AS q
        WHERE
            q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_
            AND NOT EXISTS (
                SELECT 1
                FROM "readpast"."queue_refused" AS x
                WHERE x.queue = 'job' AND x.key = "readpast"."queue_key_fn"(q.enqueued_at) AND x.until > now_
            )
            AND (q.type::text = ANY(paused_)) IS NOT TRUE
        ORDER BY
            q.scheduled_for, q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    )

    SELECT ARRAY_AGG(f.key_1)
    INTO key_1_
    FROM found AS f;

    IF key_1_ IS NULL THEN
        /* Nothing is due now: say when. */
        answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
        answer_due_ms := (
            SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
            FROM (
                (
                    SELECT MIN(x.until) AS due_at
                    FROM "readpast"."queue_refused" AS x
                    WHERE x.queue = 'job' AND x.until > now_
                )
                UNION ALL
                (
                    SELECT q.scheduled_for AS due_at
                    FROM "readpast"."job" AS q
                    WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for > now_
                    ORDER BY q.scheduled_for
                    LIMIT 1
                )

            ) AS n
            /* An item that is never due is nothing to wait for. */
            WHERE n.due_at < 'infinity'
        );
        RETURN NEXT;
        RETURN;
    END IF;

    from_ := 1;
    to_ := CARDINALITY(key_1_);
    WHILE from_ <= to_ LOOP
        refused_ := FALSE;
        BEGIN
            RETURN QUERY
            SELECT n.*
            FROM "readpast"."claim_job_trx"(worker_, lease_ms_, max_attempts_, claim_, key_1_[from_:to_]) AS n
            WHERE n.answer <> 'EMPTY';
            taken_ := FOUND;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS state_ = RETURNED_SQLSTATE, reason_ = MESSAGE_TEXT, constraint_ = CONSTRAINT_NAME;
            IF NOT "readpast"."queue_is_refusal_fn"(state_) THEN
                RAISE;
            END IF;
            refused_ := TRUE;
        END;
        IF refused_ AND to_ > from_ THEN
            to_ := (from_ + to_) / 2;
            CONTINUE;
        ELSIF refused_ THEN
            answer := 'REFUSED';
            answer_key := (SELECT k.key_1 FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position));
            answer_status := 'claim: ' || reason_;
            answer_attempt := "readpast"."queue_note_refusal"(
                'job', (SELECT "readpast"."queue_key_fn"(k.key_1) FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)),
                'claim', state_, reason_, constraint_
            );
            RETURN NEXT;
        ELSE
            /* They are let through, and no longer wait. */
            done_ := ARRAY(
                SELECT "readpast"."queue_key_fn"(k.key_1)
                FROM UNNEST(key_1_[from_:to_]) WITH ORDINALITY AS k (key_1, position)
                INNER JOIN "readpast"."job" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
                WHERE (q.status IN ('Pending', 'Error')) IS NOT TRUE
            );
            DELETE FROM "readpast"."queue_refused" AS x
            WHERE x.queue = 'job' AND x.key = ANY(done_);
            EXIT WHEN taken_;
        END IF;
        from_ := to_ + 1;
        to_ := CARDINALITY(key_1_);
    END LOOP;
    IF NOT taken_ THEN
        /* All that it found was refused, or ended: what comes behind them is due now. */
        answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
        answer_due_ms := 0;
        RETURN NEXT;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_job_apart_trx"(text, integer, integer, bigint) FROM public;

/*
Claim up to max_ due items. One row per item, in the order they are due, with the answer CLAIMED; or one row EMPTY with the milliseconds
until the next item is due (NULL when there is none; 0 when it only ended items whose attempts are spent: ask again). With recover_ 1,
first give back the items of dead workers; with 3 or more, unless somebody did within so many milliseconds. An item that came back from
a dead worker may have been its death. It is handed out alone, with the answer CLAIMED_ALONE; so a claim ends before it, unless it is first.
claim_ is a number of the claim's own, above zero: with it claimed_job returns what was claimed, when the answer was lost.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_job_set_trx"(
    worker_ text, max_ integer, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1, claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz;
    max_attempts_ integer;
    turn_ boolean;
    /* NULL where it is gone, or has another name. */
    index_ CONSTANT regclass := to_regclass('"readpast"."job_due"');
    head_ timestamptz := '-infinity';
    /* Counted until the server takes the figures over, which may be later than with this transaction. */
    read_ CONSTANT bigint := pg_stat_get_xact_tuples_returned(index_);
BEGIN
    IF
        (worker_ <> '' AND max_ BETWEEN 1 AND 1000 AND COALESCE(lease_ms_ > 0, TRUE)) IS NOT TRUE
    THEN PERFORM "readpast"."queue_terms"('next_job_set_trx', worker_, max_, lease_ms => lease_ms_);
    END IF;
    /* Both by one statement, since each costs a claim of one item some per cent. */
    SELECT
        COALESCE(lease_ms_, (
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'job.leaseMs' AND a.val_int > 0
        ), 60000),
        COALESCE((
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'job.maxAttempts' AND a.val_int > 0
        ), 3)
    INTO lease_ms_, max_attempts_;
    /* Asked here, or most claims would call for nothing. */
    IF recover_ > 2 THEN
        turn_ := "readpast"."queue_recovery_turn"('job', recover_, clock_timestamp());
    END IF;
    IF recover_ > 0 AND turn_ IS NOT FALSE THEN
        FOR answer, answer_ordinal, answer_due_ms, answer_key, answer_token, answer_attempt, answer_status IN
            SELECT r.*
            FROM "readpast"."recover_job_trx"(100) AS r
            WHERE r.answer = 'REFUSED'
        LOOP
            RETURN NEXT;
        END LOOP;
    END IF;

    now_ := clock_timestamp();
    IF COALESCE(current_setting('readpast.head_job', TRUE), '') <> '' THEN
        head_ := "readpast"."queue_head_fn"(current_setting('readpast.head_job'), index_, now_);
    END IF;
    /* One item has no order, and a claim of it nothing to end before. */
    IF max_ = 1 THEN
    RETURN QUERY

    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_until AS item_died_at
        FROM "readpast"."job" AS q
        WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_ AND q.scheduled_for >= head_
        ORDER BY
            q.scheduled_for, q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    decided AS (
        SELECT
            v.key_1, v.alone, CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
            GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
            v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
            CASE
                WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
            END AS error,
            CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until, NOT v.is_spent AS enters
        FROM (
            SELECT f.*, f.item_attempt >= max_attempts_ AS is_spent, f.item_attempt < max_attempts_ AND f.item_died_at IS NOT NULL AS alone
            FROM found AS f
            /* While the table refuses some, or they are paused, the claim goes around those: asked first, and nothing is locked then. */
            WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'job')
        ) AS v
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."job" AS q
        SET
            status = d.status, updated_at = d.token, claim_num = d.claim_num,
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END, attempt_num = d.attempt_num,
            lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            error = COALESCE(d.error, q.error)
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1
        RETURNING q.*, d.alone AS alone_, d.status AS status_
    )

    SELECT
        CASE WHEN q.status_ IS NULL THEN 'EMPTY' WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN q.status_ IS NULL THEN 0 ELSE lease_ms_::bigint END, q.enqueued_at, q.updated_at, q.attempt_num, q.status_, q.enqueued_at,
        q.type::text, q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at,
        q.lease_owner, q.lease_until, q."Customer", q."Rank", q."Reference"
    /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
    FROM (SELECT 1 AS one FROM changed LIMIT 1) AS c
    LEFT JOIN changed AS q ON q.status_ = 'Processing';
    ELSE
    RETURN QUERY

    /* Materialized, so that the rows are chosen once: a planner that folds the sub-select in may repeat it per row. */
    WITH found AS MATERIALIZED (
        SELECT q.enqueued_at AS key_1, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_until AS item_died_at
        FROM "readpast"."job" AS q
        WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_ AND q.scheduled_for >= head_
        ORDER BY
            q.scheduled_for, q.enqueued_at
        LIMIT max_
        FOR NO KEY UPDATE SKIP LOCKED
    ),

    /*
    In their order up to the first that goes alone, or that one; the others are let go with the transaction. It came
    back from a dead worker, which it may have killed.
    */
    decided AS (
        SELECT
            v.key_1, v.position, v.alone, CASE WHEN v.alone THEN -claim_ ELSE claim_ END AS claim_num,
            /* Spent attempts (the limit was lowered, say) end here instead of staying at the head of the queue. */
            CASE WHEN v.is_spent THEN 'Failed' ELSE 'Processing' END AS status,
            GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') AS token,
            v.item_attempt + (NOT v.is_spent)::integer AS attempt_num,
            CASE
                WHEN v.is_spent THEN format('Attempts are spent: %s of %s.', v.item_attempt, max_attempts_)
            END AS error,
            CASE WHEN NOT v.is_spent THEN now_ + lease_ms_ * interval '1 millisecond' END AS lease_until, NOT v.is_spent AS enters
        FROM (
            SELECT
                r.*, ROW_NUMBER() OVER w AS position, COUNT(*) FILTER (WHERE NOT r.is_spent) OVER w AS place,
                COUNT(*) FILTER (WHERE r.alone) OVER w AS alone_so_far
            FROM (
                SELECT
                    f.*, f.item_attempt >= max_attempts_ AS is_spent, f.item_attempt < max_attempts_ AND f.item_died_at IS NOT NULL AS alone
                FROM found AS f
                /* While the table refuses some, or they are paused, the claim goes around those: asked first, and nothing is locked then. */
                WHERE NOT EXISTS (SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'job')
            ) AS r
            WINDOW w AS (ROWS UNBOUNDED PRECEDING)
        ) AS v
        WHERE
            v.is_spent
            OR v.alone_so_far = 0
            OR (v.alone AND v.place = 1)
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."job" AS q
        SET
            status = d.status, updated_at = d.token, claim_num = d.claim_num,
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END, attempt_num = d.attempt_num,
            lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            error = COALESCE(d.error, q.error)
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1
        RETURNING q.*, d.position AS position_, d.alone AS alone_, d.status AS status_
    )

    SELECT
        CASE WHEN q.status_ IS NULL THEN 'EMPTY' WHEN q.alone_ THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        CASE WHEN q.status_ IS NULL THEN 0 ELSE lease_ms_::bigint END, q.enqueued_at, q.updated_at, q.attempt_num, q.status_, q.enqueued_at,
        q.type::text, q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at,
        q.lease_owner, q.lease_until, q."Customer", q."Rank", q."Reference"
    /* All that it took had spent their attempts, and ended: what comes behind them is due now. */
    FROM (SELECT 1 AS one FROM changed LIMIT 1) AS c
    LEFT JOIN changed AS q ON q.status_ = 'Processing'
    ORDER BY q.position_;
    END IF;
    IF NOT FOUND AND head_ > '-infinity' THEN
        /* Nothing from there on: once more, from the first. */
        PERFORM set_config('readpast.head_job', '', FALSE);
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_job_set_trx"(worker_, max_, lease_ms_, 0, claim_ => claim_) AS n;
        RETURN;
    END IF;
    IF
        FOUND AND clock_timestamp() - now_ > interval '2 ms' AND pg_stat_get_xact_tuples_returned(index_) - read_ > 1000 + 10 * max_
    THEN
        /* It has passed over much that is dead. */
        PERFORM "readpast"."queue_begin_at_fn"('readpast.head_job', index_, now_, MIN(q.scheduled_for))
        FROM "readpast"."job" AS q
        WHERE q.status = 'Processing' AND q.started_at BETWEEN now_ AND now_ AND q.lease_owner = worker_
        HAVING COUNT(*) > 0;
        RETURN;
    END IF;
    IF FOUND THEN RETURN;
    END IF;
    IF EXISTS (SELECT 1 FROM "readpast"."queue_refused" AS x WHERE x.queue = 'job') THEN
        /* The table refuses some, or they are paused: around those. */
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_job_apart_trx"(worker_, max_, lease_ms_, claim_ => claim_) AS n;
        RETURN;
    END IF;

    /*
    Nothing to hand out: say when the next item is due, so that the worker can sleep that long. What was due already is
    in the hands of others.
    */
    answer := 'EMPTY'; answer_key := NULL; answer_attempt := NULL; answer_status := NULL;
    answer_due_ms := (
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
            (
                SELECT q.scheduled_for AS due_at
                FROM "readpast"."job" AS q
                WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for > now_
                ORDER BY q.scheduled_for
                LIMIT 1
            )

        ) AS n
        /* An item that is never due is nothing to wait for. */
        WHERE n.due_at < 'infinity'
    );
    RETURN NEXT;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_job_set_trx"(text, integer, integer, integer, bigint) FROM public;

/*
Claim one item, as its worker. Returns its key and its concurrency token, or no row when none is due; the details are
in the worker view, and the token goes into the following modify_job_trx. With recover_ 1, first give back
the items of dead workers; with 3 or more, unless somebody did within so many milliseconds.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_job_trx"(worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 1)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    next_ record;
BEGIN
    LOOP
        SELECT n.answer, n.answer_due_ms, n.answer_key, n.answer_token
        INTO next_
        FROM "readpast"."next_job_set_trx"(COALESCE(worker_, session_user || '/' || pg_backend_pid()), 1, lease_ms_, recover_) AS n
        WHERE n.answer <> 'REFUSED';
        /* Items were ended whose attempts are spent, or left aside; what comes behind them is due now. */
        EXIT WHEN next_.answer <> 'EMPTY' OR next_.answer_due_ms > 0 OR next_.answer_due_ms IS NULL;
    END LOOP;
    IF next_.answer <> 'EMPTY' THEN RETURN QUERY SELECT next_.answer_key, next_.answer_token;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_job_trx"(text, integer, integer) FROM public;

/*
Claim one item inside the caller's transaction, to be worked on and settled there by modify_job_utx. Others pass over it
until he commits. Rolled back, it is as it was, and no attempt is spent. Returns its key and its concurrency token, or no
row when none is due. With recover_ 1, first give back the items of dead workers, whose rows are locked to the end of the
transaction too.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."next_job_utx"(worker_ text DEFAULT NULL, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0)
RETURNS TABLE (enqueued_at timestamptz, updated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
    RETURN QUERY
    SELECT n.*
    FROM "readpast"."next_job_trx"(worker_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END) AS n;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."next_job_utx"(text, integer, integer) FROM public;

/*
In how many milliseconds a claim may find something: 0 is now, NULL is not as things stand, and -1 that somebody is to look for
the items of dead workers, as nobody has within recover_ milliseconds. It locks no
row of the table, and notes free locks of workers. More may look due than a claim gets:
what others are about to take, what waits behind its group, what is of a kind that the caller does not claim.
Called by queue_due.
Table access order: queue_recovery, queue_lifeline, job, queue_pause, queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."due_job"(recover_ integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    every_ CONSTANT interval := recover_ * interval '1 millisecond';
    until_ timestamptz;
    recovers_ boolean;
    looks_ boolean;
BEGIN
    SELECT
        r.recovered_at NOT BETWEEN now_ - every_ AND now_ + every_ AND EXISTS (SELECT 1 FROM "readpast"."job" AS q WHERE q.status = 'Processing' ORDER BY q.started_at LIMIT 1),
        r.looked_at NOT BETWEEN now_ - interval '500 ms' AND now_ + interval '500 ms' AND EXISTS (SELECT 1 FROM "readpast"."job" AS q WHERE q.status = 'Processing' ORDER BY q.started_at LIMIT 1)
    INTO recovers_, looks_
    FROM "readpast"."queue_recovery" AS r
    WHERE r.queue = 'job';
    IF looks_ THEN
        recovers_ := "readpast"."queue_lifeline_look"('job', now_) OR recovers_;
    END IF;
    IF recovers_ THEN RETURN -1;
    END IF;
    PERFORM
    FROM "readpast"."job" AS q
    WHERE
        q.status IN ('Pending', 'Error') AND q.scheduled_for <= now_
        ORDER BY
            q.scheduled_for, q.enqueued_at
    LIMIT 1;
    IF FOUND THEN
        SELECT p.until
        INTO until_
        FROM "readpast"."queue_pause" AS p
        WHERE p.queue = 'job' AND p.type = '' AND (p.until > now_) IS NOT FALSE;
        RETURN CASE WHEN FOUND THEN CEIL(EXTRACT(EPOCH FROM until_ - now_) * 1000)::bigint ELSE 0 END;
    END IF;
    RETURN (
        SELECT CEIL(EXTRACT(EPOCH FROM MIN(n.due_at) - now_) * 1000)::bigint
        FROM (
            (
                SELECT MIN(x.until) AS due_at
                FROM "readpast"."queue_refused" AS x
                WHERE x.queue = 'job' AND x.until > now_
            )
            UNION ALL
            (
                SELECT q.scheduled_for AS due_at
                FROM "readpast"."job" AS q
                WHERE q.status IN ('Pending', 'Error') AND q.scheduled_for > now_
                ORDER BY q.scheduled_for
                LIMIT 1
            )

        ) AS n
        /* An item that is never due is nothing to wait for. */
        WHERE n.due_at < 'infinity'
    );
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."due_job"(integer) FROM public;

/*
The items that the worker took by the claim of that number and still holds: for a claim whose answer was lost. They come as the
claim returned them, with what is left of their lease; no row: it took none. It changes nothing and locks nothing.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."claimed_job"(worker_ text, claim_ bigint)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT
        CASE WHEN q.claim_num < 0 THEN 'CLAIMED_ALONE' ELSE 'CLAIMED' END, NULL::integer,
        GREATEST(1, "readpast"."queue_ms_fn"(now_, q.lease_until)), q.enqueued_at, q.updated_at, q.attempt_num, 'Processing',
            q.enqueued_at, q.type::text, q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration,
            q.scheduled_for, q.updated_at, q.lease_owner, q.lease_until, q."Customer", q."Rank", q."Reference"
    FROM "readpast"."job" AS q
    WHERE q.status = 'Processing' AND q.lease_owner = worker_ AND q.claim_num IN (claim_, -claim_) AND q.lease_until > now_
    ORDER BY q.scheduled_for, q.enqueued_at;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."claimed_job"(text, bigint) FROM public;

/*
Items may be taken from the workers that hold them: those renew their leases then, and so learn it. They listen to the schema's
channel; the end of a holder's name, which is a random number, lets others stay as they are. Called by modify_job_set_trx.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."ring_holders_job"(items_ json) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    IF NOT "readpast"."queue_may_ring_fn"() THEN RETURN;
    END IF;
    PERFORM pg_notify('readpast', 'job ' || RIGHT(v.item_owner, 16))
    FROM (
        SELECT i.key AS key_1
        FROM json_to_recordset(items_) AS i (key timestamptz)
    ) AS i
    INNER JOIN LATERAL (
        SELECT q.status::text AS item_status, q.lease_owner AS item_owner
        FROM "readpast"."job" AS q
        WHERE q.enqueued_at = i.key_1
    ) AS v ON TRUE
    WHERE v.item_status = 'Processing';
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."ring_holders_job"(json) FROM public;

/*
Wakes the processes that wait for the ends of these items, which have been settled. Called by modify_job_set_trx, if somebody waits.
Table access order: queue_awaited, passing over what others hold.
*/
CREATE OR REPLACE FUNCTION "readpast"."ring_waiters_job"(items_ json) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    PERFORM "readpast"."queue_ring_waiters"('job', ARRAY(
        SELECT "readpast"."queue_key_fn"(k.key_1) || '0'
        FROM (
            SELECT i.key AS key_1
            FROM json_to_recordset(items_) AS i (key timestamptz)
        ) AS k
    ));
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."ring_waiters_job"(json) FROM public;

/*
Settle many items in one commit and, with max_ above 0, claim the next ones in the same commit.
items_ is a JSON array of objects: key, token, attempt (0 for a call that is not a worker's), status
(left out for an edit: an item that waits stays as it is, but for its values and its due time), and where wanted step, response,
error, due (UTC) or delay_ms, release (with status Pending: give the attempt back),
set (an object of columns: written where the answer is OK; what is left out stays).
One row per element with its position and its answer: OK, LEASE_LOST, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item
that is not OK is untouched. Then the claimed items, as next_job_set_trx returns them.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed;
what the first call claimed, claimed_job returns by its claim_.
Table access order: queue_operation, job, queue_transition; queue_awaited.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_job_set_trx"(
    operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0,
    claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
    max_attempts_ integer;
    is_awaited_ boolean;
    sets_ boolean := FALSE;
BEGIN
    IF
        (worker_ <> '' AND max_ BETWEEN 0 AND 1000 AND COALESCE(lease_ms_ > 0, TRUE)) IS NOT TRUE
    THEN PERFORM "readpast"."queue_terms"('modify_job_set_trx', worker_, max_, fewest => 0, lease_ms => lease_ms_);
    END IF;
    /* All by one statement, since each costs a claim of one item some per cent. */
    SELECT
        COALESCE(lease_ms_, (
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'job.leaseMs' AND a.val_int > 0
        ), 60000),
        COALESCE((
            SELECT a.val_int FROM "readpast"."app_settings" AS a WHERE a.param = 'job.maxAttempts' AND a.val_int > 0
        ), 3),
        EXISTS (SELECT 1 FROM "readpast"."queue_awaited" AS z WHERE z.queue = 'job')
    INTO lease_ms_, max_attempts_, is_awaited_;
    /* The library has checked its items. */
    IF
        current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on'
        OR (CASE json_typeof(items_) WHEN 'array' THEN json_array_length(items_) > 1000 ELSE TRUE END)
    THEN
        items_ := "readpast"."queue_taken_fn"('modify_job_set_trx', items_, '{
            "key": "timestamp", "token": "timestamp", "attempt": "integer", "status": "text(20)",
            "step": "text(60)", "response": "text", "error": "text", "release": "boolean",
            "set": {
                "Customer": "text(40)", "Rank": "integer not null", "Reference": "guid"
            },
            "due": "timestamp", "delay_ms": "milliseconds (from 0 to 2147483647000)"
        }');
    END IF;

    /* Most calls set nothing, and are not read for it. A name can be written with escapes. */
    IF position('"set"' IN items_::text) > 0 OR position('\u00' IN items_::text) > 0 THEN
        sets_ := "readpast"."queue_sets_fn"('modify_job_set_trx', items_, ARRAY['Customer', 'Rank', 'Reference']::text[]);
    END IF;

    replayed_ := operation_ IS NOT NULL AND "readpast"."queue_begun"(operation_, 'modify_job_set_trx', now_);
    /* A worker's items have attempts. */
    IF items_::text !~ '"attempt" ?: ?[1-9]' THEN PERFORM "readpast"."ring_holders_job"(items_);
    END IF;
    IF replayed_ THEN
        RETURN QUERY
        SELECT a.*, 
        NULL::timestamptz, NULL::text, NULL::text, NULL::text, NULL::integer, NULL::text, NULL::text, NULL::timestamptz, NULL::bigint,
        NULL::timestamptz, NULL::timestamptz, NULL::text, NULL::timestamptz, NULL::varchar(40), NULL::integer, NULL::uuid
        FROM (
            SELECT
                COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint, i.key, q.updated_at, q.attempt_num,
                q.status::text
            FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
            CROSS JOIN "readpast"."queue_operation" AS p
            LEFT JOIN "readpast"."job" AS q ON q.enqueued_at = i.key
            WHERE p.operation_id = operation_
            ORDER BY i.position
        ) AS a;
        RETURN;
    END IF;
    IF sets_ THEN
    RETURN QUERY

    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal,
            i.key AS key_1, i.token AS token, COALESCE(i.attempt, 0) AS attempt, i.status, i.step, i.response, i.error,
            COALESCE("readpast"."queue_finite_fn"(i.due), now_ + i.delay_ms * interval '1 millisecond') AS due_at,
            COALESCE(i.release, FALSE) AS release, i.set AS new_values, i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (
            key timestamptz, token timestamptz, attempt integer, status text, step text, response text,
            error text, due timestamptz, delay_ms bigint, release boolean, set json
        )) WITH ORDINALITY AS i (key, token, attempt, status, step, response, error, due, delay_ms, release, set, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT g.*, ROW_NUMBER() OVER (PARTITION BY g.key_1 ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY g.key_1, g.position
    ),
    /*
    Decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is
    the token (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still
    counts while nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.*, v.*, COALESCE(i.status, v.item_status) AS asked, (v.item_status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN i.attempt > 0 AND (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) IS NOT TRUE THEN 'LEASE_LOST'
                WHEN i.token <> v.item_token THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                /* The legal changes are read once for all items. An item that waits stays as it is where none is asked for: an edit. */
                WHEN
                    ((i.status IS NULL AND v.item_status IN ('Pending', 'Error', 'Paused')) OR v.item_status || ' ' || i.status = ANY (ARRAY(
                        SELECT t.from_status || ' ' || t.to_status FROM "readpast"."queue_transition" AS t
                    ))) IS NOT TRUE
                    THEN 'ILLEGAL_TRANSITION'
                /* Response, error and values do not go to an item that its status closes to workers, but for an edit and a cancel. */
                WHEN
                    i.status <> 'Cancelled' AND (i.response IS NOT NULL OR i.error IS NOT NULL OR i.new_values IS NOT NULL)
                    AND NOT "readpast"."queue_is_editable_fn"(v.item_status)
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT
                q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner,
                q.lease_until AS item_lease_until, q.scheduled_for AS item_due_at
            FROM "readpast"."job" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE
        ) AS v ON TRUE
    ),
    ruled AS (
        SELECT
            j.*,
            CASE
                WHEN j.answer <> 'OK' THEN j.item_status
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.item_status = 'Processing' AND j.status = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN NOT j.released AND j.item_attempt >= max_attempts_ AND j.status <> 'Completed' THEN 'Failed'
                ELSE j.asked
            END AS becomes
        FROM judged AS j
        /* So that each gets one answer. */
        OFFSET 0
    ),
    decided AS MATERIALIZED (
        SELECT
            r.ordinal, r.key_1, r.answer, r.becomes AS status, r.new_values,
            CASE WHEN r.answer <> 'OK' THEN r.item_token ELSE GREATEST(now_, NULLIF(r.item_token, 'infinity') + interval '1 microsecond') END AS token,
            CASE
                WHEN r.answer <> 'OK' THEN r.item_attempt
                WHEN r.released THEN r.item_attempt - 1
                /* Processing from another state is a claim of this one item. */
                WHEN r.item_status <> 'Processing' AND r.becomes = 'Processing' THEN r.item_attempt + 1
                ELSE r.item_attempt
            END AS attempt_num,
            n.step, n.response, n.error,
            COALESCE(
                r.due_at,
                CASE
                    WHEN r.becomes = 'Error' AND r.item_status <> 'Error' THEN now_ + "readpast"."queue_backoff_fn"(
                        r.item_attempt, 5000, 200, 3600000, 50
                    )
                END,
                r.item_due_at
            ) AS due_at,
            CASE
                WHEN r.becomes = 'Processing' THEN now_ + lease_ms_ * interval '1 millisecond'
            END AS lease_until,
            n.enters, n.finishes
        FROM ruled AS r
        CROSS JOIN LATERAL (
            SELECT
                (r.answer = 'OK' AND r.item_status <> 'Processing' AND r.becomes = 'Processing') AS enters,
                (r.answer = 'OK' AND "readpast"."queue_is_finished_fn"(r.becomes)) AS finishes, r.step AS step, r.response AS response,
                CASE
                    WHEN r.error IS NOT NULL THEN r.error
                    WHEN r.becomes = 'Failed' AND r.status <> 'Failed'
                        THEN format('Attempts are spent: %s of %s; asked for %s.', r.item_attempt, max_attempts_, r.status)
                    /* Earlier errors are over. */
                    WHEN r.becomes = 'Completed' THEN ''
                END AS error
        ) AS n
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."job" AS q
        SET
            status = d.status, updated_at = d.token, scheduled_for = COALESCE(d.due_at, q.scheduled_for),
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END,
            duration = CASE WHEN d.finishes THEN "readpast"."queue_ms_fn"(q.started_at, now_) ELSE q.duration END,
            attempt_num = d.attempt_num, lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            step = COALESCE(d.step, q.step), response = COALESCE(d.response, q.response), error = COALESCE(d.error, q.error),
            "Customer" = CASE
                WHEN (d.new_values -> 'Customer') IS NULL THEN q."Customer"
                ELSE (SELECT n."Customer" FROM json_to_record(d.new_values) AS n ("Customer" varchar(40)))
            END,
            "Rank" = CASE
                WHEN (d.new_values -> 'Rank') IS NULL THEN q."Rank"
                ELSE (SELECT n."Rank" FROM json_to_record(d.new_values) AS n ("Rank" integer))
            END,
            "Reference" = CASE
                WHEN (d.new_values -> 'Reference') IS NULL THEN q."Reference"
                ELSE (SELECT n."Reference" FROM json_to_record(d.new_values) AS n ("Reference" uuid))
            END
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK'
    ),

    /* Remembered for a repeated call: values that the items do not hold later. */
    remembered AS (
        UPDATE "readpast"."queue_operation" AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            /* Citus sends a comparison with NULL to no node. */
            p.operation_id = COALESCE(operation_, '00000000-0000-0000-0000-000000000000')
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT
        d.answer, d.ordinal, NULL::bigint, d.key_1, d.token, d.attempt_num, d.status, NULL::timestamptz, NULL::text, NULL::text, NULL::text,
        NULL::integer, NULL::text, NULL::text, NULL::timestamptz, NULL::bigint, NULL::timestamptz, NULL::timestamptz, NULL::text,
        NULL::timestamptz, NULL::varchar(40), NULL::integer, NULL::uuid
    FROM decided AS d
    ORDER BY d.ordinal;
    ELSE
    RETURN QUERY

    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal,
            i.key AS key_1, i.token AS token, COALESCE(i.attempt, 0) AS attempt, i.status, i.step, i.response, i.error,
            COALESCE("readpast"."queue_finite_fn"(i.due), now_ + i.delay_ms * interval '1 millisecond') AS due_at,
            COALESCE(i.release, FALSE) AS release, i.set AS new_values, i.position
        FROM ROWS FROM (json_to_recordset(items_) AS (
            key timestamptz, token timestamptz, attempt integer, status text, step text, response text,
            error text, due timestamptz, delay_ms bigint, release boolean, set json
        )) WITH ORDINALITY AS i (key, token, attempt, status, step, response, error, due, delay_ms, release, set, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT g.*, ROW_NUMBER() OVER (PARTITION BY g.key_1 ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY g.key_1, g.position
    ),
    /*
    Decide each one's answer. The fence of a worker is its name and its attempt (LEASE_LOST); the fence of everybody is
    the token (CONFLICT); the state machine is queue_transition (ILLEGAL_TRANSITION). A lease past its deadline still
    counts while nobody has taken the item: finished work is not done twice.
    */
    judged AS MATERIALIZED (
        SELECT
            i.*, v.*, COALESCE(i.status, v.item_status) AS asked, (v.item_status = 'Processing' AND i.status = 'Pending' AND i.release) AS released,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN i.attempt > 0 AND (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) IS NOT TRUE THEN 'LEASE_LOST'
                WHEN i.token <> v.item_token THEN 'CONFLICT'
                WHEN i.token IS NULL AND i.attempt > 0 THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN i.occurrence > 1 THEN 'CONFLICT'
                /* The legal changes are read once for all items. An item that waits stays as it is where none is asked for: an edit. */
                WHEN
                    ((i.status IS NULL AND v.item_status IN ('Pending', 'Error', 'Paused')) OR v.item_status || ' ' || i.status = ANY (ARRAY(
                        SELECT t.from_status || ' ' || t.to_status FROM "readpast"."queue_transition" AS t
                    ))) IS NOT TRUE
                    THEN 'ILLEGAL_TRANSITION'
                /* Response, error and values do not go to an item that its status closes to workers, but for an edit and a cancel. */
                WHEN
                    i.status <> 'Cancelled' AND (i.response IS NOT NULL OR i.error IS NOT NULL OR i.new_values IS NOT NULL)
                    AND NOT "readpast"."queue_is_editable_fn"(v.item_status)
                    THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT
                q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner,
                q.lease_until AS item_lease_until, q.scheduled_for AS item_due_at
            FROM "readpast"."job" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE
        ) AS v ON TRUE
    ),
    ruled AS (
        SELECT
            j.*,
            CASE
                WHEN j.answer <> 'OK' THEN j.item_status
                /* A step keeps the claim, and the attempt is not over. */
                WHEN j.item_status = 'Processing' AND j.status = 'Processing' THEN 'Processing'
                /* An item given back unworked gets its attempt back too, so none is spent. */
                WHEN NOT j.released AND j.item_attempt >= max_attempts_ AND j.status <> 'Completed' THEN 'Failed'
                ELSE j.asked
            END AS becomes
        FROM judged AS j
        /* So that each gets one answer. */
        OFFSET 0
    ),
    decided AS MATERIALIZED (
        SELECT
            r.ordinal, r.key_1, r.answer, r.becomes AS status, r.new_values,
            CASE WHEN r.answer <> 'OK' THEN r.item_token ELSE GREATEST(now_, NULLIF(r.item_token, 'infinity') + interval '1 microsecond') END AS token,
            CASE
                WHEN r.answer <> 'OK' THEN r.item_attempt
                WHEN r.released THEN r.item_attempt - 1
                /* Processing from another state is a claim of this one item. */
                WHEN r.item_status <> 'Processing' AND r.becomes = 'Processing' THEN r.item_attempt + 1
                ELSE r.item_attempt
            END AS attempt_num,
            n.step, n.response, n.error,
            COALESCE(
                r.due_at,
                CASE
                    WHEN r.becomes = 'Error' AND r.item_status <> 'Error' THEN now_ + "readpast"."queue_backoff_fn"(
                        r.item_attempt, 5000, 200, 3600000, 50
                    )
                END,
                r.item_due_at
            ) AS due_at,
            CASE
                WHEN r.becomes = 'Processing' THEN now_ + lease_ms_ * interval '1 millisecond'
            END AS lease_until,
            n.enters, n.finishes
        FROM ruled AS r
        CROSS JOIN LATERAL (
            SELECT
                (r.answer = 'OK' AND r.item_status <> 'Processing' AND r.becomes = 'Processing') AS enters,
                (r.answer = 'OK' AND "readpast"."queue_is_finished_fn"(r.becomes)) AS finishes, r.step AS step, r.response AS response,
                CASE
                    WHEN r.error IS NOT NULL THEN r.error
                    WHEN r.becomes = 'Failed' AND r.status <> 'Failed'
                        THEN format('Attempts are spent: %s of %s; asked for %s.', r.item_attempt, max_attempts_, r.status)
                    /* Earlier errors are over. */
                    WHEN r.becomes = 'Completed' THEN ''
                END AS error
        ) AS n
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."job" AS q
        SET
            status = d.status, updated_at = d.token, scheduled_for = COALESCE(d.due_at, q.scheduled_for),
            started_at = CASE WHEN d.enters THEN now_ ELSE q.started_at END,
            duration = CASE WHEN d.finishes THEN "readpast"."queue_ms_fn"(q.started_at, now_) ELSE q.duration END,
            attempt_num = d.attempt_num, lease_owner = CASE WHEN d.enters THEN worker_ ELSE q.lease_owner END, lease_until = d.lease_until,
            step = COALESCE(d.step, q.step), response = COALESCE(d.response, q.response), error = COALESCE(d.error, q.error)
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK'
    ),

    /* Remembered for a repeated call: values that the items do not hold later. */
    remembered AS (
        UPDATE "readpast"."queue_operation" AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            /* Citus sends a comparison with NULL to no node. */
            p.operation_id = COALESCE(operation_, '00000000-0000-0000-0000-000000000000')
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT
        d.answer, d.ordinal, NULL::bigint, d.key_1, d.token, d.attempt_num, d.status, NULL::timestamptz, NULL::text, NULL::text, NULL::text,
        NULL::integer, NULL::text, NULL::text, NULL::timestamptz, NULL::bigint, NULL::timestamptz, NULL::timestamptz, NULL::text,
        NULL::timestamptz, NULL::varchar(40), NULL::integer, NULL::uuid
    FROM decided AS d
    ORDER BY d.ordinal;
    END IF;
    IF is_awaited_ THEN PERFORM "readpast"."ring_waiters_job"(items_);
    END IF;

    IF max_ > 0 THEN
        RETURN QUERY
        SELECT n.*
        FROM "readpast"."next_job_set_trx"(worker_, max_, lease_ms_, recover_, claim_ => claim_) AS n;
    END IF;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_job_set_trx"(uuid, text, json, integer, integer, integer, bigint) FROM public;

/*
modify_job_set_trx by the name that says that the call is a part of the caller's transaction, as every call here is: it has the
locks until that ends, and is undone with it. What is refused is an answer, and leaves the transaction as it is. Whether
others recovered lately does not count.
Table access order: as there.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_job_set_utx"(
    operation_ uuid, worker_ text, items_ json, max_ integer DEFAULT 0, lease_ms_ integer DEFAULT NULL, recover_ integer DEFAULT 0,
    claim_ bigint DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT m.*
    FROM "readpast"."modify_job_set_trx"(
        operation_, worker_, items_, max_, lease_ms_, CASE WHEN recover_ > 2 THEN 1 ELSE recover_ END, claim_ => claim_
    ) AS m;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_job_set_utx"(uuid, text, json, integer, integer, integer, bigint) FROM public;

/*
Settle one item inside the caller's transaction: report the result of its processing, or cancel, pause, resume or
terminate it. Undone with the caller's other work. Returns an answer as modify_job_set_utx does: OK, LEASE_LOST,
CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND. What is refused leaves the transaction as it is.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: job, queue_transition.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_job_utx"(
    enqueued_at_ timestamptz, updated_at_ timestamptz, status_ text, step_ text DEFAULT NULL,
    response_ text DEFAULT NULL, error_ text DEFAULT NULL, scheduled_for_ timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL, attempt_num_ integer DEFAULT NULL, set_ json DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text
)
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
    SELECT m.answer, m.answer_ordinal, m.answer_due_ms, m.answer_key, m.answer_token, m.answer_attempt, m.answer_status
    FROM "readpast"."modify_job_set_utx"(
        NULL, COALESCE(worker_, session_user || '/' || pg_backend_pid()),
        json_build_array(json_build_object(
            'key', enqueued_at_, 'token', updated_at_, 'attempt', attempt_num_,
            'status', status_, 'step', step_, 'response', response_, 'error', error_, 'due', scheduled_for_, 'set', set_
        ))
    ) AS m;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_job_utx"(
    timestamptz, timestamptz, text, text, text, text, timestamptz, text, integer, json
) FROM public;

/*
Settle one item: report the result of its processing, or cancel, pause, resume or terminate it. Refused with an error
when the token is not the item's any more (RP023), the transition is not legal (RP024), the item is not there (RP025),
or worker_ and attempt_num_ no longer hold its lease (RP026). Returns the item as it is now, where it is still there.
When its attempts are spent, an item becomes Failed whatever was asked for, unless it is Completed.
Table access order: job, queue_transition.
*/
CREATE OR REPLACE FUNCTION "readpast"."modify_job_trx"(
    enqueued_at_ timestamptz, updated_at_ timestamptz, status_ text, step_ text DEFAULT NULL,
    response_ text DEFAULT NULL, error_ text DEFAULT NULL, scheduled_for_ timestamptz DEFAULT NULL,
    worker_ text DEFAULT NULL, attempt_num_ integer DEFAULT NULL, set_ json DEFAULT NULL
)
RETURNS SETOF "readpast"."worker_job_v"
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    result_ record;
BEGIN
    SELECT m.answer, m.answer_status AS status
    INTO result_
    FROM "readpast"."modify_job_utx"(
        enqueued_at_, updated_at_, status_, step_, response_, error_, scheduled_for_, worker_, attempt_num_, set_
    ) AS m;

    IF result_.answer <> 'OK' THEN
        RAISE EXCEPTION 'modify_job_trx: %; the item is %, asked for was %',
            result_.answer, COALESCE(result_.status, 'not there'), status_
        USING ERRCODE = CASE result_.answer
            WHEN 'CONFLICT' THEN 'RP023'
            WHEN 'ILLEGAL_TRANSITION' THEN 'RP024'
            WHEN 'NOT_FOUND' THEN 'RP025'
            ELSE 'RP026'
        END;
    END IF;

    RETURN QUERY
    SELECT v.*
    FROM (SELECT enqueued_at_::timestamptz AS key_1) AS k
    INNER JOIN "readpast"."worker_job_v" AS v ON v.enqueued_at BETWEEN k.key_1 AND k.key_1;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."modify_job_trx"(
    timestamptz, timestamptz, text, text, text, text, timestamptz, text, integer, json
) FROM public;

/*
Extend the leases of a worker's items, counted from now on the server's clock. items_ is a JSON array of objects with
key and attempt. Answers OK, LEASE_LOST or NOT_FOUND, one row each. Neither the token nor an indexed column changes, so
a renewal never makes the worker's own settle fail.
It waits for nobody: one transaction that keeps a row would cost the worker the leases of all the others. An item that somebody has
locked is answered by what all see, OK while it is the worker's; its lease stays as it is, and is moved at the next beat. Meanwhile
nobody can take it, since claims and recoveries pass over locked rows.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."renew_job_set_trx"(worker_ text, items_ json, lease_ms_ integer DEFAULT NULL)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
BEGIN
    lease_ms_ := COALESCE(lease_ms_, "readpast"."queue_terms"('job', param_ => 'job.leaseMs', otherwise => 60000));
    IF lease_ms_ < 1 THEN PERFORM "readpast"."queue_terms"('renew_job_set_trx', lease_ms => lease_ms_);
    END IF;
    /* The library has checked its items. */
    IF
        current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on'
        OR (CASE json_typeof(items_) WHEN 'array' THEN json_array_length(items_) > 1000 ELSE TRUE END)
    THEN
        items_ := "readpast"."queue_taken_fn"('renew_job_set_trx', items_, '{
            "key": "timestamp", "attempt": "integer"
        }');
    END IF;

    RETURN QUERY
    WITH item AS MATERIALIZED (
        SELECT (i.position - 1)::integer AS ordinal,
            i.key AS key_1, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
        ORDER BY key_1
    ),
    judged AS MATERIALIZED (
        SELECT
            i.*, v.item_token, v.item_attempt, v.item_status,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) THEN 'OK'
                ELSE 'LEASE_LOST'
            END AS answer
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner
            FROM "readpast"."job" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS v ON TRUE
    ),

    /* Once they are locked, one time for all of them: what was claimed together runs out together. */
    every AS MATERIALIZED (
        SELECT clock_timestamp() + lease_ms_ * interval '1 millisecond' AS until, BOOL_AND(j.item_status IS NOT NULL) AS held
        FROM judged AS j
    ),

    shown AS (
        UPDATE "readpast"."job" AS q
        SET lease_until = e.until
        FROM judged AS j
        CROSS JOIN every AS e
        WHERE q.enqueued_at BETWEEN j.key_1 AND j.key_1 AND j.answer = 'OK'
    )

    SELECT j.answer, j.ordinal, NULL::bigint, j.key_1, j.item_token, j.item_attempt, j.item_status
    FROM judged AS j
    INNER JOIN every AS e ON e.held
    ORDER BY j.ordinal;
    IF FOUND THEN RETURN;
    END IF;
    /* Some are not there, or somebody has them locked: all of them as they are seen by all. */
    RETURN QUERY
    SELECT
        CASE
            WHEN v.item_status IS NULL THEN 'NOT_FOUND'
            WHEN (v.item_status = 'Processing' AND v.item_owner = worker_ AND v.item_attempt = i.attempt) THEN 'OK'
            ELSE 'LEASE_LOST'
        END,
        i.ordinal, NULL::bigint, i.key_1, v.item_token, v.item_attempt, v.item_status
    FROM (
        SELECT (i.position - 1)::integer AS ordinal,
            i.key AS key_1, i.attempt
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, attempt integer))
            WITH ORDINALITY AS i (key, attempt, position)
    ) AS i
    LEFT JOIN LATERAL (
        SELECT q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt, q.lease_owner AS item_owner
        FROM "readpast"."job" AS q
        WHERE q.enqueued_at = i.key_1
    ) AS v ON TRUE
    ORDER BY i.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."renew_job_set_trx"(text, json, integer) FROM public;

/*
Figures about the queue, one row each: its name and its value. Counts are exact and cost a scan of the table;
percentiles and means are of the 10,000 newest items that were started and finished, and are still there. Times in
milliseconds: wait is from the due time to the claim, claimed from there to the end, the
wait in the worker's hand included.
workers.needed is how many must work at once to keep up (Little's law): arrivals per time, times the mean time claimed, at 80 per
cent of their time, and one at least while items are due or in flight.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."stats_job"()
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH item AS NOT MATERIALIZED (
        SELECT
            q.status::text AS status, q.started_at AS started_at, q.duration AS claimed_ms, q.scheduled_for AS due_at,
            q.enqueued_at AS enqueued_at, q.lease_until AS lease_until
        FROM "readpast"."job" AS q
    ),
    counted AS MATERIALIZED (
        SELECT i.status,
            COUNT(*) AS items, COUNT(*) FILTER (WHERE i.status IN ('Pending', 'Error') AND COALESCE(i.due_at <= now_, TRUE)) AS due,
            MAX("readpast"."queue_ms_fn"(i.due_at, now_)) FILTER (WHERE i.status IN ('Pending', 'Error') AND i.due_at <= now_) AS oldest,
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND i.lease_until <= now_) AS expired,
            COUNT(*) FILTER (WHERE i.enqueued_at > now_ - interval '1 hour' AND i.enqueued_at <= now_ + interval '1 minute') AS arrived,
            /* An item that other code has taken may have no deadline. */
            COUNT(*) FILTER (WHERE i.status = 'Processing' AND COALESCE(i.lease_until > now_, TRUE)) AS claimed
        FROM item AS i
        GROUP BY i.status
    ),
    recent AS MATERIALIZED (
        SELECT GREATEST(0, "readpast"."queue_ms_fn"(COALESCE(i.due_at, i.enqueued_at), i.started_at)) AS wait_ms, i.claimed_ms
        FROM item AS i
        WHERE i.started_at IS NOT NULL AND i.claimed_ms IS NOT NULL
        ORDER BY i.enqueued_at DESC
        LIMIT 10000
    )
    SELECT f.*
    FROM "readpast"."queue_figures"(
        (SELECT json_agg(c) FROM counted AS c), ARRAY(SELECT r.wait_ms FROM recent AS r), ARRAY(SELECT r.claimed_ms FROM recent AS r), 0
    ) AS f;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."stats_job"() FROM public;

/*
Figures about the queue for who watches it, at the same cost whatever the size of the table: each look reads at most
most_ rows and one by an index. Four looks: what waits, in the order of the claim; what is in flight; what has ended other than
Completed, the newest first; and the newest items of all.
A row is a figure, with its value and, if that is so, capped: there are as many or more.
worker: how many items it holds (value), and for how long the oldest of them (ms); its name is detail.
error.<state>: how many of the items looked at say detail as the first line of their error, and the key of one of them.
window.items: how many of the newest items the figures count and arrivals are of; capped says that there are more. wait,
claimed: of those of them, and of those before what was taken last, that were started and finished. ended.last_minute: how many of
these were finished within that time, the first of them so long ago (ms); ended.last_hour likewise. came.waiting: how many of those
that wait say when they came, and within what time (ms). due.within_hour: how many are due later, within an hour. came.last_hour:
the arrivals that are no longer scheduled for later, and how long ago the first of them came (ms).
type.<figure>: the same of one type, which is detail: waiting, due (ms: for how long the oldest), flying, ended, arrivals (both of the last
hour), claimed_mean_ms.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."watch_job"(most_ integer DEFAULT 10000)
RETURNS TABLE (name text, value bigint, capped boolean, ms bigint, detail text, key text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    looked_ record;
    /* Citus sends its nodes only values of simple types. */
    last_taken_ timestamptz;
    oldest_present_ timestamptz;
    before_ "readpast"."queue_look"[];
BEGIN
    IF most_ IS NULL OR most_ NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION 'watch_job: most_ must be from 1 to 1000000' USING ERRCODE = 'RP021';
    END IF;
    SELECT
        ARRAY(
            SELECT
                ROW(
                    "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text,
                    CASE WHEN q.status::text IN ('Error', 'Failed') AND q.error <> '' THEN SPLIT_PART(LEFT(q.error, 200), E'\n', 1) END,
                    q.enqueued_at, q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                )::"readpast"."queue_look" AS look
            FROM "readpast"."job" AS q
            WHERE q.status IN ('Pending', 'Error')
            ORDER BY
            q.scheduled_for, q.enqueued_at
            LIMIT most_ + 1
        ) AS waiting,
        ARRAY(
            SELECT
                ROW(
                    "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text,
                    CASE WHEN q.status::text IN ('Error', 'Failed') AND q.error <> '' THEN SPLIT_PART(LEFT(q.error, 200), E'\n', 1) END,
                    q.enqueued_at, q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                )::"readpast"."queue_look" AS look
            FROM "readpast"."job" AS q
            WHERE q.status = 'Processing'
            ORDER BY q.started_at
            LIMIT most_ + 1
        ) AS flying,
        ARRAY(
            SELECT
                ROW(
                    "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text,
                    CASE WHEN q.status::text IN ('Error', 'Failed') AND q.error <> '' THEN SPLIT_PART(LEFT(q.error, 200), E'\n', 1) END,
                    q.enqueued_at, q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                )::"readpast"."queue_look" AS look
            FROM "readpast"."job" AS q
            WHERE TRUE
            ORDER BY q.enqueued_at DESC
            LIMIT most_ + 1
        ) AS present,
        ARRAY(
            SELECT
                ROW(
                    "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text,
                    CASE WHEN q.status::text IN ('Error', 'Failed') AND q.error <> '' THEN SPLIT_PART(LEFT(q.error, 200), E'\n', 1) END,
                    q.enqueued_at, q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
                )::"readpast"."queue_look" AS look
            FROM "readpast"."job" AS q
            WHERE q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            ORDER BY q.enqueued_at DESC
            LIMIT most_ + 1
        ) AS stopped
    INTO looked_;

    /* With a long backlog the newest are all pending: what was taken last, or is next, has what has just ended before it. */
    last_taken_ := COALESCE(
        (SELECT MAX(f.enqueued_at) FROM UNNEST(looked_.flying) AS f), (SELECT MIN(w.enqueued_at) FROM UNNEST(looked_.waiting) AS w)
    );
    oldest_present_ := (SELECT MIN(p.enqueued_at) FROM UNNEST(looked_.present) AS p);
    SELECT ARRAY(
        SELECT
            ROW(
                "readpast"."queue_key_fn"(q.enqueued_at) || '0', q.type::text, q.status::text,
                CASE WHEN q.status::text IN ('Error', 'Failed') AND q.error <> '' THEN SPLIT_PART(LEFT(q.error, 200), E'\n', 1) END,
                q.enqueued_at, q.started_at, q.duration, q.scheduled_for, q.lease_owner, q.lease_until
            )::"readpast"."queue_look" AS look
        FROM "readpast"."job" AS q
        WHERE q.enqueued_at <= last_taken_ AND q.enqueued_at < oldest_present_
        ORDER BY q.enqueued_at DESC
        LIMIT most_ + 1
    )
    INTO before_;

    /* A statement of its own, in which there is no table: Citus would have it called on the table's node. */
    RETURN QUERY
    SELECT w.*
    FROM "readpast"."queue_watched"(
        'job', most_, now_, looked_.waiting, looked_.flying, looked_.stopped, looked_.present, before_, NULL,
        CARDINALITY(looked_.waiting) > most_, NULL, TRUE, TRUE, TRUE
    ) AS w;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."watch_job"(integer) FROM public;

/*
The items that fit filter_, in the order of their keys, after the key after_ on, at most max_ of them: a page, and the
last key of it begins the next one. filter_ is a JSON object, of which every member narrows the choice: keys, status and
types (arrays), before and after (UTC, of the last change that is known), error (a part of its text), longer_ms (its last
attempt took more milliseconds; the one that it is in has done so till now), columns and members (values that it has, in a
column or in its JSON: queue_wanted_fn). NULL is all items.
One row per item, with the answer FOUND. Columns that are secret are NULL. It changes nothing and locks nothing. Without keys
it reads the table in order until the page is full; with most_, no more than that many items. A last row with the answer
MORE then has the key up to which it has looked, if there may be others and the page is not full: go on after it.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."find_job"(
    filter_ json DEFAULT NULL, after_ text DEFAULT NULL, max_ integer DEFAULT 100, most_ integer DEFAULT NULL
)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text, enqueued_at timestamptz, type text, status text, step text, attempt_num integer, response text, error text,
    started_at timestamptz, duration bigint, scheduled_for timestamptz, updated_at timestamptz, lease_owner text, lease_until timestamptz,
    "Customer" varchar(40), "Rank" integer, "Reference" uuid
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    f_ record;
    wanted_ jsonb;
    keys_ timestamptz[];
    key_1_ timestamptz[];
    from_ record;
    until_ record;
    further_ boolean := FALSE;
BEGIN
    SELECT f.*
    INTO f_
    FROM "readpast"."queue_filter"('find_job', filter_, max_) AS f;
    wanted_ := "readpast"."queue_wanted_fn"(
        'find_job', filter_, '{"Customer": "Customer", "Rank": "Rank", "Reference": "Reference"}', NULL::"readpast"."job"
    );
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(SELECT k.key::timestamptz FROM json_array_elements_text(f_.keys) AS k (key));
    END IF;
    SELECT NULLIF(after_, '')::timestamptz AS key_1
    INTO from_;
    until_ := from_;
    IF most_ < 1 THEN
        RAISE EXCEPTION 'find_job: most_ must be 1 or more, or NULL' USING ERRCODE = 'RP021';
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
        FROM "readpast"."job" AS q
        WHERE
            most_ IS NOT NULL
            AND q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."job" AS q
            WHERE
            q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            AND q.enqueued_at <= COALESCE(until_.key_1, 'infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    ELSIF
        f_.statuses <@ ARRAY['Processing']
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM "readpast"."job" AS q WHERE q.status IN ('Processing') LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."job" AS q
            WHERE
            q.status IN ('Processing') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    ELSIF
        f_.statuses <@ ARRAY['Pending', 'Error']
        AND (
            most_ IS NULL
            OR NOT EXISTS (SELECT 1 FROM "readpast"."job" AS q WHERE q.status IN ('Pending', 'Error') LIMIT 1 OFFSET most_ - 1)
        )
    THEN
        /* They have an index of their own, in another order: good for as many as may be read. */
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."job" AS q
            WHERE
            q.status IN ('Pending', 'Error') AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    ELSE
        /* How far: as many items on as are to be read. */
        SELECT q.enqueued_at AS key_1
        INTO until_
        FROM "readpast"."job" AS q
        WHERE most_ IS NOT NULL AND q.enqueued_at > COALESCE(from_.key_1, '-infinity')
        ORDER BY q.enqueued_at
        LIMIT 1 OFFSET most_ - 1;
        further_ := FOUND;
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."job" AS q
            WHERE
            q.enqueued_at > COALESCE(from_.key_1, '-infinity') AND q.enqueued_at <= COALESCE(until_.key_1, 'infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
            ORDER BY q.enqueued_at
            LIMIT max_
        ) AS w;
    END IF;

    RETURN QUERY
    SELECT
        'FOUND', NULL::integer, NULL::bigint, q.enqueued_at, q.updated_at, q.attempt_num, q.status::text, q.enqueued_at, q.type::text,
        q.status::text, q.step, q.attempt_num, q.response, q.error, q.started_at, q.duration, q.scheduled_for, q.updated_at, q.lease_owner,
        q.lease_until, q."Customer", q."Rank", q."Reference"
    FROM UNNEST(key_1_) WITH ORDINALITY AS k (key_1, position)
    INNER JOIN "readpast"."job" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
    WHERE TRUE
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
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

REVOKE ALL ON FUNCTION "readpast"."find_job"(json, text, integer, integer) FROM public;

/*
An operator's way back: let items that ended, or wait, be worked on as if they were new. Failed, Cancelled, Terminated,
PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts; response, error and step stay.
Completed work is not done twice, and what is Pending or in a worker's hands needs none of this.
items_ is a JSON array of objects: key and, where only the item as the caller saw it is meant, token.
One row per element with its position and its answer: OK, CONFLICT, ILLEGAL_TRANSITION or NOT_FOUND; an item that is not
OK is untouched.
operation_ makes the call repeatable: asked again with the same value, the answers come again and nothing is changed.
Table access order: queue_operation, job.
*/
CREATE OR REPLACE FUNCTION "readpast"."redrive_job_set_trx"(operation_ uuid, items_ json)
RETURNS TABLE (
    answer text, answer_ordinal integer, answer_due_ms bigint, answer_key timestamptz, answer_token timestamptz, answer_attempt integer,
    answer_status text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ timestamptz := clock_timestamp();
    replayed_ boolean := FALSE;
BEGIN
    /* The library has checked its items. */
    IF
        current_setting('readpast.checks_items', TRUE) IS DISTINCT FROM 'on'
        OR (CASE json_typeof(items_) WHEN 'array' THEN json_array_length(items_) > 1000 ELSE TRUE END)
    THEN
        items_ := "readpast"."queue_taken_fn"('redrive_job_set_trx', items_, '{
            "key": "timestamp", "token": "timestamp"
        }');
    END IF;

    replayed_ := operation_ IS NOT NULL AND "readpast"."queue_begun"(operation_, 'redrive_job_set_trx', now_);
    IF replayed_ THEN
        RETURN QUERY
        SELECT
            COALESCE(p.result ->> (i.position - 1)::text, 'OK'), (i.position - 1)::integer, NULL::bigint, i.key, q.updated_at, q.attempt_num,
            q.status::text
        FROM ROWS FROM (json_to_recordset(items_) AS (key timestamptz)) WITH ORDINALITY AS i (key, position)
        CROSS JOIN "readpast"."queue_operation" AS p
        LEFT JOIN "readpast"."job" AS q ON q.enqueued_at = i.key
        WHERE p.operation_id = operation_
        ORDER BY i.position;
        RETURN;
    END IF;
    RETURN QUERY
    WITH given AS (
        SELECT (i.position - 1)::integer AS ordinal,
            i.key AS key_1, i.token AS token, i.position
        FROM
            ROWS FROM (json_to_recordset(items_) AS (key timestamptz, token timestamptz))
            WITH ORDINALITY AS i (key, token, position)
    ),
    /* In the order of their keys, so that two calls never wait for each other. */
    item AS MATERIALIZED (
        SELECT g.*, ROW_NUMBER() OVER (PARTITION BY g.key_1 ORDER BY g.position) AS occurrence
        FROM given AS g
        ORDER BY g.key_1, g.position
    ),
    found AS MATERIALIZED (
        SELECT i.*, v.*
        FROM item AS i
        LEFT JOIN LATERAL (
            SELECT q.status::text AS item_status, q.updated_at AS item_token, q.attempt_num AS item_attempt
            FROM "readpast"."job" AS q
            WHERE q.enqueued_at = i.key_1
            FOR NO KEY UPDATE
        ) AS v ON TRUE
    ),
    judged AS MATERIALIZED (
        SELECT
            v.*,
            CASE
                WHEN v.item_status IS NULL THEN 'NOT_FOUND'
                WHEN v.token <> v.item_token THEN 'CONFLICT'
                /* The same item twice in one call: the first of them counts. */
                WHEN v.occurrence > 1 THEN 'CONFLICT'
                WHEN v.item_status IN ('Pending', 'Processing', 'Completed') THEN 'ILLEGAL_TRANSITION'
                ELSE 'OK'
            END AS answer
        FROM found AS v
    ),
    decided AS MATERIALIZED (
        SELECT
            v.ordinal, v.key_1, v.answer, CASE WHEN v.answer = 'OK' THEN 'Pending' ELSE v.item_status END AS status,
            CASE WHEN v.answer = 'OK' THEN GREATEST(now_, NULLIF(v.item_token, 'infinity') + interval '1 microsecond') ELSE v.item_token END AS token,
            CASE WHEN v.answer = 'OK' THEN 0 ELSE v.item_attempt END AS attempt_num, now_ AS due_at
        FROM judged AS v
    ),

    /* An item that a trigger of the table keeps from changing counts as not changed. */
    changed AS (
        UPDATE "readpast"."job" AS q
        SET
            status = d.status, updated_at = d.token, scheduled_for = COALESCE(d.due_at, q.scheduled_for), attempt_num = d.attempt_num,
            started_at = NULL, duration = NULL, lease_owner = NULL, lease_until = NULL
        FROM decided AS d
        /* They are locked, and decided upon: the key is enough. */
        WHERE q.enqueued_at BETWEEN d.key_1 AND d.key_1 AND d.answer = 'OK'
    ),

    /* Remembered for a repeated call: values that the items do not hold later. */
    remembered AS (
        UPDATE "readpast"."queue_operation" AS p
        SET result = (
            SELECT json_object_agg(d.ordinal::text, d.answer)
            FROM decided AS d
            WHERE d.answer <> 'OK'
        )
        WHERE
            /* Citus sends a comparison with NULL to no node. */
            p.operation_id = COALESCE(operation_, '00000000-0000-0000-0000-000000000000')
            AND EXISTS (SELECT 1 FROM decided AS d WHERE d.answer <> 'OK')
    )

    SELECT d.answer, d.ordinal, NULL::bigint, d.key_1, d.token, d.attempt_num, d.status
    FROM decided AS d
    ORDER BY d.ordinal;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."redrive_job_set_trx"(uuid, json) FROM public;

/*
Delete up to max_ finished items that fit filter_, lowest key first. filter_ is that of find_job; without a
status it means Completed, PartiallyCompleted, Cancelled and Terminated. Failed items go only when they are named, since
somebody may still want to see to them; unfinished ones never do. Rows that others hold are passed over. One row:
purged, and how many it were.
Table access order: job.
*/
CREATE OR REPLACE FUNCTION "readpast"."purge_job_trx"(filter_ json DEFAULT NULL, max_ integer DEFAULT 1000)
RETURNS TABLE (name text, value bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    f_ record;
    wanted_ jsonb;
    keys_ timestamptz[];
    key_1_ timestamptz[];
BEGIN
    SELECT f.*
    INTO f_
    FROM "readpast"."queue_filter"('purge_job_trx', filter_, max_) AS f;
    wanted_ := "readpast"."queue_wanted_fn"(
        'purge_job_trx', filter_, '{"Customer": "Customer", "Rank": "Rank", "Reference": "Reference"}', NULL::"readpast"."job"
    );
    IF f_.keys IS NOT NULL THEN
        keys_ := ARRAY(SELECT k.key::timestamptz FROM json_array_elements_text(f_.keys) AS k (key));
    END IF;
    f_.statuses := COALESCE(f_.statuses, ARRAY['Completed', 'PartiallyCompleted', 'Cancelled', 'Terminated']);
    IF EXISTS (SELECT 1 FROM UNNEST(f_.statuses) AS s (status) WHERE NOT "readpast"."queue_is_finished_fn"(s.status)) THEN
        RAISE EXCEPTION 'purge_job_trx: only finished items can be purged; cancel or terminate the others'
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
            INNER JOIN "readpast"."job" AS q ON q.enqueued_at BETWEEN k.key_1 AND k.key_1
            WHERE
            TRUE
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
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
            FROM "readpast"."job" AS q
            WHERE
            q.status IN ('Failed', 'Cancelled', 'Paused', 'Terminated', 'PartiallyCompleted')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
            ORDER BY q.enqueued_at
            LIMIT max_
            FOR UPDATE OF q SKIP LOCKED
        ) AS w;
    ELSE
        SELECT ARRAY_AGG(w.key_1)
        INTO key_1_
        FROM (
            SELECT q.enqueued_at AS key_1
            FROM "readpast"."job" AS q
            WHERE
            /* An item that was enqueued later cannot have changed before. */
            q.enqueued_at < COALESCE(f_.before, 'infinity')
            AND "readpast"."queue_fits_fn"(
                f_.statuses, f_.types, f_.before, f_.since, f_.longer, f_.part, now_, q.status::text, q.type::text, q.updated_at,
                q.started_at, q.duration, q.error
            )
            AND (wanted_ IS NULL OR "readpast"."queue_has_fn"(wanted_, to_jsonb(q)))
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
        DELETE FROM "readpast"."job" AS q
        USING found AS f
        /* They are locked and found to fit: the key is enough. */
        WHERE q.enqueued_at BETWEEN f.key_1 AND f.key_1
        RETURNING f.*
    )

    SELECT 'purged', COUNT(*) FROM purged;
END;
$$;

REVOKE ALL ON FUNCTION "readpast"."purge_job_trx"(json, integer) FROM public;

/* Citus plans many of their statements only with the values of the call. */
DO $$
DECLARE
    function_ regprocedure;
BEGIN
    IF current_setting('readpast.is_sharded', TRUE) = 'on' THEN
        FOR function_ IN
            SELECT p.oid
            FROM pg_catalog.pg_proc AS p
            INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
            WHERE n.nspname = 'readpast' AND 'plan_cache_mode=force_generic_plan' = ANY(p.proconfig)
        LOOP
            EXECUTE 'ALTER FUNCTION ' || function_ || ' SET plan_cache_mode = force_custom_plan';
        END LOOP;
    END IF;
END;
$$;

/* An index IF NOT EXISTS is not made where anything else in the schema has its name. */
DO $$
DECLARE
    missing_ text;
BEGIN
    missing_ := (
        SELECT w.name
        FROM (
            VALUES
            ('job_due', '"readpast"."job"'), ('job_in_flight', '"readpast"."job"'), ('job_ended', '"readpast"."job"')
        ) AS w (name, place)
        WHERE
            NOT EXISTS (
                SELECT 1
                FROM pg_catalog.pg_index AS x
                INNER JOIN pg_catalog.pg_class AS i ON i.oid = x.indexrelid
                WHERE x.indrelid = w.place::regclass AND i.relname = w.name::name
            )
        LIMIT 1
    );
    IF missing_ IS NOT NULL THEN
        RAISE EXCEPTION 'the index % is not made: something else in the schema of its table has the name; rename that, or drop it',
            missing_
        USING ERRCODE = 'RP014';
    END IF;
END;
$$;

/* The versions and the queue that are installed now. */
INSERT INTO "readpast"."queue_schema_version" (version, applied_at, library)
VALUES
    (1, clock_timestamp(), '(version)')
ON CONFLICT DO NOTHING;

INSERT INTO "readpast"."queue_spec" (queue, preset, spec, rendered_by, installed_at)
VALUES (
    'Job', 'own',
    '{
  "queue": "Job",
  "types": ["A","B"],
  "columns": [{"name":"Customer","type":"text(40)","nullable":true},{"name":"Rank","type":"integer","nullable":false},{"name":"Reference","type":"guid","nullable":true}],
  "order": {"direction":"fifo"},
  "attempts": {"limit":3},
  "backoff": {"first_ms":5000,"factor":2.0,"cap_ms":3600000,"jitter":0.5},
  "lease": {"ms":60000,"kind":"sliding","resume_own":false,"durable":true},
  "completion": "keep",
  "roles": {"own_types_only":false},
  "settings": "job"
}',
    1, clock_timestamp()
)
ON CONFLICT (queue) DO UPDATE
SET preset = excluded.preset, spec = excluded.spec, rendered_by = excluded.rendered_by;

COMMIT;
