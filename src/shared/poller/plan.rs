//! The plan of the poller: when it looks next, and at which queues.

use super::PolledQueue;
use crate::calls::AskedQueue;
use crate::shared::of_queue::OfQueue;
use crate::shared::turns::PollAt;
use std::sync::Arc;
use std::time::Instant;

/// The next look.
pub(super) struct Plan {
    pub(super) next: Option<Instant>,
    /// The queues to look at, if it is time: those for which it nearly is, too.
    pub(super) due: Vec<PlannedLook>,
}

/// A look at one queue.
pub(super) struct PlannedLook {
    pub(super) asked: AskedQueue,
    pub(super) of: Arc<OfQueue>,
    /// The numbers of its handles.
    pub(super) handles: Vec<u64>,
    /// The last look found nothing either.
    pub(super) rests: bool,
}

impl Plan {
    pub(super) fn new(queues: Vec<PolledQueue>, phase: Instant, now: Instant) -> Self {
        let mut plan = Self { next: None, due: Vec::new() };
        for PolledQueue { number, asked, of, .. } in queues {
            let Some(of) = of.upgrade() else { continue };
            // A queue may have several handles.
            if let Some(known) = plan.due.iter_mut().find(|known| Arc::ptr_eq(&known.of, &of)) {
                known.asked.recovery = known.asked.recovery.min(asked.recovery);
                known.handles.push(number);
                continue;
            }
            let Some(PollAt { at, slack, rests }) = of.polls.poll_at(phase, now) else { continue };
            plan.next = plan.next.map_or(Some(at), |next| Some(next.min(at)));
            if at <= now + slack {
                plan.due.push(PlannedLook { asked, of, handles: vec![number], rests });
            }
        }
        plan
    }
}
