//! New items and their receipts.

use super::{After, Columns, OnFailed};

/// An item to enqueue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewItem {
    /// The type of work, one of the queue's types; `None` is the first of them.
    pub kind: Option<String>,
    /// The step to begin with.
    pub step: Option<String>,
    /// When it is due, in milliseconds from now on the server's clock. Not together with `due`.
    pub delay_ms: Option<i64>,
    /// When it is due, a UTC time like `2026-11-21T08:30:00Z`; `None` is now.
    pub due: Option<String>,
    /// The values of the queue's own columns, by name; the case of letters does not matter where only one column fits. A column
    /// that is left out has the `default` of the description, and is NULL if there is none. The columns of a subtype are an
    /// object, by the subtype's name.
    pub columns: Columns,
    /// The W3C `traceparent` in which it is enqueued, for a queue whose description has `trace`; other queues ignore it. A
    /// malformed one is left out. A value of the column in `columns` overrides it.
    pub traceparent: Option<String>,
    /// The `tracestate` that belongs to it.
    pub tracestate: Option<String>,
    /// The items for which it waits: it is due when all of them are over, and not before `due`. Empty: none. Only in a queue whose
    /// description has `after`.
    pub after: Vec<After>,
    /// Its fate when one of them ends in another way than Completed.
    pub on_failed: OnFailed,
}

/// The outcome of an item to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its key. For a duplicate the key of the existing item, if the queue returns it; else empty.
    pub key: String,
    /// Its token, to cancel or pause exactly this version of it. Empty for a duplicate, unless the item that
    /// waits got the values of this one (`on_duplicate` in the description).
    pub token: String,
    /// Whether the same work was in the queue already (`dedup` in its description), so that nothing was enqueued.
    pub duplicate: bool,
}
