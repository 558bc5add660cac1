//! Actions of operators on many items: begun with a row in the database, done in bounded calls, and taken up by another process
//! when the one at work has gone.

use super::find;
use super::inner::QueueInner;
use super::record::KEEP_NONE;
use crate::calls::{self, ActionStep, NewAction, Sessions};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{
    Action, Answer, Batch, Columns, Edit, Filter, ItemRef, OperatorAction, OperatorVerb, Outcome, Settlement,
};
use crate::metrics::CallKind;
use serde_json::{Map, json};
use uuid::Uuid;

/// Items of one step, and rows that it reads at most.
const STEP: u32 = 500;
const READ: u32 = 10_000;

/// How long a process that has not reported a step is at work.
const LEASE_MS: i32 = 60_000;

/// The outcome of a step.
struct Step {
    done: usize,
    refused: usize,
    /// The key to go on after; `None`: it was the last.
    place: Option<String>,
}

impl QueueInner {
    /// Begins an action; its number. Nothing is changed yet.
    pub(super) fn begin_action(&self, verb: OperatorVerb, filter: &Filter, expected: Option<i64>) -> Result<i64> {
        self.backend.calls(&format!("{} items", verb.word()), KEEP_NONE)?;
        if verb == OperatorVerb::Purge {
            calls::check_purged_states(filter)?;
        }
        let filter = verb.narrow(filter.clone()).to_json(false)?;
        let action = NewAction {
            verb: verb.word(),
            who: &self.operator,
            filter: Some(&filter),
            state: "Running",
            expected,
            done: 0,
            refused: 0,
            result: None,
        };
        self.once(CallKind::Actions, |session| calls::note(session, &self.terms, &action))
    }

    /// Does an action from where it is, until it has ended or `go_on` is false. `None`: it has ended before, or another process is
    /// at work on it.
    pub(super) fn run_action(
        &self,
        number: i64,
        go_on: &mut dyn FnMut(&OperatorAction) -> bool,
    ) -> Result<Option<OperatorAction>> {
        let owner = Uuid::now_v7().to_string();
        let step = |step: ActionStep<'_>| {
            let step = ActionStep { owner: Some(&owner), lease_ms: LEASE_MS, ..step };
            self.once(CallKind::Actions, |session| calls::step(session, &self.terms, number, &step))
        };
        let held = |step: ActionStep<'_>| {
            let step = ActionStep { owner: Some(&owner), lease_ms: 0, ..step };
            self.once(CallKind::Actions, |session| calls::step(session, &self.terms, number, &step))
        };
        let Some(mut state) = step(ActionStep::default())? else { return Ok(None) };
        loop {
            let Some(action) = self.action(number)? else { return Ok(None) };
            if state == "Cancelling" {
                held(ActionStep { state: Some("Cancelled"), ..ActionStep::default() })?;
                return self.action(number);
            }
            if !go_on(&action) || self.called_off().is_some() {
                // Another process can take it up at once.
                held(ActionStep::default())?;
                return self.action(number);
            }
            let reported = match self.step(&action) {
                Ok(Step { done, refused, place }) => {
                    let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
                    let end = if place.is_none() { Some("Done") } else { None };
                    step(ActionStep {
                        done: count(done),
                        refused: count(refused),
                        place: place.as_deref(),
                        state: end,
                        ..ActionStep::default()
                    })?
                }
                Err(error) if error.is_retryable() || error.kind() == ErrorKind::Closed => return Err(error),
                Err(error) => held(ActionStep {
                    state: Some("Failed"),
                    result: Some(&error.to_string()),
                    ..ActionStep::default()
                })?,
            };
            match reported {
                Some(open) if open == "Running" || open == "Cancelling" => state = open,
                _ => return self.action(number),
            }
        }
    }

    /// The action with this number.
    pub(super) fn action(&self, number: i64) -> Result<Option<OperatorAction>> {
        let found = calls::actions(self, &self.terms, true, Some(number), None, 1)?.into_iter().next();
        Ok(found.map(|action| OperatorAction { queue: self.terms.queue().to_owned(), ..action }))
    }

    /// Changes the next items of an action.
    fn step(&self, action: &OperatorAction) -> Result<Step> {
        let verb: OperatorVerb = action.verb.parse()?;
        let mut filter = Filter::from_json(action.filter.as_deref().unwrap_or("{}"))?;
        if self.terms.spec.is_own() {
            // Items that changed after its begin are not meant: those that came meanwhile, and its own.
            let begun = Some(action.begun_at.clone());
            filter.before =
                filter.before.take().map_or_else(|| begun.clone(), |before| Some(before).min(begun.clone()));
        }
        let (page, further) = find::look(self, &filter, action.place.as_deref(), STEP, READ)?;
        let last = page.iter().last().map(|item| item.key().to_owned());
        let place = if page.len() >= STEP as usize { last } else { further };
        let (done, refused) = self.act_on(verb, &filter, &page)?;
        Ok(Step { done, refused, place })
    }

    /// Performs an action on the items of a page that are as they were when it was read: how many were changed, and how many not.
    fn act_on(&self, verb: OperatorVerb, filter: &Filter, page: &Batch) -> Result<(usize, usize)> {
        if page.is_empty() {
            return Ok((0, 0));
        }
        if verb == OperatorVerb::Purge {
            let keys = page.iter().map(|item| item.key().to_owned()).collect();
            let found = Filter { keys: Some(keys), ..filter.clone() };
            let own = self.backend.calls("purge items", KEEP_NONE)?;
            let purged = calls::purge(self, &self.terms, own, &found, STEP)?;
            let purged = usize::try_from(purged).unwrap_or(usize::MAX).min(page.len());
            return Ok((purged, page.len() - purged));
        }
        let items: Vec<_> = page.iter().map(ItemRef::from).collect();
        let outcomes = self.apply(verb, &items, None, None)?;
        let done = outcomes.iter().filter(|outcome| outcome.answer == Answer::Ok).count();
        Ok((done, outcomes.len() - done))
    }

    /// Performs an action on items, and records it under its own word: the outcome of each. `set` has values for their columns.
    pub(crate) fn act(
        &self,
        verb: OperatorVerb,
        items: &[ItemRef<'_>],
        set: Option<&str>,
        operation: Option<&str>,
    ) -> Result<Vec<Outcome>> {
        let outcomes = self.apply(verb, items, set, operation)?;
        self.record_items(verb.word(), items, &outcomes, Map::new());
        Ok(outcomes)
    }

    /// The same without a record.
    fn apply(
        &self,
        verb: OperatorVerb,
        items: &[ItemRef<'_>],
        set: Option<&str>,
        operation: Option<&str>,
    ) -> Result<Vec<Outcome>> {
        let settled = |action: Action, delay_ms: Option<i64>| {
            let control = items.iter().map(|item| Settlement::control(item.key, item.token, action));
            let settlements: Vec<_> = control.map(|control| Settlement { delay_ms, set, ..control }).collect();
            self.settle(&settlements, operation, 0, calls::Answers::All).map(|(outcomes, _)| outcomes)
        };
        match verb {
            // Due at once, and not when its pause is over.
            OperatorVerb::Retry => settled(Action::Resume, Some(0)),
            OperatorVerb::Cancel => settled(Action::Cancel, None),
            OperatorVerb::Pause => settled(Action::Pause, None),
            OperatorVerb::Resume => settled(Action::Resume, None),
            OperatorVerb::Redrive => self.redrive(items, operation),
            OperatorVerb::Purge => {
                Err(Error::new(ErrorKind::InvalidArgument, "a purge has no outcome for each item; use Queue::purge"))
            }
        }
    }

    /// Edits items that wait, and records it with the names of the columns: values may be secret.
    pub(super) fn edit(&self, items: &[ItemRef<'_>], edit: &Edit<'_>, operation: Option<&str>) -> Result<Vec<Outcome>> {
        let own = self.backend.calls("edit items", "their Modify_ gives an item another state")?;
        let outcomes = calls::edit(self, &self.terms, own, items, edit, operation, |outcomes| {
            if outcomes.iter().any(|outcome| outcome.answer == Answer::Ok) {
                self.process.polls.wake();
            }
        })?;
        let mut more = Map::new();
        if let Some(set) = edit.set.and_then(|set| Columns::from_json(set).ok()) {
            more.insert("set".to_owned(), set.iter().map(|(name, _)| json!(name)).collect());
        }
        if let Some(due) = edit.due {
            more.insert("due".to_owned(), json!(due));
        }
        if let Some(delay_ms) = edit.delay_ms {
            more.insert("delay_ms".to_owned(), json!(delay_ms));
        }
        self.record_items("edit", items, &outcomes, more);
        Ok(outcomes)
    }

    fn redrive(&self, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>> {
        let why = "they have no procedure for it, and their Modify_ restarts no finished item";
        let own = self.backend.calls("redrive items", why)?;
        calls::redrive(self, &self.terms, own, items, operation, |outcomes| {
            if outcomes.iter().any(|outcome| outcome.answer == Answer::Ok) {
                self.process.polls.wake();
            }
        })
    }
}
