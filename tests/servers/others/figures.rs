//! Tables of other software that readpast is only to look at: they are adopted for their figures, and nobody works on them.

use super::{Software, adopted, items, open};
use readpast::ItemState;
use support::scratch::Scratch;

/// Only to be looked at: nobody takes a job.
const fn seen(name: &'static str, spec: &'static str, tables: &'static str) -> Software {
    Software { name, spec, tables, take: "", finish: "", after: ["", ""] }
}

/// The software, and how many of its rows count as Processing.
const SEEN: [(Software, i64); 6] = [
    (
        seen(
            "Hangfire",
            "hangfire_postgres",
            "CREATE SCHEMA hangfire

CREATE TABLE hangfire.job (id bigserial PRIMARY KEY, stateid bigint, statename text, invocationdata jsonb NOT NULL, arguments jsonb NOT NULL,
    createdat timestamptz NOT NULL, expireat timestamptz, updatecount integer NOT NULL DEFAULT 0)

CREATE TABLE hangfire.jobqueue (id bigserial PRIMARY KEY, jobid bigint NOT NULL, queue text NOT NULL, fetchedat timestamptz,
    updatecount integer NOT NULL DEFAULT 0)

CREATE INDEX ix_hangfire_jobqueue_queueandfetchedat ON hangfire.jobqueue (queue, fetchedat)

INSERT INTO hangfire.jobqueue (jobid, queue) SELECT n, 'default' FROM generate_series(1, {n}) AS n

INSERT INTO hangfire.jobqueue (jobid, queue, fetchedat) VALUES (0, 'default', now()), (0, 'default', now())",
        ),
        2,
    ),
    (
        seen(
            "Solid Queue",
            "solid_queue",
            "CREATE TABLE solid_queue_jobs (id bigserial PRIMARY KEY, queue_name varchar NOT NULL, class_name varchar NOT NULL, arguments text,
    priority integer DEFAULT 0 NOT NULL, active_job_id varchar, scheduled_at timestamp(6), finished_at timestamp(6), concurrency_key varchar,
    created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL)

CREATE TABLE solid_queue_ready_executions (id bigserial PRIMARY KEY, job_id bigint NOT NULL UNIQUE REFERENCES solid_queue_jobs ON DELETE CASCADE,
    queue_name varchar NOT NULL, priority integer DEFAULT 0 NOT NULL, created_at timestamp(6) NOT NULL)

CREATE INDEX index_solid_queue_poll_all ON solid_queue_ready_executions (priority, job_id)

INSERT INTO solid_queue_jobs (queue_name, class_name, created_at, updated_at) SELECT 'default', 'Mail', now(), now() FROM generate_series(1, {n})

INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at) SELECT id, queue_name, created_at FROM solid_queue_jobs",
        ),
        0,
    ),
    (
        seen(
            "Wolverine's inbox",
            "wolverine_incoming",
            "CREATE TABLE wolverine_incoming_envelopes (id uuid NOT NULL, status varchar NOT NULL, owner_id integer NOT NULL, execution_time timestamptz,
    attempts integer DEFAULT 0, body bytea NOT NULL, message_type varchar NOT NULL, received_at varchar, keep_until timestamptz, PRIMARY KEY (id))

INSERT INTO wolverine_incoming_envelopes (id, status, owner_id, body, message_type)
SELECT gen_random_uuid(), (ARRAY['Incoming', 'Scheduled'])[1 + n % 2], 0, '{}', 'Mail' FROM generate_series(1, {n}) AS n

INSERT INTO wolverine_incoming_envelopes (id, status, owner_id, body, message_type)
VALUES (gen_random_uuid(), 'Incoming', 7, '{}', 'a node has it'), (gen_random_uuid(), 'Handled', 0, '{}', 'done')",
        ),
        0,
    ),
    (
        seen(
            "Wolverine's outbox",
            "wolverine_outgoing",
            "CREATE TABLE wolverine_outgoing_envelopes (id uuid NOT NULL, owner_id integer NOT NULL, destination varchar NOT NULL, deliver_by timestamptz,
    body bytea NOT NULL, attempts integer DEFAULT 0, message_type varchar NOT NULL, PRIMARY KEY (id))

INSERT INTO wolverine_outgoing_envelopes (id, owner_id, destination, body, message_type)
SELECT gen_random_uuid(), 0, 'local://mail', '{}', 'Mail' FROM generate_series(1, {n})

INSERT INTO wolverine_outgoing_envelopes (id, owner_id, destination, body, message_type)
VALUES (gen_random_uuid(), 7, 'local://mail', '{}', 'a node has it')",
        ),
        0,
    ),
    (
        seen(
            "CAP",
            "cap_postgres",
            "CREATE SCHEMA cap

CREATE TABLE cap.published (\"Id\" bigint PRIMARY KEY NOT NULL, \"Version\" varchar(20) NOT NULL, \"Name\" varchar(200) NOT NULL, \"Content\" text,
    \"Retries\" integer NOT NULL, \"Added\" timestamp NOT NULL, \"ExpiresAt\" timestamp, \"StatusName\" varchar(50) NOT NULL)

INSERT INTO cap.published SELECT n, 'v1', 'mail', '{}', 0, now(), NULL, (ARRAY['Scheduled', 'Failed'])[1 + n % 2] FROM generate_series(1, {n}) AS n

INSERT INTO cap.published VALUES (0, 'v1', 'mail', '{}', 0, now(), now(), 'Succeeded')",
        ),
        0,
    ),
    (
        seen(
            "MassTransit",
            "mass_transit_postgres",
            "CREATE SCHEMA transport

CREATE TABLE transport.message_delivery (message_delivery_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, transport_message_id uuid NOT NULL,
    queue_id bigint NOT NULL, priority smallint NOT NULL, enqueue_time timestamptz NOT NULL, expiration_time timestamptz, partition_key text,
    routing_key text, consumer_id uuid, lock_id uuid, delivery_count integer NOT NULL, max_delivery_count integer NOT NULL,
    last_delivered timestamptz, transport_headers jsonb)

INSERT INTO transport.message_delivery (transport_message_id, queue_id, priority, enqueue_time, lock_id, delivery_count, max_delivery_count)
SELECT gen_random_uuid(), 1, 100, now(), NULL, 0, 10 FROM generate_series(1, {n})

INSERT INTO transport.message_delivery (transport_message_id, queue_id, priority, enqueue_time, lock_id, delivery_count, max_delivery_count)
VALUES (gen_random_uuid(), 1, 100, now(), gen_random_uuid(), 1, 10)",
        ),
        0,
    ),
];

#[test]
fn tables_of_a_system_with_more_tables_show_their_figures() {
    for (software, processing) in SEEN {
        let (scratch, spec) = adopted(&software, "read figures only");
        let figures = open(&scratch, &spec, "looks").stats().unwrap();
        assert_eq!(figures.count(ItemState::Pending), i64::try_from(items()).unwrap(), "{}", software.spec);
        assert_eq!(figures.count(ItemState::Processing), processing, "{}", software.spec);
    }
}

/// A trigger that has fired is no work that somebody could take.
#[test]
fn fired_triggers_are_named_and_left_alone() {
    let scratch = Scratch::empty();
    scratch.run(
        "CREATE TABLE qrtz_fired_triggers (sched_name text NOT NULL, entry_id text NOT NULL, trigger_name text NOT NULL, trigger_group text NOT NULL,
            instance_name text NOT NULL, fired_time bigint NOT NULL, sched_time bigint NOT NULL, priority integer NOT NULL, state text NOT NULL,
            job_name text, job_group text, is_nonconcurrent boolean NOT NULL, requests_recovery boolean, PRIMARY KEY (sched_name, entry_id))",
    );
    let report = readpast::discover::discover(&scratch.config(&[])).unwrap();
    let [table] = report.tables.as_slice() else { panic!("{report:#?}") };
    assert_eq!(table.system, Some("Quartz"));
    assert!(table.verdict.unwrap().starts_with("no: "), "{table:#?}");
}
