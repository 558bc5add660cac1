//! Queues that readpast drains in the place of the software's own workers: these hold a job in a way that a claim passes over or cannot
//! see, and they see no claim.

use super::{Software, adopted, is_done, items, open, work};
use std::time::Duration;
use support::scratch::{Scratch, all};

/// How the software's own worker holds the job that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// By a lock of its row, until its transaction ends: a claim passes it over.
    Row,
    /// By an advisory lock, or by a time: a claim does not see it.
    Unseen,
}

const GOOD_JOB: Software = Software {
    name: "good_job",
    spec: "good_job",
    tables: "CREATE TABLE good_jobs (id uuid DEFAULT gen_random_uuid() PRIMARY KEY, queue_name text, priority integer, serialized_params jsonb,
    scheduled_at timestamp(6), performed_at timestamp(6), finished_at timestamp(6), error text, created_at timestamp(6) NOT NULL,
    updated_at timestamp(6) NOT NULL, active_job_id uuid, concurrency_key text, cron_key text, retried_good_job_id uuid, cron_at timestamp(6),
    batch_id uuid, batch_callback_id uuid, is_discrete boolean, executions_count integer, job_class text, error_event smallint, labels text[],
    locked_by_id uuid, locked_at timestamp(6))

CREATE INDEX index_good_jobs_on_queue_name_and_scheduled_at ON good_jobs (queue_name, scheduled_at) WHERE finished_at IS NULL

INSERT INTO good_jobs (serialized_params, created_at, updated_at) SELECT '{}', localtimestamp, localtimestamp FROM generate_series(1, {n})

INSERT INTO good_jobs (serialized_params, created_at, updated_at, performed_at, finished_at, error)
VALUES ('{}', now(), now(), now(), now(), NULL), ('{}', now(), now(), now(), now(), 'no')",
    take: "SELECT id::text FROM good_jobs WHERE finished_at IS NULL AND (scheduled_at IS NULL OR scheduled_at <= now())
            AND pg_try_advisory_lock(('x' || substr(md5('good_jobs-' || id::text), 1, 16))::bit(64)::bigint) ORDER BY priority, created_at LIMIT 1",
    finish: "",
    after: [
        "SELECT concat_ws(' ', count(*) - 2, count(*) FILTER (WHERE finished_at IS NULL OR performed_at IS NULL), count(error)) FROM good_jobs",
        "{n} 0 1",
    ],
};

const QUE: Software = Software {
    name: "Que",
    spec: "que",
    tables: "CREATE TABLE que_jobs (priority smallint NOT NULL DEFAULT 100, run_at timestamptz NOT NULL DEFAULT now(), id bigserial PRIMARY KEY,
    job_class text NOT NULL, error_count integer NOT NULL DEFAULT 0, last_error_message text, queue text NOT NULL DEFAULT 'default',
    last_error_backtrace text, finished_at timestamptz, expired_at timestamptz, args jsonb NOT NULL DEFAULT '[]', data jsonb NOT NULL DEFAULT '{}',
    job_schema_version integer DEFAULT 1, kwargs jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT error_length CHECK (char_length(last_error_message) <= 500 AND char_length(last_error_backtrace) <= 10000),
    CONSTRAINT valid_args CHECK (jsonb_typeof(args) = 'array'), CONSTRAINT valid_data CHECK (jsonb_typeof(data) = 'object'))

CREATE INDEX que_poll_idx ON que_jobs (queue, priority, run_at, id) WHERE finished_at IS NULL AND expired_at IS NULL

INSERT INTO que_jobs (job_class) SELECT 'Mail' FROM generate_series(1, {n})

INSERT INTO que_jobs (job_class, finished_at, expired_at) VALUES ('finished', now(), NULL), ('expired', NULL, now())",
    take: "SELECT id::text FROM que_jobs WHERE finished_at IS NULL AND expired_at IS NULL AND run_at <= now() AND pg_try_advisory_lock(id)
        ORDER BY priority, run_at, id LIMIT 1",
    finish: "",
    after: ["SELECT string_agg(job_class, ' ' ORDER BY id) FROM que_jobs", "finished expired"],
};

const PGMQ: Software = Software {
    name: "pgmq",
    spec: "pgmq",
    tables: "CREATE SCHEMA pgmq

CREATE TABLE pgmq.q_mail (msg_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, read_ct integer DEFAULT 0 NOT NULL,
    enqueued_at timestamptz DEFAULT now() NOT NULL, vt timestamptz NOT NULL, message jsonb, headers jsonb)

CREATE INDEX q_mail_vt_idx ON pgmq.q_mail (vt)

INSERT INTO pgmq.q_mail (vt, message) SELECT now(), '{}' FROM generate_series(1, {n})

INSERT INTO pgmq.q_mail (vt, message) VALUES (now() + interval '1 hour', '\"later\"')",
    take: "UPDATE pgmq.q_mail SET vt = now() + interval '30 seconds', read_ct = read_ct + 1 WHERE msg_id = (
            SELECT msg_id FROM pgmq.q_mail WHERE vt <= now() ORDER BY msg_id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING msg_id::text",
    finish: "UPDATE pgmq.q_mail SET vt = now(), read_ct = read_ct - 1 WHERE msg_id = {id}",
    after: ["SELECT string_agg(message::text, ' ') FROM pgmq.q_mail", "\"later\""],
};

const REBUS: Software = Software {
    name: "Rebus",
    spec: "rebus",
    tables: "CREATE TABLE rebus (id bigserial NOT NULL, recipient text NOT NULL, priority integer NOT NULL, expiration timestamptz NOT NULL,
    visible timestamptz NOT NULL, headers bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (recipient, priority, id))

CREATE INDEX idx_receive_rebus ON rebus (recipient, expiration, visible)

INSERT INTO rebus (recipient, priority, expiration, visible, headers, body)
SELECT 'sales', 0, now() + interval '1 year', now(), '{}', '{}' FROM generate_series(1, {n})

INSERT INTO rebus (recipient, priority, expiration, visible, headers, body) VALUES
    ('sales', 0, now() + interval '1 year', now() + interval '1 hour', '{}', 'deferred'), ('other', 0, now() + interval '1 year', now(), '{}', 'other')",
    take: "DELETE FROM rebus WHERE id = (SELECT id FROM rebus WHERE recipient = 'sales' AND visible < now() AND expiration > now()
            ORDER BY priority DESC, visible, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id::text",
    finish: "ROLLBACK",
    after: ["SELECT string_agg(encode(body, 'escape'), ' ' ORDER BY id) FROM rebus", "deferred other"],
};

const WOLVERINE: Software = Software {
    name: "Wolverine's queues",
    spec: "wolverine_queue",
    tables: "CREATE TABLE wolverine_queue_mail (id uuid PRIMARY KEY, body bytea NOT NULL, message_type varchar NOT NULL, keep_until timestamptz,
    \"timestamp\" timestamptz DEFAULT now())

INSERT INTO wolverine_queue_mail (id, body, message_type) SELECT gen_random_uuid(), '{}', 'Mail' FROM generate_series(1, {n})",
    take: "DELETE FROM wolverine_queue_mail WHERE id = (SELECT id FROM wolverine_queue_mail ORDER BY \"timestamp\" LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING id::text",
    finish: "ROLLBACK",
    after: ["SELECT count(*)::text FROM wolverine_queue_mail", "0"],
};

/// A claim passes over a row that its own worker has locked, and its own worker would take what readpast's has.
fn neither_asks_the_other(scratch: &Scratch, software: &Software, queue: &readpast::Queue, holds: Holds) {
    let mut session = scratch.session();
    if holds == Holds::Row {
        session.execute("BEGIN", &[]).unwrap();
        assert!(!session.execute(software.take, &[]).unwrap().is_empty(), "{}", software.spec);
    }
    let claimed = queue.claim(u32::try_from(items()).unwrap(), Duration::ZERO).unwrap();
    let left = usize::from(holds == Holds::Row);
    assert_eq!(claimed.len(), items() - left, "{}: all but what its worker has locked", software.spec);
    if holds == Holds::Row {
        session.execute(software.finish, &[]).unwrap();
        session.execute("BEGIN", &[]).unwrap();
        // It takes the same once more, and then one that is claimed.
        assert!(!session.execute(software.take, &[]).unwrap().is_empty(), "{}", software.spec);
    }
    let taken = session.execute(software.take, &[]).unwrap();
    assert!(!taken.is_empty(), "{}: its workers see no claim; if they do, let them work beside", software.spec);
    if !software.finish.is_empty() {
        let id = support::scratch::text(&taken);
        session.execute(&software.finish.replace("{id}", &id), &[]).unwrap();
    }
    queue.settle(&all(&claimed, readpast::item::Action::Release), None).unwrap();
}

#[test]
fn jobs_are_drained_in_the_place_of_the_workers_of_the_software() {
    for (software, holds) in [
        (GOOD_JOB, Holds::Unseen),
        (QUE, Holds::Unseen),
        (PGMQ, Holds::Unseen),
        (REBUS, Holds::Row),
        (WOLVERINE, Holds::Row),
    ] {
        let (scratch, spec) = adopted(&software, "drain instead");
        neither_asks_the_other(&scratch, &software, &open(&scratch, &spec, "asks"), holds);
        std::thread::scope(|scope| {
            let (scratch, spec) = (&scratch, &spec);
            for worker in ["a", "b"] {
                scope.spawn(move || work(scratch, spec, worker));
            }
        });
        is_done(&scratch, &software, &spec);
    }
}
