//! Example descriptions. Each is a file in `sql/specs`.

macro_rules! examples {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../sql/specs/", $name, ".toml")))),*] };
}

/// Example descriptions, in TOML and with comments, each with its name: queues of readpast's own shape, tables of users, and
/// hand-written procedures.
pub const EXAMPLES: &[(&str, &str)] = examples![
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
