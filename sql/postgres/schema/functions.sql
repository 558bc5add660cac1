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
/* Ends a statement that finds out in its midst that an argument is not allowed. */
CREATE OR REPLACE FUNCTION {{ object("queue_refuse_fn") }}(why text) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION '%', why USING ERRCODE = 'RP021';
END;
$$;
{% endfilter %}
{% filter made("FUNCTION", "queue_is_refusal_fn") %}
/*
Whether an error of this SQLSTATE is a table's word about a row: a constraint, a value, a trigger. Not what passes, what the
server lacks, what is missing or forbidden to whoever asks, nor what is this library's own.
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
minute. Says how often it was refused. What nobody has tried for long is forgotten: it is gone, or somebody has mended it.
Of so many at once it is no matter of one row: then the refusal is an error, and nothing is done.
Table access order: queue_refused.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_note_refusal") }}(
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
    SELECT CASE
        WHEN isfinite(since) AND isfinite(until)
            THEN ((date_part('epoch', until) - date_part('epoch', since)) * 1000)::bigint
    END;
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
{% filter made("FUNCTION", "queue_is_done") %}
/*
Whether the call with this identity has committed: OK and when, or NOT_FOUND. One that is under way is waited for, which
only who writes the same does: what is written for it goes again. What is older than an hour may be forgotten.
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
