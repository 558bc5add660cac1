//! The records of a queue: who did what, which workers there are, the figures of each minute.

use super::inner::{QueueInner, QueueShared};
use super::one_try::OneTry;
use crate::calls::{self, Ask, NewAction, SeenWorker, Sessions, YieldsTo};
use crate::config::host_name;
use crate::error::{ErrorKind, Result};
use crate::item::{Action, Answer, ItemRef, Outcome, ProgressReport, Settlement, Watched};
use crate::metrics::CallKind;
use crate::session::Session;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why hand-written procedures have no records.
pub(super) const KEEP_NONE: &str = "they keep no records";

/// The pause before a worker keeps the first: one that ends soon needs none.
const FIRST: Duration = Duration::from_secs(5);

/// The rows that a look for the figures of a minute reads.
const LOOK: i32 = 10_000;

/// Keys that the record of a call names.
const NAMED: usize = 20;

impl QueueInner {
    /// Records an action that has been done. The items are changed: a failure is logged, and is not the call's.
    pub(super) fn record(&self, verb: &str, filter: &str, (done, refused): (usize, usize)) {
        if self.backend.own().is_none() || self.attached.is_some() || done == 0 {
            return;
        }
        let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let action = NewAction {
            verb,
            who: &self.operator,
            filter: Some(filter),
            state: "Done",
            expected: None,
            done: count(done),
            refused: count(refused),
            result: None,
        };
        let noted = self.once(CallKind::Actions, |session| calls::note(session, &self.terms, &action));
        if let Err(error) = noted {
            let (name, who) = (self.terms.queue(), &self.operator);
            log::warn!("queue {name}: {verb} of {done} items by {who} could not be recorded: {error}");
        }
    }

    /// Records the settlements of an operator among those of a call: those without an attempt.
    pub(super) fn record_control(&self, settlements: &[Settlement<'_>], outcomes: &[Outcome]) {
        let control = |settlement: &Settlement<'_>| settlement.attempt == 0 && settlement.action != Action::Step;
        let mut rest: Vec<_> = settlements.iter().zip(outcomes).filter(|(of, _)| control(of)).collect();
        while let Some((first, _)) = rest.first() {
            let action = first.action;
            let (of, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(of, _)| of.action == action);
            let done = of.iter().filter(|(_, outcome)| outcome.answer == Answer::Ok).count();
            let filter = Value::Object(keys(of.iter().map(|(settlement, _)| settlement.key)));
            self.record(word(action), &filter.to_string(), (done, of.len() - done));
            rest = others;
        }
    }

    /// Records an action on these items, with what else is to be known of it.
    pub(super) fn record_items(
        &self,
        verb: &str,
        items: &[ItemRef<'_>],
        outcomes: &[Outcome],
        more: Map<String, Value>,
    ) {
        let done = outcomes.iter().filter(|outcome| outcome.answer == Answer::Ok).count();
        let mut filter = keys(items.iter().map(|item| item.key));
        filter.extend(more);
        self.record(verb, &Value::Object(filter).to_string(), (done, outcomes.len() - done));
    }

    /// One try: it must not be done twice.
    pub(super) fn once<T>(&self, call: CallKind, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        self.refuse_attached()?;
        self.tried(call, self.pool.acquire(), work)
    }

    /// Keeps reports of how far items are, with one try.
    pub(crate) fn report_progress_once(&self, reports: &[ProgressReport<'_>]) -> Result<Vec<Outcome>> {
        let own = self.backend.calls("report progress", "they keep none")?;
        calls::report_progress(&self.terms, own, reports, |work| self.once(CallKind::Progress, work))
    }

    /// Keeps figures as those of this minute, with one try, if it is due and no other process has: whether it did.
    pub(crate) fn keep_minute(&self, watched: &Watched) -> Result<bool> {
        if self.backend.own().is_none() || !self.process.minutes.take() {
            return Ok(false);
        }
        self.keep(watched)
    }

    fn keep(&self, watched: &Watched) -> Result<bool> {
        let is_ours = !self.kept(&[(&calls::stem(&self.terms), Some(watched))])?.is_empty();
        self.process.minutes.answered(is_ours);
        Ok(is_ours)
    }

    /// Whether this process is to keep the figures of this queue, as no other does. It asks about its other queues, too.
    fn offers_minute(&self) -> Result<bool> {
        let along = self.served.as_ref().map_or_else(Vec::new, |served| served.offered_along());
        let own = (calls::stem(&self.terms), Arc::clone(&self.process));
        let queues: Vec<_> = [own].into_iter().chain(along).collect();
        let asked: Vec<_> = queues.iter().map(|(stem, _)| (stem.as_str(), None)).collect();
        let free = self.kept(&asked)?;
        for (place, (_, of)) in queues.iter().enumerate().skip(1) {
            match free.contains(&place) {
                true => of.minutes.begins(),
                false => of.minutes.answered(false),
            }
        }
        let is_free = free.contains(&0);
        self.process.minutes.answered(is_free);
        Ok(is_free)
    }

    fn kept(&self, minutes: &[(&str, Option<&Watched>)]) -> Result<Vec<usize>> {
        let kept = OneTry::new(self)
            .ask(CallKind::Minutes, YieldsTo::Interrupts, |session| calls::keep_minutes(session, &self.terms, minutes));
        match kept {
            Err(error) if cannot(error.kind()) => {
                self.process.minutes.end();
                Ok(Vec::new())
            }
            kept => kept,
        }
    }

    /// When a worker is to keep figures next. `None`: never. A login that sees some types only keeps none.
    pub(super) fn minute_due(&self) -> Option<Instant> {
        if self.backend.own().is_none() || self.terms.spec.roles.own_types_only {
            return None;
        }
        self.process.minutes.next().map(|next| next.max(self.opened + FIRST))
    }

    /// The same by a look of this process.
    pub(super) fn sample_minute(&self) -> Result<()> {
        if self.minute_due().is_none_or(|at| at > Instant::now()) || self.called_off().is_some() {
            return Ok(());
        }
        let minutes = &self.process.minutes;
        if !minutes.take() || !(minutes.is_keeper() || self.offers_minute()?) {
            return Ok(());
        }
        let watched = self.backend.watch(&OneTry::new(self), &self.terms, LOOK)?;
        self.keep(&watched).map(drop)
    }
}

impl QueueInner {
    /// Reports that the worker is there in a call of its own, in its turn, and with it those of the process' other queues: the queue is
    /// empty, and one thread looks for all. With no connection free, another call reports it at its next turn.
    pub(crate) fn report_idle_worker(&self) {
        if self.turn_to_report()
            && let Some(session) = self.pool.acquire_now().transpose()
        {
            let along = self.served.as_ref().map_or_else(Vec::new, |served| served.reported_along());
            self.note_report(self.tried(CallKind::Workers, session, |session| self.seen_by(session, along)));
        }
    }
}

impl QueueShared {
    /// When the worker of this handle is to report next that it is there. `None`: never.
    pub(crate) fn report_due(&self) -> Option<Instant> {
        self.backend.own().and_then(|_| self.presence.next())
    }

    fn turn_to_report(&self) -> bool {
        self.backend.own().is_some() && self.presence.take()
    }

    /// Reports it beside a call that only workers make, when it is time. A failure is not the call's.
    pub(super) fn report_worker(&self, session: &mut Session) {
        if self.turn_to_report() {
            self.note_report(self.seen_by(session, Vec::new()));
        }
    }

    fn seen_by(&self, session: &mut Session, along: Vec<SeenWorker>) -> Result<()> {
        let workers = along.into_iter().chain([SeenWorker::of(&self.terms, self.lifeline.grace_ms())]).collect();
        calls::seen(session, &self.terms, &workers, &host_name())
    }

    fn note_report(&self, reported: Result<()>) {
        if let Err(error) = reported {
            log::debug!("queue {}: the worker could not be registered: {error}", self.terms.queue());
            if cannot(error.kind()) {
                self.presence.end();
            }
        }
    }
}

/// Whether this login, or an installation of before, lacks the record for good.
pub(super) fn cannot(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::SchemaMismatch)
}

/// Keys as a filter, the first of them where there are many.
fn keys<'a>(keys: impl ExactSizeIterator<Item = &'a str>) -> Map<String, Value> {
    let count = keys.len();
    let named: Vec<_> = keys.take(NAMED).collect();
    let more = count - named.len();
    let mut filter = Map::from_iter([("keys".to_owned(), json!(named))]);
    if more > 0 {
        filter.insert("and_more".to_owned(), json!(more));
    }
    filter
}

fn word(action: Action) -> &'static str {
    match action {
        Action::Complete => "complete",
        Action::CompletePartially => "complete_partially",
        Action::Fail => "fail",
        Action::Retry => "retry",
        Action::Release => "release",
        Action::Cancel => "cancel",
        Action::Pause => "pause",
        Action::Resume => "resume",
        Action::Terminate => "terminate",
        Action::Step => "step",
    }
}
