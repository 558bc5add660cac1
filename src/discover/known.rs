//! Tables of well-known software, by their names and columns.

use super::table::Table;

/// A software's table.
#[derive(Debug, Clone, Copy)]
pub(super) struct System {
    pub(super) name: &'static str,
    /// The names of its table, in lower case; one that ends in `*` begins so.
    tables: &'static [&'static str],
    /// Columns that it has, in lower case.
    columns: &'static [&'static str],
    /// Whether readpast's workers may drain it beside the software's own, in their place, or not.
    pub(super) verdict: &'static str,
    /// A description that comes with readpast.
    pub(super) spec: Option<&'static str>,
}

const SYSTEMS: &[System] = &[
    System {
        name: "Hangfire",
        tables: &["jobqueue"],
        columns: &["jobid", "queue", "fetchedat"],
        verdict: "read figures only: a row names a job whose state Hangfire keeps in other tables, and its servers \
                  take a row again whose FetchedAt is older than their timeout",
        spec: Some("hangfire"),
    },
    System {
        name: "Solid Queue",
        tables: &["solid_queue_ready_executions"],
        columns: &["job_id", "priority"],
        verdict: "read figures only: a claim moves the row to another table, and its processes look there for their \
                  work",
        spec: Some("solid_queue"),
    },
    System {
        name: "Solid Queue",
        tables: &["solid_queue_scheduled_executions", "solid_queue_claimed_executions"],
        columns: &["job_id"],
        verdict: "read figures only: a claim moves the row to another table, and its processes look there for their \
                  work",
        spec: None,
    },
    System {
        name: "delayed_job",
        tables: &["delayed_jobs"],
        columns: &["handler", "run_at", "locked_at", "locked_by", "failed_at"],
        verdict: "drain beside: both take a row by locked_at and locked_by. Its workers take over what has been \
                  locked for four hours (max_run_time): let a lease be shorter",
        spec: Some("delayed_job"),
    },
    System {
        name: "Laravel",
        tables: &["jobs"],
        columns: &["queue", "payload", "attempts", "reserved_at", "available_at"],
        verdict: "drain beside, where nothing is delayed: a claim writes the last second of an integer into \
                  reserved_at, and its workers leave that alone. Its times are whole seconds, so readpast claims a \
                  delayed job at once",
        spec: Some("laravel"),
    },
    System {
        name: "good_job",
        tables: &["good_jobs"],
        columns: &["serialized_params", "finished_at"],
        verdict: "drain instead: its workers hold a job by an advisory lock, which no row shows",
        spec: Some("good_job"),
    },
    System {
        name: "Que",
        tables: &["que_jobs"],
        columns: &["job_class", "run_at"],
        verdict: "drain instead: its workers hold a job by an advisory lock, which no row shows",
        spec: Some("que"),
    },
    System {
        name: "River",
        tables: &["river_job"],
        columns: &["state", "attempted_by", "errors"],
        verdict: "drain beside: a row that is running is left alone, for an hour. Its programs read errors as \
                  objects with at, attempt and error: let a worker report them so, or keep them beside the table",
        spec: Some("river"),
    },
    System {
        name: "Oban",
        tables: &["oban_jobs"],
        columns: &["state", "attempted_by", "errors"],
        verdict: "drain beside: a row that is executing is left alone until its Lifeline plugin rescues it (an \
                  hour). It reads errors as objects with at, attempt and error",
        spec: Some("oban"),
    },
    System {
        name: "pg-boss",
        tables: &["job", "job_common"],
        columns: &["singleton_key", "start_after", "policy"],
        verdict: "drain beside: a row that is active is left alone until expire_in is over: let a lease be shorter",
        spec: Some("pg_boss"),
    },
    System {
        name: "graphile-worker",
        tables: &["_private_jobs"],
        columns: &["task_id", "locked_by"],
        verdict: "drain beside, but for jobs in named queues: their locks stand in another table. It takes over what \
                  has been locked for four hours",
        spec: Some("graphile_worker"),
    },
    System {
        name: "graphile-worker",
        tables: &["_private_jobs", "jobs"],
        columns: &["task_identifier", "locked_by"],
        verdict: "drain beside, but for jobs in named queues: their locks stand in another table. It takes over what \
                  has been locked for four hours",
        spec: None,
    },
    System {
        name: "procrastinate",
        tables: &["procrastinate_jobs"],
        columns: &["task_name", "queueing_lock", "status"],
        verdict: "drain beside: a job that is doing is left alone. One whose lock is held is refused by an index, \
                  and waits",
        spec: Some("procrastinate"),
    },
    System {
        name: "pgmq",
        tables: &["q_*"],
        columns: &["msg_id", "read_ct", "vt"],
        verdict: "drain instead: pgmq.read sees no claim of readpast's",
        spec: Some("pgmq"),
    },
    System {
        name: "Django's tasks",
        tables: &["django_tasks_database_dbtaskresult"],
        columns: &["status", "task_path"],
        verdict: "drain beside: a task that is RUNNING is left alone",
        spec: Some("django_tasks"),
    },
    System {
        name: "Celery's SQLAlchemy transport",
        tables: &["kombu_message"],
        columns: &["visible", "payload", "queue_id"],
        verdict: "drain beside: both take a message by making it invisible, and its workers leave there what they \
                  have taken",
        spec: Some("celery"),
    },
    System {
        name: "Wolverine's queues",
        tables: &["wolverine_queue_*"],
        columns: &["body", "message_type", "keep_until"],
        verdict: "drain instead: a listener deletes what it takes, and sees no claim of readpast's",
        spec: Some("wolverine_queue"),
    },
    System {
        name: "Wolverine's inbox",
        tables: &["wolverine_incoming_envelopes"],
        columns: &["owner_id", "body", "status"],
        verdict: "read figures only: each node keeps its envelopes in memory; owner_id says whose they are",
        spec: Some("wolverine_incoming"),
    },
    System {
        name: "Wolverine's outbox",
        tables: &["wolverine_outgoing_envelopes"],
        columns: &["owner_id", "body"],
        verdict: "read figures only: each node keeps its envelopes in memory; owner_id says whose they are",
        spec: Some("wolverine_outgoing"),
    },
    System {
        name: "CAP",
        tables: &["received", "published"],
        columns: &["statusname", "retries", "expiresat"],
        verdict: "read figures only: its processes keep messages in memory, and the table is for retries",
        spec: Some("cap"),
    },
    System {
        name: "NServiceBus",
        tables: &["*"],
        columns: &["correlationid", "recoverable", "headers", "rowversion"],
        verdict: "drain instead: an endpoint holds a row by an open transaction, which a claim passes over, but it \
                  sees no claim",
        spec: Some("nservicebus"),
    },
    System {
        name: "MassTransit",
        tables: &["message_delivery"],
        columns: &["delivery_count", "lock_id"],
        verdict: "read figures only: a message stands in another table, and its functions write lock_id over a claim",
        spec: Some("mass_transit"),
    },
    System {
        name: "MassTransit",
        tables: &["messagedelivery"],
        columns: &["deliverycount", "lockid"],
        verdict: "read figures only: a message stands in another table, and its procedures write LockId over a claim",
        spec: Some("mass_transit"),
    },
    System {
        name: "DurableTask",
        tables: &["newtasks"],
        columns: &["taskhub", "sequencenumber", "visibletime"],
        verdict: "read figures only: its procedures end an activity together with the orchestration in other tables",
        spec: Some("durable_task"),
    },
    System {
        name: "DurableTask",
        tables: &["newevents"],
        columns: &["taskhub", "sequencenumber"],
        verdict: "read figures only: its procedures end an activity together with the orchestration in other tables",
        spec: None,
    },
    System {
        name: "Rebus",
        tables: &["*"],
        columns: &["recipient", "visible", "expiration", "headers", "body"],
        verdict: "drain instead: it holds a row by an open transaction, which a claim passes over, but it sees no \
                  claim",
        spec: Some("rebus"),
    },
    System {
        name: "Quartz",
        tables: &["qrtz_fired_triggers", "qrtz_triggers"],
        columns: &["sched_name", "trigger_group"],
        verdict: "no: a scheduler's rows, not work that is handed out",
        spec: None,
    },
];

/// The software that has this table.
pub(super) fn system(table: &Table) -> Option<&'static System> {
    let name = table.name.to_lowercase();
    let named = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(begins) => name.starts_with(begins),
        None => name == **pattern,
    };
    let has = |column: &&str| table.columns.iter().any(|known| known.name.eq_ignore_ascii_case(column));
    SYSTEMS.iter().find(|system| system.tables.iter().any(named) && system.columns.iter().all(has))
}
