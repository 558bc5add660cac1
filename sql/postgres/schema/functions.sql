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
{% filter made("FUNCTION", "queue_unfit_fn") %}
/* The first thing wrong with an array of objects, by what their members take; NULL when nothing is. It names no values. */
CREATE OR REPLACE FUNCTION {{ object("queue_unfit_fn") }}(items json, takes json) RETURNS text
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
{% endfilter %}
{% filter made("FUNCTION", "queue_named_fn") %}
/* An object with its members under the names that are known of them, where but one differs in case alone. */
CREATE OR REPLACE FUNCTION {{ object("queue_named_fn") }}(given json, takes json) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF json_typeof(given) <> 'object' OR json_typeof(takes) <> 'object' THEN
        RETURN given;
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
*/
CREATE OR REPLACE FUNCTION {{ object("queue_taken_fn") }}(called text, items json, takes json) RETURNS json
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
