{%- set by_owner -%}
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
{%- endset -%}
{%- import "macro/operator.sql" as operator -%}
{% filter made("FUNCTION", "queue_action_note") %}
/*
Records an action of an operator and returns its number: one that has ended or, with the state Running, one on many items, which
its caller or another process runs by queue_action_step. Records of actions that ended 90 days ago go, a few with each call.
Table access order: queue_action.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_action_note") }}(
    queue_ text, verb_ text, who_ text, filter_ text, state_ text, expected_ bigint, done_ bigint, refused_ bigint, result_ text
) RETURNS bigint
{{ by_owner }}
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    number_ bigint;
BEGIN
    IF state_ NOT IN ('Running', 'Done', 'Failed') THEN
        RAISE EXCEPTION 'queue_action_note: state_ must be Running, Done or Failed' USING ERRCODE = 'RP021';
    END IF;
    IF state_ = 'Running' THEN
{{- operator.check("queue_action_note", "queue_") | indent(4) }}
    END IF;

    DELETE FROM {{ object("queue_action") }} AS a
    WHERE
        a.action_id IN (
            SELECT o.action_id FROM {{ object("queue_action") }} AS o
            WHERE o.ended_at < now_ - interval '90 days'
            ORDER BY o.ended_at
            LIMIT 100
            FOR UPDATE SKIP LOCKED
        );

    INSERT INTO {{ object("queue_action") }} AS a (
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_action_note") }}(text, text, text, text, text, bigint, bigint, bigint, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_action_step") %}
/*
Moves an action on many items on: adds what its holder has done since the last call, keeps the place, extends the lease, and ends the
action with state_ Done, Cancelled or Failed. The first call takes an action that nobody holds. Without an owner_ it asks for a cancel,
which the holder learns by the answer; an action that nobody holds is Cancelled at once. Items on their way to another place are in the
filter of their record (rebalance), so it cannot be cancelled, and its end forgets them. Returns the state, or NULL where the action
has ended or another process holds it.
Table access order: queue_action.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_action_step") }}(
    action_id_ bigint, owner_ text, lease_ms_ integer, done_ bigint, refused_ bigint, place_ text, state_ text, result_ text
) RETURNS text
{{ by_owner }}
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
    SELECT a.queue INTO queue_ FROM {{ object("queue_action") }} AS a WHERE a.action_id = action_id_;
{{- operator.check("queue_action_step", "queue_") }}

    UPDATE {{ object("queue_action") }} AS a
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
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_action_step") }}(bigint, text, integer, bigint, bigint, text, text, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_workers_seen") %}
/*
A process reports its workers, {"queue", "worker", "grace"} in workers_: when one begins and then every half minute, those of all its
queues at once. Another process of the same name begins anew. Rows of workers that have not reported for a week go when another begins.
With a grace in milliseconds, sessions of the worker hold its lock (queue_lifeline_take); with 0 they do not. It counts only for queues from which
the login may claim: it has the items of a worker taken whose lock is free.
Table access order: queue_lifeline, queue_worker.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_workers_seen") }}(workers_ json, host_ text, process_ bigint, version_ text) RETURNS void
{{ by_owner }}
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    known_ integer;
BEGIN
    DELETE FROM {{ object("queue_lifeline") }} AS f
    USING JSON_TO_RECORDSET(workers_) AS r (queue text, worker text, grace integer)
    WHERE
        f.queue = r.queue AND f.worker = r.worker AND r.grace = 0
        AND has_function_privilege(session_user, TO_REGPROC(format('%s.%I', {{ text(schema) }}, 'next_' || r.queue || '_set_trx')), 'EXECUTE');
    INSERT INTO {{ object("queue_lifeline") }} AS f (queue, worker, grace_ms, server_began)
    SELECT r.queue, r.worker, r.grace, pg_postmaster_start_time()
    FROM JSON_TO_RECORDSET(workers_) AS r (queue text, worker text, grace integer)
    WHERE
        r.grace > 0
        AND has_function_privilege(session_user, TO_REGPROC(format('%s.%I', {{ text(schema) }}, 'next_' || r.queue || '_set_trx')), 'EXECUTE')
        AND NOT EXISTS (
            SELECT 1
            FROM {{ object("queue_lifeline") }} AS k
            WHERE
                k.queue = r.queue AND k.worker = r.worker AND k.grace_ms = r.grace AND k.server_began = pg_postmaster_start_time()
        )
    ORDER BY r.queue, r.worker
    ON CONFLICT (queue, worker) DO UPDATE
    SET grace_ms = excluded.grace_ms, server_began = excluded.server_began, free_since = NULL;

    UPDATE {{ object("queue_worker") }} AS w
    SET seen_at = now_
    FROM JSON_TO_RECORDSET(workers_) AS r (queue text, worker text)
    WHERE
        w.queue = r.queue AND w.worker = r.worker AND w.host = host_ AND w.process = process_ AND w.version = version_;
    GET DIAGNOSTICS known_ = ROW_COUNT;
    IF known_ = JSON_ARRAY_LENGTH(workers_) THEN RETURN;
    END IF;

    DELETE FROM {{ object("queue_worker") }} AS w
    USING (
        SELECT o.queue, o.worker FROM {{ object("queue_worker") }} AS o
        WHERE
            o.queue IN (SELECT r.queue FROM JSON_TO_RECORDSET(workers_) AS r (queue text)) AND o.seen_at < now_ - interval '7 days'
        LIMIT 1000
        FOR UPDATE SKIP LOCKED
    ) AS d
    WHERE w.queue = d.queue AND w.worker = d.worker;
    DELETE FROM {{ object("queue_lifeline") }} AS f
    WHERE
        f.queue IN (SELECT r.queue FROM JSON_TO_RECORDSET(workers_) AS r (queue text)) AND f.server_began <> pg_postmaster_start_time()
        AND NOT EXISTS (SELECT 1 FROM {{ object("queue_worker") }} AS w WHERE w.queue = f.queue AND w.worker = f.worker);

    INSERT INTO {{ object("queue_worker") }} AS w (queue, worker, host, process, version, started_at, seen_at)
    SELECT DISTINCT r.queue, r.worker, host_, process_, version_, now_, now_
    FROM JSON_TO_RECORDSET(workers_) AS r (queue text, worker text)
    WHERE NOT EXISTS (
        SELECT 1 FROM {{ object("queue_worker") }} AS k
        WHERE k.queue = r.queue AND k.worker = r.worker AND k.host = host_ AND k.process = process_ AND k.version = version_
    )
    ORDER BY r.queue, r.worker
    ON CONFLICT (queue, worker) DO UPDATE
    SET host = excluded.host, process = excluded.process, version = excluded.version, started_at = now_, seen_at = now_;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_workers_seen") }}(json, text, bigint, text) FROM public;
{% endfilter %}
{% filter made("FUNCTION", "queue_minute_keep") %}
/*
Keeps figures as those of this minute, where no other process has: minutes_ is a JSON array of objects with a queue's name and its figures.
One without figures asks whether no process keeps them. A row for each that was kept, or is to be: its place in minutes_. Minutes before
yesterday go.
Table access order: queue_minute.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_minute_keep") }}(minutes_ json) RETURNS TABLE (place integer)
{{ by_owner }}
AS $$
DECLARE
    at_ CONSTANT timestamptz := DATE_TRUNC('minute', clock_timestamp());
BEGIN
    RETURN QUERY
    WITH given AS MATERIALIZED (
        SELECT i.*
        FROM ROWS FROM (
            JSON_TO_RECORDSET(minutes_) AS (
                queue text, due bigint, oldest_ms bigint, in_flight bigint, failed bigint, ended bigint
            )
        ) WITH ORDINALITY AS i (queue, due, oldest_ms, in_flight, failed, ended, position)
    ),

    kept AS (
        INSERT INTO {{ object("queue_minute") }} AS m (queue, at, due, oldest_ms, in_flight, failed, ended)
        SELECT i.queue, at_, i.due, i.oldest_ms, i.in_flight, i.failed, i.ended
        FROM given AS i
        WHERE i.due IS NOT NULL
        ORDER BY i.queue
        ON CONFLICT (queue, at) DO NOTHING
        RETURNING m.queue
    ),

    past AS (
        DELETE FROM {{ object("queue_minute") }} AS m
        USING kept AS k
        WHERE m.queue = k.queue AND m.at < at_ - interval '25 hours'
    )

    SELECT (i.position - 1)::integer
    FROM given AS i
    LEFT JOIN kept AS k ON k.queue = i.queue
    WHERE
        k.queue IS NOT NULL
        OR i.due IS NULL
        AND NOT EXISTS (
            SELECT 1 FROM {{ object("queue_minute") }} AS m WHERE m.queue = i.queue AND m.at > at_ - interval '150 seconds'
        );
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_minute_keep") }}(json) FROM public;
{% endfilter %}
