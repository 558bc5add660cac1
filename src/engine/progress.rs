//! How far the handlers are. A thread writes the reports of all items of a worker by one call, at most one in a second. No handler waits
//! for it, and a settlement or a renewal does not either.

use super::in_flight::{ClaimName, Reporter};
use super::reports::Report;
use super::shared::EngineShared;
use crate::error::Result;
use crate::item::{Answer, Outcome, ProgressReport};
use crate::threads;
use std::collections::HashMap;
use std::sync::Arc;

/// Keeps a report, and starts the thread if it does not run.
pub(super) fn report(shared: &Arc<EngineShared>, claim: ClaimName, report: Report) -> Result<()> {
    if !shared.reports.put(claim, report) {
        return Ok(());
    }
    let (reports, worker) = (Arc::clone(&shared.reports), Arc::downgrade(shared));
    let write = move |new| worker.upgrade().map(|worker| worker.write_progress(new)).is_some();
    let started = threads::start("readpast-progress", move || reports.run(write));
    started.map(drop).inspect_err(|_| shared.reports.has_no_thread())
}

impl EngineShared {
    fn write_progress(&self, new: HashMap<ClaimName, Report>) {
        let (mut held, mut later) = (Vec::new(), Vec::new());
        let state = self.state.lock();
        for (claim, report) in new {
            match state.in_flight.reporter(&claim, report.claimed) {
                Reporter::Holds(token) => held.push((claim, report, token)),
                Reporter::Steps => later.push((claim, report)),
                Reporter::Gone => {}
            }
        }
        drop(state);
        let outcomes = if held.is_empty() { Ok(Vec::new()) } else { self.send_progress(&held) };
        match outcomes {
            Ok(outcomes) => {
                let refused = outcomes.iter().any(|outcome| outcome.answer != Answer::Ok);
                // Without a state it was not written: somebody holds the row.
                let waits = |outcome: &Outcome| outcome.answer == Answer::Ok && outcome.state.is_none();
                let again = held.into_iter().zip(outcomes).filter(|(_, outcome)| waits(outcome));
                later.extend(again.map(|((claim, report, _), _)| (claim, report)));
                if refused && let Some(renewals) = &*self.renewals.lock() {
                    // The renewal finds out whether the item is lost, and lets its handler know.
                    renewals.hurry();
                }
            }
            Err(error) => {
                if self.reports.fails_first() {
                    log::warn!("queue {}: progress was not written, which is logged once: {error}", self.queue.name());
                }
                if error.kind().is_transient() {
                    later.extend(held.into_iter().map(|(claim, report, _)| (claim, report)));
                }
            }
        }
        self.reports.put_back(later);
    }

    fn send_progress(&self, held: &[(ClaimName, Report, String)]) -> Result<Vec<Outcome>> {
        let reports: Vec<_> = held
            .iter()
            .map(|((key, attempt), Report { percent, text, .. }, token)| ProgressReport {
                key,
                token,
                attempt: *attempt,
                percent: *percent,
                text: text.as_deref(),
            })
            .collect();
        self.queue.inner().report_progress_once(&reports)
    }
}
