//! Queues that items follow into, as they were found.

use crate::backend::Procedures;
use crate::description::QueueSpec;
use crate::metrics::Counters;
use crate::shared::OfQueue;
use crate::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A queue that items follow into.
pub(super) struct Target {
    pub(super) spec: QueueSpec,
    pub(super) backend: Box<dyn Procedures>,
    pub(super) process: Arc<OfQueue>,
    pub(super) counters: Arc<Counters>,
}

/// Such queues by name.
#[derive(Default)]
pub(super) struct Targets(Mutex<HashMap<String, Arc<Target>>>);

impl Targets {
    /// The queue called `name`, once it was found.
    pub(super) fn get(&self, name: &str) -> Option<Arc<Target>> {
        self.0.lock().get(name).cloned()
    }

    pub(super) fn keep(&self, name: &str, target: Target) -> Arc<Target> {
        let target = Arc::new(target);
        self.0.lock().insert(name.to_owned(), Arc::clone(&target));
        target
    }

    /// Lets them be looked up anew: one may have another description now.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }
}
