{%- import "macro/item.sql" as m -%}
{% filter made("FUNCTION", "queue_is_processable_fn") %}
/* The meaning of each status, in one place. Re-created by every install. */
CREATE OR REPLACE FUNCTION {{ object("queue_is_processable_fn") }}(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Can this item be picked up for processing? */
    SELECT status IN ('Pending', 'Paused', 'Error');
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_is_finished_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_is_finished_fn") }}(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Is this item in a terminal state? */
    SELECT status NOT IN ('Pending', 'Processing', 'Error', 'Paused');
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_is_editable_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_is_editable_fn") }}(status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    /* Can a worker write response and error data to this item? */
    SELECT status NOT IN ('Cancelled', 'Paused', 'Terminated', 'Completed', 'PartiallyCompleted');
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_refuse_fn") %}
/* Ends a statement that finds out in its midst that an argument, or what it did, is not allowed. */
CREATE OR REPLACE FUNCTION {{ object("queue_refuse_fn") }}(why text, state text DEFAULT 'RP021') RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION '%', why USING ERRCODE = state;
END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_is_refusal_fn") %}
/*
Whether an error of this SQLSTATE is a table's word about a row: a constraint, a value, a trigger. Not an error that passes, nor a
lack of the server, nor a name that is missing or forbidden to the caller, nor an error of this library.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_is_refusal_fn") }}(state text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT LEFT(state, 2) NOT IN ('08', '25', '28', '40', '42', '53', '54', '55', '57', '58', 'F0', 'RP', 'XX');
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_note_refusal") %}
/*
Leaves an item aside that its table has refused to have changed: for a second, then for twice as long each time, at most for a
minute. Says how often it was refused. An item that no call has tried for long is forgotten: it is gone, or a person has mended it.
With so many at once it is no matter of one row: then the refusal is an error, and nothing is done. Called by the functions of a queue.
Table access order: queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_note_refusal") }}(
    queue_ text, key_ text, doing_ text, state_ text, reason_ text, constraint_ text
)
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
    DELETE FROM {{ object("queue_refused") }} AS x
    WHERE x.queue = queue_ AND x.until < now_ - interval '10 minutes';

    IF (
        SELECT COUNT(*) >= 1000 OR COUNT(*) FILTER (WHERE x.attempts > 0) >= 100
        FROM {{ object("queue_refused") }} AS x
        WHERE x.queue = queue_ AND x.until > now_ AND x.key <> key_
    )
    THEN
        RAISE EXCEPTION '%, and so of many other items, which are left aside', reason_ USING ERRCODE = state_;
    END IF;

    INSERT INTO {{ object("queue_refused") }} AS x (
        queue, key, doing, reason, constraint_name, times, attempts, since, until
    )
    VALUES (
        queue_, key_, doing_, LEFT(reason_, 400), NULLIF(constraint_, ''), 1, counts_, now_, now_ + interval '1 second'
    )
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_note_refusal") }}(text, text, text, text, text, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_finite_fn") %}
/* A time that somebody gives: infinite ones are refused. Others' rows may have them, as "never". */
CREATE OR REPLACE FUNCTION {{ object("queue_finite_fn") }}(value timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE
AS $$
    SELECT CASE
        WHEN isfinite(value) IS FALSE
            THEN {{ object("queue_refuse_fn") }}('a time must be finite, and not ' || value::text)::timestamptz
        ELSE value
    END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_ms_fn") %}
/* The milliseconds from a time until another, NULL where one of them is infinite. */
CREATE OR REPLACE FUNCTION {{ object("queue_ms_fn") }}(since timestamptz, until timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN isfinite(since) AND isfinite(until) THEN (date_part('epoch', until - since) * 1000)::bigint END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_terms") %}
/*
Refuses what a call is given, before anything is done; each caller hands on what it has. Else a setting of a queue, or what its
description says: a value below 1 does not count, since without attempts all that waits would be Failed at once. Both in one
call, since each costs most calls as much as all that it asks. Called by the functions of a queue.
Table access order: app_settings.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_terms") }}(
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
    RETURN COALESCE((SELECT a.val_int FROM {{ object("app_settings") }} AS a WHERE a.param = param_ AND a.val_int > 0), otherwise);
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_terms") }}(text, text, integer, integer, integer, timestamptz, text, integer) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_clear") %}
/*
Clear away the identities that are older than an hour: answers are asked for again within minutes. The functions of a queue
do so in one call of 64, and decide that themselves, since the others then call nothing.
Table access order: queue_operation.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_clear") }}(operation_ uuid, now_ timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    WITH old AS MATERIALIZED (
        SELECT o.operation_id
        FROM {{ object("queue_operation") }} AS o
        WHERE o.at < now_ - interval '1 hour'
        ORDER BY o.at
        LIMIT 256
        FOR UPDATE SKIP LOCKED
    )

    DELETE FROM {{ object("queue_operation") }} AS p
    USING old AS o
    WHERE p.operation_id BETWEEN o.operation_id AND o.operation_id;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_clear") }}(uuid, timestamptz) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_begun") %}
/*
The first that a call with an identity does: TRUE when it was made before, and only its answers are asked for. Another
attempt of it that is under way is waited for. Called by the functions of a queue.
Table access order: queue_operation.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_begun") }}(operation_ uuid, call_ text, now_ timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
BEGIN
    INSERT INTO {{ object("queue_operation") }} (operation_id, call, at)
    VALUES (operation_, call_, now_)
    ON CONFLICT (operation_id) DO NOTHING;
    IF NOT FOUND THEN
        PERFORM FROM {{ object("queue_operation") }} AS p WHERE p.operation_id = operation_ AND p.call = call_;
        IF NOT FOUND THEN
            RAISE EXCEPTION '%: the operation % was another call', call_, operation_ USING ERRCODE = 'RP021';
        END IF;
        RETURN TRUE;
    END IF;
    IF get_byte(uuid_send(operation_), 15) % 64 = 0 THEN
        PERFORM {{ object("queue_clear") }}(operation_, now_);
    END IF;
    RETURN FALSE;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_begun") }}(uuid, text, timestamptz) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_recovery_turn") %}
/*
One of all who claim looks for the items of dead workers, once in so many milliseconds. TRUE: it is the caller's turn; FALSE: it
is not; NULL: somebody has it, and keeps his transaction open for as long again, which is to hold nobody up. Nobody waits here.
Called by the functions of a queue.
Table access order: queue_recovery, queue_lifeline, queue_refused, each passed over when somebody holds the row.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_recovery_turn") }}(queue_ text, every_ms_ integer, now_ timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    every_ CONSTANT interval := every_ms_ * interval '1 millisecond';
BEGIN
    /* Most calls end here, without a look at locks. */
    PERFORM
    FROM {{ object("queue_recovery") }} AS r
    WHERE
        r.queue = queue_ AND r.recovered_at BETWEEN now_ - every_ AND now_ + every_
        AND r.looked_at BETWEEN now_ - interval '500 ms' AND now_ + interval '500 ms';
    IF FOUND THEN RETURN FALSE;
    END IF;
    PERFORM {{ object("queue_lifeline_look") }}(queue_, now_);
    UPDATE {{ object("queue_recovery") }} AS r
    SET recovered_at = now_
    FROM (
        SELECT d.queue
        FROM {{ object("queue_recovery") }} AS d
        WHERE d.queue = queue_ AND d.recovered_at NOT BETWEEN now_ - every_ AND now_ + every_
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS d
    WHERE r.queue = d.queue;
    IF FOUND THEN
        /* Pauses that are over are gone around no longer. */
        DELETE FROM {{ object("queue_refused") }} AS x
        WHERE
            x.queue = queue_ AND x.key IN (
                SELECT d.key FROM {{ object("queue_refused") }} AS d
                WHERE d.queue = queue_ AND d.doing = 'pause' AND d.until <= now_
                FOR UPDATE SKIP LOCKED
            );
        RETURN TRUE;
    END IF;
    PERFORM
    FROM {{ object("queue_recovery") }} AS r
    WHERE r.queue = queue_ AND r.recovered_at BETWEEN now_ - every_ * 2 AND now_ + every_;
    RETURN CASE WHEN FOUND THEN FALSE END;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_recovery_turn") }}(text, integer, timestamptz) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_due") %}
/*
For many queues at once, in how many milliseconds a claim of each may find something, as due_<queue> answers. A row for each queue
that the login may claim from, by its place in queues_: a JSON array of objects with the queue's name in names of objects (queue)
and the milliseconds within which one recovery is enough (recover).
Table access order: as due_<queue>, one queue after the other.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_due") }}(queues_ json)
RETURNS TABLE (place integer, due_ms bigint)
{% include "part/attributes.sql" %}
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
            has_function_privilege(
                session_user, TO_REGPROC(format('%s.%I', {{ text(schema) }}, 'next_' || queue_ || '_set_trx')), 'EXECUTE'
            )
            AND TO_REGPROC(format('%s.%I', {{ text(schema) }}, 'due_' || queue_)) IS NOT NULL
        THEN
            /* One whose table is being changed, or no longer fits, holds up no other: its own claims report it. */
            BEGIN
                /* The look at a table in the server's time has changed it. */
                SET LOCAL timezone TO 'UTC';
                SET LOCAL lock_timeout TO '1s';
                EXECUTE 'SELECT ' || format('%s.%I', {{ text(schema) }}, 'due_' || queue_) || '($1)' INTO due_ms USING recover_;
                RETURN NEXT;
            EXCEPTION WHEN OTHERS THEN CONTINUE;
            END;
        END IF;
    END LOOP;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_due") }}(json) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_sleep") %}
/*
A process that has nothing to do asks to be woken: the next call that adds to one of queues_ (a JSON array of their names in names of
objects, of which those count that the login may claim from) notifies channel_, on which the session listener_ listens. It asks again
from time to time: that forgets the sleepers whose sessions are gone, and those that waited for an item, and rings the bell itself, so
that the process knows that it would hear it.
Table access order: queue_sleeper, queue_awaited, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_sleep") }}(queues_ json, channel_ text, listener_ integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    added_ integer;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = listener_ AND a.usename = session_user) THEN
        RAISE EXCEPTION 'queue_sleep: listener_ must be a session of this login' USING ERRCODE = 'RP021';
    END IF;
    DELETE FROM {{ object("queue_sleeper") }} AS s
    WHERE
        s.id IN (
            SELECT d.id
            FROM {{ object("queue_sleeper") }} AS d
            WHERE
                NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = d.listener)
                OR d.listener = listener_ AND d.channel <> channel_
            FOR UPDATE SKIP LOCKED
        );
    DELETE FROM {{ object("queue_awaited") }} AS w
    WHERE
        (w.queue, w.key, w.channel) IN (
            SELECT d.queue, d.key, d.channel
            FROM {{ object("queue_awaited") }} AS d
            WHERE NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = d.listener)
            FOR UPDATE SKIP LOCKED
        );
    INSERT INTO {{ object("queue_sleeper") }} (queue, channel, listener)
    SELECT i.queue, channel_, listener_
    FROM json_array_elements_text(queues_) AS i (queue)
    WHERE
        has_function_privilege(
            session_user, TO_REGPROC(format('%s.%I', {{ text(schema) }}, 'next_' || i.queue || '_set_trx')), 'EXECUTE'
        )
        AND NOT EXISTS (
            SELECT 1 FROM {{ object("queue_sleeper") }} AS s WHERE s.queue = i.queue AND s.channel = channel_
        );
    GET DIAGNOSTICS added_ = ROW_COUNT;
    PERFORM pg_notify(channel_, '');
    RETURN added_;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_sleep") }}(json, text, integer) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_await") %}
/*
A process waits for the ends of the items keys_ (a JSON array of keys as the library shows them) of a queue that the login may read: the
next call that settles one notifies channel_, on which the session listener_ listens. Items for which it asked before and does not now
are forgotten, and so are processes whose sessions are gone. With rings_ it rings the bell itself, as queue_sleep does.
Table access order: queue_awaited, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_await") }}(
    queue_ text, keys_ json, channel_ text, listener_ integer, rings_ boolean
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys_of_it_ CONSTANT text[] := ARRAY(SELECT k.value FROM json_array_elements_text(keys_) AS k (value) WHERE LENGTH(k.value) <= 1000);
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = listener_ AND a.usename = session_user) THEN
        RAISE EXCEPTION 'queue_await: listener_ must be a session of this login' USING ERRCODE = 'RP021';
    END IF;
    IF NOT COALESCE(
        has_function_privilege(session_user, TO_REGPROC(format('%s.%I', {{ text(schema) }}, 'find_' || queue_)), 'EXECUTE'), FALSE
    )
    THEN
        RAISE EXCEPTION 'queue_await: permission denied: this login may not find items of %', queue_ USING ERRCODE = 'RP015';
    END IF;
    DELETE FROM {{ object("queue_awaited") }} AS w
    WHERE
        (w.queue, w.key, w.channel) IN (
            SELECT d.queue, d.key, d.channel
            FROM {{ object("queue_awaited") }} AS d
            WHERE
                d.queue = queue_ AND CASE
                    WHEN d.channel = channel_ THEN d.key <> ALL(keys_of_it_)
                    ELSE NOT EXISTS (SELECT 1 FROM pg_stat_activity AS a WHERE a.pid = d.listener)
                END
            FOR UPDATE SKIP LOCKED
        );
    INSERT INTO {{ object("queue_awaited") }} AS w (queue, key, channel, listener)
    SELECT queue_, k.key, channel_, listener_
    FROM UNNEST(keys_of_it_) AS k (key)
    ON CONFLICT (queue, key, channel) DO UPDATE SET listener = excluded.listener WHERE w.listener <> excluded.listener;
    PERFORM pg_notify(channel_, '') WHERE rings_;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_await") }}(text, json, text, integer, boolean) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_may_ring_fn") %}
/*
Whether a call may notify: not where a transaction may be prepared for a second phase, which must not, nor where listeners elsewhere
keep the server's list of notifications from getting shorter. A full list would fail the call.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_may_ring_fn") }}() RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT current_setting('max_prepared_transactions') = '0' AND pg_notification_queue_usage() <= 0.5;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_ring") %}
/*
Wakes one process that sleeps over a queue, when the caller's transaction commits; its row is gone then, so that many calls wake it
once. The last to fall asleep is the first: of those before it some may be dead. A ring that fails is left out, since processes
look from time to time anyhow: where another has the row, where the caller's snapshot is older than the row's end, and where a call may
not ring. Called by the functions of a queue, if somebody sleeps.
Table access order: queue_sleeper, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_ring") }}(queue_ text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    channel_ text;
BEGIN
    IF NOT {{ object("queue_may_ring_fn") }}() THEN RETURN;
    END IF;
    BEGIN
        DELETE FROM {{ object("queue_sleeper") }} AS s
        WHERE
            s.id = (
                SELECT d.id
                FROM {{ object("queue_sleeper") }} AS d
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_ring") }}(text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_ring_waiters") %}
/*
Wakes the processes that wait for the end of one of the items keys_, which have been settled, as queue_ring wakes those that sleep.
Called by the functions of a queue, if somebody waits.
Table access order: queue_awaited, passing over the rows that others hold.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_ring_waiters") }}(queue_ text, keys_ text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY INVOKER
AS $$
DECLARE
    rung_ record;
BEGIN
    IF NOT {{ object("queue_may_ring_fn") }}() THEN RETURN;
    END IF;
    FOR rung_ IN
        DELETE FROM {{ object("queue_awaited") }} AS w
        WHERE
            (w.queue, w.key, w.channel) IN (
                SELECT d.queue, d.key, d.channel
                FROM {{ object("queue_awaited") }} AS d
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_ring_waiters") }}(text, text[]) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_must") %}
/*
Whether a column of somebody's table may not be NULL. Called where there is no value for it.
Table access order: none but the catalog.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_must") }}(place_ text, column_ text) RETURNS boolean
LANGUAGE sql STABLE SECURITY INVOKER
AS $$
    SELECT a.attnotnull OR t.typnotnull
    FROM pg_catalog.pg_attribute AS a
    INNER JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
    WHERE a.attrelid = place_::regclass AND a.attname = column_;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_must") }}(text, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_head_fn") %}
/*
From which due time on a claim seeks, in the index of what is due. Entries of items that went long ago stay there while the oldest
transaction of the server could still see them, and each claim passes over all of them. So after a claim that has passed over many, those
of the same session begin where it found its first item: for twenty times as long as it took, at most a minute. An item that is
due before that place waits so long, unless nothing else is found.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_head_fn") }}(kept text, index_ regclass, now_ timestamptz) RETURNS timestamptz
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
{% endfilter %}
{% filter made("FUNCTION", "queue_begin_at_fn") %}
/* Keeps for the claims of this session where they begin, after one that began at `since` and has read many entries of the index. */
CREATE OR REPLACE FUNCTION {{ object("queue_begin_at_fn") }}(name text, index_ regclass, since timestamptz, head timestamptz)
RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN set_config(
        name,
        concat_ws(
            '|', index_::oid, EXTRACT(EPOCH FROM now_ + LEAST(20 * (now_ - since), interval '1 minute')), EXTRACT(EPOCH FROM head)
        ),
        FALSE
    );
END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_filter") %}
/*
The members of a filter, each with its type, or an error in the words of `called_`: a condition with a slip in it must not be
passed over, since what it was to keep out would be met too. Called by the functions of a queue.
Table access order: queue_status.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_filter") }}(called_ text, filter_ json, max_ integer)
RETURNS TABLE (
    keys json, statuses text[], types text[], before timestamptz, since timestamptz, part text, longer bigint
)
LANGUAGE plpgsql STABLE SECURITY INVOKER
AS $$
DECLARE
    why_ text := CASE WHEN json_typeof(filter_) <> 'object' THEN 'filter_ is not a JSON object' END;
BEGIN
    PERFORM {{ object("queue_terms") }}(called_, most => max_);
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
                    WHERE NOT EXISTS (SELECT 1 FROM {{ object("queue_status") }} AS k WHERE k.status = s.status)
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_filter") }}(text, json, integer) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_fits_fn") %}
/*
Whether an item fits the members of a filter; the error is searched as it stands, nothing in it is a wildcard. Where each of these is
a column, the planner puts this expression into the query that asks; a state that is found by a long CASE is handed on to it row by row.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_fits_fn") }}(
    statuses text[], types text[], before timestamptz, since timestamptz, longer bigint, part text, at timestamptz,
    status text, type text, changed timestamptz, started timestamptz, duration bigint, error text
) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT
        (statuses IS NULL OR status = ANY(statuses)) AND (types IS NULL OR type = ANY(types))
        AND (before IS NULL OR changed < before) AND (since IS NULL OR changed >= since)
        AND (longer IS NULL OR CASE status WHEN 'Processing' THEN {{ object("queue_ms_fn") }}(started, at) ELSE duration END > longer)
        AND (part IS NULL OR STRPOS(error, part) > 0);
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_wanted_fn") %}
/*
The values that a filter looks for, as a row of this type has them: `is` are columns, `members` are members of the JSON in a column, by
their path. NULL looks for nothing. `names` are the columns that can be searched, and what the row calls them. A condition with a slip in it
is refused in the words of `called_`. Called by the functions of a queue.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_wanted_fn") }}(called_ text, filter_ json, names json, item anyelement) RETURNS jsonb
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    columns_ CONSTANT json := CASE json_typeof(filter_ -> 'columns') WHEN 'object' THEN filter_ -> 'columns' ELSE '{}' END;
    members_ CONSTANT json := CASE json_typeof(filter_ -> 'members') WHEN 'array' THEN filter_ -> 'members' ELSE '[]' END;
BEGIN
    IF json_typeof(filter_ -> 'columns') IS NULL AND json_typeof(filter_ -> 'members') IS NULL THEN
        RETURN NULL;
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
    item := json_populate_record(
        item, (SELECT json_object_agg(names ->> c.name, c.value) FROM json_each(columns_) AS c (name, value))
    );
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
{% endfilter %}
{% filter made("FUNCTION", "queue_member_fn") %}
/* A text, a number or a truth in a document, as it is written; NULL where there is none, and where the text is no JSON. */
CREATE OR REPLACE FUNCTION {{ object("queue_member_fn") }}(document jsonb, path text[]) RETURNS text
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
{% endfilter %}
{% filter made("FUNCTION", "queue_has_fn") %}
/* Whether an item, as a row of its table, has the values that queue_wanted_fn returns: each is compared in the type of its column. */
CREATE OR REPLACE FUNCTION {{ object("queue_has_fn") }}(wanted jsonb, item jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN item @> (wanted -> 'is') AND NOT EXISTS (
        SELECT 1
        FROM jsonb_to_recordset(wanted -> 'members') AS m ("column" text, path text[], value text)
        WHERE {{ object("queue_member_fn") }}(item -> m."column", m.path) IS DISTINCT FROM m.value
    );
END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_backoff_fn") %}
/*
How long an item waits after an attempt: so many ms after the first, factor_percent of the delay before after each further one, at most
cap_ms; up to jitter_percent less by chance, for each item anew. The logarithm keeps the power from overflowing before the cap counts.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_backoff_fn") }}(
    attempt integer, first_ms float8, factor_percent float8, cap_ms float8, jitter_percent float8
) RETURNS interval
LANGUAGE sql VOLATILE
AS $$
    SELECT
        ROUND(
            EXP(LEAST(LN(first_ms) + (attempt - 1) * LN(factor_percent / 100), LN(cap_ms))) * (1 - random() * jitter_percent / 100)
        ) * interval '1 millisecond';
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_catalog") %}
/*
The installation here: the version of the objects, and a row per queue, or one without a queue. A handle reads this
when it opens, so that a worker needs no right but to execute.
Table access order: queue_schema_version, queue_spec.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_catalog") }}()
RETURNS TABLE (version integer, queue text, preset text, spec text, rendered_by integer)
LANGUAGE sql STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT v.version, q.queue, q.preset, q.spec, q.rendered_by
    FROM (
        SELECT MAX(a.version) AS version
        FROM {{ object("queue_schema_version") }} AS a
    ) AS v
    LEFT JOIN {{ object("queue_spec") }} AS q
        ON TRUE
    ORDER BY q.queue;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_catalog") }}() FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_utc_fn") %}
/* A time of a table that keeps UTC in columns of either type. */
CREATE OR REPLACE FUNCTION {{ object("queue_utc_fn") }}(value timestamp) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value AT TIME ZONE 'UTC';
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_utc_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_utc_fn") }}(value timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_text_fn") %}
/* A response or an error as its column keeps it, by the type of the column: text is what it is, and JSON a string or a document. */
CREATE OR REPLACE FUNCTION {{ object("queue_text_fn") }}(kept text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT kept;
$$;
{% endfilter %}
{%- for type in ["json", "jsonb"] %}
{% filter made("FUNCTION", "queue_text_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_text_fn") }}(kept {{ type }}) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
{%- if type == "json" %}
        /* No text holds this character: the string stays as JSON writes it. */
        WHEN STRPOS(kept::text, '\u0000') > 0 THEN kept::text
{%- endif %}
        WHEN {{ type }}_typeof(kept) IN ('string', 'null') THEN kept #>> '{}'
        ELSE kept::text
    END;
$$;
{% endfilter %}
{%- endfor %}
{%- for type in ["text", "json", "jsonb"] %}
{% filter made("FUNCTION", "queue_text_fn") %}
/* The last of a list. */
CREATE OR REPLACE FUNCTION {{ object("queue_text_fn") }}(kept {{ type }}[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT {{ object("queue_text_fn") }}(kept[ARRAY_UPPER(kept, 1)]);
$$;
{% endfilter %}
{%- endfor %}
{% filter made("FUNCTION", "queue_kept_fn") %}
/* A response or an error for a column of this type: JSON keeps a document as such, and other text as a string. */
CREATE OR REPLACE FUNCTION {{ object("queue_kept_fn") }}(kept text, value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_kept_fn") %}
/* A state by its name. */
CREATE OR REPLACE FUNCTION {{ object("queue_kept_fn") }}(kept anyenum, value text) RETURNS anyenum
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN value;
END;
$$;
{% endfilter %}
{%- for type in ["json", "jsonb"] %}
{% filter made("FUNCTION", "queue_kept_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_kept_fn") }}(kept {{ type }}, value text) RETURNS {{ type }}
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    /* Written back as it was read: "12" stays a string, and null in a column that may not be NULL stays null. */
    IF value = {{ object("queue_text_fn") }}(kept) OR (value IS NULL AND {{ object("queue_text_fn") }}(kept) IS NULL) THEN
        RETURN kept;
    END IF;
    IF {{ type }}_typeof(value::{{ type }}) NOT IN ('string', 'null') THEN
        RETURN value::{{ type }};
    END IF;
    RETURN to_{{ type }}(value);
EXCEPTION WHEN data_exception OR statement_too_complex THEN
    RETURN to_{{ type }}(value);
END;
$$;
{% endfilter %}
{%- endfor %}
{%- for type in ["text", "json", "jsonb"] %}
{% filter made("FUNCTION", "queue_kept_fn") %}
/* A list of all of them: the new one comes last, and none is taken out. */
CREATE OR REPLACE FUNCTION {{ object("queue_kept_fn") }}(kept {{ type }}[], value text) RETURNS {{ type }}[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN COALESCE(value, '') = '' OR value = {{ object("queue_text_fn") }}(kept) THEN kept
        ELSE kept || ARRAY[{{ object("queue_kept_fn") }}(NULL::{{ type }}, value)]
    END;
$$;
{% endfilter %}
{%- endfor %}
{% filter made("FUNCTION", "queue_time_fn") %}
/* A time as text, UTC unless it says otherwise, whatever the time zone of the session. */
CREATE OR REPLACE FUNCTION {{ object("queue_time_fn") }}(value text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
SET timezone = 'UTC'
AS $$
    SELECT value::timestamptz;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_time_fn") %}
/* The same for a column that keeps it in the type of `kept`, the local one in the time zone of the session. */
CREATE OR REPLACE FUNCTION {{ object("queue_time_fn") }}(value text, kept timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT {{ object("queue_time_fn") }}(value);
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_time_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_time_fn") }}(value text, kept timestamp) RETURNS timestamp
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT {{ object("queue_time_fn") }}(value)::timestamp;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_key_fn") %}
/* A time as a key that is text: in UTC. */
CREATE OR REPLACE FUNCTION {{ object("queue_key_fn") }}(value timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT to_char(value AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US');
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_died_fn") %}
/* Why an item was taken from its worker, as its error says. */
CREATE OR REPLACE FUNCTION {{ object("queue_died_fn") }}(
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
{% endfilter %}
{% filter made("FUNCTION", "queue_json_fn") %}
/* A document for a column that keeps it in the type of `kept`. */
CREATE OR REPLACE FUNCTION {{ object("queue_json_fn") }}(value json, kept json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_json_fn") %}
CREATE OR REPLACE FUNCTION {{ object("queue_json_fn") }}(value json, kept jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT value::jsonb;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_unfit_fn") %}
/* The first thing wrong with an array of objects, by what their members take; NULL when nothing is. It names no values. */
CREATE OR REPLACE FUNCTION {{ object("queue_unfit_fn") }}(items json, takes json) RETURNS text
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
                    CASE WHEN g.text ~ '^[0-9]{1,13}$' THEN g.text::bigint <= {{ longest_ms }} ELSE FALSE END
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
{% endfilter %}
{% filter made("FUNCTION", "queue_named_fn") %}
/* An object with its members under the names that are known of them, where but one differs in case alone. */
CREATE OR REPLACE FUNCTION {{ object("queue_named_fn") }}(given json, takes json) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF json_typeof(given) <> 'object' OR json_typeof(takes) <> 'object' THEN RETURN given;
    END IF;
    RETURN (
        SELECT COALESCE(json_object_agg(
            COALESCE(t.name, m.key), {{ object("queue_named_fn") }}(m.value, takes -> t.name)
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
{% endfilter %}
{% filter made("FUNCTION", "queue_taken_fn") %}
/*
The items that a function is given, if they are an array of objects with the members that it takes, each with a value that
fits: else an error in the words of `called`. takes is an object as a description writes columns and their types. The case of
a name matters only where several differ in nothing else.
The library has checked its own values; its sessions come here only with a name that is none of these.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_taken_fn") }}(called text, items json, takes json) RETURNS json
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
    IF {{ object("queue_unfit_fn") }}(items, takes) IS NULL THEN
        RETURN items;
    END IF;
    named_ := (
        SELECT json_agg({{ object("queue_named_fn") }}(e.value, takes) ORDER BY e.position)
        FROM json_array_elements(items) WITH ORDINALITY AS e (value, position)
    );
    why_ := {{ object("queue_unfit_fn") }}(named_, takes);
    IF why_ IS NOT NULL THEN
        RAISE EXCEPTION '%: %', called, why_ USING ERRCODE = 'RP021';
    END IF;
    RETURN named_;
END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_sets_fn") %}
/*
Whether settlements set values, of the columns that may be set: an error in the words of `called` when others are named.
within: those of each subtype, by its name. deletes: what is completed goes, with all that is set.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_sets_fn") }}(
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
{% endfilter %}
{% filter made("FUNCTION", "queue_times_fn") %}
/* The times of a sample of items: how many they are, percentiles and means. */
CREATE OR REPLACE FUNCTION {{ object("queue_times_fn") }}(waits bigint[], claims bigint[])
RETURNS TABLE (name text, value bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT 'sample.items', CARDINALITY(waits)::bigint
    UNION ALL
    SELECT f.figure || '.' || p.label || '_ms', p.value
    FROM (VALUES ('wait', waits), ('claimed', claims)) AS f (figure, times)
    CROSS JOIN LATERAL (
        SELECT
            percentile_disc(ARRAY[0.50, 0.90, 0.99]) WITHIN GROUP (ORDER BY t.ms) AS at,
            ROUND(AVG(t.ms))::bigint AS mean
        FROM UNNEST(f.times) AS t (ms)
    ) AS s
    CROSS JOIN LATERAL (
        VALUES ('p50', s.at[1]), ('p90', s.at[2]), ('p99', s.at[3]), ('mean', s.mean)
    ) AS p (label, value);
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_figures") %}
/*
The figures of stats_<queue>, from what is counted of each state, and of each step, where the queue has steps. Called by that.
Table access order: none.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_figures") }}(
    counted json, waits bigint[], claims bigint[], arrived_besides bigint DEFAULT NULL
)
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
    times AS MATERIALIZED (
        SELECT t.name, t.value FROM {{ object("queue_times_fn") }}(waits, claims) AS t
    )

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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_figures") }}(json, bigint[], bigint[], bigint) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_watched") %}
/*
The figures of watch_<queue>, from the items that it has looked at: those that wait, are in flight, have stopped (NULL: they have no
look of their own), the newest, those before the last ones taken, and those of the history. more: more items wait than it looked at.
seen: the types that the caller may see more of than numbers, NULL: all. arrivals, ends, by_type: whether the table has them.
Called by the functions of a queue.
Table access order: queue_status, queue_refused, queue_pause.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_watched") }}(
    queue_ text, most_ integer, now_ timestamptz, waiting_ {{ object("queue_look") }}[], flying_ {{ object("queue_look") }}[],
    stopped_ {{ object("queue_look") }}[], present_ {{ object("queue_look") }}[], done_ {{ object("queue_look") }}[],
    gone_ {{ object("queue_look") }}[], more_ boolean, seen_ text[], arrivals_ boolean, ends_ boolean, by_type_ boolean
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
    WITH waiting AS MATERIALIZED (SELECT w.* FROM UNNEST(waiting_) AS w),
    flying AS MATERIALIZED (SELECT f.* FROM UNNEST(flying_) AS f),
    stopped AS MATERIALIZED (SELECT s.* FROM UNNEST(stopped_) AS s),
    present AS MATERIALIZED (SELECT p.* FROM UNNEST(present_) AS p),
    recent AS MATERIALIZED (SELECT r.* FROM UNNEST(present_ || done_ || gone_) AS r),
    /* The items that came lately, as far as the table knows. */
    came AS MATERIALIZED (
        SELECT c.*
        FROM UNNEST(present_ || gone_) AS c
        WHERE
            arrivals_
            AND {{ m.lately("c.enqueued_at") }}
    ),
    measured AS MATERIALIZED (
        SELECT
            GREATEST(0, {{ object("queue_ms_fn") }}(COALESCE(r.due_at, r.enqueued_at), r.started_at)) AS wait_ms,
            r.claimed_ms, r.type, r.started_at + r.claimed_ms * interval '1 millisecond' AS ended_at
        FROM recent AS r
        WHERE r.started_at IS NOT NULL AND r.claimed_ms IS NOT NULL AND {{ object("queue_is_finished_fn") }}(r.status)
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
        FROM {{ object("queue_status") }} AS s
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
        SELECT 'due.oldest_ms', MAX({{ object("queue_ms_fn") }}(COALESCE(w.due_at, w.enqueued_at), now_)), more_, NULL, NULL, NULL
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
        SELECT 'ended.last_' || e.label, COUNT(d.ended_at), COUNT(d.ended_at) >= most_, MAX({{ object("queue_ms_fn") }}(d.ended_at, now_)), NULL, NULL
        FROM (VALUES ('minute', interval '1 minute'), ('hour', interval '1 hour')) AS e (label, within)
        LEFT JOIN measured AS d ON d.ended_at > now_ - e.within
        WHERE ends_ OR e.label = 'minute'
        GROUP BY e.label
        UNION ALL
        SELECT
            'came.waiting', COUNT(*), more_,
            {{ object("queue_ms_fn") }}(MIN(w.enqueued_at), CASE WHEN more_ THEN MAX(w.enqueued_at) ELSE now_ END), NULL, NULL
        FROM waiting AS w
        WHERE w.enqueued_at > '-infinity' AND w.enqueued_at <= now_
        UNION ALL
        SELECT 'type.waiting', COUNT(*), more_, NULL, w.type, NULL
        FROM waiting AS w
        WHERE by_type_ AND w.status IN ('Pending', 'Error')
        GROUP BY w.type
        UNION ALL
        SELECT 'type.due', COUNT(*), more_, MAX({{ object("queue_ms_fn") }}(COALESCE(w.due_at, w.enqueued_at), now_)), w.type, NULL
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
            'type.ended', COUNT(*), (SELECT COUNT(*) FROM measured) >= most_, MAX({{ object("queue_ms_fn") }}(d.ended_at, now_)), d.type, NULL
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
        SELECT 'came.last_hour', COUNT(*), COUNT(*) > most_, {{ object("queue_ms_fn") }}(MIN(c.enqueued_at), now_), NULL, NULL
        FROM came AS c
        WHERE c.status <> 'Pending' OR COALESCE(c.due_at <= now_, TRUE)
        HAVING arrivals_
        UNION ALL
        SELECT t.name, t.value, FALSE, NULL, NULL, NULL
        FROM {{ object("queue_times_fn") }}(
            ARRAY(SELECT d.wait_ms FROM measured AS d), ARRAY(SELECT d.claimed_ms FROM measured AS d)
        ) AS t
        UNION ALL
        (
            SELECT 'worker', COUNT(*), FALSE, MAX({{ object("queue_ms_fn") }}(f.started_at, now_)), f.owner, NULL
            FROM flying AS f
            WHERE f.status = 'Processing' AND (seen_ IS NULL OR f.type = ANY(seen_) OR '*' = ANY(seen_))
            GROUP BY f.owner
            ORDER BY COUNT(*) DESC, f.owner
            LIMIT 100
        )
        UNION ALL
        (
            SELECT 'refused', x.times, FALSE, {{ object("queue_ms_fn") }}(now_, x.until), x.doing || ': ' || x.reason, x.key
            FROM {{ object("queue_refused") }} AS x
            WHERE x.queue = queue_ AND x.doing <> 'pause' AND (seen_ IS NULL OR '*' = ANY(seen_))
            ORDER BY x.since
            LIMIT 50
        )
        UNION ALL
        SELECT
            'pause', (DATE_PART('epoch', z.since) * 1000000)::bigint, FALSE, (DATE_PART('epoch', z.until) * 1000000)::bigint,
            json_build_object('who', z.who, 'login', z.login, 'reason', z.reason)::text, z.type
        FROM {{ object("queue_paused_v") }} AS z
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_watched") }}(
    {%- filter listed(4) %}text, integer, timestamptz{% for look in range(6) %}, {{ object("queue_look") }}[]{% endfor %}, boolean, text[], boolean, boolean, boolean{% endfilter %}
) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_is_done") %}
/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, which
only who writes the same does: what is written for it goes again. A call may be forgotten after an hour.
Table access order: queue_operation.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_is_done") }}(operation_ uuid)
RETURNS TABLE (answer text, done_at timestamptz)
LANGUAGE plpgsql VOLATILE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO {{ object("queue_operation") }} (operation_id, call, at)
    VALUES (operation_, '', clock_timestamp())
    ON CONFLICT (operation_id) DO NOTHING;
    IF FOUND THEN
        DELETE FROM {{ object("queue_operation") }} AS p
        WHERE p.operation_id = operation_;
        RETURN QUERY
        SELECT 'NOT_FOUND', NULL::timestamptz;
    ELSE
        RETURN QUERY
        SELECT 'OK', p.at
        FROM {{ object("queue_operation") }} AS p
        WHERE p.operation_id = operation_;
    END IF;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_is_done") }}(uuid) FROM public;
{% endfilter %}
