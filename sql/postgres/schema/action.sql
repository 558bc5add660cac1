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
which the holder learns by the answer; an action that nobody holds is Cancelled at once. Returns the state, or NULL where the action
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
        done = a.done + COALESCE(done_, 0), refused = a.refused + COALESCE(refused_, 0), place = COALESCE(place_, a.place),
        result = COALESCE(LEFT(result_, 4000), a.result), owner = COALESCE(owner_, a.owner),
        lease_until = CASE WHEN owner_ IS NULL THEN a.lease_until ELSE now_ + lease_ms_ * interval '1 ms' END,
        ended_at = CASE
            WHEN state_ IS NOT NULL OR (owner_ IS NULL AND (a.owner IS NOT NULL AND a.lease_until > now_) IS NOT TRUE) THEN now_
        END
    WHERE
        a.action_id = action_id_ AND a.ended_at IS NULL
        AND (owner_ IS NULL OR a.owner = owner_ OR a.owner IS NULL OR (a.lease_until > now_) IS NOT TRUE)
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
A process reports its workers, {"queue", "worker"} in workers_: when one begins and then every half minute, those of all its queues at
once. Another process of the same name begins anew. Rows of workers that have not reported for a week go when another begins.
Table access order: queue_worker.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_workers_seen") }}(workers_ json, host_ text, process_ bigint, version_ text) RETURNS void
{{ by_owner }}
AS $$
DECLARE
    now_ CONSTANT timestamptz := clock_timestamp();
    known_ integer;
BEGIN
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
The figures of this minute. Without due_ it asks for the turn to take them: TRUE for one of all who ask in a minute, who then calls
this with the figures. Minutes before yesterday go.
Table access order: queue_minute.
*/
CREATE OR REPLACE FUNCTION {{ object("queue_minute_keep") }}(
    queue_ text, due_ bigint, oldest_ms_ bigint, in_flight_ bigint, failed_ bigint, ended_ bigint
) RETURNS boolean
{{ by_owner }}
AS $$
DECLARE
    at_ CONSTANT timestamptz := DATE_TRUNC('minute', clock_timestamp());
BEGIN
    IF due_ IS NOT NULL THEN
        UPDATE {{ object("queue_minute") }} AS m
        SET due = due_, oldest_ms = oldest_ms_, in_flight = in_flight_, failed = failed_, ended = ended_
        WHERE
            m.queue = queue_ AND m.due IS NULL
            AND m.at = (
                SELECT MAX(n.at) FROM {{ object("queue_minute") }} AS n WHERE n.queue = queue_ AND n.at > at_ - interval '2 minutes'
            );
        RETURN FOUND;
    END IF;
    IF EXISTS (SELECT 1 FROM {{ object("queue_minute") }} AS m WHERE m.queue = queue_ AND m.at = at_) THEN RETURN FALSE;
    END IF;

    INSERT INTO {{ object("queue_minute") }} AS m (queue, at) VALUES (queue_, at_) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN FALSE;
    END IF;
    DELETE FROM {{ object("queue_minute") }} AS m WHERE m.queue = queue_ AND m.at < at_ - interval '25 hours';
    RETURN TRUE;
END;
$$;
{% endfilter %}
{% filter statement %}
REVOKE ALL ON FUNCTION {{ object("queue_minute_keep") }}(text, bigint, bigint, bigint, bigint, bigint) FROM public;
{% endfilter %}
