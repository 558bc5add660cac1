//! Queues on which readpast's workers and the software's own compete: neither takes what the other has.

use super::{Software, adopted, is_done, open, work, work_as_it_does};
use readpast::item::Action;
use std::time::Duration;
use support::scratch::all;

/// As its migration for ActiveRecord makes it.
pub const DELAYED_JOB: Software = Software {
    name: "delayed_job",
    spec: "delayed_job",
    tables: "CREATE TABLE delayed_jobs (id bigserial PRIMARY KEY, priority integer DEFAULT 0 NOT NULL, attempts integer DEFAULT 0 NOT NULL,
    handler text NOT NULL, last_error text, run_at timestamp(6), locked_at timestamp(6), failed_at timestamp(6), locked_by varchar, queue varchar,
    created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL)

CREATE INDEX delayed_jobs_priority ON delayed_jobs (priority, run_at)

INSERT INTO delayed_jobs (handler, run_at, created_at, updated_at)
SELECT '--- ' || n, localtimestamp - interval '1 day', localtimestamp, localtimestamp FROM generate_series(1, {n}) AS n

INSERT INTO delayed_jobs (handler, failed_at, created_at, updated_at) VALUES ('failed', now(), now(), now())",
    take: "UPDATE delayed_jobs SET locked_at = localtimestamp, locked_by = 'host:1' WHERE id IN (
            SELECT id FROM delayed_jobs WHERE ((run_at <= localtimestamp AND (locked_at IS NULL
                OR locked_at < localtimestamp - interval '4 hours')) OR locked_by = 'host:1') AND failed_at IS NULL
            ORDER BY priority ASC, run_at ASC LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "DELETE FROM delayed_jobs WHERE id = {id}",
    after: ["SELECT string_agg(handler, ' ') FROM delayed_jobs", "failed"],
};

const LARAVEL: Software = Software {
    name: "Laravel",
    spec: "laravel",
    tables: "CREATE TABLE jobs (id bigserial PRIMARY KEY, queue varchar(255) NOT NULL, payload text NOT NULL, attempts smallint NOT NULL,
        reserved_at integer NULL, available_at integer NOT NULL, created_at integer NOT NULL)

CREATE INDEX jobs_queue_index ON jobs (queue)

INSERT INTO jobs (queue, payload, attempts, available_at, created_at)
SELECT 'default', '{\"job\": ' || n || '}', 0, 1700000000, 1700000000 FROM generate_series(1, {n}) AS n

INSERT INTO jobs (queue, payload, attempts, reserved_at, available_at, created_at)
VALUES ('default', 'another server has it', 1, extract(epoch FROM now())::integer, 1700000000, 1700000000)",
    // Reserved more than 90 seconds ago (retry_after) is taken again.
    take: "UPDATE jobs SET reserved_at = extract(epoch FROM now())::integer, attempts = attempts + 1 WHERE id = (
            SELECT id FROM jobs WHERE queue = 'default' AND (
                reserved_at IS NULL AND available_at <= extract(epoch FROM now())::integer
                OR reserved_at <= extract(epoch FROM now())::integer - 90)
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "DELETE FROM jobs WHERE id = {id}",
    after: ["SELECT string_agg(payload, ' ') FROM jobs", "another server has it"],
};

const RIVER: Software = Software {
    name: "River",
    spec: "river",
    tables: "CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled')

CREATE TABLE river_job (id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available', attempt smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL, attempted_at timestamptz, created_at timestamptz NOT NULL DEFAULT now(), finalized_at timestamptz,
    scheduled_at timestamptz NOT NULL DEFAULT now(), priority smallint NOT NULL DEFAULT 1, args jsonb NOT NULL, attempted_by text[],
    errors jsonb[], kind text NOT NULL, metadata jsonb NOT NULL DEFAULT '{}', queue text NOT NULL DEFAULT 'default',
    tags varchar(255)[] NOT NULL DEFAULT '{}', unique_key bytea, unique_states bit(8),
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded'))
        OR (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4), CONSTRAINT kind_length CHECK (char_length(kind) > 0))

CREATE INDEX river_job_prioritized_fetching_index ON river_job (state, queue, priority, scheduled_at, id)

INSERT INTO river_job (state, max_attempts, args, kind, scheduled_at, errors, attempt)
SELECT (ARRAY['available', 'retryable'])[1 + n % 2]::river_job_state, 25, '{}', 'mail', now() - interval '1 minute',
    CASE n % 2 WHEN 1 THEN ARRAY['{\"error\": \"no\"}'::jsonb] END, n % 2
FROM generate_series(1, {n}) AS n

INSERT INTO river_job (state, max_attempts, args, kind, finalized_at, attempted_at) VALUES
    ('running', 25, '{}', 'mail', NULL, now()), ('discarded', 25, '{}', 'mail', now(), now()), ('pending', 25, '{}', 'mail', NULL, NULL)",
    // Its scheduler makes available again what is retryable.
    take: "UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = now(), attempted_by = array_append(attempted_by, 'node')
        WHERE id = (SELECT id FROM river_job WHERE state IN ('available', 'retryable') AND queue = 'default' AND scheduled_at <= now()
            ORDER BY priority, scheduled_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "UPDATE river_job SET state = 'completed', finalized_at = now() WHERE id = {id} AND state = 'running'",
    after: [
        "SELECT string_agg(state || ' ' || n, ', ' ORDER BY state) FROM (SELECT state::text, count(*) AS n FROM river_job GROUP BY 1) AS s",
        "completed {n}, discarded 1, pending 1, running 1",
    ],
};

const OBAN: Software = Software {
    name: "Oban",
    spec: "oban",
    tables: "CREATE TYPE oban_job_state AS ENUM ('available', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled')

CREATE TABLE oban_jobs (id bigserial PRIMARY KEY, state oban_job_state NOT NULL DEFAULT 'available', queue text NOT NULL DEFAULT 'default',
    worker text NOT NULL, args jsonb NOT NULL DEFAULT '{}', errors jsonb[] NOT NULL DEFAULT ARRAY[]::jsonb[], attempt integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL DEFAULT 20, inserted_at timestamp NOT NULL DEFAULT timezone('UTC', now()),
    scheduled_at timestamp NOT NULL DEFAULT timezone('UTC', now()), attempted_at timestamp, completed_at timestamp, attempted_by text[],
    discarded_at timestamp, priority integer NOT NULL DEFAULT 0, tags text[] DEFAULT ARRAY[]::text[], meta jsonb DEFAULT '{}', cancelled_at timestamp,
    CONSTRAINT attempt_range CHECK (attempt >= 0 AND attempt <= max_attempts), CONSTRAINT positive_max_attempts CHECK (max_attempts > 0),
    CONSTRAINT queue_length CHECK (char_length(queue) > 0 AND char_length(queue) < 128), CONSTRAINT non_negative_priority CHECK (priority >= 0))

CREATE INDEX oban_jobs_state_queue_priority_scheduled_at_id_index ON oban_jobs (state, queue, priority, scheduled_at, id)

INSERT INTO oban_jobs (worker, state) SELECT 'Mail', (ARRAY['available', 'retryable'])[1 + n % 2]::oban_job_state FROM generate_series(1, {n}) AS n

INSERT INTO oban_jobs (worker, state) VALUES ('Mail', 'executing'), ('Mail', 'discarded'), ('Mail', 'cancelled')",
    take: "UPDATE oban_jobs SET state = 'executing', attempt = attempt + 1, attempted_at = timezone('UTC', now()), attempted_by = ARRAY['node']
        WHERE id = (SELECT id FROM oban_jobs WHERE state IN ('available', 'retryable') AND queue = 'default' AND attempt < max_attempts
            ORDER BY priority, scheduled_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "UPDATE oban_jobs SET state = 'completed', completed_at = timezone('UTC', now()) WHERE id = {id}",
    after: [
        "SELECT string_agg(state || ' ' || n, ', ' ORDER BY state) FROM (SELECT state::text, count(*) AS n FROM oban_jobs
            WHERE (state = 'completed') = (completed_at IS NOT NULL) GROUP BY 1) AS s",
        "cancelled 1, completed {n}, discarded 1, executing 1",
    ],
};

const PG_BOSS: Software = Software {
    name: "pg-boss",
    spec: "pg_boss",
    tables: "CREATE SCHEMA pgboss

CREATE TYPE pgboss.job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed')

CREATE TABLE pgboss.job (id uuid NOT NULL DEFAULT gen_random_uuid(), name text NOT NULL, priority integer NOT NULL DEFAULT 0, data jsonb,
    state pgboss.job_state NOT NULL DEFAULT 'created', retry_limit integer NOT NULL DEFAULT 2, retry_count integer NOT NULL DEFAULT 0,
    retry_delay integer NOT NULL DEFAULT 0, retry_backoff boolean NOT NULL DEFAULT FALSE, start_after timestamptz NOT NULL DEFAULT now(),
    started_on timestamptz, singleton_key text, singleton_on timestamp, expire_in interval NOT NULL DEFAULT interval '15 minutes',
    created_on timestamptz NOT NULL DEFAULT now(), completed_on timestamptz, keep_until timestamptz NOT NULL DEFAULT now() + interval '14 days',
    output jsonb, dead_letter text, policy text, PRIMARY KEY (name, id)) PARTITION BY LIST (name)

CREATE TABLE pgboss.j_mail PARTITION OF pgboss.job FOR VALUES IN ('mail')

CREATE TABLE pgboss.j_other PARTITION OF pgboss.job FOR VALUES IN ('other')

CREATE INDEX j_mail_i5 ON pgboss.j_mail (name, start_after) INCLUDE (priority, created_on, id) WHERE state < 'active'

INSERT INTO pgboss.job (name, data, state) SELECT 'mail', '{}', (ARRAY['created', 'retry'])[1 + n % 2]::pgboss.job_state FROM generate_series(1, {n}) AS n

INSERT INTO pgboss.job (name, data, state) VALUES ('mail', '{}', 'active'), ('mail', '{}', 'failed'), ('other', '{}', 'created')",
    take: "WITH next AS (SELECT id FROM pgboss.job WHERE name = 'mail' AND state < 'active' AND start_after < now()
            ORDER BY priority DESC, created_on, id LIMIT 1 FOR UPDATE SKIP LOCKED)
        UPDATE pgboss.job AS j SET state = 'active', started_on = now(), retry_count = CASE WHEN started_on IS NOT NULL THEN retry_count + 1 ELSE retry_count END
        FROM next WHERE j.name = 'mail' AND j.id = next.id RETURNING j.id::text",
    finish: "UPDATE pgboss.job SET state = 'completed', completed_on = now() WHERE name = 'mail' AND id = '{id}' AND state = 'active'",
    after: [
        "SELECT string_agg(name || ' ' || state || ' ' || n, ', ' ORDER BY name, state) FROM (
            SELECT name, state::text, count(*) AS n FROM pgboss.job GROUP BY 1, 2) AS s",
        "mail active 1, mail completed {n}, mail failed 1, other created 1",
    ],
};

const GRAPHILE: Software = Software {
    name: "graphile-worker",
    spec: "graphile_worker",
    tables: "CREATE SCHEMA graphile_worker

CREATE TABLE graphile_worker._private_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job_queue_id integer, task_id integer NOT NULL,
    payload json DEFAULT '{}' NOT NULL, priority smallint DEFAULT 0 NOT NULL, max_attempts smallint DEFAULT 25 NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL, created_at timestamptz DEFAULT now() NOT NULL, updated_at timestamptz DEFAULT now() NOT NULL,
    key text UNIQUE, locked_at timestamptz, locked_by text, revision integer DEFAULT 0 NOT NULL, flags jsonb, last_error text,
    run_at timestamptz DEFAULT now() NOT NULL,
    is_available boolean GENERATED ALWAYS AS ((locked_at IS NULL) AND (attempts < max_attempts)) STORED NOT NULL)

CREATE INDEX jobs_main_index ON graphile_worker._private_jobs (priority, run_at) INCLUDE (id, task_id, job_queue_id) WHERE is_available = TRUE

INSERT INTO graphile_worker._private_jobs (task_id) SELECT 1 FROM generate_series(1, {n})

INSERT INTO graphile_worker._private_jobs (task_id, job_queue_id, locked_at, locked_by, key)
VALUES (1, NULL, now(), 'another', 'held'), (1, 7, NULL, NULL, 'in a queue')",
    take: "UPDATE graphile_worker._private_jobs SET attempts = attempts + 1, locked_by = 'its own', locked_at = now() WHERE id = (
            SELECT id FROM graphile_worker._private_jobs WHERE is_available AND run_at <= now() AND task_id = 1 AND job_queue_id IS NULL
            ORDER BY priority, run_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "DELETE FROM graphile_worker._private_jobs WHERE id = {id}",
    after: ["SELECT string_agg(key, ', ' ORDER BY id) FROM graphile_worker._private_jobs", "held, in a queue"],
};

const PROCRASTINATE: Software = Software {
    name: "procrastinate",
    spec: "procrastinate",
    tables: "CREATE TYPE procrastinate_job_status AS ENUM ('todo', 'doing', 'succeeded', 'failed', 'cancelled', 'aborting', 'aborted')

CREATE TABLE procrastinate_jobs (id bigserial PRIMARY KEY, queue_name varchar(128) NOT NULL, task_name varchar(128) NOT NULL,
    priority integer DEFAULT 0 NOT NULL, lock text, queueing_lock text, args jsonb DEFAULT '{}' NOT NULL,
    status procrastinate_job_status DEFAULT 'todo' NOT NULL, scheduled_at timestamptz, attempts integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT FALSE NOT NULL, worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK (NOT (status = 'todo' AND abort_requested = TRUE)))

CREATE TABLE procrastinate_events (id bigserial PRIMARY KEY, job_id bigint NOT NULL REFERENCES procrastinate_jobs ON DELETE CASCADE,
    type text, at timestamptz DEFAULT now())

CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON procrastinate_jobs (queueing_lock) WHERE status = 'todo'

CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON procrastinate_jobs (lock) WHERE status = 'doing'

CREATE FUNCTION procrastinate_trigger_status() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO public.procrastinate_events (job_id, type) VALUES (NEW.id, NEW.status::text); RETURN NULL; END; $$

CREATE TRIGGER procrastinate_jobs_trigger_status AFTER UPDATE OF status ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION procrastinate_trigger_status()

INSERT INTO procrastinate_jobs (queue_name, task_name, lock) SELECT 'default', 'mail', CASE n % 10 WHEN 0 THEN 'l' || n END FROM generate_series(1, {n}) AS n

INSERT INTO procrastinate_jobs (queue_name, task_name, status, lock) VALUES ('default', 'mail', 'doing', 'held'), ('default', 'mail', 'failed', NULL)",
    take: "UPDATE procrastinate_jobs SET status = 'doing' WHERE id = (
            SELECT j.id FROM procrastinate_jobs AS j WHERE status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())
                AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs AS o WHERE o.lock = j.lock AND o.status = 'doing')
            ORDER BY priority DESC, id LIMIT 1 FOR UPDATE OF j SKIP LOCKED) RETURNING id::text",
    finish: "UPDATE procrastinate_jobs SET status = 'succeeded', attempts = attempts + 1 WHERE id = {id}",
    after: [
        "SELECT string_agg(status || ' ' || n, ', ' ORDER BY status) FROM (
            SELECT status::text, count(*) AS n FROM procrastinate_jobs GROUP BY 1
            UNION ALL SELECT 'z events', count(*) FROM procrastinate_events WHERE type = 'succeeded') AS s",
        "doing 1, failed 1, succeeded {n}, z events {n}",
    ],
};

const DJANGO: Software = Software {
    name: "Django's tasks",
    spec: "django_tasks",
    tables: "CREATE TABLE django_tasks_database_dbtaskresult (id uuid PRIMARY KEY, status varchar(10) NOT NULL, enqueued_at timestamptz NOT NULL,
    started_at timestamptz, finished_at timestamptz, args_kwargs jsonb NOT NULL, priority integer NOT NULL, task_path text NOT NULL,
    worker_ids jsonb NOT NULL, queue_name varchar(32) NOT NULL, backend_name varchar(32) NOT NULL, run_after timestamptz, return_value jsonb,
    exception_class_path text NOT NULL, traceback text NOT NULL, CONSTRAINT priority_range CHECK (priority >= -100 AND priority <= 100))

INSERT INTO django_tasks_database_dbtaskresult
SELECT gen_random_uuid(), s, now(), NULL, NULL, '{\"args\": [], \"kwargs\": {}}', 0, 'app.mail', '[]', 'default', 'default', now(), NULL, '', ''
FROM generate_series(1, {n} + 2) AS n CROSS JOIN LATERAL (SELECT CASE n WHEN 1 THEN 'RUNNING' WHEN 2 THEN 'FAILED' ELSE 'READY' END AS s) AS s",
    take: "UPDATE django_tasks_database_dbtaskresult SET status = 'RUNNING', started_at = now(), worker_ids = '[\"its own\"]' WHERE id = (
            SELECT id FROM django_tasks_database_dbtaskresult WHERE status = 'READY' AND (run_after IS NULL OR run_after <= now())
            ORDER BY priority DESC, run_after LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "UPDATE django_tasks_database_dbtaskresult SET status = 'SUCCESSFUL', finished_at = now() WHERE id = '{id}'",
    after: [
        "SELECT string_agg(status || ' ' || n, ', ' ORDER BY status) FROM (
            SELECT status, count(*) AS n FROM django_tasks_database_dbtaskresult WHERE traceback = '' GROUP BY 1) AS s",
        "FAILED 1, RUNNING 1, SUCCESSFUL {n}",
    ],
};

const CELERY: Software = Software {
    name: "Celery's SQLAlchemy transport",
    spec: "celery",
    tables: "CREATE TABLE kombu_queue (id integer PRIMARY KEY, name varchar(200) UNIQUE)

CREATE SEQUENCE message_id_sequence

CREATE TABLE kombu_message (id integer DEFAULT nextval('message_id_sequence') PRIMARY KEY, visible boolean DEFAULT TRUE, \"timestamp\" timestamp,
    payload text NOT NULL, version smallint DEFAULT 1 NOT NULL, queue_id integer REFERENCES kombu_queue)

CREATE INDEX ix_kombu_message_timestamp_id ON kombu_message (\"timestamp\", id)

INSERT INTO kombu_queue VALUES (1, 'celery'), (2, 'other')

INSERT INTO kombu_message (\"timestamp\", payload, queue_id) SELECT localtimestamp, '{}', 1 FROM generate_series(1, {n})

INSERT INTO kombu_message (\"timestamp\", payload, queue_id, visible) VALUES (localtimestamp, 'taken', 1, FALSE), (localtimestamp, 'other', 2, TRUE)",
    take: "UPDATE kombu_message SET visible = FALSE WHERE id = (
            SELECT id FROM kombu_message WHERE queue_id = 1 AND visible ORDER BY \"timestamp\", id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    // It stays as it was taken.
    finish: "DELETE FROM kombu_message WHERE id = {id}",
    after: ["SELECT string_agg(payload, ' ' ORDER BY payload) FROM kombu_message", "other taken"],
};

#[test]
fn jobs_are_drained_beside_the_workers_of_the_software() {
    for software in [DELAYED_JOB, LARAVEL, RIVER, OBAN, PG_BOSS, GRAPHILE, PROCRASTINATE, DJANGO, CELERY] {
        let (scratch, spec) = adopted(&software, "drain beside");
        // One of readpast's workers holds some all the time.
        let holds = open(&scratch, &spec, "holds");
        let held = holds.claim(5, Duration::ZERO).unwrap();
        assert_eq!(held.len(), 5, "{}", software.spec);
        let its_own = std::thread::scope(|scope| {
            let (scratch, spec) = (&scratch, &spec);
            let its_own = scope.spawn(|| work_as_it_does(scratch, &software));
            for worker in ["a", "b"] {
                scope.spawn(move || work(scratch, spec, worker));
            }
            its_own.join().unwrap()
        });
        for item in held.iter() {
            scratch.run(&format!("INSERT INTO public.done VALUES ('{}', 'holds')", item.key()));
        }
        holds.settle(&all(&held, Action::Complete), None).unwrap();
        assert!(its_own > 0, "{}: its own worker had no part in it", software.spec);
        is_done(&scratch, &software, &spec);
    }
}
