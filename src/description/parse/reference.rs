//! The tables of keys in `sql/SPEC.md`.

use super::keys::{self, Key};
use super::{columns, limits, options, procedures, queue, schedules, table};
use crate::description::{BackoffSpec, LeaseSpec, OrderSpec, RolesSpec};
use crate::ident::QueueName;

/// The tables of a description with their keys in Markdown, each by its name: type, default and meaning of every key.
#[must_use]
pub fn reference() -> Vec<(&'static str, String)> {
    // The default of `settings` is given in words.
    let start = QueueName::new("Queue").ok().map(queue::start);
    let of_queue = |keys: &[Key<_>]| start.as_ref().map_or_else(String::new, |start| keys::rows(keys, start));
    let options = of_queue(&queue::OPTIONS);
    let options = options.splitn(3, '\n').nth(2).unwrap_or_default();
    vec![
        ("queue", of_queue(&queue::QUEUE) + options),
        ("column", keys::rows(&columns::COLUMN, &columns::no_column())),
        ("subtype", keys::rows(&columns::SUBTYPE, &columns::no_subtype())),
        ("order", keys::rows(&options::ORDER, &OrderSpec::default())),
        ("limit", keys::rows(&limits::LIMIT, &limits::start())),
        ("attempts", of_queue(&options::ATTEMPTS_KEYS)),
        ("backoff", keys::rows(&options::BACKOFF, &BackoffSpec::default())),
        ("lease", keys::rows(&options::LEASE, &LeaseSpec::default())),
        ("dedup", keys::rows(&options::DEDUP, &options::no_dedup())),
        ("schedule", keys::rows(&schedules::SCHEDULE, &schedules::start())),
        ("roles", keys::rows(&options::ROLES, &RolesSpec::default())),
        ("table", keys::rows(&table::TABLE, &table::start())),
        ("key column", keys::rows(&table::KEY_COLUMN, &table::no_key_column())),
        ("lifecycle", keys::meanings("role", &table::LIFECYCLE)),
        ("procedures", keys::rows(&procedures::PROCEDURES, &procedures::start())),
    ]
}
