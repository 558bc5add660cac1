//! Installed procedures.

use super::procedures::Procedures;
use crate::calls::{
    self, Ask, CallTerms, Claimed, GIVEN_BACK, RECOVER_NOW, Sessions, SettleAnswer, Settling, Tries, YieldsTo,
};
use crate::dialect::Calls;
use crate::error::Result;
use crate::metrics::CallKind;

pub(super) struct Own(Box<Calls>);

impl Own {
    pub(super) fn new(calls: Calls) -> Self {
        Self(Box::new(calls))
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.0
    }
}

impl Procedures for Own {
    fn own(&self) -> Option<&Calls> {
        Some(&self.0)
    }

    fn is_polled(&self) -> bool {
        true
    }

    fn claim(&self, on: &dyn Sessions, terms: &CallTerms, max: i32, recover: i32) -> Result<Claimed> {
        let mut tries = Tries::default();
        let claimed = on.ask(CallKind::Claim, YieldsTo::Interrupts, |session| {
            tries.make(session, terms, &self.0, |session, number| {
                calls::claim(session, terms, &self.0, max, recover, number)
            })
        });
        match claimed {
            Err(error) if terms.dialect.may_be_refusal(&error) => {}
            claimed => return claimed,
        }
        // The table may refuse an item of a dead worker.
        let recovered =
            if recover > 0 { calls::recover(on, &self.0, GIVEN_BACK, RECOVER_NOW)? } else { Default::default() };
        let claimed = on.ask(CallKind::Claim, YieldsTo::Interrupts, |session| {
            tries.make(session, terms, &self.0, |session, number| {
                calls::claim_apart(session, terms, &self.0, max, number)
            })
        })?;
        Ok(claimed.after(recovered))
    }

    fn settle(&self, on: &dyn Sessions, terms: &CallTerms, what: &Settling<'_>) -> Result<SettleAnswer> {
        match calls::settle(on, terms, &self.0, what) {
            // The table may refuse the claim, which undoes the settlements too.
            Err(error) if what.max > 0 && terms.dialect.may_be_refusal(&error) => {
                calls::settle(on, terms, &self.0, &what.without_claim())
            }
            settled => settled,
        }
    }
}
