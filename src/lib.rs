//! Work queues in ordinary SQL Server tables (and PostgreSQL), driven from any language through one vetted library.
//!
//! A queue is a table whose rows are both domain records and work items. Workers *claim* due items, *settle* them, and
//! hold a *lease* on the server's clock in between; every settle is fenced by token, worker and attempt, and its outcome
//! is known even when the answer is lost. A call returns when its work is done, or when its time is up, whatever a driver does;
//! there is no runtime.
//!
//! ```no_run
//! use readpast::{Action, Columns, Config, NewItem, Queue, QueueSpec, Settlement};
//! use std::time::Duration;
//!
//! # fn main() -> readpast::Result<()> {
//! let mut config = Config::new();
//! config.set("connection", "Driver={ODBC Driver 18 for SQL Server};Server=tcp:db,1433;Database=app;Uid=u;Pwd=p;")?;
//! let spec = r#"{"queue": "Notification", "columns": [{"name": "Recipient", "type": "text(254)"}]}"#;
//! readpast::install(&config, Some(&QueueSpec::from_json(spec)?))?; // a second time it changes nothing
//! let queue = Queue::open(&config, "Notification")?;
//! let columns = Columns::from_iter([("Recipient", "a@example.org")]);
//! queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None)?;
//! loop {
//!     let batch = queue.claim(100, Duration::from_secs(60))?;
//!     let done: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
//!     if !done.is_empty() {
//!         queue.settle(&done, None)?;
//!     }
//! }
//! # }
//! ```
//!
//! The modules stand in one order, each using only those above it; `tests/offline/layers.rs` holds them to it.

pub mod error;

mod threads;

mod sync;

pub mod ident;

pub mod finding;

pub mod config;

pub mod item;

pub mod metrics;

mod schedule;

pub mod description;

mod dialect;

pub mod render;

mod session;

pub mod places;

mod bell;

mod pool;

mod catalog;

pub mod install;

pub mod adopt;

pub mod discover;

mod calls;

mod backend;

mod shared;

pub mod queue;

pub mod doctor;

pub mod stress;

pub mod ask;

pub mod engine;

pub mod worker;

#[doc(hidden)]
pub mod ffi;

/// Internals for the library's own tests, to look at a database as it does. No part of the interface.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::doctor::deviations;
    pub use crate::session::{Param, Session};
}

pub use self::{
    config::Config,
    description::QueueSpec,
    dialect::Dialect,
    engine::Engine,
    error::{Error, ErrorKind, Result},
    finding::{Finding, Severity},
    install::{Installed, drop_queue, install, install_file, installed},
    item::{
        Action, Answer, Attempt, Batch, Columns, Edit, Filter, Item, ItemRef, ItemState, Lease, NewItem,
        OperatorAction, OperatorVerb, Outcome, Progress, ProgressReport, QueueStats, Receipt, Settlement, StepCounts,
        Value, Verdict, Watched, Why,
    },
    metrics::metrics,
    queue::Queue,
    worker::{Renewal, Worker},
};
