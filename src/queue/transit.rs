//! Items on their way to another place of their queue: they leave in a commit that keeps a record of them, and arrive in one that keeps
//! another. A process that dies between the two loses nothing and doubles nothing; the next that moves items goes on from the record.

use super::inner::QueueInner;
use crate::calls::{
    self, ActionStep, Ask, Attempts, NewAction, YieldsTo, in_parts, put_within, settle_within, settlements_to_json,
};
use crate::description::{CheckedItem, items_to_json};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Answer, ItemRef, OperatorAction, Settlement};
use crate::metrics::CallKind;
use crate::session::{ReadCells, Session};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The action's word in both records.
pub(crate) const REBALANCE: &str = "rebalance";

const COMMIT: &str = "they commit by themselves";

/// Refuses an action whose record holds items on their way.
pub(super) fn refuse_transit(action: Option<&OperatorAction>) -> Result<()> {
    if action.is_none_or(|action| action.verb != REBALANCE) {
        return Ok(());
    }
    let message = "items are on their way between places: the next rebalance brings them there";
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// The record of an action for people: items on their way are counted, and not shown.
pub(super) fn without_items(action: OperatorAction) -> OperatorAction {
    if action.verb != REBALANCE {
        return action;
    }
    let filter =
        Transit::read(&action).ok().map(|transit| json!({"to": transit.to, "count": transit.count}).to_string());
    OperatorAction { filter: filter.or(action.filter), ..action }
}

/// Items that have left a place, as its record has them.
pub(super) struct Transit {
    number: i64,
    pub(super) to: String,
    operation: String,
    pub(super) count: usize,
    /// As the procedures read them.
    items: String,
}

impl Transit {
    fn record(to: &str, operation: &str, count: usize, items: &str) -> String {
        format!(r#"{{"to":{},"operation":{},"count":{count},"items":{items}}}"#, json!(to), json!(operation))
    }

    fn read(action: &OperatorAction) -> Result<Self> {
        let members =
            action.filter.as_deref().and_then(|text| serde_json::from_str::<BTreeMap<&str, &RawValue>>(text).ok());
        let raw = |name| members.as_ref().and_then(|members| members.get(name)).map(|value| value.get());
        let text = |name| raw(name).and_then(|raw| serde_json::from_str::<String>(raw).ok());
        let count = raw("count").and_then(|raw| raw.parse().ok());
        match (text("to"), text("operation"), count, raw("items")) {
            (Some(to), Some(operation), Some(count), Some(items)) => {
                Ok(Self { number: action.number, to, operation, count, items: items.to_owned() })
            }
            _ => {
                let message = format!("the record of the action {} is damaged", action.number);
                Err(Error::new(ErrorKind::Protocol, message))
            }
        }
    }
}

impl QueueInner {
    /// Takes items out for another place: in one commit they become Cancelled, and a record holds them until they have arrived. `None`:
    /// all of them have changed since they were read.
    pub(super) fn leave(&self, to: &str, items: &[(ItemRef<'_>, CheckedItem)]) -> Result<Option<Transit>> {
        let own = self.backend.calls("move items", COMMIT)?;
        let operation = calls::new_identity(self.terms.dialect);
        let text = format!("moved to the place {to}");
        let left = in_parts(self.terms.dialect, items, None, true, |part| {
            let response = Some(text.as_str());
            let cancel = part
                .items
                .iter()
                .map(|(item, _)| Settlement { response, ..Settlement::control(item.key, item.token, Action::Cancel) });
            let settlements: Vec<_> = cancel.collect();
            let json = settlements_to_json(&self.terms, &settlements, 0)?;
            let within = |session: &mut Session| {
                let identity = Some(part.operation.id.as_str());
                let outcomes = settle_within(&self.terms, own, &settlements, &json, identity, |text, params| {
                    session.call(text, params, ReadCells::Answers)
                })?;
                let gone = part.items.iter().zip(outcomes).filter(|(_, outcome)| outcome.answer == Answer::Ok);
                let gone: Vec<_> = gone.map(|((_, item), _)| item).collect();
                if gone.is_empty() {
                    return Ok(None);
                }
                let (count, items) = (gone.len(), items_to_json(gone.into_iter()));
                let record = Transit::record(to, &operation, count, &items);
                let number = calls::note(session, &self.terms, &self.moves(&record, "Running", Some(count), 0))?;
                let (to, operation) = (to.to_owned(), operation.clone());
                Ok(Some(Transit { number, to, operation, count, items }))
            };
            let mut attempts = Attempts::default();
            let result =
                self.ask(CallKind::Settle, YieldsTo::Closing, |session| attempts.note(session.transaction(within)));
            Ok(vec![attempts.conclude(&part.operation, result)?])
        })?;
        Ok(left.into_iter().next().flatten())
    }

    /// Brings the items of a record to their place; how many have arrived by this call. Several processes may do so at once.
    pub(super) fn carry(&self, transit: &Transit, target: &Self) -> Result<usize> {
        let arrived = target.arrive(transit, self.terms.place().unwrap_or_default())?;
        let text = format!("they are at the place {}", transit.to);
        let (done, state) = (i64::try_from(transit.count).unwrap_or(i64::MAX), Some("Done"));
        let owner = Some(self.terms.worker.as_str());
        let end = ActionStep { owner, done, state, result: Some(&text), ..ActionStep::default() };
        self.once(CallKind::Actions, |session| calls::step(session, &self.terms, transit.number, &end))?;
        Ok(arrived)
    }

    /// Puts the items in, with a record by which a repetition knows for 90 days, as long as records are kept, that they are there; how many this call has put in.
    fn arrive(&self, transit: &Transit, from: &str) -> Result<usize> {
        let own = self.backend.calls("take moved items", COMMIT)?;
        let record = json!({"from": from, "operation": transit.operation}).to_string();
        let arrived = in_parts(self.terms.dialect, &[()], Some(&transit.operation), true, |part| {
            let mut is_again = false;
            let mut within = |session: &mut Session| {
                let identity = Some(part.operation.id.as_str());
                let (queue, count) = (&self.terms.spec.queue, transit.count);
                put_within(queue, own, &transit.items, identity, count, |text, params| {
                    session.call(text, params, ReadCells::Answers)
                })?;
                // The identity, which goes after an hour, makes others wait until here; the record stays.
                if calls::has_arrived(session, &self.terms, &record)? {
                    is_again = true;
                    return Err(Error::new(ErrorKind::Database, "the items are there"));
                }
                calls::note(session, &self.terms, &self.moves(&record, "Done", None, count)).map(|_| count)
            };
            let mut attempts = Attempts::default();
            let result = self
                .ask(CallKind::Enqueue, YieldsTo::Closing, |session| attempts.note(session.transaction(&mut within)));
            match result {
                Err(error) if is_again && error.kind() == ErrorKind::Database => Ok(vec![0]),
                result => Ok(vec![attempts.conclude(&part.operation, result)?]),
            }
        })?;
        self.process.polls.wake();
        Ok(arrived.into_iter().sum())
    }

    /// Makes sure that this login may put items in here.
    pub(super) fn can_take(&self) -> Result<()> {
        let own = self.backend.calls("take moved items", COMMIT)?;
        let nothing = |session: &mut Session| {
            put_within(&self.terms.spec.queue, own, "[]", None, 0, |text, params| {
                session.call(text, params, ReadCells::Answers)
            })
        };
        self.ask(CallKind::Enqueue, YieldsTo::Closing, |session| session.transaction(nothing)).map(drop)
    }

    fn moves<'a>(&'a self, record: &'a str, state: &'a str, expected: Option<usize>, done: usize) -> NewAction<'a> {
        let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
        NewAction {
            verb: REBALANCE,
            who: &self.operator,
            filter: Some(record),
            state,
            expected: expected.map(count),
            done: count(done),
            refused: 0,
            result: None,
        }
    }

    /// The items that have left, and of which no process has reported that they have arrived.
    pub(super) fn on_their_way(&self) -> Result<Vec<Transit>> {
        let open = calls::open_actions(self, &self.terms)?.into_iter().filter(|(_, verb)| verb == REBALANCE);
        let read = |(number, _)| self.action(number)?.as_ref().map(Transit::read).transpose();
        open.filter_map(|open| read(open).transpose()).collect()
    }
}
