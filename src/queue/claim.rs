//! Taking items out, with a wait; giving back what dead workers left.

use super::backend::Backend;
use super::interrupt::YieldsTo;
use super::lost::Tries;
use super::{Inner, MAX_WAIT, answered, answers, check_count, claimer, claiming, procedures, refused, unfit};
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Batch, CLAIMED_ALONE, Rows};
use crate::metrics::Call;
use crate::pool::closed;
use crate::session::Param;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// One look without a wait.
pub(super) fn now(queue: &Inner, max: u32) -> Result<Batch> {
    look(queue, check_count("the number of items to claim", max as usize)?)
}

/// With `makes_sure` nothing of dead workers is left when it reports that nothing is due.
pub(super) fn claim(queue: &Inner, max: u32, wait: Duration, makes_sure: bool) -> Result<Batch> {
    let max = check_count("the number of items to claim", max as usize)?;
    let found = waiting(queue, wait, || {
        let mut batch = look(queue, max)?;
        if batch.is_empty() && makes_sure && must_make_sure(queue) && recover(queue, GIVEN_BACK, RECOVER_NOW)? > 0 {
            batch = look(queue, max)?;
        }
        Ok((!batch.is_empty()).then_some(batch))
    })?;
    Ok(found.unwrap_or_default())
}

/// Before somebody who does not wait learns that the queue is empty, what dead workers left is given back, whosever turn that
/// is: once after each item that this handle took.
pub(super) fn must_make_sure(queue: &Inner) -> bool {
    matches!(queue.backend, Backend::Ours(..)) && queue.unsure.swap(false, Ordering::Relaxed)
}

/// How many items are given back before a claim.
const GIVEN_BACK: u32 = 100;

/// What `look` finds in the queue, waiting up to `wait` for it.
pub(super) fn waiting<T>(
    queue: &Inner,
    wait: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    if wait > MAX_WAIT {
        let message = format!("a wait of {} ms is too long; a day is the most", wait.as_millis());
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let deadline = Instant::now() + wait;
    let called_off = || queue.interrupt.is_set() || queue.interrupt.is_closed();
    loop {
        // Who does not wait wants the server's word, whatever this process believes.
        let my_turn =
            wait.is_zero() || queue.signal.wait_turn(&queue.kinds.key, deadline, queue.poll_interval, called_off);
        if let Err(called_off) = unless_called_off(queue) {
            if my_turn {
                // It was this thread's turn for all the others.
                queue.signal.pass_on(&queue.kinds.key);
            }
            return Err(called_off);
        }
        if !my_turn {
            return Ok(None);
        }
        let found = match look() {
            Ok(found) => found,
            Err(error) => {
                // Called off between two tries: that is what the caller wants to hear.
                if error.kind().is_transient() {
                    unless_called_off(queue)?;
                }
                return Err(error);
            }
        };
        if found.is_some() || Instant::now() >= deadline {
            return Ok(found);
        }
    }
}

pub(super) fn unless_called_off(queue: &Inner) -> Result<()> {
    if queue.interrupt.is_closed() {
        return Err(closed());
    }
    if queue.interrupt.is_set() {
        return Err(Error::new(ErrorKind::Interrupted, "the wait was interrupted"));
    }
    Ok(())
}

/// One look at the queue on the server, and another for as long as that only ended items: those behind them may be due.
fn look(queue: &Inner, max: i32) -> Result<Batch> {
    loop {
        let batch = once(queue, max)?;
        if !batch.calls_for_another() || unless_called_off(queue).is_err() {
            return Ok(batch);
        }
    }
}

fn once(queue: &Inner, max: i32) -> Result<Batch> {
    let calls = match &queue.backend {
        Backend::Ours(calls, None) => calls,
        Backend::Ours(calls, Some(claimer)) => return claimer::ask(queue, calls, claimer),
        Backend::Procedures(theirs) => return procedures::ask(queue, theirs, max),
    };
    if queue.resumes {
        let mut resumed = queue.signal.resumed();
        if !resumed.contains(&queue.worker) {
            // The others of this name wait: what they claimed meanwhile would look as if it were left over.
            let batch = ask(queue, calls, max, RECOVER_OWN)?;
            resumed.insert(queue.worker.clone());
            return Ok(batch);
        }
    }
    ask(queue, calls, max, queue.signal.recovery(queue.recover_interval))
}

/// Gives back what has run out, and what this worker held when it was last alive.
const RECOVER_OWN: i32 = 2;

/// The parameters of a claim after the worker; one around what is refused recovers nothing.
pub(super) fn terms(
    queue: &Inner,
    max: i32,
    recover: Option<i32>,
    number: Option<i64>,
) -> impl Iterator<Item = Param<'_>> {
    let run_at = queue.run_at.as_deref().map(Param::Text);
    [Param::Integer(max), Param::OptionalInteger(queue.lease_ms)]
        .into_iter()
        .chain(recover.map(Param::Integer))
        .chain(run_at)
        .chain(queue.kinds.params())
        .chain(queue.marks_claims.then_some(Param::OptionalLong(number)))
}

fn ask(queue: &Inner, calls: &Calls, max: i32, recover: i32) -> Result<Batch> {
    let wakes = queue.signal.wakes(&queue.kinds.key);
    let mut tries = Tries::default();
    let mut send = |statement, recover| {
        queue.with_session_yielding(Call::Claim, YieldsTo::Interrupts, |session| {
            tries.make(queue, calls, session, |session, number| {
                let terms = terms(queue, max, recover, number);
                let params: Vec<_> = [Param::Text(&queue.worker)].into_iter().chain(terms).collect();
                claiming(queue, session, statement, &params)
            })
        })
    };
    let rows = match send(&calls.claim, Some(recover)) {
        Err(error) if queue.dialect.may_be_refusal(&error) => {
            // The refusal may be of what a dead worker left.
            if recover > 0 {
                self::recover(queue, GIVEN_BACK, RECOVER_NOW)?;
            }
            send(&calls.claim_apart, None)
        }
        rows => rows,
    };
    match rows {
        Ok(rows) => claimed(queue, rows, 0, wakes),
        Err(error) => {
            // This thread may have had the turn for all the others: let the next one look.
            queue.signal.pass_on(&queue.kinds.key);
            Err(error)
        }
    }
}

/// The items that `rows` hands out from row `first` on, or none; and what that says about the queue, which had been woken
/// `wakes` times when they were asked for.
pub(super) fn claimed(queue: &Inner, rows: Rows, first: usize, wakes: u64) -> Result<Batch> {
    let (batch, withheld) = taken(queue, rows, first, wakes)?;
    queue.ledger.claims(batch.len() + withheld);
    Ok(batch)
}

/// The same in a transaction, which may be undone with what it has claimed; and how many items cannot be handed out.
pub(super) fn taken(queue: &Inner, mut rows: Rows, first: usize, wakes: u64) -> Result<(Batch, usize)> {
    let withheld = rows.take_withheld();
    let first = refused::report(queue, &rows, first);
    unfit::end(queue, &withheld);
    if !withheld.is_empty() && rows.len() == first {
        queue.signal.pass_on(&queue.kinds.key);
        return Ok((Batch::behind_others(), withheld.len()));
    }
    match (rows.len() > first).then(|| answers::word(&rows, first)) {
        Some("CLAIMED" | CLAIMED_ALONE) => {
            queue.signal.found_something(&queue.kinds.key);
            Ok((queue.hand_out(rows, first), withheld.len()))
        }
        // It ended what it found.
        Some("EMPTY") if answers::due_ms(&rows, first) == Some(0) => {
            queue.signal.pass_on(&queue.kinds.key);
            Ok((Batch::behind_others(), 0))
        }
        Some("EMPTY") => {
            let due = answers::due_ms(&rows, first).map(Duration::from_millis);
            queue.signal.found_nothing(&queue.kinds.key, wakes, due);
            Ok((Batch::default(), 0))
        }
        other => Err(Error::new(ErrorKind::Protocol, format!("the server answered a claim with {other:?}"))),
    }
}

/// What is to be recovered now, of all that there is.
pub(super) const RECOVER_NOW: i32 = 1;

/// `recover`: [`RECOVER_NOW`], or what [`super::wake::Signal::recovery`] says.
pub(super) fn recover(queue: &Inner, max: u32, recover: i32) -> Result<u32> {
    let max = check_count("the number of items to recover", max as usize)?;
    let calls = queue.backend.ours("recover items", "they keep no lease that would tell which worker is gone")?;
    let rows = queue.with_session(Call::Recover, |session| {
        answered(session, &calls.recover, &[Param::Integer(max), Param::Integer(recover)])
    })?;
    let (mut row, mut recovered) = (0, 0);
    while row < rows.len() {
        row = refused::report(queue, &rows, row);
        recovered += usize::from(row < rows.len());
        row += 1;
    }
    if recovered > 0 {
        queue.signal.wake();
    }
    Ok(u32::try_from(recovered).unwrap_or(u32::MAX))
}
