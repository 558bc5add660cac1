{#- Released scripts are immutable: a change to what stands here is a new script with the next number. -#}
{% import "macro/index.sql" as index_of -%}
{% filter made("SCHEMA", schema_name) %}
/*
The vocabulary and the book-keeping that every queue of this schema shares.
Table access order in all functions: queue_operation, then the queue's table, then queue_transition.
*/
CREATE SCHEMA IF NOT EXISTS {{ schema }};
{% endfilter %}
{% filter made("TYPE", "queue_state") %}
/* A domain where SQL Server has a foreign key: here each check of one would lock the row that all items share. */
DO $$
BEGIN
    IF TO_REGTYPE({{ literal("queue_state") }}) IS NULL THEN
        CREATE DOMAIN {{ object("queue_state") }} AS text CHECK (
            VALUE IN (
                'Pending', 'Processing', 'Error', 'Failed', 'Completed', 'Cancelled', 'Paused', 'Terminated',
                'PartiallyCompleted'
            )
        );
    END IF;
END;
$$;
{% endfilter %}
{% filter made("TABLE", "queue_schema_version") %}
/* One row per version that was applied here: an audit trail, never updated. */
CREATE TABLE IF NOT EXISTS {{ object("queue_schema_version") }} (
    version integer PRIMARY KEY, applied_at timestamptz NOT NULL, library text NOT NULL
);
{% endfilter %}
{% filter made("TABLE", "queue_spec") %}
/* The queues of this schema, each with the specification it was rendered from. */
CREATE TABLE IF NOT EXISTS {{ object("queue_spec") }} (
    queue text PRIMARY KEY, preset text NOT NULL, spec text NOT NULL, rendered_by integer NOT NULL,
    installed_at timestamptz NOT NULL
);
{% endfilter %}
{% filter made("TABLE", "app_settings") %}
/* Settings that functions read, such as notification.maxAttempts. */
CREATE TABLE IF NOT EXISTS {{ object("app_settings") }} (
    param text PRIMARY KEY, val_int integer NULL, val_text text NULL
);
{% endfilter %}
{% filter made("TABLE", "queue_status") %}
CREATE TABLE IF NOT EXISTS {{ object("queue_status") }} (
    status {{ object("queue_state") }} PRIMARY KEY
);
{% endfilter %}
{% filter statement %}
INSERT INTO {{ object("queue_status") }} (status)
VALUES
    ('Pending'), ('Processing'),
    ('Error'), /* retryable */
    ('Failed'), /* attempts spent, or the worker gave up */
    ('Completed'), ('Cancelled'), ('Paused'), ('Terminated'), ('PartiallyCompleted')
ON CONFLICT DO NOTHING;
{% endfilter %}
{% filter made("TABLE", "queue_transition") %}
/* The legal transitions. What is not a row here is refused as ILLEGAL_TRANSITION. */
CREATE TABLE IF NOT EXISTS {{ object("queue_transition") }} (
    from_status {{ object("queue_state") }} NOT NULL,
    to_status {{ object("queue_state") }} NOT NULL,
    PRIMARY KEY (from_status, to_status)
);
{% endfilter %}
{% filter statement %}
INSERT INTO {{ object("queue_transition") }} (from_status, to_status)
VALUES
    ('Pending', 'Processing'), ('Pending', 'Failed'), ('Pending', 'Cancelled'), ('Pending', 'Paused'),
    ('Pending', 'Terminated'), ('Processing', 'Processing'), ('Processing', 'Pending'), ('Processing', 'Error'),
    ('Processing', 'Failed'), ('Processing', 'Completed'), ('Processing', 'PartiallyCompleted'),
    ('Processing', 'Cancelled'), ('Processing', 'Paused'), ('Processing', 'Terminated'), ('Error', 'Processing'),
    ('Error', 'Pending'), ('Error', 'Failed'), ('Error', 'Cancelled'), ('Error', 'Paused'), ('Error', 'Terminated'),
    ('Paused', 'Processing'), ('Paused', 'Pending'), ('Paused', 'Failed'), ('Paused', 'Cancelled'),
    ('Paused', 'Terminated'), ('Failed', 'Cancelled')
ON CONFLICT DO NOTHING;
{% endfilter %}
{% filter made("TABLE", "queue_operation") %}
/*
One row per call that changed items, written in the same transaction: a caller that lost the answer asks again with the same
identity and gets the same answer instead of a second effect; in another queue, or for another kind of call, it is refused.
Result holds what cannot be read back from the items.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_operation") }} (
    operation_id uuid PRIMARY KEY,
    call text NOT NULL, /* the function */
    at timestamptz NOT NULL, result json NULL
)
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{% endfilter %}
{% call index_of.create("queue_operation_at", "queue_operation", [column("at")]) %}
{%- endcall %}
{% filter made("TABLE", "queue_type_access") %}
/*
Which logins see which types, of queues whose description says own_types_only. user_name is a role, that of the login or
one it is a member of; the type * is every type.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_type_access") }} (
    queue text NOT NULL, type text NOT NULL, user_name text NOT NULL, PRIMARY KEY (queue, user_name, type)
);
{% endfilter %}
{% filter made("VIEW", "queue_own_type_v", once=true) %}
/*
The types that the caller may see, by queue: of the role that logged in, and of those it is a member of. session_user,
since functions that run with their owner's rights ask here too.
*/
CREATE OR REPLACE VIEW {{ object("queue_own_type_v") }} AS
SELECT a.queue, a.type
FROM {{ object("queue_type_access") }} AS a
LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = a.user_name
WHERE
    a.user_name = session_user
    OR PG_HAS_ROLE(session_user, r.oid, 'MEMBER');
{% endfilter %}
{% filter made("TABLE", "queue_recovery") %}
/*
A row for each queue: when the items of its dead workers were last looked for. Of all who claim, one does it when it is
time; nobody waits for a row here. looked_at is the last look at its workers' locks (queue_lifeline).
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_recovery") }} (
    queue text NOT NULL PRIMARY KEY, recovered_at timestamptz NOT NULL, looked_at timestamptz NOT NULL DEFAULT '-infinity'
);
{% endfilter %}
{% filter made("TABLE", "queue_lifeline") %}
/*
Workers whose sessions hold a lock as long as their process lives: where it has been free for grace_ms, the worker is dead. A server
that began anew or took over has freed all locks: there a row says nothing until its worker reports again.
*/
CREATE UNLOGGED TABLE IF NOT EXISTS {{ object("queue_lifeline") }} (
    queue text NOT NULL, worker text NOT NULL, grace_ms integer NOT NULL, server_began timestamptz NOT NULL, free_since timestamptz NULL,
    PRIMARY KEY (queue, worker)
)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{% endfilter %}
{% filter made("TABLE", "queue_sleeper") %}
/* Processes that have nothing to do, each with the channel on which it listens: who adds to the queue wakes the last one. */
CREATE UNLOGGED TABLE IF NOT EXISTS {{ object("queue_sleeper") }} (
    queue text NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, channel text NOT NULL, listener integer NOT NULL,
    PRIMARY KEY (queue, id)
)
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{% endfilter %}
{% filter made("TABLE", "queue_awaited") %}
/* Items for whose end a process waits, each with the channel on which it listens: who settles the item wakes it. */
CREATE UNLOGGED TABLE IF NOT EXISTS {{ object("queue_awaited") }} (
    queue text NOT NULL, key text NOT NULL, channel text NOT NULL, listener integer NOT NULL, PRIMARY KEY (queue, key, channel)
)
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
{% endfilter %}
{% filter made("TABLE", "queue_refused") %}
/*
Items that their table does not let a queue change: a claim or a recovery of one met a unique index, a CHECK, a trigger. Each
is left aside until a time that goes farther at each refusal; all processes see it, so that none tries in vain. Key is the
item's as text. Attempts counts the refusals that spend an attempt: not those of a unique index or an exclusion, which pass
when another row does. The row goes when its item is let through. A row with the word pause stands for one of queue_pause.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_refused") }} (
    queue text NOT NULL, key text NOT NULL,
    doing text NOT NULL, /* claim, recover or pause */
    reason text NOT NULL, constraint_name text NULL, times integer NOT NULL, attempts integer NOT NULL,
    since timestamptz NOT NULL, until timestamptz NOT NULL, PRIMARY KEY (queue, key)
);
{% endfilter %}
{% filter made("TABLE", "queue_pause") %}
/* Queues of which nothing is claimed for now, or nothing of a type; the type '' is all of the queue. */
CREATE TABLE IF NOT EXISTS {{ object("queue_pause") }} (
    queue text NOT NULL, type text NOT NULL, since timestamptz NOT NULL, until timestamptz NULL, /* NULL: until it is resumed */
    who text NOT NULL, login text NOT NULL, reason text NULL, PRIMARY KEY (queue, type)
);
{% endfilter %}
{% filter made("VIEW", "queue_paused_v", once=true) %}
/* The pauses in force. The name of a type that the caller may not see stays hidden, and so does its pause. */
CREATE OR REPLACE VIEW {{ object("queue_paused_v") }} AS
SELECT p.queue, p.type, p.since, p.until, p.who, p.login, p.reason
FROM {{ object("queue_pause") }} AS p
WHERE
    (p.until > CLOCK_TIMESTAMP()) IS NOT FALSE
    AND (
        p.type = ''
        OR EXISTS (SELECT 1 FROM {{ object("queue_own_type_v") }} AS o WHERE o.queue = p.queue AND o.type IN (p.type, '*'))
        OR NOT EXISTS (SELECT 1 FROM {{ object("queue_type_access") }} AS a WHERE a.queue = p.queue)
    );
{% endfilter %}
{% filter made("TABLE", "queue_action") %}
/*
The record of operators' actions: redrives, purges, cancels, pauses, settings. An action on many items goes on from its row: place is
the last key that is done, and the holder of the row's lease runs it. A row goes 90 days after the action's end.
*/
CREATE TABLE IF NOT EXISTS {{ object("queue_action") }} (
    action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL, verb text NOT NULL, who text NOT NULL, login text NOT NULL, filter text NULL,
    state text NOT NULL, /* Running, Cancelling, Done, Cancelled or Failed */
    begun_at timestamptz NOT NULL, ended_at timestamptz NULL, expected bigint NULL, done bigint NOT NULL, refused bigint NOT NULL,
    place text NULL, result text NULL, owner text NULL, lease_until timestamptz NULL
);
{% endfilter %}
{% call index_of.create("queue_action_ended_at", "queue_action", [column("ended_at")]) %}
{%- endcall %}
{% filter made("TABLE", "queue_worker") %}
/* The workers of each queue, idle ones too: each reports every half minute. A row goes a week after the last report. */
CREATE TABLE IF NOT EXISTS {{ object("queue_worker") }} (
    queue text NOT NULL, worker text NOT NULL, host text NOT NULL, process bigint NOT NULL, version text NOT NULL,
    started_at timestamptz NOT NULL, seen_at timestamptz NOT NULL, PRIMARY KEY (queue, worker)
);
{% endfilter %}
{% filter made("TABLE", "queue_minute") %}
/* Figures of each queue, one row a minute, for a day: kept by one of all who could. */
CREATE TABLE IF NOT EXISTS {{ object("queue_minute") }} (
    queue text NOT NULL, at timestamptz NOT NULL, due bigint NULL, oldest_ms bigint NULL, in_flight bigint NULL, failed bigint NULL,
    ended bigint NULL, PRIMARY KEY (queue, at)
);
{% endfilter %}
{% filter made("TYPE", "queue_look") %}
/* The values of an item that a look at a queue reads (watch_<queue>). */
DO $$
BEGIN
    IF TO_REGTYPE({{ literal("queue_look") }}) IS NULL THEN
        CREATE TYPE {{ object("queue_look") }} AS (
            key text, type text, status text, error text, enqueued_at timestamptz, started_at timestamptz, claimed_ms bigint,
            due_at timestamptz, owner text, lease_until timestamptz
        );
    END IF;
END;
$$;
{% endfilter %}
