//! The handle that callers hold.

use super::inner::QueueInner;
#[cfg(doc)]
use crate::error::ErrorKind;
use std::fmt;
use std::sync::Arc;

/// An open queue, with its pool of connections and its worker's name. Clones are the same queue. Any number of threads
/// may use it at once. In the child of a fork every call that needs the server fails with [`ErrorKind::Forked`], and the
/// parent's connections are left alone.
#[derive(Clone)]
pub struct Queue(pub(super) Arc<QueueInner>);

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("name", &self.name()).field("worker", &self.worker()).finish_non_exhaustive()
    }
}
