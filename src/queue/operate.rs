//! The calls of an operator, and the records that the database keeps of them, of workers and of each minute.

use super::handle::{Over, Queue};
use super::inner::QueueInner;
use super::moved::{self, Moved};
use super::places::Rebalanced;
use super::record::KEEP_NONE;
use super::transit::{REBALANCE, refuse_transit, without_items};
use crate::calls::{self, ActionStep, QueueSetting, check_count};
use crate::description::QueueSpec;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::QueueName;
#[cfg(doc)]
use crate::item::Answer;
use crate::item::{
    Edit, Filter, Item, ItemRef, Limit, LimitChange, Minute, OperatorAction, OperatorVerb, Outcome, Pause, PauseEnd,
    RegisteredWorker, Schedule, ScheduleChange, Watched,
};
use crate::metrics::CallKind;
use std::sync::Arc;
use std::time::SystemTime;

/// Why hand-written procedures have no settings here.
const READ_THEIR_OWN: &str = "they read their own";

impl Queue {
    /// Another handle, as of [`share`](Self::share), whose redrives, purges, cancels and the like are recorded as those of `who`, in
    /// place of the setting `operator`.
    #[must_use]
    pub fn on_behalf_of(&self, who: &str) -> Self {
        match &self.0 {
            Over::One(one) => Self::of(QueueInner { operator: who.into(), ..one.share(one.attached.clone()) }),
            Over::Places(places) => Self(Over::Places(Arc::new(places.share(Some(who))))),
        }
    }

    /// How many items have left this place for another and not arrived yet: [`rebalance`](Self::rebalance) brings them there.
    pub fn on_their_way(&self) -> Result<usize> {
        Ok(self.one()?.on_their_way()?.iter().map(|transit| transit.count).sum())
    }

    /// Moves the items that wait (Pending, Error) at another place than that of the rule to their place: after places were added, so
    /// that these take their share at once, or before those in `without` are removed, so that these run empty. A moved item is new at its
    /// place, with all its attempts, and Cancelled at the one before. Items that others enqueue meanwhile under the places of before are
    /// found by the next call.
    ///
    /// An interrupted call, whatever ended it, loses nothing and doubles nothing: items on their way are in a record of the place
    /// that they have left, and the next call brings them to their place.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a queue in one database, or one with groups or `after`, whose places run empty instead; the error of
    /// a place that is away.
    pub fn rebalance(&self, without: &[&str]) -> Result<Rebalanced> {
        match &self.0 {
            Over::Places(places) => places.rebalance(without),
            Over::One(_) => {
                Err(Error::new(ErrorKind::Unsupported, "items are moved between places, and this queue is open at one"))
            }
        }
    }

    /// Makes items that ended, or that wait, due as if they were new: Failed, Cancelled, Terminated, PartiallyCompleted, Error
    /// and Paused become Pending, due now, with all their attempts. Each item has its own outcome, in the same order. Response,
    /// error and step stay. [`Answer::Duplicate`]: the same work is in the queue again, unfinished.
    ///
    /// `operation` is as for [`Queue::settle`].
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] as for [`Queue::settle`].
    pub fn redrive(&self, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>> {
        self.act_as(OperatorVerb::Redrive, items, None, operation)
    }

    /// Deletes up to `max` finished items that fit `filter`, and returns how many there were: call it again until there are none.
    /// A filter without states means Completed, PartiallyCompleted, Cancelled and Terminated; Failed items go only when the
    /// filter names the state, whatever keys it has. The call skips items that another transaction holds at this moment.
    ///
    /// When the connection breaks, the call is repeated and counts only the items that the repetition deleted.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the filter names a state that is not final.
    pub fn purge(&self, filter: &Filter, max: u32) -> Result<u64> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.purge(filter, max),
        };
        let own = one.backend.calls("purge items", "they have no procedure for it")?;
        let filter = OperatorVerb::Purge.narrow(filter.clone());
        let purged = calls::purge(&**one, &one.terms, own, &filter, max)?;
        one.record("purge", &filter.to_json(false)?, (usize::try_from(purged).unwrap_or(usize::MAX), 0));
        Ok(purged)
    }

    /// The schedules of the queue, the next to fire first, each with its next five times.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the description has no `schedule`, and those of a call.
    pub fn schedules(&self) -> Result<Vec<Schedule>> {
        self.one()?.schedules(None)
    }

    /// The first `most` of those that fire: the next ones, and before them those that are late.
    ///
    /// # Errors
    /// As [`schedules`](Self::schedules); [`ErrorKind::InvalidArgument`] when `most` is not 1 to 1,000.
    pub fn next_schedules(&self, most: u32) -> Result<Vec<Schedule>> {
        self.one()?.schedules(Some(check_count("the number of schedules", most)?))
    }

    /// Makes a schedule, or changes it; whether it is new. A time that is planned stays, unless rule or zone change or the schedule
    /// was off. Workers of other processes know it within 15 seconds. An install leaves it, unless the description has one of its name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names the mistake: a rule, a zone, an item that does not fit the queue.
    pub fn set_schedule(&self, name: &str, change: &ScheduleChange) -> Result<bool> {
        self.one()?.set_schedule(name, change)
    }

    /// Removes a schedule; whether it was there. One of the description comes again with the next install.
    pub fn remove_schedule(&self, name: &str) -> Result<bool> {
        self.one()?.remove_schedule(name)
    }

    /// Puts the item of a schedule in now, on or off; the planned time stays. The answer, `FIRED`, `SKIPPED` or `DUPLICATE`, and the
    /// item's key.
    pub fn run_schedule(&self, name: &str) -> Result<(String, Option<String>)> {
        self.one()?.run_schedule(name)
    }

    /// Pauses the queue, or one of its types: nothing of it is claimed, by any process or procedure, until it is resumed or the pause
    /// ends; items that are added wait too. What is claimed goes on, also what a worker has claimed ahead. Workers look for items of
    /// dead workers all the same. A pause that is there gets the new end and reason. It is kept in the database.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when the login may not redrive items; [`ErrorKind::InvalidArgument`] for a type that the queue
    /// does not have and an end that is over; [`ErrorKind::Unsupported`] where other procedures claim.
    pub fn pause_queue(&self, kind: Option<&str>, end: PauseEnd, reason: Option<&str>) -> Result<()> {
        match &self.0 {
            Over::One(one) => one.pause_queue(kind, end, reason),
            Over::Places(places) => places.pause(kind, end, reason),
        }
    }

    /// Resumes the queue, or one of its types; whether it was paused. Each pause is ended by itself: to resume the queue leaves the
    /// pauses of its types.
    ///
    /// # Errors
    /// As [`pause_queue`](Self::pause_queue).
    pub fn resume_queue(&self, kind: Option<&str>) -> Result<bool> {
        match &self.0 {
            Over::One(one) => one.resume_queue(kind),
            Over::Places(places) => places.unpause(kind),
        }
    }

    /// The pauses in force, that of all of the queue first; not those of types that the login may not see, and none where it may not
    /// read the view `QueuePaused_V`, as each role of a queue may. Over several places: those of the places that answer.
    pub fn pauses(&self) -> Result<Vec<Pause>> {
        match &self.0 {
            Over::One(one) => one.pauses(),
            Over::Places(places) => places.pauses(),
        }
    }

    /// The limits as they stand: each with what holds for all of its keys, and then the keys that are in work or were changed, at most
    /// 1,000, most in work first. None where the description has no `limit`. Over several places: those of the places that answer, once
    /// where they agree, else one for each place.
    pub fn limits(&self) -> Result<Vec<Limit>> {
        match &self.0 {
            Over::One(one) => one.limits(),
            Over::Places(places) => places.answers(Self::limits).map(|each| Limit::of_places(&each)),
        }
    }

    /// Changes a limit, for all keys or for one, from the next claim on. What is in work goes on: less takes effect as items end. What
    /// the change does not name is as the description says, and one that names no number takes earlier changes back. It is kept in the
    /// database; an install leaves it while the description has a limit by the column. Returns the limit as it
    /// stands. Over several places it is made at all of them, that of one key too; an error says at which it is not made, and a repetition
    /// completes it.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when the login may not redrive items; [`ErrorKind::InvalidArgument`] for a limit that the queue
    /// does not have, a key that its column does not take, a number out of range; [`ErrorKind::Unsupported`] when the description has
    /// no `limit`.
    pub fn set_limit(&self, change: &LimitChange<'_>) -> Result<Limit> {
        match &self.0 {
            Over::One(one) => one.set_limit(change),
            Over::Places(places) => {
                let each = places.change(|queue| queue.set_limit(change).map(|limit| vec![limit]))?;
                Ok(Limit::of_places(&each).into_iter().next().unwrap_or_default())
            }
        }
    }

    /// The queue's values in the table AppSettings, or in the description where the table has none. Procedures read them at each
    /// call. The login needs SELECT on the table. Over several places: those of the places that answer, once where they agree, else one
    /// for each place.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a queue behind hand-written procedures, and those of a call.
    pub fn settings(&self) -> Result<Vec<QueueSetting>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return Ok(QueueSetting::of_places(&places.answers(Self::settings)?)),
        };
        let own = one.backend.calls("show its settings", READ_THEIR_OWN)?;
        calls::settings(&**one, &one.terms, own)
    }

    /// Sets `maxAttempts` (1 or more) or `leaseMs` (10 to 86,400,000) in the table AppSettings; `None` returns to the
    /// description's value. It holds for all processes, from their next call on: a claimed item keeps its lease. The login needs
    /// SELECT, INSERT and UPDATE on the table, which no role of a queue has. Over several places it is made at all of them, as
    /// [`set_limit`](Self::set_limit) is.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for another name or number, and as [`Queue::settings`].
    pub fn set_setting(&self, name: &str, value: Option<i32>) -> Result<()> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.change(|queue| queue.set_setting(name, value)).map(drop),
        };
        let own = one.backend.calls("set its settings", READ_THEIR_OWN)?;
        calls::set_setting(&**one, &one.terms, own, name, value)?;
        one.record("set", &serde_json::json!({name: value}).to_string(), (1, 0));
        Ok(())
    }

    /// Performs an action on items, and records it: the outcome of each, in the same order. An item that has another token by now is
    /// left alone.
    ///
    /// # Errors
    /// Those of the call; [`ErrorKind::InvalidArgument`] for a purge, which has no outcome for each item.
    pub fn act(&self, verb: OperatorVerb, items: &[ItemRef<'_>]) -> Result<Vec<Outcome>> {
        self.act_as(verb, items, None, None)
    }

    /// The same with values to set, and under an identity.
    pub(crate) fn act_as(
        &self,
        verb: OperatorVerb,
        items: &[ItemRef<'_>],
        set: Option<&str>,
        operation: Option<&str>,
    ) -> Result<Vec<Outcome>> {
        match &self.0 {
            Over::One(one) => one.act(verb, items, set, operation),
            Over::Places(places) => {
                places.operate(items, operation, |queue, part, id| queue.act_as(verb, part, set, Some(id)))
            }
        }
    }

    /// Gives items that wait (Pending, Error, Paused) other values or another due time, in one commit; they stay in their state, and
    /// no worker has them meanwhile. Each has its own outcome, in the same order: [`Answer::Conflict`] where it has another token by
    /// now, [`Answer::IllegalTransition`] where it does not wait. It is recorded, with the names of the columns.
    ///
    /// `operation` is as for [`Queue::settle`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] for a value that its column does not take, or a column by which items are found, grouped or
    /// recognized; [`ErrorKind::InvalidArgument`] for an edit of nothing; [`ErrorKind::OutcomeUnknown`] as for [`Queue::settle`].
    pub fn edit(&self, items: &[ItemRef<'_>], edit: &Edit<'_>, operation: Option<&str>) -> Result<Vec<Outcome>> {
        match &self.0 {
            Over::One(one) => one.edit(items, edit, operation),
            Over::Places(places) => {
                places.operate(items, operation, |queue, part, id| queue.edit(part, edit, Some(id)))
            }
        }
    }

    /// Moves an item that waits or has failed to another queue of this schema, in one transaction: it is enqueued there, with the
    /// columns of the same names, its type and, unless it failed, its due time; here it is Cancelled, and its response names the new
    /// key. With another token by now, or in work, it stays where it is. Values without a column there stay with the cancelled item.
    ///
    /// `operation` is as for [`Queue::settle`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] when the other queue does not take it, as [`takes`](Self::takes) says why;
    /// [`ErrorKind::UnknownQueue`]; [`ErrorKind::OutcomeUnknown`] as for [`Queue::settle`].
    pub fn move_item(&self, item: &ItemRef<'_>, to: &str, operation: Option<&str>) -> Result<Moved> {
        self.of_key(item.key)?.move_item(item, to, operation)
    }

    /// Whether a queue of this description takes an item of this one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] says why not.
    pub fn takes(&self, item: &Item<'_>, to: &QueueSpec) -> Result<()> {
        moved::as_new(self.spec(), to, item).map(drop)
    }

    /// Begins an action on all items that match, and returns its number. Nothing is changed yet: [`run_action`](Self::run_action)
    /// does it, here or in another process. `expected` is how many there are, if somebody has counted them. In a queue of
    /// readpast's own only items are meant that have not changed since. A filter without states means those of
    /// [`OperatorVerb::narrow`].
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when the login may not redrive items; [`ErrorKind::InvalidArgument`] for a purge of a state that
    /// is not final.
    pub fn begin_action(&self, verb: OperatorVerb, filter: &Filter, expected: Option<i64>) -> Result<i64> {
        let one = self.one()?;
        one.begin_action(verb, filter, expected)
    }

    /// The same over several places, whose actions are recorded and numbered at each: the handles at the places where the filter may have
    /// items, and the number of the action there. In one database it is this handle. `expected` does not count over several places.
    ///
    /// # Errors
    /// As [`begin_action`](Self::begin_action). The error says at which places it is begun: there it can be run all the same.
    pub fn begin_actions(
        &self,
        verb: OperatorVerb,
        filter: &Filter,
        expected: Option<i64>,
    ) -> Result<Vec<(Self, i64)>> {
        match &self.0 {
            Over::One(one) => Ok(vec![(self.clone(), one.begin_action(verb, filter, expected)?)]),
            Over::Places(places) => places.begin_actions(verb, filter),
        }
    }

    /// Does the action with this number from where it is, some hundred items in each commit, and returns it as it is at the end.
    /// `go_on` sees it before each step; when it returns `false`, or the handle is interrupted, another process can take the action
    /// up. `None`: the action has ended, or another process is at work on it. When this process dies, the action can be taken up a
    /// minute later; of what it had done last at most one step is not counted.
    ///
    /// # Errors
    /// Those of the calls. The action stays as it is after one that may pass, and has failed after any other.
    pub fn run_action(
        &self,
        number: i64,
        mut go_on: impl FnMut(&OperatorAction) -> bool,
    ) -> Result<Option<OperatorAction>> {
        let one = self.one()?;
        refuse_transit(one.action(number)?.as_ref())?;
        one.run_action(number, &mut go_on)
    }

    /// Asks for the end of an action on many items: the process at work ends it after its present step. Items that are changed stay
    /// so. Returns its new state, Cancelling or Cancelled; `None` when it has ended. The action's result names who called this.
    pub fn cancel_action(&self, number: i64) -> Result<Option<String>> {
        let one = self.one()?;
        one.backend.calls("cancel an action", KEEP_NONE)?;
        let asked = format!("{} asked for a cancel", one.operator);
        refuse_transit(one.action(number)?.as_ref())?;
        let cancel = ActionStep { result: Some(&asked), ..ActionStep::default() };
        one.once(CallKind::Actions, |session| calls::step(session, &one.terms, number, &cancel))
    }

    /// The actions on many items of this queue that have not ended and on which no process is at work: the number of each, and its
    /// verb.
    pub fn open_actions(&self) -> Result<Vec<(i64, String)>> {
        let one = self.one()?;
        one.backend.calls("list actions", KEEP_NONE)?;
        let open = calls::open_actions(one, &one.terms)?;
        Ok(open.into_iter().filter(|(_, verb)| verb != REBALANCE).collect())
    }

    /// The action of this queue with this number.
    pub fn action(&self, number: i64) -> Result<Option<OperatorAction>> {
        let one = self.one()?;
        one.backend.calls("list actions", KEEP_NONE)?;
        Ok(one.action(number)?.map(without_items))
    }

    /// The newest actions of operators, at most `max` of them, those below the number `below` if it is given. Of this queue, or of
    /// `all` in the schema.
    pub fn actions(&self, all: bool, below: Option<i64>, max: u32) -> Result<Vec<OperatorAction>> {
        let one = self.one()?;
        one.backend.calls("list actions", KEEP_NONE)?;
        let max = check_count("the number of actions", max)?;
        let actions = calls::actions(one, &one.terms, !all, None, below, max)?;
        let mut actions: Vec<_> = actions.into_iter().map(without_items).collect();
        let names =
            if all { self.installed()?.into_iter().map(|of| of.queue).collect() } else { vec![self.name().to_owned()] };
        for action in &mut actions {
            let is_it =
                |name: &&String| QueueName::new(name).is_ok_and(|of| one.terms.dialect.queue_stem(&of) == action.queue);
            if let Some(name) = names.iter().find(is_it) {
                action.queue.clone_from(name);
            }
        }
        Ok(actions)
    }

    /// The workers that have reported within a week, idle ones too, those that did so last first: at most 1,000. Each reports every 30
    /// seconds. Over several places: those of the places that answer.
    pub fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.workers(),
        };
        one.backend.calls("list workers", KEEP_NONE)?;
        calls::workers(&**one, &one.terms)
    }

    /// The figures of each minute after `since`, the oldest first; the database keeps those of a day. A minute in which no worker and
    /// no `readpast serve` took any is not there. Over several places: the sums of those that answer.
    pub fn minutes(&self, since: SystemTime) -> Result<Vec<Minute>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.minutes(since),
        };
        one.backend.calls("list figures", KEEP_NONE)?;
        calls::minutes(&**one, &one.terms, since)
    }

    /// Keeps figures as those of this minute, unless another process has: whether it did. For a program that looks at the queue
    /// anyhow; workers do it by themselves. At one place: each keeps its own.
    pub fn keep_minute(&self, watched: &Watched) -> Result<bool> {
        self.one()?.keep_minute(watched)
    }
}
