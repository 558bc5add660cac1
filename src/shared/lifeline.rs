//! The lifeline of a worker: a lock at the server that all sessions of its handle hold, and that the server frees with the last of
//! them. Where it has been free for some seconds, others take the worker for dead. So a handle that holds items makes sure, again and
//! again, that one of its sessions lives; and begins nothing new when it cannot know that.

use crate::sync::Mutex;
use std::time::{Duration, Instant};

/// The least pause between two proofs.
const LEAST: Duration = Duration::from_millis(100);

/// How many proofs there are to be within the grace.
const PROOFS: u32 = 3;

/// The lifeline of one handle, for all that were shared from it.
pub(crate) struct Lifeline {
    /// How long the lock may be free; `None`: there is none, and leases alone decide.
    grace: Option<Duration>,
    state: Mutex<LifelineState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct LifelineState {
    phase: Phase,
    /// When the last call was made of those that have succeeded, each on a session that has the lock.
    proved: Option<Instant>,
    /// When a call was last made to prove it.
    tried: Option<Instant>,
    /// How often the lock may have been free for the grace.
    gaps: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No worker has begun.
    #[default]
    Unused,
    /// It is being found out whether sessions are the process's own.
    Asking,
    /// Sessions take the lock before their next call.
    Begins,
    /// A session has it, and the server may know of it.
    Holds,
    /// Something is claimed without it, or there can be none.
    Over,
}

impl Lifeline {
    /// None where a lease is over before.
    pub(crate) fn new(grace: Duration, lease: Duration) -> Self {
        Self { grace: (!grace.is_zero() && grace < lease).then_some(grace), state: Mutex::default() }
    }

    /// A worker begins. Whether it is to be found out first that sessions are the process's own.
    pub(crate) fn is_wanted(&self) -> bool {
        let mut state = self.state.lock();
        let is_wanted = self.grace.is_some() && state.phase == Phase::Unused;
        if is_wanted {
            state.phase = Phase::Asking;
        }
        is_wanted
    }

    /// Sessions are the process's own: each takes the lock from now on.
    pub(crate) fn begins(&self) {
        let mut state = self.state.lock();
        if state.phase == Phase::Asking {
            state.phase = Phase::Begins;
        }
    }

    /// Whether a session must have the lock before its next call.
    pub(crate) fn is_on(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Begins | Phase::Holds)
    }

    /// A session has the lock. Whether it is the first.
    pub(crate) fn is_held(&self) -> bool {
        let mut state = self.state.lock();
        let is_first = state.phase == Phase::Begins;
        if is_first {
            state.phase = Phase::Holds;
        }
        is_first
    }

    /// There is none any more. Whether the server may know of one.
    pub(crate) fn ends(&self) -> bool {
        std::mem::replace(&mut self.state.lock().phase, Phase::Over) == Phase::Holds
    }

    /// A call that was made at `asked` has succeeded, on a session that has had the lock since then: without a break.
    pub(crate) fn is_proved(&self, since: Instant, asked: Instant) {
        let mut state = self.state.lock();
        if state.phase == Phase::Holds {
            let is_late = state.proved.zip(self.grace).is_some_and(|(proved, grace)| since >= proved + grace);
            state.gaps += u64::from(is_late);
            state.proved = state.proved.max(Some(asked));
        }
    }

    /// A call is made to prove it.
    pub(crate) fn is_tried(&self, now: Instant) {
        self.state.lock().tried = Some(now);
    }

    /// The grace that the server is to know, in milliseconds; 0 where leases alone decide.
    pub(crate) fn grace_ms(&self) -> i64 {
        let holds = self.state.lock().phase == Phase::Holds;
        self.grace.filter(|_| holds).map_or(0, |grace| i64::try_from(grace.as_millis()).unwrap_or(i64::MAX))
    }

    /// When a handle that holds items is to prove it. `None`: never.
    pub(crate) fn prove_at(&self, now: Instant) -> Option<Instant> {
        let (pause, state) = ((self.grace? / PROOFS).max(LEAST), *self.state.lock());
        match state.phase {
            Phase::Begins | Phase::Holds => Some(state.proved.max(state.tried).map_or(now, |last| last + pause)),
            _ => None,
        }
    }

    /// From when on others may take the items of this handle, for all that it knows.
    pub(crate) fn doubt(&self) -> Doubt {
        let state = *self.state.lock();
        let proved = state.proved.zip(self.grace).filter(|_| state.phase == Phase::Holds);
        Doubt { at: proved.map(|(proved, grace)| proved + grace), gaps: state.gaps }
    }
}

/// The time from which on nothing is sure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// `None`: leases decide.
    pub(crate) at: Option<Instant>,
    /// How often such a time has come and gone.
    pub(crate) gaps: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(3);

    fn held() -> Lifeline {
        let lifeline = Lifeline::new(GRACE, GRACE * 20);
        assert!(lifeline.is_wanted() && !lifeline.is_wanted(), "it is asked once");
        assert!(!lifeline.is_on(), "a pooler may share its sessions");
        lifeline.begins();
        assert!(lifeline.is_on() && lifeline.grace_ms() == 0, "no session has it");
        assert!(lifeline.is_held() && !lifeline.is_held());
        assert_eq!(lifeline.grace_ms(), 3000);
        lifeline
    }

    #[test]
    fn there_is_none_without_a_grace_nor_where_leases_are_shorter() {
        assert!(!Lifeline::new(Duration::ZERO, GRACE).is_wanted());
        assert!(!Lifeline::new(GRACE, GRACE).is_wanted());
    }

    #[test]
    fn calls_prove_it_and_without_them_a_call_is_made() {
        let (lifeline, start) = (held(), Instant::now());
        assert_eq!(lifeline.prove_at(start), Some(start), "nothing has proved it");
        lifeline.is_proved(start, start);
        assert_eq!(lifeline.prove_at(start), Some(start + GRACE / 3));
        lifeline.is_proved(start, start + GRACE / 3);
        lifeline.is_proved(start, start);
        assert_eq!(lifeline.prove_at(start), Some(start + GRACE * 2 / 3), "an answer that comes late");
        lifeline.is_tried(start + GRACE);
        assert_eq!(lifeline.prove_at(start), Some(start + GRACE * 4 / 3), "it failed: not at once again");
        assert_eq!(lifeline.doubt(), Doubt { at: Some(start + GRACE * 4 / 3), gaps: 0 }, "a try is no proof");
        let late = start + GRACE * 2;
        lifeline.is_proved(start, late);
        assert_eq!(lifeline.doubt(), Doubt { at: Some(late + GRACE), gaps: 0 }, "that session has had it all the time");
        lifeline.is_proved(late + GRACE, late + GRACE);
        assert_eq!(lifeline.doubt(), Doubt { at: Some(late + GRACE * 2), gaps: 1 }, "a new one");
    }

    #[test]
    fn it_ends_for_good() {
        let (lifeline, now) = (held(), Instant::now());
        lifeline.is_proved(now, now);
        assert!(lifeline.ends() && !lifeline.ends(), "the server is to know, once");
        assert_eq!((lifeline.is_on(), lifeline.grace_ms()), (false, 0));
        assert_eq!((lifeline.prove_at(now), lifeline.doubt().at), (None, None));
        lifeline.begins();
        assert!(!lifeline.is_on() && !lifeline.is_wanted());
        assert!(!Lifeline::new(GRACE, GRACE * 2).ends(), "the server knows of none");
    }
}
