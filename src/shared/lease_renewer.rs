//! The one thread that renews the leases of a queue handle, for all its workers and batches. It sleeps while none holds a lease.
//! A native thread goes on while a host's garbage collector or interpreter lock stops all others.

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
    time::{Duration, Instant},
};

/// A holder of leases: a worker or a batch.
pub(crate) trait LeaseHolder: Send + Sync {
    /// Key and attempt of each claim to be renewed.
    fn held(&self) -> Vec<(String, i32)>;

    /// Reports leases that are gone: they ran out, or an operator took the items. `asked` is the time of the call; later claims
    /// are not meant. Returns how many of them are lost: the others ended meanwhile, or their settlement will report it.
    fn lost(&self, claims: &[(String, i32)], asked: Instant) -> usize;
}

/// The queue whose leases are renewed.
pub(crate) trait Renews: Send + Sync {
    /// The queue's name.
    fn name(&self) -> &str;

    /// How long a lease lasts, as known before the first claim.
    fn lease(&self) -> Duration;

    /// One try within `limit`: the thread repeats it itself.
    fn renew(&self, leases: &[Lease<'_>], limit: Duration) -> Result<Vec<Outcome>>;

    /// Counts lost leases.
    fn count_lost(&self, count: usize);

    /// When the queue's lifeline is to be proved, should it hold something. `None`: never.
    fn prove_at(&self) -> Option<Instant>;

    /// One try to prove it within `limit`. Whether items may have been lost before.
    fn prove(&self, limit: Duration) -> bool;
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
    /// Whether the thread runs.
    runs: bool,
    /// The holder whose leases are being renewed, and the thread that does it.
    renewing: Option<(u64, usize)>,
    closed: bool,
}

/// A holder, and when its next round is.
struct RenewedHolder {
    number: u64,
    holder: Weak<dyn LeaseHolder>,
    queue: Arc<dyn Renews>,
    interval: Duration,
    /// How long its leases last.
    lease: Duration,
    /// `None` while it holds nothing.
    next: Option<Instant>,
    /// Since when all its claims have a whole lease.
    renewed: Instant,
    /// Whether its last round failed.
    fails: bool,
    /// An item may have been taken away since its last round began.
    hurries: bool,
    sleeps: Arc<AtomicBool>,
}

/// A round of renewals to be made.
struct RenewalRound {
    number: u64,
    holder: Arc<dyn LeaseHolder>,
    queue: Arc<dyn Renews>,
    /// The time-out of each of its calls.
    limit: Duration,
    /// Whether only the lifeline is to be proved.
    proves: bool,
}

/// The pause after a failed round: the rest of the leases may allow for few more.
const AGAIN: Duration = Duration::from_secs(1);

/// The pause between two rounds when items are taken away one after the other.
const BETWEEN: Duration = Duration::from_millis(50);

/// The least time-out of a call, however short the rest of the leases is.
const LEAST_LIMIT: Duration = Duration::from_secs(1);

/// How long the drop waits for a renewal under way: a program that ended meanwhile would unload the driver from under it. It does
/// not wait for a call that hangs.
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
    /// Renews the leases of `holder`, and starts the thread if it does not run.
    pub(crate) fn renew(
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
            hurries: false,
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

    /// Items may have been taken away: those who hold any ask at once.
    pub(crate) fn hurry(&self) {
        for kept in &mut self.state.lock().kept {
            kept.hurries = true;
            kept.next = kept.next.map(|next| next.min(kept.renewed + BETWEEN));
        }
        self.changed.notify_all();
    }

    /// A lifeline has begun.
    pub(crate) fn look(&self) {
        let state = self.state.lock();
        self.changed.notify_all();
        drop(state);
    }

    /// Lets the thread end. Does not wait for it.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        // The holders hold the queue, which holds this.
        let kept = std::mem::take(&mut state.kept);
        self.changed.notify_all();
        drop(state);
        drop(kept);
    }

    fn run(&self) {
        let mut state = self.state.lock();
        while let Some(turn) = self.next(&mut state) {
            let (number, asked) = (turn.number, Instant::now());
            state.renewing = Some((number, threads::here()));
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
                Round::Proved { late } => {
                    if let Some(kept) = state.kept.iter_mut().find(|kept| late && kept.number == number) {
                        kept.next = Some(Instant::now());
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

    /// The holder has no claims. [`Renewals::wake`] reports new ones.
    fn let_sleep(&self, state: &mut MutexGuard<'_, RenewerState>, number: u64) {
        let Some(kept) = state.kept.iter_mut().find(|kept| kept.number == number) else { return };
        kept.sleeps.store(true, Ordering::SeqCst);
        kept.next = None;
        let Some(holder) = kept.holder.upgrade() else { return };
        // The holder may have claimed before it could see that it is asleep.
        let holds = MutexGuard::unlocked(state, || !holder.held().is_empty());
        if holds {
            wake(state, number);
        }
        MutexGuard::unlocked(state, move || drop(holder));
    }

    /// Waits for the next holder whose round is due. `None`: no holder is left.
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
            let renews = state.kept.iter().position(|kept| kept.next.is_some_and(|next| next <= now));
            let proves = || state.kept.iter().position(|kept| kept.prove_at().is_some_and(|at| at <= now));
            let due = renews.or_else(proves).and_then(|place| state.kept.get_mut(place));
            if let Some(kept) = due {
                if let Some(holder) = kept.holder.upgrade() {
                    kept.hurries &= renews.is_none();
                    return Some(RenewalRound {
                        number: kept.number,
                        holder,
                        queue: Arc::clone(&kept.queue),
                        limit: kept.limit(now),
                        proves: renews.is_none(),
                    });
                }
                continue;
            }
            match state.kept.iter().flat_map(|kept| [kept.next, kept.prove_at()]).flatten().min() {
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
    /// When its lifeline is to be proved. `None`: it holds nothing, or has none.
    fn prove_at(&self) -> Option<Instant> {
        self.next.and_then(|_| self.queue.prove_at())
    }

    /// Half of the leases' rest, so that another try can follow a call that hangs.
    fn limit(&self, now: Instant) -> Duration {
        let left = self.lease.saturating_sub(now.duration_since(self.renewed));
        (left / 2).max(LEAST_LIMIT)
    }

    /// Notes the length of leases.
    fn last_for(&mut self, lease: Duration) {
        self.lease = lease;
        self.interval = (lease / 3).max(Duration::from_millis(1));
        let soon = Instant::now() + self.interval;
        self.next = self.next.map(|next| next.min(soon));
    }

    /// Notes that a call made at `asked` renewed all leases.
    fn renewed(&mut self, asked: Instant) {
        self.renewed = asked;
        self.next = Some(asked + if self.hurries { self.interval.min(BETWEEN) } else { self.interval });
        if std::mem::take(&mut self.fails) {
            log::info!("queue {}: leases are renewed again", self.queue.name());
        }
    }

    fn failed(&mut self, error: &Error) {
        self.next = Some(Instant::now() + self.interval.min(AGAIN));
        if !std::mem::replace(&mut self.fails, true) {
            log::warn!(
                "queue {}: leases were not renewed; trying again until they run out: {error}",
                self.queue.name()
            );
        }
    }
}

/// The result of a round.
enum Round {
    Kept,
    /// The lifeline was proved, or could not be; `late`: others may have taken items.
    Proved {
        late: bool,
    },
    /// Some leases were not renewed.
    Failed(Error),
    Nothing,
    /// The holder has no claims.
    Over,
}

fn renew(RenewalRound { holder, queue, limit, proves, .. }: &RenewalRound) -> Round {
    let mut round = Round::Kept;
    let asked = Instant::now();
    let held = holder.held();
    if held.is_empty() {
        return Round::Nothing;
    }
    if *proves {
        return Round::Proved { late: queue.prove(*limit) };
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
            // The next round tries again; if the leases run out meanwhile, it learns that then.
            Err(error) => round = Round::Failed(error),
        }
    }
    round
}

impl Renewals {
    /// Reports new claims, with the lease that the server granted, if known. Cheap when the thread knows already.
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
            kept.hurries = true;
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
        // The renewing thread itself may have dropped the last reference to the holder.
        let is_renewing = |state: &RenewerState| {
            state.renewing.is_some_and(|(number, thread)| number == self.number && thread != threads::here())
        };
        while is_renewing(&state) && !self.renewer.changed.wait_until(&mut state, deadline).timed_out() {}
        drop(state);
        drop(gone);
    }
}
