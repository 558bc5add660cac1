//! The tables of the documents as their authors declare them, with types of PostgreSQL, and the queues over them.

use crate::scratch::Scratch;
use readpast::item::{Action, Batch, NewItem, Settlement};
use readpast::{install::install, queue::Queue, spec::QueueSpec};
use serde_json::{Value, json};
use std::time::Duration;

/// A table of somebody's, the description of the queue over it, and what an item of it holds.
pub struct Kind {
    pub name: &'static str,
    pub ddl: &'static str,
    pub spec: &'static str,
    /// Column and value of the item with this number.
    pub column: fn(u32) -> Value,
}

const EMAIL: &str = "CREATE TABLE EmailRequests (
    Id integer GENERATED ALWAYS AS IDENTITY, EmailAddress varchar(250) NOT NULL, Subject varchar(50) NOT NULL,
    Body varchar(500) NOT NULL, IsProcessed boolean NOT NULL, Created timestamp NOT NULL, PRIMARY KEY (Id))";

pub const FOUR_QUEUE: Kind = Kind {
    name: "FourQueue",
    ddl: "CREATE TABLE four_queue (
        id bigint GENERATED ALWAYS AS IDENTITY, in_process boolean NOT NULL DEFAULT FALSE, reputation integer NOT NULL,
        start_date timestamp NULL DEFAULT localtimestamp,
        end_date timestamp NULL DEFAULT localtimestamp + interval '864 milliseconds',
        duration_milliseconds bigint GENERATED ALWAYS AS (EXTRACT(EPOCH FROM end_date - start_date) * 1000) STORED,
        CONSTRAINT big_idea PRIMARY KEY (in_process, id), CONSTRAINT fq_uq_r UNIQUE (reputation))",
    spec: include_str!("../../sql/specs/four_queue.toml"),
    column: |number| json!({"reputation": number}),
};

pub const SCHEDULER: Kind = Kind {
    name: "FourQueueScheduler",
    ddl: "CREATE TABLE four_queue (
        id bigint GENERATED ALWAYS AS IDENTITY, in_process boolean NOT NULL DEFAULT FALSE, reputation integer NOT NULL,
        scheduled_start_date timestamp NULL DEFAULT localtimestamp,
        start_date timestamp NULL DEFAULT localtimestamp,
        end_date timestamp NULL DEFAULT localtimestamp + interval '864 milliseconds',
        duration_milliseconds bigint GENERATED ALWAYS AS (EXTRACT(EPOCH FROM end_date - start_date) * 1000) STORED,
        app_server varchar(128) NULL, attempts smallint NOT NULL DEFAULT 0,
        CONSTRAINT big_idea PRIMARY KEY (in_process, id), CONSTRAINT fq_uq_r UNIQUE (reputation))",
    spec: include_str!("../../sql/specs/four_queue_scheduler.toml"),
    column: |number| json!({"reputation": number}),
};

pub const EMAIL_REQUESTS: Kind = Kind {
    name: "EmailRequests",
    ddl: EMAIL,
    spec: include_str!("../../sql/specs/email_requests.toml"),
    column: email,
};

pub const EMAIL_LIFO: Kind = Kind {
    name: "EmailRequestsLifo",
    ddl: EMAIL,
    spec: include_str!("../../sql/specs/email_requests_lifo.toml"),
    column: email,
};

pub const EMAIL_HEAP: Kind = Kind {
    name: "EmailRequestsHeap",
    ddl: EMAIL,
    spec: include_str!("../../sql/specs/email_requests_heap.toml"),
    column: email,
};

pub const EMAIL_DELETE: Kind = Kind {
    name: "EmailRequestsDelete",
    ddl: EMAIL,
    spec: include_str!("../../sql/specs/email_requests_delete.toml"),
    column: email,
};

pub const EMAIL_SENT: Kind = Kind {
    name: "EmailRequestsSent",
    ddl: "CREATE TABLE EmailRequests (
        Id integer GENERATED ALWAYS AS IDENTITY, EmailAddress varchar(250) NOT NULL, Subject varchar(50) NOT NULL,
        Body varchar(500) NOT NULL, IsProcessed boolean NOT NULL, IsEmailSent boolean NOT NULL,
        RetryCount integer NOT NULL, Created timestamp NOT NULL, PRIMARY KEY (Id))",
    spec: include_str!("../../sql/specs/email_requests_sent.toml"),
    column: email,
};

pub const SIMPLE_QUEUE: Kind = Kind {
    name: "SimpleQueue",
    ddl: "CREATE TABLE SimpleQueue (
        Id uuid NOT NULL PRIMARY KEY, CreatedAt timestamp NOT NULL, ProcessingStartedAt timestamp, Errors text,
        Payload text);
    CREATE INDEX IX_SIMPLEQUEUE_POP ON SimpleQueue (ProcessingStartedAt, CreatedAt ASC) INCLUDE (Id)
    WHERE ProcessingStartedAt IS NULL",
    spec: include_str!("../../sql/specs/simple_queue.toml"),
    column: |number| json!({"Payload": number.to_string()}),
};

pub const SIMPLE_QUEUE_POSTGRES: Kind = Kind {
    name: "SimpleQueuePg",
    ddl: "CREATE TABLE simple_queue (
        id uuid NOT NULL PRIMARY KEY, created_at timestamptz NOT NULL, processing_started_at timestamptz, errors text,
        payload text);
    CREATE INDEX ix_simple_queue_pop ON simple_queue (processing_started_at, created_at ASC) INCLUDE (id)
    WHERE processing_started_at IS NULL",
    spec: include_str!("../../sql/specs/simple_queue_postgres.toml"),
    column: |number| json!({"payload": number.to_string()}),
};

pub const LOCK_TABLE: Kind = Kind {
    name: "LockTable",
    ddl: "CREATE TABLE Queue (
        RequestId integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, Request text NULL, Status integer NOT NULL DEFAULT 1,
        LockedBy varchar(75) NULL, LockedTime timestamp NULL, RequestedTime timestamp NOT NULL DEFAULT localtimestamp,
        CompletionTime timestamp NULL, NumAttempts integer NULL)",
    spec: include_str!("../../sql/specs/queue_lock_table.toml"),
    column: |number| json!({"Request": number.to_string()}),
};

pub const ALL: [&Kind; 10] = [
    &FOUR_QUEUE,
    &SCHEDULER,
    &EMAIL_REQUESTS,
    &EMAIL_LIFO,
    &EMAIL_HEAP,
    &EMAIL_DELETE,
    &EMAIL_SENT,
    &SIMPLE_QUEUE,
    &SIMPLE_QUEUE_POSTGRES,
    &LOCK_TABLE,
];

fn email(number: u32) -> Value {
    json!({"EmailAddress": format!("{number}@example.org"), "Subject": "Hello", "Body": "Spam spam spam"})
}

/// A scratch database with such a table and the queue over it.
pub struct Adopted {
    pub scratch: Scratch,
    pub queue: String,
    column: fn(u32) -> Value,
}

impl Adopted {
    pub fn new(kind: &Kind) -> Self {
        Self::of(kind.ddl, kind.spec, kind.column)
    }

    /// A kind with a part of its description replaced.
    pub fn changed(kind: &Kind, from: &str, to: &str) -> Self {
        assert!(kind.spec.contains(from), "{from}");
        Self::of(kind.ddl, &kind.spec.replace(from, to), kind.column)
    }

    pub fn of(ddl: &str, spec: &str, column: fn(u32) -> Value) -> Self {
        let scratch = Scratch::empty();
        for statement in ddl.split(';') {
            scratch.run(statement);
        }
        let spec = QueueSpec::from_text(spec).unwrap_or_else(|error| panic!("{error}"));
        install(&scratch.config(&[]), Some(&spec)).unwrap_or_else(|error| panic!("{}: {error}", spec.queue));
        Self { scratch, queue: spec.queue.as_str().to_owned(), column }
    }

    pub fn open(&self, settings: &[(&str, &str)]) -> Queue {
        Queue::open(&self.scratch.config(settings), &self.queue).unwrap_or_else(|error| panic!("{}: {error}", self.queue))
    }

    pub fn worker(&self, name: &str) -> Queue {
        self.open(&[("worker", name), ("recover.interval_ms", "10")])
    }

    pub fn item(&self, number: u32) -> NewItem {
        NewItem { columns: (self.column)(number).as_object().unwrap().clone(), ..NewItem::default() }
    }

    pub fn items(&self, count: u32) -> Vec<NewItem> {
        (0..count).map(|number| self.item(number)).collect()
    }

    /// One value of the item view, of the only item or of the one with this key.
    pub fn look(&self, what: &str) -> String {
        let view = readpast::ident::QueueName::new(&self.queue).unwrap().snake_case();
        self.scratch.look(&format!("SELECT {what} FROM readpast.{view}_item_v AS v"))
    }
}

/// Claims up to `max` items, without waiting.
pub fn claim(queue: &Queue, max: u32) -> Batch {
    queue.claim(max, Duration::ZERO).unwrap_or_else(|error| panic!("{error}"))
}

/// Settles all items of a batch alike, and expects each to be in `state` afterwards.
pub fn settle(queue: &Queue, batch: &Batch, action: Action, state: &str) {
    let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, action)).collect();
    let outcomes = queue.settle(&settlements, None).unwrap_or_else(|error| panic!("{error}"));
    for outcome in outcomes {
        assert_eq!(format!("{:?}", outcome.answer), "Ok");
        assert_eq!(outcome.state.map(|state| state.as_str()), Some(state));
    }
}
