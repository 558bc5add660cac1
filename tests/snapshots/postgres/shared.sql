/*
The queue Notification, and what all queues of its schema share.
Rendered by readpast (version); the objects have version 1. Made anew whenever it is rendered: change the
description, not this text.

To run it, as a role that may create schemas, tables and functions:
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
            INNER JOIN pg_catalog.pg_auth_members AS m
                ON m.member = i.oid
        ),

        names (name) AS MATERIALIZED (
            SELECT n.name FROM pg_catalog.json_array_elements_text('["app_settings", "queue_catalog", "queue_finite_fn",
    "queue_is_done", "queue_is_editable_fn", "queue_is_finished_fn",
    "queue_is_processable_fn", "queue_is_refusal_fn", "queue_json_fn",
    "queue_ms_fn", "queue_named_fn", "queue_note_refusal",
    "queue_operation", "queue_operation_at", "queue_own_type_v",
    "queue_recovery", "queue_refuse_fn", "queue_refused",
    "queue_retention", "queue_schema_version", "queue_spec",
    "queue_state", "queue_status", "queue_taken_fn",
    "queue_time_fn", "queue_transition", "queue_turn",
    "queue_type_access", "queue_unfit_fn", "queue_utc_fn"]'::json) AS n (name)
        ),

        place (oid) AS MATERIALIZED (
            SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname::text = 'readpast'
        ),

        found (kind, name, owner) AS (
            SELECT 'schema', n.nspname::text, n.nspowner
            FROM pg_catalog.pg_namespace AS n
            WHERE n.oid IN (SELECT p.oid FROM place AS p)
            UNION ALL
            SELECT 'relation', c.relname::text, c.relowner
            FROM pg_catalog.pg_class AS c
            WHERE
                c.relnamespace IN (SELECT p.oid FROM place AS p)
                AND c.relname::text IN (SELECT s.name FROM names AS s)
            UNION ALL
            SELECT 'function', f.proname::text, f.proowner
            FROM pg_catalog.pg_proc AS f
            WHERE
                f.pronamespace IN (SELECT p.oid FROM place AS p)
                AND f.proname::text IN (SELECT s.name FROM names AS s)
            UNION ALL
            SELECT 'type', t.typname::text, t.typowner
            FROM pg_catalog.pg_type AS t
            WHERE
                t.typnamespace IN (SELECT p.oid FROM place AS p)
                AND t.typname::text IN (SELECT s.name FROM names AS s)
            UNION ALL
            /* A maker of triggers on a table need not own it; the function that they run is somebody's. */
            SELECT 'function of the trigger ' || g.tgname || ' on ' || c.relname || ':', f.proname::text, f.proowner
            FROM pg_catalog.pg_class AS c
            INNER JOIN pg_catalog.pg_trigger AS g
                ON g.tgrelid = c.oid
            INNER JOIN pg_catalog.pg_proc AS f
                ON f.oid = g.tgfoid
            WHERE
                c.relnamespace IN (SELECT p.oid FROM place AS p)
                AND c.relname::text IN (SELECT s.name FROM names AS s)
        )

        SELECT
            f.kind,
            f.name,
            'belongs to' AS verb,
            r.rolname::text AS owner,
            'Its owner''s triggers and functions would run with the rights of who installs. Drop it, change its owner, '
            || 'install as that role or as a member of it, or choose another schema.' AS remedy
        FROM found AS f
        INNER JOIN pg_catalog.pg_roles AS r
            ON r.oid = f.owner
        WHERE
            NOT r.rolsuper
            AND r.rolname::text <> 'pg_database_owner'
            AND r.oid NOT IN (SELECT i.oid FROM mine AS i)
            AND r.oid NOT IN (
                SELECT d.datdba FROM pg_catalog.pg_database AS d WHERE d.datname::text = pg_catalog.current_database()::text
            )
        ORDER BY
            f.kind = 'schema' DESC,
            f.kind,
            f.name
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
            VALUE IN (
                'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated',
                'PartiallyCompleted'
            )
        );
    END IF;
END;
$$;

/* One row per version that was applied here: an audit trail, never updated. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_schema_version" (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL,
    library text NOT NULL
);

/* The queues of this schema, each with the specification it was rendered from. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_spec" (
    queue text PRIMARY KEY,
    preset text NOT NULL,
    spec text NOT NULL,
    rendered_by integer NOT NULL,
    installed_at timestamptz NOT NULL
);

/* Settings that functions read, such as notification.maxAttempts. */
CREATE TABLE IF NOT EXISTS "readpast"."app_settings" (
    param text PRIMARY KEY,
    val_int integer NULL,
    val_text text NULL
);

CREATE TABLE IF NOT EXISTS "readpast"."queue_status" (
    status "readpast"."queue_state" PRIMARY KEY
);

INSERT INTO "readpast"."queue_status" (status)
VALUES
    ('Pending'),
    ('Processing'),
    ('Error'), /* retryable */
    ('Failed'), /* attempts spent, or the worker gave up */
    ('Completed'),
    ('Cancelled'),
    ('Paused'),
    ('Terminated'),
    ('PartiallyCompleted')
ON CONFLICT DO NOTHING;

/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
CREATE TABLE IF NOT EXISTS "readpast"."queue_transition" (
    from_status "readpast"."queue_state" NOT NULL,
    to_status "readpast"."queue_state" NOT NULL,
    PRIMARY KEY (from_status, to_status)
);

INSERT INTO "readpast"."queue_transition" (from_status, to_status)
VALUES
    ('Pending', 'Processing'),
    ('Pending', 'Failed'),
    ('Pending', 'Cancelled'),
    ('Pending', 'Paused'),
    ('Pending', 'Terminated'),
    ('Processing', 'Processing'),
    ('Processing', 'Pending'),
    ('Processing', 'Error'),
    ('Processing', 'Failed'),
    ('Processing', 'Completed'),
    ('Processing', 'PartiallyCompleted'),
    ('Processing', 'Cancelled'),
    ('Processing', 'Paused'),
    ('Processing', 'Terminated'),
    ('Error', 'Processing'),
    ('Error', 'Pending'),
    ('Error', 'Failed'),
    ('Error', 'Cancelled'),
    ('Error', 'Paused'),
    ('Error', 'Terminated'),
    ('Paused', 'Processing'),
    ('Paused', 'Pending'),
    ('Paused', 'Failed'),
    ('Paused', 'Cancelled'),
    ('Paused', 'Terminated')
ON CONFLICT DO NOTHING;

/*
One row per call that changed items, written in the same transaction: whoever lost the answer asks again with the same
identity and gets the same answer instead of a second effect; in another queue, or for another kind of call, it is refused.
Result holds what cannot be read back from the items.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_operation" (
    operation_id uuid PRIMARY KEY,
    call text NOT NULL, /* the function */
    at timestamptz NOT NULL,
    result json NULL
);

CREATE INDEX IF NOT EXISTS queue_operation_at ON "readpast"."queue_operation" (at);

/*
Which logins see which types, of queues whose description says own_types_only. user_name is a role, that of the login or
one it is a member of; the type * is every type.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_type_access" (
    queue text NOT NULL,
    type text NOT NULL,
    user_name text NOT NULL,
    PRIMARY KEY (queue, user_name, type)
);

/*
The types that the caller may see, by queue: of the role that logged in, and of those it is a member of. session_user,
since functions that run with their owner's rights ask here too.
*/
CREATE OR REPLACE VIEW "readpast"."queue_own_type_v" AS
SELECT
    a.queue,
    a.type
FROM "readpast"."queue_type_access" AS a
LEFT JOIN pg_catalog.pg_roles AS r
    ON r.rolname = a.user_name
WHERE
    a.user_name = session_user
    OR PG_HAS_ROLE(session_user, r.oid, 'MEMBER');

/*
A row for each queue whose description says how long items stay that have ended, and when what was over was last deleted, to
the end. Who deletes locks the row meanwhile, and others pass over it: one at a time.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_retention" (
    queue text NOT NULL PRIMARY KEY,
    done_at timestamptz NOT NULL
);

/*
A row for each queue with groups, whose claims take turns, and one ("<queue> add") for each that adds no work twice to a table of
others, where adding takes turns: each locks the row to the end of its transaction.
Nothing is ever written to it, and only the functions can lock it, hence nobody who may not claim: an advisory lock could
be taken, and kept, by any login.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_turn" (
    queue text NOT NULL PRIMARY KEY
);

/*
A row for each queue: when the items of its dead workers were last looked for. Of all who claim, one does it when it is
time; nobody waits for a row here.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_recovery" (
    queue text NOT NULL PRIMARY KEY,
    recovered_at timestamptz NOT NULL
);

/*
Items that their table does not let a queue change: a claim or a recovery of one met a unique index, a CHECK, a trigger. Each
is left aside until a time that goes farther at each refusal; all processes see it, so that none tries in vain. Key is the
item's as text. Attempts counts the refusals that spend an attempt: not those of a unique index or an exclusion, which pass
when another row does. The row goes when its item is let through.
*/
CREATE TABLE IF NOT EXISTS "readpast"."queue_refused" (
    queue text NOT NULL,
    key text NOT NULL,
    doing text NOT NULL, /* claim or recover */
    reason text NOT NULL,
    constraint_name text NULL,
    times integer NOT NULL,
    attempts integer NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (queue, key)
);

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

/* Ends a statement that finds out in its midst that an argument is not allowed. */
CREATE OR REPLACE FUNCTION "readpast"."queue_refuse_fn"(why text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION '%', why USING ERRCODE = 'RP021';
END;
$$;

/*
Whether an error of this SQLSTATE is a table's word about a row: a constraint, a value, a trigger. Not what passes, what the
server lacks, what is missing or forbidden to whoever asks, nor what is this library's own.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_is_refusal_fn"(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT LEFT(state, 2) NOT IN ('08', '25', '28', '40', '42', '53', '54', '55', '57', '58', 'F0', 'RP', 'XX');
$$;

/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. What nobody has tried for long is forgotten: it is gone, or somebody has mended it.
Of so many at once it is no matter of one row: then the refusal is an error, and nothing is done.
Table access order: queue_refused.
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_note_refusal"(
    queue_ text, key_ text, doing_ text, state_ text, reason_ text, constraint_ text
)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    counts_ CONSTANT integer := (state_ NOT IN ('23505', '23P01'))::integer;
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

    INSERT INTO "readpast"."queue_refused" AS x (
        queue, key, doing, reason, constraint_name, times, attempts, since, until
    )
    VALUES (
        queue_, key_, doing_, LEFT(reason_, 400), NULLIF(constraint_, ''), 1, counts_, now_, now_ + interval '1 second'
    )
    ON CONFLICT (queue, key) DO UPDATE
    SET
        doing = excluded.doing,
        reason = excluded.reason,
        constraint_name = excluded.constraint_name,
        times = x.times + 1,
        attempts = x.attempts + excluded.attempts,
        until = now_ + LEAST(60, POWER(2, LEAST(x.times, 6))) * interval '1 second'
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
    SELECT CASE
        WHEN isfinite(since) AND isfinite(until)
            THEN ((date_part('epoch', until) - date_part('epoch', since)) * 1000)::bigint
    END;
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
    LEFT JOIN "readpast"."queue_spec" AS q
        ON TRUE
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
/* There are few rows in JSON, which no planner knows. */
SET jit = off
SET enable_hashjoin = on
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
    WITH shape AS MATERIALIZED (
        SELECT
            x.place,
            x.name,
            x.takes,
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
        INNER JOIN shape AS s
            ON s.place = '' AND s.name = g.name AND s.kind = 'object'
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
            INNER JOIN shape AS s
                ON s.place = g.place AND s.name = g.name AND s.kind = 'object'
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
        LEFT JOIN shape AS s
            ON s.place = g.place AND s.name = g.name
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
                                    || '([Zz]|[-+](0[0-9]|1[0-4]):?[0-5][0-9])?$')
                            )
                            THEN left(g.text, 4) > '0000'
                            AND substring(g.text FROM 9 FOR 2)::integer BETWEEN 1 AND date_part(
                                'day',
                                make_date(GREATEST(left(g.text, 4)::integer, 1), substring(g.text FROM 6 FOR 2)::integer, 1)
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
        SELECT
            g.ordinal,
            format('"%s%s" is given twice', g.place, g.name)
        FROM given AS g
        GROUP BY g.ordinal, g.place, g.name
        HAVING COUNT(*) > 1
        UNION ALL
        /*
        Members that must have a value, in each object that is there; columns are even where they are left out, and what is
        left out of "set" stays.
        */
        SELECT
            e.ordinal,
            format('"%s%s" must have a value', s.place, s.name)
        FROM shape AS s
        INNER JOIN (
            SELECT g.ordinal, g.place || g.name || '.' AS place
            FROM given AS g
            WHERE g.is = 'object'
            UNION
            SELECT n.number - 1, 'columns.'
            FROM generate_series(1, json_array_length(items)) AS n (number)
        ) AS e
            ON e.place = s.place
        LEFT JOIN given AS g
            ON g.ordinal = e.ordinal AND g.place = s.place AND g.name = s.name
        WHERE
            s.takes #>> '{}' LIKE '% not null'
            AND COALESCE(g.is = 'null', s.place NOT LIKE 'set.%')
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
    IF json_typeof(given) <> 'object' OR json_typeof(takes) <> 'object' THEN
        RETURN given;
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
*/
CREATE OR REPLACE FUNCTION "readpast"."queue_taken_fn"(called text, items json, takes json) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    named_ json;
    why_ text;
BEGIN
    IF items IS NULL THEN
        RETURN NULL;
    END IF;
    IF json_typeof(items) <> 'array' THEN
        RAISE EXCEPTION '%: the items are no JSON array', called USING ERRCODE = 'RP021';
    END IF;
    IF json_array_length(items) > 1000 THEN
        RAISE EXCEPTION '%: at most 1000 items a call', called USING ERRCODE = 'RP021';
    END IF;
    IF "readpast"."queue_unfit_fn"(items, takes) IS NULL THEN
        RETURN items;
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
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, which
only who writes the same does: what is written for it goes again. What is older than an hour may be forgotten.
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

/* The versions and the queue that are installed now. */
INSERT INTO "readpast"."queue_schema_version" (version, applied_at, library)
VALUES
    (1, clock_timestamp(), '(version)')
ON CONFLICT DO NOTHING;

INSERT INTO "readpast"."queue_spec" (queue, preset, spec, rendered_by, installed_at)
VALUES (
    'Notification',
    'procedures',
    '{
  "queue": "Notification",
  "types": [
    "ResetPassword",
    "Email"
  ],
  "procedures": {
    "next": "Next_Notification_trx",
    "modify": "Modify_Notification_trx",
    "view": "Worker_Notification_V",
    "key": "EnqueuedAt",
    "token": "UpdatedAt",
    "time": "local"
  },
  "columns": []
}',
    1,
    clock_timestamp()
)
ON CONFLICT (queue) DO UPDATE
SET preset = excluded.preset, spec = excluded.spec, rendered_by = excluded.rendered_by;

COMMIT;
