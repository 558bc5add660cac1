//! Items handled by a procedure in the database: claim, call and settle are one transaction, so the procedure's writes and the
//! end of its item are there together, once, or not at all.

mod call;
mod outcome;
mod record;
mod transaction;

pub use self::outcome::Worked;

use self::call::Handler;
use self::outcome::TransactionEnd;
use self::record::record;
use self::transaction::{TransactionWork, calls};
use crate::backend::unsupported;
use crate::calls::{Ask, GIVEN_BACK, RECOVER_NOW, Sessions, YieldsTo};
use crate::error::{ErrorKind, Result};
use crate::metrics::CallKind;
use crate::queue::Queue;
use crate::session::Session;
use std::sync::Arc;
use std::time::Duration;

/// A procedure that handles the items of a queue. Any number of threads may use it at once.
///
/// Its parameters get values by their names, whatever the case, underscores and an `@` or `p_` before the name: the item's
/// columns as the worker view shows them, and `Key`, `Token`, `Attempt` and `Worker`. Its end decides:
///
/// - It returns: the item is Completed. If it returns a row with a column `Status`, that is the item's; the columns `Step`,
///   `Response`, `Error` and `DelayMs` of the row set the item's values, and a column `Set`, a JSON object, its own columns.
/// - It raises an error, or in T-SQL returns another number than 0: all its writes are undone, and the item is an Error with the
///   error's text, tried again until its attempts are spent.
/// - It is a deadlock's victim: tried again at once, which costs no attempt, within `retry.budget_ms`.
/// - It neither commits nor rolls back; its calls of `Add_Q_utx` are a part of the same transaction. It may take as long as
///   `query.timeout_ms`. The item stays locked meanwhile, and no other session sees it claimed.
#[derive(Clone)]
pub struct Procedure {
    queue: Queue,
    handler: Arc<Handler>,
}

impl Procedure {
    /// The procedure (in PostgreSQL a function or procedure) called `name`, as a handler of the items of `queue`: `Handle`,
    /// `dbo.Handle`, `[my schema].[Handle]`. Without a schema it is in `dbo` (in PostgreSQL `public`).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when there is none, or none that this login may see.
    pub fn find(queue: &Queue, name: &str) -> Result<Self> {
        let inner = queue.one()?;
        calls(inner)?;
        if inner.backend.claims_apart() {
            let why = "the procedure that claims them commits by itself";
            return Err(unsupported("claim items for a procedure in one transaction", why));
        }
        let find = |session: &mut Session| Handler::find(session, name);
        let handler = inner.ask(CallKind::Procedure, YieldsTo::Closing, find)?;
        Ok(Self { queue: queue.clone(), handler: Arc::new(handler) })
    }

    /// Handles one item, waiting up to `wait` until one is due; `None` when none was. Between two looks at the queue, and
    /// while it waits, it deletes some expired items, if the queue's description has `retention`, as workers do.
    ///
    /// # Errors
    /// The failure of a claim; and errors that no item caused: the procedure is gone, cannot be executed, or has parameters that
    /// the items lack. The item stays as it was then.
    pub fn work(&self, wait: Duration) -> Result<Option<Worked>> {
        let queue = self.queue.inner();
        let sure = wait.is_zero();
        let look = || {
            let worked = self.look(queue.process.polls.recovery(queue.recover_interval))?;
            let is_sure = worked.is_some() || !sure || !queue.must_make_sure();
            if is_sure || queue.recover_some(GIVEN_BACK, RECOVER_NOW)? == 0 { Ok(worked) } else { self.look(0) }
        };
        queue.waiting(wait, true, look)
    }

    fn look(&self, recover: i32) -> Result<Option<Worked>> {
        let queue = self.queue.inner();
        queue.clean_or_log(true);
        if recover > 0 {
            queue.recover_some(GIVEN_BACK, recover)?;
        }
        let work = TransactionWork { queue, handler: &self.handler };
        let mut victim = None;
        let ended = loop {
            let ended = queue.ask(CallKind::Work, YieldsTo::Interrupts, |session| {
                let ended = work.transaction(session)?;
                match ended {
                    // No item caused it; as a transient error it is tried again after a moment.
                    TransactionEnd::Undone(undone) if undone.error.kind() == ErrorKind::Deadlock => {
                        let error = undone.error.clone();
                        victim = Some(undone);
                        Err(error)
                    }
                    ended => Ok(ended),
                }
            });
            if !matches!(ended, Ok(TransactionEnd::Others)) || queue.called_off().is_some() {
                break ended;
            }
        };
        let worked = match (ended, victim) {
            (Ok(TransactionEnd::Empty | TransactionEnd::Others), _) => {
                queue.counters.claims(0);
                queue.clean_or_log(false);
                return Ok(None);
            }
            (Ok(TransactionEnd::Done(worked)), _) => worked,
            (Ok(TransactionEnd::Undone(undone)), _) => record(&work, undone)?,
            (Err(error), Some(last)) if error.kind() == ErrorKind::Deadlock => record(&work, last)?,
            (Err(error), _) => {
                // It may have been this thread's turn for all the others.
                queue.process.polls.wake();
                return Err(error);
            }
        };
        queue.counters.works(worked.state);
        Ok(Some(worked))
    }
}
