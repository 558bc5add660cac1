//! Queues that are dropped: what they leave behind, whom they wait for, and whom they take nothing from.

mod at_work;
mod catalog;
mod first_needed;
mod leftovers;

use readpast::{QueueSpec, install::install};
use support::both::Database;

fn spec(text: &str) -> QueueSpec {
    QueueSpec::from_text(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn installed(database: &Database, text: &str) -> QueueSpec {
    let spec = spec(text);
    install(&database.config(&[]), Some(&spec)).unwrap();
    spec
}
