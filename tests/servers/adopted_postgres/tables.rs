//! The tables of the documents as their authors declare them, with types of PostgreSQL, and the queues over them.

use readpast::item::{Action, Batch, NewItem, Settlement};
use readpast::{description::QueueSpec, install::install, queue::Queue};
use serde_json::{Value, json};
use std::time::Duration;
use support::scratch::Scratch;

/// A table of somebody's, the description of the queue over it, and what an item of it holds.
pub struct Kind {
    pub name: &'static str,
    pub ddl: &'static str,
    pub spec: &'static str,
    /// Column and value of the item with this number.
    pub column: fn(u32) -> Value,
    /// Whether completed rows leave the table.
    pub deletes: bool,
}

impl Kind {
    /// The beginning of the names of its settings.
    pub fn setting(&self) -> String {
        QueueSpec::from_text(self.spec).unwrap().settings
    }

    pub fn has_fixed_leases(&self) -> bool {
        !QueueSpec::from_text(self.spec).unwrap().lease.sliding
    }
}

const EMAIL: &str = "CREATE TABLE EmailRequests (
    Id integer GENERATED ALWAYS AS IDENTITY, EmailAddress varchar(250) NOT NULL, Subject varchar(50) NOT NULL,
    Body varchar(500) NOT NULL, IsProcessed boolean NOT NULL, Created timestamp NOT NULL, PRIMARY KEY (Id))";

pub const SYNC_QUEUE: Kind = Kind {
    name: "SyncQueue",
    ddl: "CREATE TABLE SyncQueueType (Type varchar(60) PRIMARY KEY);
    INSERT INTO SyncQueueType (Type) VALUES ('Customers'), ('Orders'), ('Prices');
    CREATE TABLE QueueStatus (Status varchar(20) PRIMARY KEY);
    INSERT INTO QueueStatus (Status) VALUES ('Pending'), ('Processing'), ('Error'), ('Failed'), ('Completed'), ('Cancelled'),
        ('Paused'), ('Terminated'), ('PartiallyCompleted');
    CREATE TABLE SyncQueue (
        EnqueuedAt timestamptz PRIMARY KEY, UpdatedAt timestamptz, Status varchar(20) REFERENCES QueueStatus (Status),
        Type varchar(60) REFERENCES SyncQueueType (Type), Step varchar(60), AttemptNum integer,
        Response text DEFAULT '', Error text DEFAULT '', StartedAt timestamptz, Duration bigint,
        ScheduledFor timestamptz)",
    spec: r#"{"queue": "SyncQueue", "types": ["Customers", "Orders", "Prices"], "columns": [],
        "table": {"name": "SyncQueue", "time": "local",
            "key": [{"name": "EnqueuedAt", "type": "timestamp", "source": "producer"}],
            "lifecycle": {"type": "Type", "due": "ScheduledFor", "started": "StartedAt", "duration": "Duration",
                "attempts": "AttemptNum", "step": "Step", "response": "Response", "error": "Error", "token": "UpdatedAt"},
            "status": {"column": "Status", "values": {"Pending": "Pending", "Processing": "Processing", "Error": "Error",
                "Failed": "Failed", "Completed": "Completed", "Cancelled": "Cancelled", "Paused": "Paused",
                "Terminated": "Terminated", "PartiallyCompleted": "PartiallyCompleted"}}}}"#,
    column: |number| json!({"EnqueuedAt": format!("2026-01-01T00:00:00.{number:06}Z")}),
    deletes: false,
};

pub const FOUR_QUEUE: Kind = Kind {
    name: "FourQueue",
    ddl: "CREATE TABLE four_queue (
        id bigint GENERATED ALWAYS AS IDENTITY, in_process boolean NOT NULL DEFAULT FALSE, reputation integer NOT NULL,
        start_date timestamp NULL DEFAULT localtimestamp,
        end_date timestamp NULL DEFAULT localtimestamp + interval '864 milliseconds',
        duration_milliseconds bigint GENERATED ALWAYS AS (EXTRACT(EPOCH FROM end_date - start_date) * 1000) STORED,
        CONSTRAINT big_idea PRIMARY KEY (in_process, id), CONSTRAINT fq_uq_r UNIQUE (reputation))",
    spec: include_str!("../../../sql/specs/four_queue.toml"),
    column: |number| json!({"reputation": number}),
    deletes: false,
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
    spec: include_str!("../../../sql/specs/four_queue_scheduler.toml"),
    column: |number| json!({"reputation": number}),
    deletes: false,
};

pub const EMAIL_REQUESTS: Kind = Kind {
    name: "EmailRequests",
    ddl: EMAIL,
    spec: include_str!("../../../sql/specs/email_requests.toml"),
    column: email,
    deletes: false,
};

pub const EMAIL_LIFO: Kind = Kind {
    name: "EmailRequestsLifo",
    ddl: EMAIL,
    spec: include_str!("../../../sql/specs/email_requests_lifo.toml"),
    column: email,
    deletes: false,
};

pub const EMAIL_HEAP: Kind = Kind {
    name: "EmailRequestsHeap",
    ddl: EMAIL,
    spec: include_str!("../../../sql/specs/email_requests_heap.toml"),
    column: email,
    deletes: false,
};

pub const EMAIL_DELETE: Kind = Kind {
    name: "EmailRequestsDelete",
    ddl: EMAIL,
    spec: include_str!("../../../sql/specs/email_requests_delete.toml"),
    column: email,
    deletes: true,
};

pub const EMAIL_SENT: Kind = Kind {
    name: "EmailRequestsSent",
    ddl: "CREATE TABLE EmailRequests (
        Id integer GENERATED ALWAYS AS IDENTITY, EmailAddress varchar(250) NOT NULL, Subject varchar(50) NOT NULL,
        Body varchar(500) NOT NULL, IsProcessed boolean NOT NULL, IsEmailSent boolean NOT NULL,
        RetryCount integer NOT NULL, Created timestamp NOT NULL, PRIMARY KEY (Id))",
    spec: include_str!("../../../sql/specs/email_requests_sent.toml"),
    column: email,
    deletes: false,
};

pub const SIMPLE_QUEUE: Kind = Kind {
    name: "SimpleQueue",
    ddl: "CREATE TABLE SimpleQueue (
        Id uuid NOT NULL PRIMARY KEY, CreatedAt timestamp NOT NULL, ProcessingStartedAt timestamp, Errors text,
        Payload text);
    CREATE INDEX IX_SIMPLEQUEUE_POP ON SimpleQueue (ProcessingStartedAt, CreatedAt ASC) INCLUDE (Id)
    WHERE ProcessingStartedAt IS NULL",
    spec: include_str!("../../../sql/specs/simple_queue.toml"),
    column: |number| json!({"Payload": number.to_string()}),
    deletes: true,
};

pub const SIMPLE_QUEUE_POSTGRES: Kind = Kind {
    name: "SimpleQueuePg",
    ddl: "CREATE TABLE simple_queue (
        id uuid NOT NULL PRIMARY KEY, created_at timestamptz NOT NULL, processing_started_at timestamptz, errors text,
        payload text);
    CREATE INDEX ix_simple_queue_pop ON simple_queue (processing_started_at, created_at ASC) INCLUDE (id)
    WHERE processing_started_at IS NULL",
    spec: include_str!("../../../sql/specs/simple_queue_postgres.toml"),
    column: |number| json!({"payload": number.to_string()}),
    deletes: true,
};

pub const LOCK_TABLE: Kind = Kind {
    name: "LockTable",
    ddl: "CREATE TABLE Queue (
        RequestId integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, Request text NULL, Status integer NOT NULL DEFAULT 1,
        LockedBy varchar(75) NULL, LockedTime timestamp NULL, RequestedTime timestamp NOT NULL DEFAULT localtimestamp,
        CompletionTime timestamp NULL, NumAttempts integer NULL)",
    spec: include_str!("../../../sql/specs/queue_lock_table.toml"),
    column: |number| json!({"Request": number.to_string()}),
    deletes: false,
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
        Self::within(Scratch::empty(), ddl, ';', spec, column)
    }

    /// In a database that is there; its statements are parted by `separator`.
    pub fn within(scratch: Scratch, ddl: &str, separator: char, spec: &str, column: fn(u32) -> Value) -> Self {
        for statement in ddl.split(separator) {
            scratch.run(statement);
        }
        let text = spec;
        let mut spec = QueueSpec::from_text(text).unwrap_or_else(|error| panic!("{error}"));
        if !text.contains("backoff") {
            // An item that fails is taken up at once, as in the documents.
            spec.backoff = None;
        }
        install(&scratch.config(&[]), Some(&spec)).unwrap_or_else(|error| panic!("{}: {error}", spec.queue));
        Self { scratch, queue: spec.queue.as_str().to_owned(), column }
    }

    pub fn open(&self, settings: &[(&str, &str)]) -> Queue {
        Queue::open(&self.scratch.config(settings), &self.queue)
            .unwrap_or_else(|error| panic!("{}: {error}", self.queue))
    }

    pub fn worker(&self, name: &str) -> Queue {
        self.open(&[("worker", name), ("recover.interval_ms", "10")])
    }

    pub fn item(&self, number: u32) -> NewItem {
        NewItem { columns: (self.column)(number).as_object().unwrap().clone().into(), ..NewItem::default() }
    }

    pub fn items(&self, count: u32) -> Vec<NewItem> {
        (0..count).map(|number| self.item(number)).collect()
    }

    /// The name that the queue's objects begin with.
    pub fn stem(&self) -> String {
        readpast::ident::QueueName::new(&self.queue).unwrap().snake_case()
    }

    /// One value of the only item.
    pub fn look(&self, what: &str) -> String {
        self.scratch.look(&format!("SELECT {what} FROM readpast.{}_item_v AS v", self.stem()))
    }

    /// How many items are in a state.
    pub fn count(&self, state: &str) -> u64 {
        self.look(&format!("COUNT(*) FILTER (WHERE v.item_status = '{state}')")).parse().unwrap()
    }

    /// How many items there are.
    pub fn total(&self) -> u64 {
        self.look("COUNT(*)").parse().unwrap()
    }

    /// How many rows stand beside the table.
    pub fn leases(&self) -> u64 {
        self.scratch.look(&format!("SELECT COUNT(*) FROM readpast.{}_lease", self.stem())).parse().unwrap()
    }

    /// The key of the only item.
    pub fn key(&self) -> String {
        self.look("v.item_key_1::text")
    }

    /// As if an hour and more had passed for what waits.
    pub fn make_due(&self) {
        let stem = self.stem();
        self.scratch.run(&format!(
            "UPDATE readpast.{stem}_lease SET due_at = due_at - interval '2 hours' WHERE due_at IS NOT NULL"
        ));
        if stem == "four_queue_scheduler" {
            self.scratch.run("UPDATE four_queue SET scheduled_start_date = scheduled_start_date - interval '2 hours'");
        }
    }

    /// As if all leases had run out, but for those that somebody is at right now: who waits for them may be waited for.
    pub fn age_leases(&self) {
        let stem = self.stem();
        self.scratch.run(&format!(
            "UPDATE readpast.{stem}_lease SET lease_until = clock_timestamp() - interval '1 second' \
             WHERE ctid = ANY (ARRAY(SELECT l.ctid FROM readpast.{stem}_lease AS l WHERE l.lease_until IS NOT NULL \
             FOR UPDATE SKIP LOCKED))"
        ));
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
