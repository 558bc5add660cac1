//! A queue on a described table whose items a procedure claims that somebody wrote, and nothing else: it is called as it is.
//! What it took is made a worker's by `Taken_`, so that a claim has its attempt, its token and its lease; from there on the queue
//! is like any other.

use super::interrupt::YieldsTo;
use super::{Inner, answered, answers, claim, procedures};
use crate::catalog::{self, Meaning};
use crate::dialect::{Calls, Dialect};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Batch, Rows};
use crate::metrics::Call;
use crate::session::{Param, Session};
use crate::spec::TableSpec;
use std::sync::Arc;

/// The procedure that claims.
pub(super) struct Claimer {
    dialect: Dialect,
    call: catalog::Call,
    text: String,
    taken: Arc<str>,
    /// The columns of the key, as the procedure's row may call them.
    key: Vec<String>,
}

impl Claimer {
    /// Asks the catalog, of a table that has one.
    pub(super) fn open(session: &mut Session, table: &TableSpec, calls: &Calls) -> Result<Option<Self>> {
        let (Some(claimed_by), Some(taken)) = (&table.claimed_by, &calls.taken) else { return Ok(None) };
        let dialect = session.dialect();
        let call = catalog::claimer(session, table, claimed_by)?;
        Ok(Some(Self {
            dialect,
            text: procedures::call(dialect, &call, table.local_time)?,
            call,
            taken: Arc::clone(taken),
            key: table.key.iter().map(|column| column.name.as_str().to_owned()).collect(),
        }))
    }

    fn name(&self) -> String {
        format!("{}.{}", self.call.procedure.schema, self.call.procedure.name)
    }

    /// One call: the key of the item that it took.
    fn next(&self, queue: &Inner, session: &mut Session) -> Result<Option<String>> {
        let lease_ms = queue.lease_ms.unwrap_or(queue.spec.lease.ms).to_string();
        let value = |meaning| match meaning {
            Meaning::Worker => Some(queue.worker.as_str()),
            Meaning::LeaseMs => Some(lease_ms.as_str()),
            _ => None,
        };
        let params = procedures::params(&self.call.arguments, self.dialect, value, (None, None));
        let results = session.results(&self.text, &params)?;
        let status = procedures::returned(self.dialect, &results);
        if status != 0 {
            let message = format!("{} returned {status}, and did not say why", self.name());
            return Err(Error::new(ErrorKind::Database, message));
        }
        let own = procedures::own_results(self.dialect, &results);
        own.iter().find(|rows| !rows.is_empty()).map_or(Ok(None), |rows| self.key_of(rows))
    }

    /// The key in the row that the procedure gave, as requests have it.
    fn key_of(&self, rows: &Rows) -> Result<Option<String>> {
        if let [name] = self.key.as_slice() {
            let place = procedures::place(rows, name).unwrap_or(0);
            // A function that has one row for everything has nothing in it when there is no work.
            return Ok(procedures::cell(rows, 0, place));
        }
        let mut parts = Vec::with_capacity(self.key.len());
        for name in &self.key {
            let Some(place) = procedures::place(rows, name) else {
                let message = format!("{} returned a row without the column {name} of the key", self.name());
                return Err(Error::new(ErrorKind::Protocol, message));
            };
            let Some(part) = procedures::cell(rows, 0, place) else { return Ok(None) };
            parts.push(part);
        }
        Ok(Some(serde_json::json!(parts).to_string()))
    }
}

/// One item, whatever the caller asked for: the procedure takes one a call, and each is a worker's before the next is taken.
pub(super) fn ask(queue: &Inner, calls: &Calls, claimer: &Claimer) -> Result<Batch> {
    let wakes = queue.signal.wakes(&queue.kinds.key);
    let result = rows(queue, calls, claimer);
    match result {
        Ok(Some(rows)) => claim::claimed(queue, rows, 0, wakes),
        Ok(None) => {
            queue.ledger.claims(0);
            queue.signal.found_nothing(&queue.kinds.key, wakes, None);
            Ok(Batch::default())
        }
        Err(error) => {
            // This thread may have had the turn for all the others.
            queue.signal.pass_on(&queue.kinds.key);
            Err(error)
        }
    }
}

/// The rows of an item that is this worker's, if there was one.
fn rows(queue: &Inner, calls: &Calls, claimer: &Claimer) -> Result<Option<Rows>> {
    let recover = queue.signal.recovery(queue.recover_interval);
    if recover > 0 {
        give_back(queue, calls, recover)?;
    }
    let mut given_back = false;
    while !queue.interrupt.is_set() {
        let key =
            queue.with_session_yielding(Call::Claim, YieldsTo::Interrupts, |session| claimer.next(queue, session))?;
        let Some(key) = key else {
            if given_back {
                return Ok(None);
            }
            // A retry that has become due stands in the table as taken, until somebody gives it back: somebody else may
            // have had the turn to recover, and before it was due.
            given_back = true;
            give_back(queue, calls, 0)?;
            continue;
        };
        let params = [Param::Text(&queue.worker), Param::Text(&key)];
        let rows = queue.with_session(Call::Claim, |session| answered(session, &claimer.taken, &params))?;
        match if rows.has_withheld() { "CLAIMED" } else { answers::word(&rows, 0) } {
            // Not to be worked on: another one may be.
            "EMPTY" => {}
            "LEASE_LOST" => {
                let message = format!(
                    "{} gave the item {key}, and the table does not say that {} has it: it must write the worker's name, which \
                     may be too long for it, and the time of the claim, and commit both",
                    claimer.name(),
                    queue.worker
                );
                return Err(Error::new(ErrorKind::SchemaMismatch, message));
            }
            _ => return Ok(Some(rows)),
        }
    }
    Ok(None)
}

/// Gives back what dead workers left, if it is time to, and what waits no longer for its next attempt.
fn give_back(queue: &Inner, calls: &Calls, recover: i32) -> Result<()> {
    let params = [Param::Integer(100), Param::Integer(recover)];
    queue.with_session(Call::Recover, |session| answered(session, &calls.recover, &params)).map(drop)
}
