//! The lifeline of a handle with a worker: its sessions hold a lock, and while it holds items, it makes sure that one of them lives.

use super::inner::{QueueInner, QueueShared};
use super::record::cannot;
use crate::bell;
use crate::calls::{self, SeenWorker};
use crate::config::host_name;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::metrics::CallKind;
use crate::session::Session;
use crate::threads;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

impl QueueInner {
    /// A worker begins on this handle.
    pub(crate) fn begin_lifeline(&self) {
        self.is_of_worker.store(true, Ordering::Relaxed);
        if self.backend.own().is_none() || !self.lifeline.is_wanted() {
            return;
        }
        if self.terms.dialect == Dialect::SqlServer {
            return self.lifeline.begins();
        }
        // Without it leases alone decide.
        let Some(login) = self.direct.clone() else { return };
        let shared = Arc::downgrade(&self.shared);
        _ = threads::start_unwatched("readpast-lifeline", move || {
            let is_direct = bell::is_direct(&login);
            let Some(shared) = shared.upgrade() else { return };
            match is_direct {
                Ok(()) => {
                    shared.lifeline.begins();
                    shared.renewer.look();
                }
                Err(_) if threads::process_ends() => {}
                Err(why) => log::info!(
                    "queue {}: the items of a dead process wait for their leases: {why}",
                    shared.terms.queue()
                ),
            }
        });
    }

    /// Something is claimed whose lease no worker keeps: leases alone decide about this handle from now on, and the server learns it first.
    pub(super) fn leave_lifeline(&self) -> Result<()> {
        if self.is_of_worker.load(Ordering::Relaxed) {
            return Ok(());
        }
        if self.lifeline.grace_ms() > 0 {
            let workers = BTreeSet::from([SeenWorker::of(&self.terms, 0)]);
            self.once(CallKind::Workers, |session| calls::seen(session, &self.terms, &workers, &host_name()))?;
        }
        self.lifeline.ends();
        Ok(())
    }
}

impl QueueShared {
    /// The session takes the lock, if it has to. The first that has it is news to the server.
    pub(super) fn take_lifeline(&self, session: &mut Session) -> Result<()> {
        if session.lifeline.is_some() || !self.lifeline.is_on() {
            return Ok(());
        }
        match calls::take_lifeline(session, &self.terms) {
            Ok(()) => {
                session.lifeline = Some(Instant::now());
                if self.lifeline.is_held() {
                    self.presence.begins();
                }
                Ok(())
            }
            Err(error) if cannot(error.kind()) => {
                log::debug!("queue {}: its worker has no lock: {error}", self.terms.queue());
                self.lifeline.ends();
                // The server may know of one, by another login of the same name.
                self.presence.begins();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A call that was made at `asked` has succeeded. One that took longer than the grace proves nothing of now: another does.
    pub(super) fn is_proved(&self, session: &mut Session, asked: Instant) {
        let Some(since) = session.lifeline else { return };
        self.lifeline.is_proved(since, asked);
        let now = Instant::now();
        if self.lifeline.doubt().at.is_some_and(|at| at <= now) && calls::prove(session, &self.terms).is_ok() {
            self.lifeline.is_proved(since, now);
        }
    }

    /// Makes sure that a session lives; whether none did for too long. A lost one is replaced at once, as others may have seen it go.
    pub(super) fn prove_lifeline(&self, limit: Duration) -> bool {
        let before = self.lifeline.doubt().gaps;
        self.lifeline.is_tried(Instant::now());
        let once = || {
            self.tried(CallKind::Workers, self.pool.acquire_to_renew(limit), |session| {
                calls::prove(session, &self.terms)?;
                self.report_worker(session);
                Ok(())
            })
        };
        let proved = once().or_else(|error| if error.kind().breaks_connection() { once() } else { Err(error) });
        if let Err(error) = proved {
            log::debug!("queue {}: no connection of its worker is known to live: {error}", self.terms.queue());
        }
        self.lifeline.doubt().gaps > before
    }
}
