//! Lists a source of figures with its queue.

use super::counters::Counters;
use super::source::Source;
use std::process;
use std::sync::Arc;

/// Lists a source with its queue until it is dropped. Do not drop it under a lock that the source takes.
pub(crate) struct Listed {
    counters: Arc<Counters>,
    number: u64,
    process: u32,
}

impl Listed {
    /// Lists `source` until the result is dropped.
    pub(crate) fn new(counters: &Arc<Counters>, source: Arc<dyn Source>) -> Self {
        let number = counters.sources().add(source);
        Self { counters: Arc::clone(counters), number, process: process::id() }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // In the child of a fork another thread of the parent may hold the lock for ever; and the child reads no figures of the
        // parent.
        if process::id() != self.process {
            return;
        }
        let source = self.counters.sources().remove(self.number);
        drop(source);
    }
}
