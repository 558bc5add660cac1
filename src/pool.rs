//! A bounded set of sessions that threads share: first come, first served, with a deadline on every wait.
//!
//! There is no thread behind it. A thread that takes or returns a session also closes those that are too old or were idle for too
//! long.

mod failover;

use self::failover::Failover;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::{Reading, Source};
use crate::session::{Fate, GivenUp, Session};
use crate::sync::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    mem,
    ops::{Deref, DerefMut},
    process,
    sync::Arc,
    time::{Duration, Instant},
};

/// The pool of one queue handle. Any number of threads may use it at once.
pub struct Pool {
    config: Config,
    /// The process that owns the connections. The child of a fork shares them with its parent, where two would talk over one
    /// another.
    process: u32,
    size: usize,
    patience: Duration,
    idle_limit: Duration,
    lifetime: Duration,
    given_up: Arc<GivenUp>,
    state: Mutex<PoolState>,
    changed: Condvar,
}

/// Figures of the connections of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connections {
    /// The limit for calls: `pool.size`. Leases are renewed on one more, if all are in use.
    pub most: u64,
    /// Open, or being opened.
    pub open: u64,
    /// Open, and at rest.
    pub idle: u64,
    /// Opened so far.
    pub opened: u64,
    /// Threads that wait for a connection.
    pub waiting: u64,
    /// How often a thread had to wait for one so far.
    pub waits: u64,
    /// How long they waited, altogether.
    pub waited: Duration,
    /// Given up so far, since a call on them did not return in its time.
    pub given_up: u64,
    /// Given up, and hanging still: each keeps a thread and a socket of this process until its call returns.
    pub hanging: u64,
}

impl Connections {
    /// The figures of both.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            most: self.most + other.most,
            open: self.open + other.open,
            idle: self.idle + other.idle,
            opened: self.opened + other.opened,
            waiting: self.waiting + other.waiting,
            waits: self.waits + other.waits,
            waited: self.waited + other.waited,
            given_up: self.given_up + other.given_up,
            hanging: self.hanging + other.hanging,
        }
    }
}

#[derive(Default)]
struct PoolState {
    /// Sessions at rest; the last one rested least.
    idle: Vec<Idle>,
    /// Sessions that are open or being opened, at rest or not.
    open: usize,
    /// Those that are lent for calls.
    lent: usize,
    /// Whether one is lent for the renewal of leases.
    renews: bool,
    /// The waiting threads, first come first.
    waiting: VecDeque<u64>,
    next_ticket: u64,
    /// How often a thread had to wait, and for how long altogether.
    waits: u64,
    waited: Duration,
    /// Sessions that were opened.
    opened: u64,
    /// Raised when the server is gone: sessions of an earlier generation are not used again.
    generation: u64,
    failover: Failover,
    closed: bool,
}

struct Idle {
    session: Session,
    generation: u64,
    since: Instant,
}

impl Pool {
    /// A pool that opens no session yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            size: config.number("pool.size") as usize,
            patience: config.duration("pool.acquire_ms"),
            idle_limit: config.duration("pool.idle_ms"),
            lifetime: config.duration("pool.lifetime_ms"),
            config: config.clone(),
            process: process::id(),
            given_up: Arc::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// A session for one caller until it is dropped, an idle one or a new one.
    ///
    /// # Errors
    /// [`ErrorKind::PoolTimeout`] when none became free in time, [`ErrorKind::Closed`] when the pool was closed meanwhile,
    /// [`ErrorKind::Forked`] in the child of a fork, or the failure of a log-in.
    pub fn acquire(&self) -> Result<Pooled<'_>> {
        self.unless_forked()?;
        let deadline = Instant::now() + self.patience;
        let mut worn = Vec::new();
        let taken = self.take_turn(deadline, &mut worn)?;
        self.lend(taken, Use::Calls, worn)
    }

    /// [`Pool::acquire`] for a caller that waits for no other: `None` where it would, or the pool is closed.
    pub(crate) fn acquire_now(&self) -> Result<Option<Pooled<'_>>> {
        self.unless_forked()?;
        let mut worn = Vec::new();
        let mut state = self.state.lock();
        if state.closed || state.lent >= self.size || !state.waiting.is_empty() {
            return Ok(None);
        }
        self.retire(&mut state, &mut worn);
        state.lent += 1;
        let taken = state.take_out();
        drop(state);
        self.lend(taken, Use::Calls, worn).map(Some)
    }

    /// [`Pool::acquire`] for the renewal of leases, and for their return by a worker that was given up, of which a pool has one at a
    /// time: it waits behind no other call. A call on it waits `limit` for its answer at most.
    pub(crate) fn acquire_to_renew(&self, limit: Duration) -> Result<Pooled<'_>> {
        self.unless_forked()?;
        let deadline = Instant::now() + limit;
        let mut worn = Vec::new();
        let taken = self.take_renewals_turn(deadline, &mut worn)?;
        let mut pooled = self.lend(taken, Use::Renewal, worn)?;
        pooled.limit_calls(Some(limit));
        Ok(pooled)
    }

    /// The session that was found, or a new one.
    fn lend(&self, (found, generation): (Option<Session>, u64), of: Use, worn: Vec<Session>) -> Result<Pooled<'_>> {
        // A disconnect takes a round trip: never under the lock.
        close_all(worn);
        let session = match found {
            Some(session) => session,
            None => match Session::open_of(&self.config, &self.given_up) {
                Ok(session) => {
                    let mut state = self.state.lock();
                    state.failover.is_over();
                    state.opened += 1;
                    session
                }
                Err(error) => {
                    let mut state = self.state.lock();
                    state.open -= 1;
                    state.is_back(of);
                    self.changed.notify_all();
                    return Err(state.failover.not_let_in(error, Instant::now()));
                }
            },
        };
        Ok(Pooled { pool: self, session: Some(session), generation, of })
    }

    /// Closes the pool: no thread gets a session any more, and waiting threads get an error. Waits until the sessions in use are
    /// back.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when some are still in use after `patience`; they are closed when they come back.
    pub fn close(&self, patience: Duration) -> Result<()> {
        if self.unless_forked().is_err() {
            // The parent owns the connections, and goes on with them.
            return Ok(());
        }
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock();
        state.closed = true;
        self.changed.notify_all();
        let idle = mem::take(&mut state.idle);
        state.open -= idle.len();
        drop(state);
        // They close while this thread waits for the others, and without the lock, which a thread that returns one needs.
        let mut closing: Vec<_> = idle.into_iter().map(|idle| idle.session).collect();
        closing.iter_mut().for_each(Session::begin_to_close);
        let mut state = self.state.lock();
        while state.open > 0 && !self.changed.wait_until(&mut state, deadline).timed_out() {}
        let left = state.open;
        drop(state);
        drop(closing);
        if left > 0 {
            let message = format!("{left} calls are still under way; the queue is closed for all others");
            return Err(Error::new(ErrorKind::TimedOut, message));
        }
        Ok(())
    }

    /// Checked before the lock, which another thread of the parent may have held at the fork.
    fn unless_forked(&self) -> Result<()> {
        if process::id() == self.process {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Forked, "the queue was opened before a fork; open one in the child process"))
    }

    /// The settings, for a connection beside the pool.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`] and [`ErrorKind::Forked`], as for a call.
    pub(crate) fn config(&self) -> Result<&Config> {
        self.unless_forked()?;
        if self.is_closed() { Err(closed()) } else { Ok(&self.config) }
    }

    /// Figures of its connections. In the child of a fork there are none.
    pub fn connections(&self) -> Connections {
        if self.unless_forked().is_err() {
            return Connections::default();
        }
        let state = self.state.lock();
        Connections {
            most: self.size as u64,
            open: state.open as u64,
            idle: state.idle.len() as u64,
            opened: state.opened,
            waiting: state.waiting.len() as u64,
            waits: state.waits,
            waited: state.waited,
            given_up: self.given_up.count(),
            hanging: self.given_up.hanging(),
        }
    }

    /// Whether it was closed; unknown in the child of a fork.
    pub fn is_closed(&self) -> bool {
        if self.unless_forked().is_err() {
            return false;
        }
        self.state.lock().closed
    }

    /// Waits for a free session or the right to open one.
    fn take_turn(&self, deadline: Instant, worn: &mut Vec<Session>) -> Result<(Option<Session>, u64)> {
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(ticket);
        let mut since = None;
        loop {
            if state.closed {
                state.leave(ticket, since);
                return Err(closed());
            }
            self.retire(&mut state, worn);
            if state.lent < self.size && state.waiting.front() == Some(&ticket) {
                state.leave(ticket, since);
                state.lent += 1;
                if !state.waiting.is_empty() {
                    self.changed.notify_all();
                }
                return Ok(state.take_out());
            }
            if since.is_none() {
                since = Some(Instant::now());
                state.waits += 1;
            }
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                state.leave(ticket, since);
                self.changed.notify_all();
                return Err(Error::new(
                    ErrorKind::PoolTimeout,
                    format!(
                        "all {} connections were in use for {} ms; raise \"pool.size\" or \"pool.acquire_ms\"",
                        self.size,
                        self.patience.as_millis()
                    ),
                ));
            }
        }
    }

    /// The same for a renewal, which waits for none but another renewal.
    fn take_renewals_turn(&self, deadline: Instant, worn: &mut Vec<Session>) -> Result<(Option<Session>, u64)> {
        let mut state = self.state.lock();
        while state.renews && !state.closed {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return Err(Error::new(ErrorKind::PoolTimeout, "another renewal of leases is still under way"));
            }
        }
        if state.closed {
            return Err(closed());
        }
        self.retire(&mut state, worn);
        state.renews = true;
        Ok(state.take_out())
    }

    /// Takes out the sessions that are too old.
    fn retire(&self, state: &mut PoolState, worn: &mut Vec<Session>) {
        let now = Instant::now();
        let generation = state.generation;
        let is_worn = |idle: &mut Idle| {
            idle.generation != generation
                || now.duration_since(idle.since) > self.idle_limit
                || now.duration_since(idle.session.opened()) > self.lifetime
        };
        let gone: Vec<_> = state.idle.extract_if(.., is_worn).map(|idle| idle.session).collect();
        state.open -= gone.len();
        worn.extend(gone);
    }

    fn give_back(&self, mut session: Session, generation: u64, of: Use) {
        let mut worn = Vec::new();
        session.limit_calls(None);
        let mut state = self.state.lock();
        state.is_back(of);
        let fate = session.fate();
        if fate != Fate::Usable {
            if fate == Fate::ServerGone {
                // The others probably lead to the same dead server: check each anew rather than fail once with each.
                if state.generation == generation {
                    state.generation += 1;
                }
                state.failover.begins(Instant::now());
            }
            state.open -= 1;
            worn.push(session);
        } else if state.closed {
            state.open -= 1;
            worn.push(session);
        } else {
            state.idle.push(Idle { session, generation, since: Instant::now() });
        }
        self.retire(&mut state, &mut worn);
        self.changed.notify_all();
        drop(state);
        close_all(worn);
    }
}

impl PoolState {
    /// An idle session, or the right to open one; and its generation.
    fn take_out(&mut self) -> (Option<Session>, u64) {
        let found = self.idle.pop().map(|idle| idle.session);
        self.open += usize::from(found.is_none());
        (found, self.generation)
    }

    fn is_back(&mut self, of: Use) {
        match of {
            Use::Calls => self.lent -= 1,
            Use::Renewal => self.renews = false,
        }
    }

    /// Ends the wait of a ticket, and adds the time since `since`.
    fn leave(&mut self, ticket: u64, since: Option<Instant>) {
        self.waiting.retain(|waiting| *waiting != ticket);
        self.waited += since.map_or(Duration::ZERO, |since| since.elapsed());
    }
}

impl Source for Pool {
    fn read(&self) -> Reading {
        let Connections { most, open, idle, opened, waiting, waits, waited, given_up, hanging } = self.connections();
        let mut reading = Reading::default();
        (reading.now.most, reading.now.idle, reading.now.in_use) = (most, idle, open - idle);
        (reading.now.waiting, reading.now.hanging) = (waiting, hanging);
        (reading.so_far.waits, reading.so_far.waited) = (waits, waited);
        (reading.so_far.opened, reading.so_far.given_up) = (opened, given_up);
        reading
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.unless_forked().is_err() {
            // A disconnect would say good-bye in the parent's name.
            mem::forget(mem::take(&mut self.state.get_mut().idle));
            return;
        }
        let idle = mem::take(&mut self.state.get_mut().idle);
        close_all(idle.into_iter().map(|idle| idle.session).collect());
    }
}

/// Closes them at once, not one after the other.
fn close_all(mut sessions: Vec<Session>) {
    sessions.iter_mut().for_each(Session::begin_to_close);
}

/// The error of every call once the queue is closed.
#[must_use]
pub fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the queue is closed")
}

/// The purpose for which a session is lent.
#[derive(Debug, Clone, Copy)]
enum Use {
    Calls,
    Renewal,
}

/// A session on loan from a pool.
pub struct Pooled<'a> {
    pool: &'a Pool,
    session: Option<Session>,
    generation: u64,
    of: Use,
}

impl Deref for Pooled<'_> {
    type Target = Session;

    #[expect(clippy::expect_used, reason = "the session is there until drop takes it")]
    fn deref(&self) -> &Session {
        self.session.as_ref().expect("there until drop")
    }
}

impl DerefMut for Pooled<'_> {
    #[expect(clippy::expect_used, reason = "the session is there until drop takes it")]
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("there until drop")
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.pool.give_back(session, self.generation, self.of);
        }
    }
}
