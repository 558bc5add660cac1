//! A queue on a described table with a custom claim procedure, which is called as it is. `Taken_` makes the claimed item this
//! worker's, so that a claim has its attempt, its token and its lease; from there on the queue is like any other.

use super::hand_written;
use super::own::Own;
use super::procedures::Procedures;
use crate::calls::{
    self, Ask, CallTerms, Claimed, CustomClaimResult, GIVEN_BACK, Recovered, Sessions, SettleAnswer, Settling, YieldsTo,
};
use crate::catalog::{self, Meaning};
use crate::description::TableSpec;
use crate::dialect::Calls;
use crate::error::{Error, ErrorKind, Result};
use crate::item::Rows;
use crate::metrics::CallKind;
use crate::session::Session;
use std::sync::Arc;

/// The custom claim procedure, and the installed ones for all else.
struct CustomClaim {
    own: Own,
    call: catalog::ProcedureCall,
    text: String,
    taken: Arc<str>,
    /// The columns of the key, as the procedure's row may name them.
    key: Vec<String>,
}

/// Reads the procedure from the catalog, if the table has one.
pub(super) fn open(session: &mut Session, table: &TableSpec, own: Own) -> Result<Box<dyn Procedures>> {
    let (Some(claimed_by), Some(taken)) = (&table.claimed_by, own.calls().taken.clone()) else {
        return Ok(Box::new(own));
    };
    let call = catalog::claimer(session, table, claimed_by)?;
    Ok(Box::new(CustomClaim {
        own,
        text: hand_written::call(session.dialect(), &call, table.local_time)?,
        call,
        taken,
        key: table.key.iter().map(|column| column.name.as_str().to_owned()).collect(),
    }))
}

impl Procedures for CustomClaim {
    fn own(&self) -> Option<&Calls> {
        self.own.own()
    }

    fn claims_apart(&self) -> bool {
        true
    }

    /// Claims one item, whatever `max` is: the procedure claims one a call, and each is a worker's before the next is claimed.
    fn claim(&self, on: &dyn Sessions, terms: &CallTerms, _max: i32, recover: i32) -> Result<Claimed> {
        let mut recovered = Recovered::default();
        if recover > 0 {
            recovered.add(calls::recover(on, self.own.calls(), GIVEN_BACK, recover)?);
        }
        let mut given_back = false;
        while on.called_off().is_none() {
            let Some(key) = on.ask(CallKind::Claim, YieldsTo::Interrupts, |session| self.next(terms, session))? else {
                if given_back {
                    break;
                }
                // A retry that has become due looks claimed in the table until a recovery makes it due: another process may have
                // had the turn to recover, and before the retry was due.
                given_back = true;
                recovered.add(calls::recover(on, self.own.calls(), GIVEN_BACK, 0)?);
                continue;
            };
            let taken =
                on.ask(CallKind::Claim, YieldsTo::Closing, |session| calls::taken(session, terms, &self.taken, &key))?;
            match taken {
                CustomClaimResult::It(claimed) => return Ok(claimed.after(recovered)),
                CustomClaimResult::NotThis => {}
                CustomClaimResult::Lost => {
                    let message = format!(
                        "{} returned the item {key}, but the table does not show {} as its holder: it must write the \
                         worker's name, which may be too long for it, and the time of the claim, and commit both",
                        self.name(),
                        terms.worker
                    );
                    return Err(Error::new(ErrorKind::SchemaMismatch, message));
                }
            }
        }
        Ok(Claimed::nothing().after(recovered))
    }

    fn settle(&self, on: &dyn Sessions, terms: &CallTerms, what: &Settling<'_>) -> Result<SettleAnswer> {
        self.own.settle(on, terms, &what.without_claim())
    }
}

impl CustomClaim {
    fn name(&self) -> String {
        format!("{}.{}", self.call.procedure.schema, self.call.procedure.name)
    }

    /// One call: returns the key of the claimed item.
    fn next(&self, terms: &CallTerms, session: &mut Session) -> Result<Option<String>> {
        let lease_ms = terms.described_lease_ms().to_string();
        let value = |meaning| match meaning {
            Meaning::Worker => Some(terms.worker.as_str()),
            Meaning::LeaseMs => Some(lease_ms.as_str()),
            _ => None,
        };
        let params = hand_written::params(&self.call.arguments, terms.dialect, value, (None, None));
        let results = session.results(&self.text, &params)?;
        let status = hand_written::returned(terms.dialect, &results);
        if status != 0 {
            let message = format!("{} returned {status} without a reason", self.name());
            return Err(Error::new(ErrorKind::Database, message));
        }
        let own = hand_written::own_results(terms.dialect, &results);
        own.iter().find(|rows| !rows.is_empty()).map_or(Ok(None), |rows| self.key_of(rows))
    }

    /// The key in the procedure's row, in the form of requests.
    fn key_of(&self, rows: &Rows) -> Result<Option<String>> {
        if let [name] = self.key.as_slice() {
            let place = hand_written::place(rows, name).unwrap_or(0);
            // A function with exactly one row returns NULLs when there is no work.
            return Ok(hand_written::cell(rows, 0, place));
        }
        let mut parts = Vec::with_capacity(self.key.len());
        for name in &self.key {
            let Some(place) = hand_written::place(rows, name) else {
                let message = format!("{} returned a row without the column {name} of the key", self.name());
                return Err(Error::new(ErrorKind::Protocol, message));
            };
            let Some(part) = hand_written::cell(rows, 0, place) else { return Ok(None) };
            parts.push(part);
        }
        Ok(Some(serde_json::json!(parts).to_string()))
    }
}
