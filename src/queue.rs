//! A queue: the face of the library. Each capability is one method here and one file below.

mod attached;
mod bulk;
mod claim;
mod clean;
mod dropped;
mod enqueue;
mod find;
mod inner;
mod number;
mod one_try;
mod pacing;
mod record;
mod settle;
mod settle_part;
mod trend;
mod undeliverable;
mod why;

pub use self::claim::MAX_WAIT;
pub use crate::calls::{MAX_ITEMS, QueueSetting};
pub use crate::pool::Connections;

use crate::calls::{self, ActionStep, Answers, Ask, YieldsTo, check_count};
use crate::config::Config;
use crate::description::QueueSpec;
use crate::dialect::Dialect;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::ident::QueueName;
use crate::install::{self, Installed};
use crate::item::{
    Answer, Attempt, Batch, Filter, ItemRef, Lease, Minute, NewItem, OperatorAction, OperatorVerb, Outcome, QueueStats,
    Receipt, RegisteredWorker, Settlement, Trend, Watched, Why,
};
use crate::metrics::CallKind;
use crate::session::Attached;
use crate::shared::Renews;
pub(crate) use inner::QueueInner;
pub(crate) use one_try::OneTry;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
pub(crate) use undeliverable::{reason as reason_of_undeliverable, settlement as end_of_undeliverable};

/// An open queue, with its pool of connections and its worker's name. Clones are the same queue. Any number of threads
/// may use it at once. In the child of a fork every call that needs the server fails with [`ErrorKind::Forked`], and the
/// parent's connections are left alone.
#[derive(Clone)]
pub struct Queue(Arc<QueueInner>);

impl Queue {
    /// Connects, checks that the schema and the queue are there in this library's version, and opens the queue.
    ///
    /// # Errors
    /// The failure of the log-in (transient failures are retried within `retry.budget_ms`); [`ErrorKind::SchemaMissing`],
    /// [`ErrorKind::SchemaOlder`], [`ErrorKind::SchemaNewer`], [`ErrorKind::UnknownQueue`]; [`ErrorKind::Unsupported`] when
    /// claims of the queue cannot be limited to the kinds that the settings name.
    pub fn open(config: &Config, name: &str) -> Result<Self> {
        Ok(Self(Arc::new(QueueInner::open(config, name)?)))
    }

    /// A handle on the same queue whose [`Queue::enqueue`] and [`Queue::settle`] run on a connection of the caller's, inside the
    /// transaction that is open there. It refuses all other calls.
    ///
    /// # Errors
    /// The failure of `connection`, which receives the server's dialect and the time-out of a statement in seconds.
    pub(crate) fn attach(&self, connection: impl FnOnce(Dialect, u32) -> Result<Attached>) -> Result<Self> {
        attached::calls(&self.0)?;
        let attached = connection(self.0.terms.dialect, self.0.query_timeout_sec)?;
        Ok(Self(Arc::new(self.0.share(Some(Arc::new(attached))))))
    }

    /// Another handle on the same queue, with its connections, worker and leases in common, and an interrupt of its own: for a
    /// caller that cancels waits one by one, as tasks and requests do. An interrupt of this handle reaches it too, until it is
    /// resumed here. Cheap enough for one claim. Closing one of them closes all.
    #[must_use]
    pub fn share(&self) -> Self {
        Self(Arc::new(self.0.share(self.0.attached.clone())))
    }

    /// Another handle, as of [`share`](Self::share), whose redrives, purges, cancels and the like are recorded as those of `who`, in
    /// place of the setting `operator`.
    #[must_use]
    pub fn on_behalf_of(&self, who: &str) -> Self {
        Self(Arc::new(QueueInner { operator: who.into(), ..self.0.share(self.0.attached.clone()) }))
    }

    /// The inside of the queue, for its workers.
    pub(crate) fn inner(&self) -> &QueueInner {
        &self.0
    }

    /// The settings that it was opened with, for checks on a connection of their own.
    pub(crate) fn config(&self) -> Result<&Config> {
        self.0.refuse_attached()?;
        self.0.pool.config()
    }

    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.terms.queue()
    }

    /// The name under which this handle holds leases.
    #[must_use]
    pub fn worker(&self) -> &str {
        &self.0.terms.worker
    }

    /// How long a lease of this handle lasts, unless the queue's setting in AppSettings says otherwise.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.0.shared.lease()
    }

    /// The queue's description.
    #[must_use]
    pub fn spec(&self) -> &QueueSpec {
        &self.0.terms.spec
    }

    /// Puts `items` into the queue, [`MAX_ITEMS`] in a commit. Up to so many go in all or none; of more, those before the one
    /// that fails are in, and the error has the operation under which to repeat the call and go on. Their keys come back in the
    /// same order. A queue that knows duplicates (`dedup` in its description) leaves out only those, and [`Receipt::duplicate`]
    /// says so. A call without items sends nothing.
    ///
    /// `operation` is an identity for the call, a GUID, by which the queue recognizes a repetition; `None` makes one. Keep it
    /// until a call with it succeeds: a repetition that fails does not tell what became of the first. Each commit of a call of
    /// several has an identity of its own, made of this one (UUIDv5) and its number. The identity of a call of another queue of
    /// the schema, or of another kind of call, is refused.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] names the first item that does not fit the queue, before anything is sent; or an operation that
    /// was another call.
    pub fn enqueue(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Receipt>> {
        enqueue::enqueue(&self.0, items, operation)
    }

    /// Takes up to `max` due items, waiting up to `wait` for the first. An empty batch means that none was due in time.
    ///
    /// With no `wait` the server is asked once. With one, the threads of a process that wait for the same queue share
    /// one look at it per `poll.interval_ms`, or when the next item is due, and are woken at once by what this process
    /// enqueues.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`] after [`Queue::interrupt`].
    pub fn claim(&self, max: u32, wait: Duration) -> Result<Batch> {
        self.0.claim(max, wait, wait.is_zero())
    }

    /// Settles items, each on its own terms: a refusal of one leaves the others alone. [`MAX_ITEMS`] in a commit. The outcomes
    /// come back in the same order. A call without settlements sends nothing.
    ///
    /// `operation` is as for [`Queue::enqueue`].
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] when the answer was lost and the retry budget ran out before it could be learnt; repeat the
    /// call with the error's operation.
    pub fn settle(&self, settlements: &[Settlement<'_>], operation: Option<&str>) -> Result<Vec<Outcome>> {
        let (outcomes, _) = self.0.settle(settlements, operation, 0, Answers::All)?;
        self.0.record_control(settlements, &outcomes);
        Ok(outcomes)
    }

    /// [`Queue::settle`], with a claim of up to `max` items, without a wait, in the round trip and the commit of the last of
    /// them. A repetition with the same `operation` claims nothing more: it returns the items of the first call, as far as this
    /// worker still holds them.
    pub fn settle_and_claim(
        &self,
        settlements: &[Settlement<'_>],
        operation: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Outcome>, Batch)> {
        let max = check_count("the number of items to claim", max)?;
        let (outcomes, batch) = self.0.settle(settlements, operation, max, Answers::All)?;
        self.0.record_control(settlements, &outcomes);
        Ok((outcomes, batch))
    }

    /// Extends leases to their full length from now on the server's clock, unless the queue's are fixed. Tokens stay as
    /// they are.
    pub fn renew(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>> {
        let own = self.0.backend.calls("renew a lease", inner::NO_LEASES)?;
        let outcomes =
            calls::renew(&self.0.terms, own, leases, |work| self.0.ask(CallKind::Renew, YieldsTo::Closing, work))?;
        self.0.counters.loses(outcomes.iter().filter(|outcome| outcome.answer != Answer::Ok).count());
        Ok(outcomes)
    }

    /// Recovers the items of up to `max` run-out leases: they become due again, or Failed when their attempts are spent. Returns
    /// how many there were. Claims do this by themselves, one of all in the queue every `recover.interval_ms`.
    pub fn recover(&self, max: u32) -> Result<u32> {
        self.0.recover(max)
    }

    /// Up to `max` items that fit `filter`, in the order of their keys, from after the key `after` on: a page, whose last key
    /// begins the next one. An empty batch is the end. Nothing is claimed or changed; every column of the worker view is
    /// there.
    pub fn find(&self, filter: &Filter, after: Option<&str>, max: u32) -> Result<Batch> {
        find::find(&self.0, filter, after, max)
    }

    /// As [`find`](Self::find), but reads at most `most` items of the queue, so that it takes no longer in a queue of millions.
    /// The key that is returned with the items says where to go on: it is there when the page is not full and the call may not
    /// have read all items. Keys in the filter are looked up, however many items there are.
    pub fn look(&self, filter: &Filter, after: Option<&str>, max: u32, most: u32) -> Result<(Batch, Option<String>)> {
        find::look(&self.0, filter, after, max, most)
    }

    /// The item with this key, as a batch of one; an empty batch when there is none.
    pub fn get(&self, key: &str) -> Result<Batch> {
        find::find(&self.0, &Filter::of_keys([key]), None, 1)
    }

    /// The key of the item that `given` names. A short number ([`QueueSpec::short_number`]) may have spaces and dashes, and may
    /// lack its last digits down to the second; it means the latest month in which that time has passed on the server's clock.
    /// Any other text comes back as it is.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] when no item fits, or several: it names them.
    pub fn whole_key(&self, given: &str) -> Result<String> {
        number::whole_key(&self.0, given)
    }

    /// Why the item with this key is not being worked on, or that it is; `None` when there is no such item (or, with
    /// `own_types_only`, none of a type of this login). Changes nothing. For an item that is due and waits it scans the queue; it
    /// leaves out what this login may not see.
    pub fn why(&self, key: &str) -> Result<Option<Why>> {
        why::why(&self.0, key)
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
        let outcomes = self.0.redrive(items, operation)?;
        self.0.record_items("redrive", items, &outcomes);
        Ok(outcomes)
    }

    /// Deletes up to `max` finished items that fit `filter`, and returns how many there were: call it again until there are none.
    /// A filter without states means Completed, PartiallyCompleted, Cancelled and Terminated; Failed items go only when the
    /// filter names them. The call skips items that another transaction holds at this moment.
    ///
    /// When the connection breaks, the call is repeated and counts only the items that the repetition deleted.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the filter names a state that is not final.
    pub fn purge(&self, filter: &Filter, max: u32) -> Result<u64> {
        let own = self.0.backend.calls("purge items", "they have no procedure for it")?;
        let purged = calls::purge(&*self.0, &self.0.terms, own, filter, max)?;
        self.0.record("purge", &filter.to_json(false)?, (usize::try_from(purged).unwrap_or(usize::MAX), 0));
        Ok(purged)
    }

    /// The ended attempts at the item, in the order of their ends, at most the newest 1,000: the worker and the result of each.
    /// Empty for an item that is not there, and where the description does not say `attempts.history`. A released attempt was not
    /// begun, and is not among them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a text that is no key of this queue, [`ErrorKind::Unsupported`] where the procedures
    /// were written by hand.
    pub fn attempts(&self, key: &str) -> Result<Vec<Attempt>> {
        let own = self.0.backend.calls("list the attempts at an item", "they record none")?;
        calls::attempts(&*self.0, &self.0.terms, own, key)
    }

    /// Whether trace context travels with its items (`trace` in the description), so that spans are useful.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.0.terms.spec.trace.is_some()
    }

    /// Deletes up to `max` items that ended longer ago than the queue's description keeps them (`retention`), and records of
    /// attempts (`retention.history`), and returns how many there were of both. Workers, and `Procedure::work`, do this by
    /// themselves every `retention.interval_ms`; call it in a program that claims without a worker. It is not repeated when it
    /// fails: it can wait. 0 when nothing has expired, when another process does it or has done it within the interval (less an
    /// eighth), and for a queue that keeps all.
    pub fn retain(&self, max: u32) -> Result<u64> {
        self.0.retain(max, || Ok(()))
    }

    /// Figures about the queue. Costs the server a scan.
    pub fn stats(&self) -> Result<QueueStats> {
        self.0.backend.stats(&*self.0, &self.0.terms)
    }

    /// Figures about the queue from looks of at most `most` rows each (1 to 1,000,000): the cost does not grow with the queue. A
    /// figure that was not counted to its end says so.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a bound out of range.
    pub fn watch(&self, most: u32) -> Result<Watched> {
        trend::watch(&self.0, most)
    }

    /// The trend of the queue, and the look behind it, of at most `most` rows, as in [`watch`](Self::watch). A queue that cannot
    /// count arrivals and ends is looked at twice, `apart` from each other, unless that is zero: the call takes that much longer.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a bound out of range; [`ErrorKind::Interrupted`] when an [interrupt](Self::interrupt)
    /// ends the pause between the looks.
    pub fn trend(&self, most: u32, apart: Duration) -> Result<(Watched, Trend)> {
        trend::trend(&self.0, most, apart)
    }

    /// The queues that are installed in this one's schema now, by their names; this one among them, unless it was dropped.
    ///
    /// # Errors
    /// [`ErrorKind::SchemaMissing`] where nothing is installed any more.
    pub fn installed(&self) -> Result<Vec<Installed>> {
        let schema = &self.0.terms.schema;
        self.0.ask(CallKind::Installed, YieldsTo::Closing, |session| install::installed_in(session, schema))
    }

    /// The state of the queue's connections, for all its handles. Does not ask the server.
    #[must_use]
    pub fn connections(&self) -> Connections {
        self.0.pool.connections()
    }

    /// Makes every claim on this handle, waiting or to come, return [`ErrorKind::Interrupted`] until [`Queue::resume`]. It
    /// reaches the handles that were shared from this one, and not the one that this was shared from. Settles and renewals go on,
    /// so that work in flight can be finished. From any thread; returns at once.
    pub fn interrupt(&self) {
        self.0.interrupt.set(true);
        self.0.process.polls.nudge();
    }

    /// Ends an interrupt.
    pub fn resume(&self) {
        self.0.interrupt.set(false);
    }

    /// Reports that something may be due: waiting threads of this process look at the queue at once. Call it after an enqueue
    /// without this library, or after the commit of a transaction of your own. From any thread; returns at once, and does not ask
    /// the server.
    pub fn wake(&self) {
        self.0.process.polls.wake();
    }

    /// Whether the call that changed items under the identity `operation` has committed: `false` when it was rolled back, was
    /// never made, or was more than an hour ago, when identities are forgotten. The call waits for one that is under way. It is
    /// for a caller that lost the answer to its own commit, in which such a call was made.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it is not a GUID.
    pub fn is_done(&self, operation: &str) -> Result<bool> {
        let own = self.0.backend.calls("find the outcome of an operation", "they keep no record of operations")?;
        calls::is_done(&*self.0, &self.0.terms, own, operation)
    }

    /// The queue's values in the table AppSettings, or in the description where the table has none. Procedures read them at each
    /// call. The login needs SELECT on the table.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a queue behind hand-written procedures, and those of a call.
    pub fn settings(&self) -> Result<Vec<QueueSetting>> {
        let own = self.0.backend.calls("show its settings", READ_THEIR_OWN)?;
        calls::settings(&*self.0, &self.0.terms, own)
    }

    /// Sets `maxAttempts` (1 or more) or `leaseMs` (10 to 86,400,000) in the table AppSettings; `None` returns to the
    /// description's value. It holds for all processes, from their next call on: a claimed item keeps its lease. The login needs
    /// SELECT, INSERT and UPDATE on the table, which no role of a queue has.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for another name or number, and as [`Queue::settings`].
    pub fn set_setting(&self, name: &str, value: Option<i32>) -> Result<()> {
        let own = self.0.backend.calls("set its settings", READ_THEIR_OWN)?;
        calls::set_setting(&*self.0, &self.0.terms, own, name, value)?;
        self.0.record("set", &serde_json::json!({name: value}).to_string(), (1, 0));
        Ok(())
    }

    /// Performs an action on items, and records it: the outcome of each, in the same order. An item that has another token by now is
    /// left alone.
    ///
    /// # Errors
    /// Those of the call; [`ErrorKind::InvalidArgument`] for a purge, which has no outcome for each item.
    pub fn act(&self, verb: OperatorVerb, items: &[ItemRef<'_>]) -> Result<Vec<Outcome>> {
        let outcomes = self.0.apply(verb, items)?;
        self.0.record_items(verb.word(), items, &outcomes);
        Ok(outcomes)
    }

    /// Begins an action on all items that match, and returns its number. Nothing is changed yet: [`run_action`](Self::run_action)
    /// does it, here or in another process. `expected` is how many there are, if somebody has counted them. In a queue of
    /// readpast's own only items are meant that have not changed since. A purge by a filter without states means
    /// Completed, PartiallyCompleted, Cancelled and Terminated, and by keys Failed, too.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when the login may not redrive items; [`ErrorKind::InvalidArgument`] for a purge of a state that
    /// is not final.
    pub fn begin_action(&self, verb: OperatorVerb, filter: &Filter, expected: Option<i64>) -> Result<i64> {
        self.0.begin_action(verb, filter, expected)
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
        self.0.run_action(number, &mut go_on)
    }

    /// Asks for the end of an action on many items: the process at work ends it after its present step. Items that are changed stay
    /// so. Returns its new state, Cancelling or Cancelled; `None` when it has ended.
    pub fn cancel_action(&self, number: i64) -> Result<Option<String>> {
        self.0.backend.calls("cancel an action", record::KEEP_NONE)?;
        self.0.once(CallKind::Actions, |session| calls::step(session, &self.0.terms, number, &ActionStep::default()))
    }

    /// The actions on many items of this queue that have not ended and on which no process is at work.
    pub fn open_actions(&self) -> Result<Vec<i64>> {
        self.0.backend.calls("list actions", record::KEEP_NONE)?;
        calls::open_actions(&*self.0, &self.0.terms)
    }

    /// The action of this queue with this number.
    pub fn action(&self, number: i64) -> Result<Option<OperatorAction>> {
        self.0.backend.calls("list actions", record::KEEP_NONE)?;
        Ok(self.0.action(number)?.map(|action| OperatorAction { queue: self.name().to_owned(), ..action }))
    }

    /// The newest actions of operators, at most `max` of them, those below the number `below` if it is given. Of this queue, or of
    /// `all` in the schema.
    pub fn actions(&self, all: bool, below: Option<i64>, max: u32) -> Result<Vec<OperatorAction>> {
        self.0.backend.calls("list actions", record::KEEP_NONE)?;
        let max = check_count("the number of actions", max)?;
        let mut actions = calls::actions(&*self.0, &self.0.terms, !all, None, below, max)?;
        let names =
            if all { self.installed()?.into_iter().map(|of| of.queue).collect() } else { vec![self.name().to_owned()] };
        for action in &mut actions {
            let is_it = |name: &&String| {
                QueueName::new(name).is_ok_and(|of| self.0.terms.dialect.queue_stem(&of) == action.queue)
            };
            if let Some(name) = names.iter().find(is_it) {
                action.queue.clone_from(name);
            }
        }
        Ok(actions)
    }

    /// The workers that have reported within a week, idle ones too, those that did so last first: at most 1,000. Each reports every 30
    /// seconds.
    pub fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        self.0.backend.calls("list workers", record::KEEP_NONE)?;
        calls::workers(&*self.0, &self.0.terms)
    }

    /// The figures of each minute after `since`, the oldest first; the database keeps those of a day. A minute in which no worker and
    /// no `readpast serve` took any is not there.
    pub fn minutes(&self, since: SystemTime) -> Result<Vec<Minute>> {
        self.0.backend.calls("list figures", record::KEEP_NONE)?;
        calls::minutes(&*self.0, &self.0.terms, since)
    }

    /// Keeps figures as those of this minute, unless another process has: whether it did. For a program that looks at the queue
    /// anyhow; workers do it by themselves.
    pub fn keep_minute(&self, watched: &Watched) -> Result<bool> {
        self.0.keep_minute(|| Ok(watched.clone()))
    }

    /// Closes the queue, for all its handles: waiting claims return [`ErrorKind::Closed`], calls under way end first.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when some are still under way after `patience`; the queue is closed all the same.
    pub fn close(&self, patience: Duration) -> Result<()> {
        if self.0.attached.is_some() {
            // The queue and the caller own the connections, not this handle.
            return Ok(());
        }
        self.0.interrupt.close();
        self.0.renewer.close();
        self.0.served.iter().for_each(|served| served.leave(Instant::now()));
        self.0.process.polls.wake();
        self.0.pool.close(patience)
    }
}

/// Why hand-written procedures have no settings here.
const READ_THEIR_OWN: &str = "they read their own";

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("name", &self.name()).field("worker", &self.worker()).finish_non_exhaustive()
    }
}
