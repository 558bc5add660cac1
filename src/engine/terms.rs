//! Options of an engine.

use super::event::Event;
use std::sync::Arc;

/// Receives events, on the thread that reports them.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// Options of an engine, besides the settings of its queue.
#[derive(Clone, Default)]
pub struct WorkerTerms {
    /// Stops by itself when nothing is due and nothing is in flight.
    pub until_empty: bool,
    /// Receives events. A panic in it ends the worker.
    pub observer: Option<Observer>,
}
