//! The statements of a queue's hand-written procedures, and its unfinished calls.

use super::text;
use crate::catalog::{self, QueueShape};
use crate::description::{ProceduresSpec, QueueSpec};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::item::{Outcome, Receipt, Rows};
use crate::session::{Param, Session};
use crate::sync::Mutex;
use std::collections::VecDeque;

/// The queue's procedures, as a handle knows them.
pub(in crate::backend) struct HandWritten {
    pub(super) dialect: Dialect,
    pub(super) shape: QueueShape,
    pub(super) next: String,
    pub(super) modify: String,
    pub(super) add: Option<String>,
    /// The finished parts of unfinished calls, by their operation: a repetition goes on from there.
    done: Mutex<VecDeque<(String, Done)>>,
}

/// The finished part of a call.
#[derive(Clone)]
pub(super) enum Done {
    Settled(Vec<Outcome>),
    Enqueued(Vec<Receipt>),
}

/// The most unfinished calls that are remembered.
const REMEMBERED: usize = 64;

impl HandWritten {
    /// Reads the catalog, and builds the statements.
    pub(in crate::backend) fn open(
        session: &mut Session,
        spec: &QueueSpec,
        procedures: &ProceduresSpec,
    ) -> Result<Self> {
        let dialect = session.dialect();
        let shape = catalog::shape(session, spec, procedures)?;
        let add = shape.add.as_ref().map(|add| text::call(dialect, add, procedures.local_time)).transpose()?;
        Ok(Self {
            dialect,
            next: text::call(dialect, &shape.next, procedures.local_time)?,
            modify: text::modify(dialect, &shape, procedures.local_time)?,
            add,
            shape,
            done: Mutex::default(),
        })
    }

    /// The items with these keys, as the view shows them, in whatever order.
    pub(super) fn look(&self, session: &mut Session, keys: &[&str]) -> Result<Rows> {
        let query = text::look(self.dialect, &self.shape, keys.len())?;
        let params: Vec<_> = keys.iter().map(|key| Param::Text(key)).collect();
        session.execute(&query, &params)
    }

    pub(super) fn remember(&self, operation: &str, done: Done) {
        let mut all = self.done.lock();
        all.retain(|(known, _)| known != operation);
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back((operation.to_owned(), done));
    }

    pub(super) fn recall(&self, operation: &str) -> Option<Done> {
        let mut all = self.done.lock();
        let place = all.iter().position(|(known, _)| known == operation)?;
        all.remove(place).map(|(_, done)| done)
    }
}
