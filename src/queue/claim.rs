//! Claims with a wait; and the recovery of items of dead workers.

use super::inner::QueueInner;
use super::undeliverable;
use crate::calls::{
    ClaimResult, Claimed, GIVEN_BACK, RECOVER_NOW, RECOVER_OWN, Recovered, RefusedItem, Sessions, check_count,
    recover as call_recover,
};
use crate::error::{Error, ErrorKind, Result};
use crate::item::Batch;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest wait of one claim: a day.
pub const MAX_WAIT: Duration = Duration::from_secs(86_400);

impl QueueInner {
    /// Claims items. With `makes_sure`, an empty answer also means that no item of a dead worker is left.
    pub(crate) fn claim(&self, max: u32, wait: Duration, makes_sure: bool) -> Result<Batch> {
        let max = check_count("the number of items to claim", max)?;
        self.leave_lifeline()?;
        let look = || {
            let mut batch = look(self, max)?;
            if batch.is_empty()
                && makes_sure
                && self.must_make_sure()
                && self.recover_some(GIVEN_BACK, RECOVER_NOW)? > 0
            {
                batch = look(self, max)?;
            }
            Ok((!batch.is_empty()).then_some(batch))
        };
        Ok(self.waiting(wait, false, look)?.unwrap_or_default())
    }

    /// Whether a claim must recover items of dead workers although it is not this handle's turn: once after each item that the
    /// handle took, before it reports an empty queue.
    pub(crate) fn must_make_sure(&self) -> bool {
        self.backend.own().is_some() && self.unsure.swap(false, Ordering::Relaxed)
    }

    /// Repeats `look` until it finds something, up to `wait`. Before that it puts in what is planned. While the poller looks for this
    /// thread, it reports its worker, and, if it `cleans`, does that when it is due.
    pub(crate) fn waiting<T>(
        &self,
        wait: Duration,
        cleans: bool,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        check_wait(wait)?;
        let (polls, kinds) = (&self.process.polls, &self.terms.kinds.key);
        let deadline = Instant::now() + wait;
        let called_off = || self.called_off().is_some();
        loop {
            self.fire_or_log();
            // A claim without a wait always asks the server.
            let clean_at = cleans.then(|| self.cleaning_due()).flatten().map(|due| due.at);
            let until =
                self.report_due().into_iter().chain(clean_at).chain(self.planned_at()).fold(deadline, Instant::min);
            let my_turn = wait.is_zero() || polls.wait_turn(kinds, until, self.poll_interval, called_off);
            if let Some(called_off) = self.called_off() {
                if my_turn {
                    // This thread held the turn for all the others.
                    polls.pass_on(kinds);
                }
                return Err(called_off);
            }
            if !my_turn {
                self.report_idle_worker();
                if cleans {
                    self.clean_or_log(false);
                }
                if Instant::now() >= deadline {
                    return Ok(None);
                }
                continue;
            }
            let found = match look() {
                Ok(found) => found,
                // The caller learns that it was called off between two tries.
                Err(error) if error.kind().is_transient() => return Err(self.called_off().unwrap_or(error)),
                Err(error) => return Err(error),
            };
            if found.is_some() || Instant::now() >= deadline {
                return Ok(found);
            }
        }
    }

    /// Takes the process's turn to look at the queue; `false`: not before [`QueueInner::quiet_until`].
    pub(crate) fn turn(&self) -> bool {
        self.process.polls.take_turn(&self.terms.kinds.key, self.poll_interval)
    }

    /// When the next turn to look at the queue comes. `None`: now.
    pub(crate) fn quiet_until(&self) -> Option<Instant> {
        self.process.polls.quiet_until(&self.terms.kinds.key, self.poll_interval)
    }

    /// Notes that this handle has taken an item: there may be more, and more of dead workers too.
    pub(crate) fn took(&self) {
        self.unsure.store(true, Ordering::Relaxed);
        self.process.polls.found_something(&self.terms.kinds.key);
    }

    /// [`crate::Queue::recover`].
    pub(crate) fn recover(&self, max: u32) -> Result<u32> {
        self.recover_some(check_count("the number of items to recover", max)?, RECOVER_NOW)
    }

    /// The same with [`RECOVER_NOW`], or with the poll coordinator's answer.
    pub(crate) fn recover_some(&self, max: i32, recover: i32) -> Result<u32> {
        let own = self.backend.calls("recover items", "they keep no lease that would show which worker is gone")?;
        let Recovered { count, refused } = call_recover(self, own, max, recover)?;
        report(self, refused);
        if count > 0 {
            self.process.polls.wake();
        }
        Ok(count)
    }
}

/// Refuses a wait that is too long.
pub(super) fn check_wait(wait: Duration) -> Result<()> {
    if wait <= MAX_WAIT {
        return Ok(());
    }
    let message = format!("a wait of {} ms is too long; a day is the most", wait.as_millis());
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Looks at the queue on the server, again while the look only ended items: those behind them may be due.
pub(super) fn look(queue: &QueueInner, max: i32) -> Result<Batch> {
    loop {
        let batch = once(queue, max)?;
        if !batch.calls_for_another() || queue.called_off().is_some() {
            return Ok(batch);
        }
    }
}

fn once(queue: &QueueInner, max: i32) -> Result<Batch> {
    if queue.resumes {
        let mut resumed = queue.process.resumed.lock();
        if !resumed.contains(&queue.terms.worker) {
            // Handles with the same worker name wait: their new claims would look like leftovers.
            let batch = ask(queue, max, RECOVER_OWN)?;
            resumed.insert(queue.terms.worker.clone());
            return Ok(batch);
        }
    }
    ask(queue, max, queue.process.polls.recovery(queue.recover_interval))
}

fn ask(queue: &QueueInner, max: i32, recover: i32) -> Result<Batch> {
    let wakes = queue.process.polls.wakes(&queue.terms.kinds.key);
    match queue.backend.claim(queue, &queue.terms, max, recover) {
        Ok(claimed) => Ok(counted(queue, claimed, wakes)),
        Err(error) => {
            // This thread may have held the turn for all the others: let the next one look.
            queue.process.polls.pass_on(&queue.terms.kinds.key);
            Err(error)
        }
    }
}

/// Counts a claim, and returns its items. `wakes` is the count of wakes when the claim began.
pub(super) fn counted(queue: &QueueInner, claimed: Claimed, wakes: u64) -> Batch {
    let (polls, kinds) = (&queue.process.polls, &queue.terms.kinds.key);
    report(queue, claimed.refused);
    undeliverable::end(queue, &claimed.undeliverable);
    if claimed.recovered > 0 {
        polls.wake();
    }
    let batch = match claimed.found {
        ClaimResult::Items(batch) => {
            queue.took();
            batch
        }
        ClaimResult::Others => {
            polls.pass_on(kinds);
            Batch::behind_others()
        }
        ClaimResult::Nothing(due) => {
            polls.found_nothing(kinds, wakes, due);
            Batch::default()
        }
        ClaimResult::Unknown => Batch::default(),
    };
    queue.counters.claims(batch.len() + claimed.undeliverable.len());
    batch
}

/// Counts the items that their table refused, and logs them unless a worker reports them.
fn report(queue: &QueueInner, refused: Vec<RefusedItem>) {
    if refused.is_empty() {
        return;
    }
    refused.iter().for_each(|_| queue.counters.sets_aside());
    if let Some(kept) = &mut *queue.set_aside.lock() {
        kept.extend(refused);
        return;
    }
    // A logger is the program's code: it runs without the lock.
    refused.iter().for_each(|item| log::warn!("queue {}: {item}", queue.terms.queue()));
}
