//! Example descriptions. Each is a file in `sql/specs`.

macro_rules! examples {
    ($folder:literal: $($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../sql/specs/", $folder, $name, ".toml")))),*] };
}

/// Example descriptions, in TOML and with comments, each with its name: queues of readpast's own shape, tables of users, and
/// hand-written procedures.
pub const EXAMPLES: &[(&str, &str)] = examples!["":
    "notification",
    "notification_described",
    "sync_queue",
    "four_queue",
    "four_queue_scheduler",
    "email_requests",
    "email_requests_sent",
    "email_requests_delete",
    "email_requests_lifo",
    "email_requests_heap",
    "simple_queue",
    "web_calls",
    "simple_queue_postgres",
    "queue_lock_table",
    "delayed_job",
    "get_next_item",
    "hand_written",
];

/// Descriptions of the tables of well-known software, in the same form: files in `sql/specs/others`, each with its traps.
pub const OTHERS: &[(&str, &str)] = examples!["others/":
    "cap_postgres",
    "cap_sql_server",
    "celery",
    "django_tasks",
    "durable_task",
    "good_job",
    "graphile_worker",
    "hangfire_postgres",
    "hangfire_sql_server",
    "laravel",
    "mass_transit_postgres",
    "mass_transit_sql_server",
    "nservicebus",
    "oban",
    "pg_boss",
    "pgmq",
    "procrastinate",
    "que",
    "rebus",
    "river",
    "solid_queue",
    "wolverine_incoming",
    "wolverine_outgoing",
    "wolverine_queue",
];
