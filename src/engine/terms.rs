//! How an engine is to work.

use super::event::Event;
use std::sync::Arc;

/// Receives events, on the thread that they happen on.
pub type Observer = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// How an engine is to work, besides what the settings of its queue say.
#[derive(Clone, Default)]
pub struct WorkerTerms {
    /// Stops by itself when nothing is due and nothing is in flight.
    pub until_empty: bool,
    /// Receives events. A panic in it ends the worker.
    pub observer: Option<Observer>,
}
