//! The one thread that renews the leases of a queue handle, however many workers and batches hold some. It sleeps while
//! nobody does. Being native, it goes on while a host's garbage collector or interpreter lock holds everybody else.

use crate::calls::MAX_ITEMS;
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Answer, Lease, Outcome};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::threads;
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

/// Whoever holds leases.
pub(crate) trait LeaseHolder: Send + Sync {
    /// Key and attempt of each claim that is to be kept.
    fn held(&self) -> Vec<(String, i32)>;

    /// These are not held any more: the leases ran out, or an operator took the items. They were held when it was `asked`; what
    /// has been claimed since is not meant. Gives how many of them are lost by that: the others have ended meanwhile, which is
    /// why, or their settlement will say so.
    fn lost(&self, claims: &[(String, i32)], asked: Instant) -> usize;
}

/// The queue that leases are renewed in.
pub(crate) trait Renews: Send + Sync {
    /// The queue's name.
    fn name(&self) -> &str;

    /// How long a lease lasts, as far as is known before the first claim.
    fn lease(&self) -> Duration;

    /// One try within `limit`: the thread tries again itself.
    fn renew(&self, leases: &[Lease<'_>], limit: Duration) -> Result<Vec<Outcome>>;

    /// So many leases were lost.
    fn count_lost(&self, count: usize);
}

#[derive(Default)]
pub(crate) struct LeaseRenewer {
    state: Mutex<RenewerState>,
    changed: Condvar,
}

#[derive(Default)]
struct RenewerState {
    kept: Vec<RenewedHolder>,
    next_number: u64,
    /// Whether the thread is there.
    runs: bool,
    /// Whose leases are being renewed right now, and by which thread.
    renewing: Option<(u64, ThreadId)>,
    closed: bool,
}

/// A holder, and when its turn is.
struct RenewedHolder {
    number: u64,
    holder: Weak<dyn LeaseHolder>,
    queue: Arc<dyn Renews>,
    interval: Duration,
    /// How long its leases last.
    lease: Duration,
    /// `None` while it holds nothing.
    next: Option<Instant>,
    /// Since when all that it holds is known to have a whole lease.
    renewed: Instant,
    /// Whether its last round failed.
    fails: bool,
    sleeps: Arc<AtomicBool>,
}

/// A round of renewals that is to be made.
struct RenewalRound {
    number: u64,
    holder: Arc<dyn LeaseHolder>,
    queue: Arc<dyn Renews>,
    /// How long one call of it may take.
    limit: Duration,
}

/// After a round that failed the next comes soon: what is left of the leases may allow for few more.
const AGAIN: Duration = Duration::from_secs(1);

/// The least that a call is given, however little is left of the leases.
const LEAST_LIMIT: Duration = Duration::from_secs(1);

/// How long the end of a renewal that is under way is waited for: a program that ends meanwhile would unload the driver from
/// under it. A call that hangs is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ends the renewals of one holder when it is dropped, and waits a moment for one that is under way.
pub(crate) struct Renewals {
    renewer: Arc<LeaseRenewer>,
    number: u64,
    /// The lease that the thread knows of.
    lease_ms: AtomicU64,
    sleeps: Arc<AtomicBool>,
}

impl LeaseRenewer {
    /// Keeps what `holder` holds, and starts the thread if it is not there.
    pub(crate) fn keep(
        self: &Arc<Self>,
        queue: Arc<dyn Renews>,
        holder: Weak<dyn LeaseHolder>,
        interval: Duration,
    ) -> Result<Renewals> {
        let mut state = self.state.lock();
        let number = state.next_number;
        state.next_number += 1;
        let sleeps = Arc::new(AtomicBool::new(false));
        let interval = interval.max(Duration::from_millis(1));
        let renewed = Instant::now();
        let (kept_sleeps, next, lease) = (Arc::clone(&sleeps), Some(renewed + interval), queue.lease());
        state.kept.push(RenewedHolder {
            number,
            holder,
            queue,
            interval,
            lease,
            next,
            renewed,
            fails: false,
            sleeps: kept_sleeps,
        });
        let lease_ms = AtomicU64::new(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        let renewals = Renewals { renewer: Arc::clone(self), number, lease_ms, sleeps };
        if !state.runs {
            let renewer = Arc::clone(self);
            if let Err(error) = threads::start("readpast-renewer", move || renewer.run()) {
                drop(state);
                return Err(error);
            }
            state.runs = true;
        }
        self.changed.notify_all();
        drop(state);
        Ok(renewals)
    }

    /// Lets the thread end. Does not wait for it.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        // They hold the queue, which holds this.
        let kept = std::mem::take(&mut state.kept);
        self.changed.notify_all();
        drop(state);
        drop(kept);
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while let Some(turn) = self.next(&mut state) {
            let (number, asked) = (turn.number, Instant::now());
            state.renewing = Some((number, thread::current().id()));
            let round = MutexGuard::unlocked(&mut state, move || renew(&turn));
            state.renewing = None;
            self.changed.notify_all();
            match round {
                Round::Kept => {
                    if let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == number) {
                        kept.renewed(asked);
                    }
                }
                Round::Failed(error) => {
                    if let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == number) {
                        kept.failed(&error);
                    }
                }
                Round::Nothing => self.let_sleep(&mut state, number),
                Round::Over => {
                    let gone: Vec<_> = state.kept.extract_if(.., |kept| kept.number == number).collect();
                    MutexGuard::unlocked(&mut state, move || drop(gone));
                }
            }
        }
        state.runs = false;
    }

    /// It holds nothing. What it holds from now on it says with [`Renewals::wake`].
    fn let_sleep(&self, state: &mut MutexGuard<'_, RenewerState>, number: u64) {
        let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == number) else { return };
        kept.sleeps.store(true, Ordering::SeqCst);
        kept.next = None;
        let Some(holder) = kept.holder.upgrade() else { return };
        // It may have begun to hold something before it could see that it is asleep.
        let holds = MutexGuard::unlocked(state, || !holder.held().is_empty());
        if holds {
            wake(state, number);
        }
        MutexGuard::unlocked(state, move || drop(holder));
    }

    /// Waits for the next holder whose turn it is. `None`: there are none left.
    fn next(&self, state: &mut MutexGuard<'_, RenewerState>) -> Option<RenewalRound> {
        loop {
            let gone: Vec<_> = state.kept.extract_if(.., |kept| kept.holder.strong_count() == 0).collect();
            if !gone.is_empty() {
                MutexGuard::unlocked(state, move || drop(gone));
                continue;
            }
            if state.closed || state.kept.is_empty() {
                return None;
            }
            let now = Instant::now();
            let due = state.kept.iter().find(|kept| kept.next.is_some_and(|next| next <= now));
            if let Some(kept) = due {
                if let Some(holder) = kept.holder.upgrade() {
                    return Some(RenewalRound {
                        number: kept.number,
                        holder,
                        queue: Arc::clone(&kept.queue),
                        limit: kept.limit(now),
                    });
                }
                continue;
            }
            match state.kept.iter().filter_map(|kept| kept.next).min() {
                Some(next) => drop(self.changed.wait_until(state, next)),
                None => self.changed.wait(state),
            }
        }
    }
}

fn wake(state: &mut RenewerState, number: u64) {
    if let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == number && kept.next.is_none()) {
        kept.sleeps.store(false, Ordering::SeqCst);
        kept.renewed = Instant::now();
        kept.next = Some(kept.renewed + kept.interval);
    }
}

impl RenewedHolder {
    /// Half of what is left of the leases, so that another try follows one that hangs.
    fn limit(&self, now: Instant) -> Duration {
        let left = self.lease.saturating_sub(now.duration_since(self.renewed));
        (left / 2).max(LEAST_LIMIT)
    }

    /// Leases last so long from now on.
    fn last_for(&mut self, lease: Duration) {
        self.lease = lease;
        self.interval = (lease / 3).max(Duration::from_millis(1));
        let soon = Instant::now() + self.interval;
        self.next = self.next.map(|next| next.min(soon));
    }

    /// All leases were renewed, after the call was made.
    fn renewed(&mut self, asked: Instant) {
        self.renewed = asked;
        self.next = Some(asked + self.interval);
        if std::mem::take(&mut self.fails) {
            log::info!("queue {}: leases are renewed again", self.queue.name());
        }
    }

    fn failed(&mut self, error: &Error) {
        self.next = Some(Instant::now() + self.interval.min(AGAIN));
        if !std::mem::replace(&mut self.fails, true) {
            log::warn!(
                "queue {}: leases were not renewed; it is tried again until they run out: {error}",
                self.queue.name()
            );
        }
    }
}

/// What a round of renewals came to.
enum Round {
    Kept,
    /// A part of them was not renewed.
    Failed(Error),
    Nothing,
    /// There is nothing to keep any more.
    Over,
}

fn renew(RenewalRound { holder, queue, limit, .. }: &RenewalRound) -> Round {
    let mut round = Round::Kept;
    let asked = Instant::now();
    let held = holder.held();
    if held.is_empty() {
        return Round::Nothing;
    }
    for part in held.chunks(MAX_ITEMS as usize) {
        let leases: Vec<_> = part.iter().map(|(key, attempt)| Lease { key, attempt: *attempt }).collect();
        match queue.renew(&leases, *limit) {
            Ok(outcomes) => {
                let lost = part.iter().zip(outcomes).filter(|(_, outcome)| outcome.answer != Answer::Ok);
                let lost: Vec<_> = lost.map(|(claim, _)| claim.clone()).collect();
                if !lost.is_empty() {
                    queue.count_lost(holder.lost(&lost, asked));
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Unsupported | ErrorKind::Forked) => {
                return Round::Over;
            }
            // The next round tries again; if the leases run out meanwhile, it finds out then.
            Err(error) => round = Round::Failed(error),
        }
    }
    round
}

impl Renewals {
    /// Something is held from now on, with a lease that the server granted for so long, if it said so. Cheap when the thread knows.
    pub(crate) fn wake(&self, lease: Option<Duration>) {
        if let Some(lease) =
            lease.filter(|lease| *lease != Duration::from_millis(self.lease_ms.load(Ordering::Relaxed)))
        {
            self.lease_ms.store(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
            let mut state = self.renewer.state.lock();
            if let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == self.number) {
                kept.last_for(lease);
            }
            self.renewer.changed.notify_all();
        }
        if self.sleeps.load(Ordering::SeqCst) {
            wake(&mut self.renewer.state.lock(), self.number);
            self.renewer.changed.notify_all();
        }
    }

    /// Renews now.
    pub(crate) fn hurry(&self) {
        let mut state = self.renewer.state.lock();
        if let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == self.number) {
            kept.next = Some(Instant::now());
        }
        self.renewer.changed.notify_all();
    }
}

impl Drop for Renewals {
    fn drop(&mut self) {
        let mut state = self.renewer.state.lock();
        let gone: Vec<_> = state.kept.extract_if(.., |kept| kept.number == self.number).collect();
        self.renewer.changed.notify_all();
        let deadline = Instant::now() + PATIENCE;
        // The renewing thread itself may have been the last to let go of the holder.
        let is_renewing = |state: &RenewerState| {
            state.renewing.is_some_and(|(number, thread)| number == self.number && thread != thread::current().id())
        };
        while is_renewing(&state) && !self.renewer.changed.wait_until(&mut state, deadline).timed_out() {}
        drop(state);
        drop(gone);
    }
}
