//! What goes into a queue.

use serde_json::{Map, Value};

/// An item to enqueue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewItem {
    /// The kind of work, one of the queue's types; `None` is the first of them.
    pub kind: Option<String>,
    /// The step to begin with.
    pub step: Option<String>,
    /// When it is due, in milliseconds from now on the server's clock. Not together with `due`.
    pub delay_ms: Option<i64>,
    /// When it is due, a UTC time like `2026-11-21T08:30:00Z`; `None` is now.
    pub due: Option<String>,
    /// The values of the queue's own columns, by name. A column that is left out is NULL.
    pub columns: Map<String, Value>,
}

/// An item that was enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueued {
    /// Its key.
    pub key: String,
    /// Its token, for whoever wants to cancel or pause exactly this version of it.
    pub token: String,
}
