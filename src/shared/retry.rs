//! Retries: a call is repeated after transient errors, with pauses, within a budget of time.

use super::interrupt::Interrupt;
use crate::calls::YieldsTo;
use crate::config::Config;
use crate::error::{Error, Result};
use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    time::{Duration, Instant},
};

/// How long and how often to try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    budget: Duration,
    first: Duration,
    longest: Duration,
}

impl Policy {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            budget: config.duration("retry.budget_ms"),
            first: config.duration("retry.first_ms"),
            longest: config.duration("retry.longest_ms"),
        }
    }

    /// The same with another budget, if there is one.
    pub(crate) fn within(self, budget: Option<Duration>) -> Self {
        Self { budget: budget.unwrap_or(self.budget), ..self }
    }

    pub(crate) fn budget(&self) -> Duration {
        self.budget
    }

    /// Runs `work` until it succeeds, fails for good, or the budget is spent. A close of the queue ends the pauses; so does an
    /// interrupt if `yields_to` says so. `again` receives each error that another try follows.
    pub(crate) fn run<T>(
        &self,
        interrupt: &Interrupt,
        yields_to: YieldsTo,
        again: impl Fn(&Error),
        mut work: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        let mut pause = self.first;
        loop {
            let error = match work() {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let wait = jittered(pause);
            if !error.kind().is_transient() || begun.elapsed() + wait > self.budget {
                return Err(error);
            }
            log::info!("trying again in {wait:?}: {error}");
            again(&error);
            if interrupt.wait(wait, yields_to) {
                return Err(error);
            }
            pause = (pause * 2).min(self.longest);
        }
    }
}

/// Half of `pause` and a random part of the other half, so that calls that failed together do not return together.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let half = pause / 2;
    half + half.mul_f64((random % 1000) as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const POLICY: Policy = Policy {
        budget: Duration::from_secs(3600),
        first: Duration::from_micros(1),
        longest: Duration::from_micros(2),
    };

    #[test]
    fn transient_errors_are_met_again_and_others_are_not() {
        for (kind, tries) in [(ErrorKind::Deadlock, 3), (ErrorKind::PermissionDenied, 1)] {
            let mut count = 0;
            let result = POLICY.run(
                &Interrupt::default(),
                YieldsTo::Closing,
                |_| (),
                || {
                    count += 1;
                    if count < 3 { Err(Error::new(kind, "")) } else { Ok(()) }
                },
            );
            assert_eq!(count, tries);
            assert_eq!(result.is_ok(), kind.is_transient());
        }
    }

    #[test]
    fn a_spent_budget_and_a_closed_queue_end_it() {
        let fail = || -> Result<()> { Err(Error::new(ErrorKind::Deadlock, "")) };
        let no_time = Policy { budget: Duration::ZERO, ..POLICY };
        assert!(no_time.run(&Interrupt::default(), YieldsTo::Closing, |_| (), fail).is_err());
        let interrupt = Interrupt::default();
        interrupt.close();
        assert!(POLICY.run(&interrupt, YieldsTo::Closing, |_| (), fail).is_err());
    }

    #[test]
    fn an_interrupt_ends_the_pauses_that_yield_to_it() {
        let interrupt = Interrupt::default();
        interrupt.set(true);
        for (yields_to, tries) in [(YieldsTo::Interrupts, 1), (YieldsTo::Closing, 3)] {
            let mut count = 0;
            let _ = POLICY.run(
                &interrupt,
                yields_to,
                |_| (),
                || {
                    count += 1;
                    if count < 3 { Err(Error::new(ErrorKind::Deadlock, "")) } else { Ok(()) }
                },
            );
            assert_eq!(count, tries);
        }
    }

    #[test]
    fn pauses_keep_to_their_half() {
        for _ in 0..100 {
            let pause = jittered(Duration::from_millis(100));
            assert!((50..=100).contains(&pause.as_millis()), "{pause:?}");
        }
    }
}
