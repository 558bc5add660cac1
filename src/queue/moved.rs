//! Moves: an item goes to another queue of the same schema, in one transaction.

use super::find;
use super::inner::QueueInner;
use crate::calls::{Ask, Attempts, YieldsTo, enqueue_within, in_parts, settle_within, settlements_to_json};
use crate::description::{QueueSpec, Storage, check_items};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{
    Action, Answer, Columns, Filter, Item, ItemRef, ItemState, NEVER_MS, NewItem, Outcome, Settlement, far_utc_ms,
};
use crate::metrics::CallKind;
use crate::session::{ReadCells, Session};
use serde_json::{Map, json};
use std::sync::Arc;

/// A moved item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The outcome of the item here: Cancelled with the answer OK. [`Answer::Duplicate`]: the other queue has the same work.
    pub outcome: Outcome,
    /// Its key in the other queue; empty where it was not moved.
    pub key: String,
}

/// Whether an item in this state may go elsewhere: it waits, or has failed.
fn may_move(state: ItemState) -> bool {
    matches!(state, ItemState::Pending | ItemState::Error | ItemState::Paused | ItemState::Failed)
}

/// The item as the queue `to` takes it, by the names of columns.
pub(crate) fn as_new(from: &QueueSpec, to: &QueueSpec, item: &Item<'_>) -> Result<NewItem> {
    let refuse =
        |why: String| Error::new(ErrorKind::InvalidItem, format!("queue {} does not take it: {why}", to.queue));
    if matches!(from.storage, Storage::Procedures(_)) || matches!(to.storage, Storage::Procedures(_)) {
        return Err(refuse("procedures that were written by hand commit by themselves".to_owned()));
    }
    if from.after && item.due().and_then(far_utc_ms).is_some_and(|due| due > NEVER_MS) {
        return Err(refuse("it waits for other items of its queue".to_owned()));
    }
    let given = Columns::from_json(&item.to_json())?;
    let mut columns = Columns::default();
    for column in &to.columns {
        let name = column.name.as_str();
        let same = from.columns.iter().find(|of| of.name.as_str().eq_ignore_ascii_case(name));
        let Some(same) = same else { continue };
        if same.secret {
            return Err(refuse(format!("the column {name} is secret, and not to be read")));
        }
        let value = given.iter().find(|(of, _)| of.eq_ignore_ascii_case(same.name.as_str()));
        if let Some((_, value)) = value {
            columns.insert_json(name, value)?;
        }
    }
    for subtype in &from.subtypes {
        let name = subtype.name.as_str();
        let mut values = Columns::default();
        for column in &subtype.columns {
            let shown = format!("{name}_{}", column.name.as_str());
            let value = given.iter().find(|(of, value)| of.eq_ignore_ascii_case(&shown) && *value != "null");
            if let Some((_, value)) = value {
                if column.secret {
                    return Err(refuse(format!("the column {shown} is secret, and not to be read")));
                }
                values.insert_json(column.name.as_str(), value)?;
            }
        }
        let is_its = subtype.exclusive && item.kind() == Some(name);
        if values.iter().next().is_none() && !is_its {
            continue;
        }
        match to.subtypes.iter().find(|of| of.name.as_str().eq_ignore_ascii_case(name)) {
            Some(same) => columns.insert_json(same.name.as_str(), &values.to_json())?,
            None => return Err(refuse(format!("it has no subtype {name}"))),
        };
    }
    let lacks = |column: &&crate::description::ColumnSpec| {
        !column.nullable
            && column.default.is_none()
            && columns.get(column.name.as_str()).is_none_or(|value| value == "null")
    };
    let missing: Vec<_> = to.columns.iter().filter(lacks).map(|column| column.name.as_str()).collect();
    if !missing.is_empty() {
        return Err(refuse(format!("it has no value for {}", missing.join(", "))));
    }
    let text = |text: Option<&str>| text.map(str::to_owned);
    let new = NewItem {
        kind: text(item.kind()),
        step: text(item.step()).filter(|step| to.steps.is_empty() || to.steps.contains(step)),
        due: text(item.due()).filter(|_| item.state() != Some(ItemState::Failed)),
        columns,
        ..NewItem::default()
    };
    to.check_item(&new).map_err(|error| refuse(error.message().to_owned()))?;
    Ok(new)
}

impl QueueInner {
    /// Moves an item to the queue `to`.
    pub(super) fn move_item(&self, item: &ItemRef<'_>, to: &str, operation: Option<&str>) -> Result<Moved> {
        self.refuse_attached()?;
        let target = Self::open(self.pool.config()?, to, Arc::default())?;
        if target.terms.spec.queue == self.terms.spec.queue {
            let message = format!("queue {to} does not take it: the item is there");
            return Err(Error::new(ErrorKind::InvalidItem, message));
        }
        let why = "they commit by themselves";
        let (here, there) = (self.backend.calls("move items", why)?, target.backend.calls("take moved items", why)?);
        let found = find::find(self, &Filter::of_keys([item.key]), None, 1)?;
        let Some(found) = found.get(0) else {
            let outcome = Outcome { answer: Answer::NotFound, state: None, token: String::new(), attempt: 0 };
            return Ok(Moved { outcome, key: String::new() });
        };
        // An item that a worker holds could be cancelled too; a repetition finds what it has cancelled.
        let is_again = operation.is_some() && found.state() == Some(ItemState::Cancelled);
        if !is_again && !found.state().is_some_and(may_move) {
            let (state, token, attempt) = (found.state(), found.token().to_owned(), found.attempt());
            let has_changed = item.token.is_some_and(|seen| seen != token);
            let answer = if has_changed { Answer::Conflict } else { Answer::IllegalTransition };
            let outcome = Outcome { answer, state, token, attempt };
            return Ok(Moved { outcome, key: String::new() });
        }
        let new = [as_new(&self.terms.spec, &target.terms.spec, &found)?];
        let checked = check_items(&target.terms.spec, &new)?;
        // The values are those of this version; another one since is a conflict.
        let token = item.token.or(ItemRef::from(found).token);
        let moved = in_parts(self.terms.dialect, &[()], operation, true, |part| {
            let mut refused = None;
            let mut attempts = Attempts::default();
            let mut within = |session: &mut Session| {
                let put = part.operation.of_another(self.terms.dialect, "moved")?;
                let receipts =
                    enqueue_within(&target.terms.spec.queue, there, checked.iter(), Some(&put), |text, params| {
                        session.call(text, params, ReadCells::Answers)
                    })?;
                let key = receipts.into_iter().next().filter(|receipt| !receipt.duplicate).map(|receipt| receipt.key);
                let text = format!("moved to {}: {}", target.terms.queue(), key.as_deref().unwrap_or_default());
                let control = Settlement::control(found.key(), token, Action::Cancel);
                let settlements = [Settlement { response: Some(&text), ..control }];
                let json = settlements_to_json(&self.terms, &settlements, 0)?;
                let identity = Some(part.operation.id.as_str());
                let outcomes = settle_within(&self.terms, here, &settlements, &json, identity, |text, params| {
                    session.call(text, params, ReadCells::Answers)
                })?;
                let outcome = outcomes.into_iter().next();
                match (outcome, key) {
                    (Some(outcome), Some(key)) if outcome.answer == Answer::Ok => Ok(Moved { outcome, key }),
                    // Nothing of both stays.
                    (outcome, key) => {
                        refused = outcome.map(|outcome| {
                            let is_twice = key.is_none() && outcome.answer == Answer::Ok;
                            if is_twice { Outcome { answer: Answer::Duplicate, ..outcome } } else { outcome }
                        });
                        Err(Error::new(ErrorKind::Database, "the move was refused"))
                    }
                }
            };
            let result = self
                .ask(CallKind::Settle, YieldsTo::Closing, |session| attempts.note(session.transaction(&mut within)));
            match (result, refused) {
                (Err(error), Some(outcome)) if error.kind() == ErrorKind::Database => {
                    let state = if outcome.answer == Answer::Duplicate { found.state() } else { outcome.state };
                    Ok(vec![Moved { outcome: Outcome { state, ..outcome }, key: String::new() }])
                }
                (result, _) => Ok(vec![attempts.conclude(&part.operation, result)?]),
            }
        })?;
        let moved = moved.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Protocol, "nothing was answered"))?;
        target.process.polls.wake();
        let more =
            Map::from_iter([("to".to_owned(), json!(target.terms.queue())), ("key".to_owned(), json!(moved.key))]);
        self.record_items("move", &[*item], std::slice::from_ref(&moved.outcome), more);
        Ok(moved)
    }
}
