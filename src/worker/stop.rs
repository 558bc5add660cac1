//! Stops a worker.

use crate::engine::{Engine, WorkerTerms};
use crate::error::Result;
use crate::queue::Queue;
use crate::sync::Mutex;
use std::{fmt, sync::Arc};

/// Stops a [`Worker`](super::Worker). Clones stop the same one; any thread may.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<StopInner>>);

#[derive(Default)]
struct StopInner {
    stopped: bool,
    /// One for each thread that runs the worker.
    engines: Vec<Engine>,
}

impl Stop {
    /// The engine of a worker that begins to run; `None` when it was stopped before.
    pub(super) fn begin(&self, queue: &Queue, terms: WorkerTerms) -> Result<Option<Engine>> {
        let mut inner = self.0.lock();
        if inner.stopped {
            return Ok(None);
        }
        let engine = Engine::new(queue, terms);
        engine.start()?;
        inner.engines.push(engine.clone());
        Ok(Some(engine))
    }

    /// Ends a run; with the last one the worker ends. The engine may have an observer that holds this.
    pub(super) fn end(&self, engine: &Engine) {
        let mut inner = self.0.lock();
        let ended: Vec<_> = inner.engines.extract_if(.., |other| other.is_same(engine)).collect();
        inner.stopped |= inner.engines.is_empty();
        drop(inner);
        drop(ended);
    }

    /// Lets the worker end in order: it claims no more, waits for the handlers that have begun, settles their items, and releases
    /// the rest without costing an attempt. Returns at once; [`Worker::run`](super::Worker::run) returns when all is done. Takes
    /// a lock for a moment, so it is not for the inside of a signal handler: use a thread that waits for signals, as the crates
    /// `signal-hook` and `ctrlc` do.
    pub fn stop(&self) {
        let engines = {
            let mut inner = self.0.lock();
            inner.stopped = true;
            inner.engines.clone()
        };
        engines.iter().for_each(Engine::stop);
    }

    /// Stops the worker, and gives back at once what handlers have not ended.
    #[cfg(feature = "tokio")]
    pub(super) fn abandon(&self) {
        self.stop();
        let engines = self.0.lock().engines.clone();
        engines.iter().for_each(Engine::abandon);
    }

    /// Whether it was stopped, by this handle, another one, or a failure.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let inner = self.0.lock();
        inner.stopped || inner.engines.iter().any(Engine::is_stopping)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("is_stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}
