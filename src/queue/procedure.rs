//! Items worked on by a procedure in the database: claim, call and settle are one transaction, so what the procedure writes and
//! the end of its item are there together, once, or not at all.

mod call;
mod record;

use self::call::{Handler, Said};
use super::{Inner, Queue, answers, claim, claiming, procedures};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, ItemState, Outcome};
use crate::metrics::Call;
use crate::queue::interrupt::YieldsTo;
use crate::session::{Param, Session};
use std::sync::Arc;
use std::time::Duration;

/// A procedure that handles the items of a queue. Any number of threads may use it at once.
///
/// It is called with what its parameters are called after, whatever the case, underscores and an `@` or `p_` before the name:
/// the item's columns as the worker view shows them, and `Key`, `Token`, `Attempt` and `Worker`. What it does:
///
/// - It ends: the item is Completed. If it returns a row with a column `Status`, that is the item's; of columns `Step`, `Response`,
///   `Error` and `DelayMs` in it the item gets their values, and of a column `Set`, a JSON object, values for its own columns.
/// - It raises an error, or in T-SQL returns another number than 0: all that it did is undone, and the item is an Error with the
///   error's text, tried again until its attempts are spent.
/// - It is a deadlock's victim: tried again at once, which costs no attempt, for as long as `retry.budget_ms` says.
/// - It neither commits nor rolls back; what it enqueues by `Add_Q_utx` is a part of the same transaction. It may take as long as
///   `query.timeout_ms`. The item stays locked meanwhile, and nobody sees it claimed.
#[derive(Clone)]
pub struct Procedure {
    queue: Queue,
    handler: Arc<Handler>,
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worked {
    /// The item's key.
    pub key: String,
    /// The attempt that this was.
    pub attempt: i32,
    /// The state it has now; `None` when somebody else has taken it meanwhile, or it is gone.
    pub state: Option<ItemState>,
    /// Why the procedure failed, if it did.
    pub error: Option<String>,
}

/// A claimed item, as far as it is needed to tell of it.
#[derive(Clone)]
struct Taken {
    key: String,
    token: String,
    attempt: i32,
}

/// How a transaction ended.
enum Ended {
    /// Nothing was due.
    Empty,
    /// It only ended items that are not to be worked on.
    Others,
    Done(Worked),
    /// It was undone, because of this error.
    Undone(Undone),
}

/// A transaction that came to nothing.
struct Undone {
    taken: Taken,
    error: Error,
    /// It may be done all the same: the answer to its commit was lost, or the procedure has settled its item itself.
    may_be_done: bool,
}

impl Procedure {
    pub(super) fn find(queue: &Queue, name: &str) -> Result<Self> {
        calls(&queue.0)?;
        if queue.0.backend.claimer().is_some() {
            let why = "the procedure that claims them commits by itself";
            return Err(procedures::unsupported("claim what a procedure works on in one transaction", why));
        }
        let handler = queue.0.with_session(Call::Procedure, |session| Handler::find(session, name))?;
        Ok(Self { queue: queue.clone(), handler: Arc::new(handler) })
    }

    /// Works on one item, waiting up to `wait` until one is due; `None` when none was. Between two looks at the queue it deletes
    /// some of what is over, if the description of the queue says `retention`, as workers do.
    ///
    /// # Errors
    /// What a claim fails with; and what is no item's fault: the procedure is gone, cannot be executed, or takes what the items do
    /// not have. The item is as it was then.
    pub fn work(&self, wait: Duration) -> Result<Option<Worked>> {
        let queue = &*self.queue.0;
        let sure = wait.is_zero();
        claim::waiting(queue, wait, || {
            let worked = self.look(queue.signal.recovery(queue.recover_interval))?;
            let is_sure = worked.is_some() || !sure || !claim::must_make_sure(queue);
            if is_sure || claim::recover(queue, 100, claim::RECOVER_NOW)? == 0 { Ok(worked) } else { self.look(0) }
        })
    }

    fn look(&self, recover: i32) -> Result<Option<Worked>> {
        let queue = &*self.queue.0;
        if self.queue.turn_to_retain(true) {
            self.tidy();
        }
        if recover > 0 {
            claim::recover(queue, 100, recover)?;
        }
        let mut victim = None;
        let ended = loop {
            let ended = queue.with_session_yielding(Call::Work, YieldsTo::Interrupts, |session| {
                let ended = self.transaction(session)?;
                match ended {
                    // Nobody's fault; as a transient error it is tried again after a moment.
                    Ended::Undone(undone) if undone.error.kind() == ErrorKind::Deadlock => {
                        let error = undone.error.clone();
                        victim = Some(undone);
                        Err(error)
                    }
                    ended => Ok(ended),
                }
            });
            if !matches!(ended, Ok(Ended::Others)) || claim::unless_called_off(queue).is_err() {
                break ended;
            }
        };
        let worked = match (ended, victim) {
            (Ok(Ended::Empty | Ended::Others), _) => {
                queue.ledger.claims(0);
                if self.queue.turn_to_retain(false) {
                    self.tidy();
                }
                return Ok(None);
            }
            (Ok(Ended::Done(worked)), _) => worked,
            (Ok(Ended::Undone(undone)), _) => self.failed(undone)?,
            (Err(error), Some(last)) if error.kind() == ErrorKind::Deadlock => self.failed(last)?,
            (Err(error), _) => {
                // It may have been this thread's turn for all the others.
                queue.signal.wake();
                return Err(error);
            }
        };
        queue.ledger.works(worked.state);
        Ok(Some(worked))
    }

    /// Whoever works has other things to do than to hear that it failed: it is tried again.
    fn tidy(&self) {
        if let Err(error) = self.queue.retain_some() {
            log::warn!("queue {}: what is over could not be deleted: {error}", self.queue.name());
        }
    }

    /// One claim, call and settle. An error is that of the claim, or of the commit.
    fn transaction(&self, session: &mut Session) -> Result<Ended> {
        let queue = &*self.queue.0;
        let (mut taken, mut may_be_done) = (None, false);
        let result = session.transaction(|session| {
            let wakes = queue.signal.wakes(&queue.kinds.key);
            let rows = self.modify(session, "[]", 1)?;
            let (batch, _) = claim::taken(queue, rows, 0, wakes)?;
            let Some(item) = batch.get(0) else { return Ok(Err(batch.calls_for_another())) };
            let claim =
                Taken { key: item.key().to_owned(), token: item.token().to_owned(), attempt: item.attempt() };
            taken = Some(claim.clone());
            let said = self.handler.call(session, &item, &queue.worker)?.checked(&queue.spec).map_err(|why| {
                Error::new(ErrorKind::Database, format!("what {} gave: {why}", self.handler.name()))
            })?;
            let outcome = self.settle(session, &claim, &said)?;
            may_be_done = true;
            if outcome.answer != Answer::Ok {
                let message = format!(
                    "{} left the item unsettled: it asked for {}, and the answer is {:?}; it must neither commit, roll back nor \
                     settle its item itself",
                    self.handler.name(),
                    said.status,
                    outcome.answer
                );
                return Err(Error::new(ErrorKind::Database, message));
            }
            Ok(Ok(Worked { key: claim.key, attempt: claim.attempt, state: outcome.state, error: said.error }))
        });
        match (result, taken) {
            (Ok(Err(did_others)), _) => Ok(if did_others { Ended::Others } else { Ended::Empty }),
            (Ok(Ok(worked)), _) => Ok(Ended::Done(worked)),
            (Err(error), Some(_)) if is_nobodys(error.kind()) => Err(error),
            (Err(error), Some(taken)) => Ok(Ended::Undone(Undone { taken, error, may_be_done })),
            (Err(error), None) => Err(error),
        }
    }

    /// Settles the item in the transaction that is open.
    fn settle(&self, session: &mut Session, taken: &Taken, said: &Said) -> Result<Outcome> {
        let items = said.to_json(&taken.key, &taken.token, taken.attempt, self.queue.0.spec.has_composite_key())?;
        let rows = self.modify(session, &items, 0)?;
        answers::outcomes(&rows, 1).map(|mut outcomes| outcomes.remove(0))
    }

    /// `Modify_Q_Set_utx`.
    fn modify(&self, session: &mut Session, items: &str, max: i32) -> Result<crate::item::Rows> {
        let queue = &*self.queue.0;
        let mut params = vec![Param::OptionalText(None), Param::Text(&queue.worker), Param::Text(items)];
        params.extend(claim::terms(queue, max, Some(0), None));
        claiming(queue, session, &calls(queue)?.settle_within, &params)
    }
}

fn calls(queue: &Inner) -> Result<&Calls> {
    queue.backend.ours("be worked on by a procedure", "they commit by themselves")
}

/// What would cost every item an attempt, and is the fault of none: who set this up has to look.
fn is_nobodys(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied
            | ErrorKind::SchemaMismatch
            | ErrorKind::InvalidConfig
            | ErrorKind::Storage
            | ErrorKind::Closed
            | ErrorKind::Forked
    )
}
