//! A queue: the face of the library. Each capability is one method here, or in `operate` for an operator's, and one file below.

mod attached;
mod bulk;
mod claim;
mod clean;
mod dropped;
mod enqueue;
mod find;
mod follow;
mod handle;
mod inner;
mod limit;
mod moved;
mod number;
mod one_try;
mod operate;
mod pacing;
mod pause;
mod record;
mod schedule;
mod settle;
mod settle_part;
mod targets;
mod trend;
mod undeliverable;
mod wait;
mod why;

pub use self::claim::MAX_WAIT;
pub use self::handle::Queue;
pub use self::moved::Moved;
pub use self::wait::Waited;
pub use crate::calls::{MAX_ITEMS, QueueSetting};
pub use crate::pool::Connections;

use crate::calls::{self, Answers, Ask, YieldsTo, check_count};
use crate::config::Config;
use crate::description::QueueSpec;
use crate::dialect::Dialect;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::install::{self, Installed};
use crate::item::{
    Answer, Attempt, Batch, Filter, Lease, NewItem, Outcome, Progress, ProgressReport, QueueStats, Receipt, Settlement,
    Trend, Wait, Watched, Why,
};
use crate::metrics::CallKind;
use crate::session::Attached;
use crate::shared::Renews;
pub(crate) use inner::QueueInner;
pub(crate) use one_try::OneTry;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use undeliverable::{reason as reason_of_undeliverable, settlement as end_of_undeliverable};

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

    /// Waits up to `wait`, a day at most, until the item has ended, and returns it as it is then: its state, its response and its error.
    /// For a producer that needs the result of its work.
    ///
    /// The threads of a process that wait for items of the same queue share one question to the server. It comes within 20 ms
    /// of a settlement of this process, otherwise 20 ms after the first, then ever later, up to `poll.interval_ms`. No connection is held
    /// in between. A queue with `completion` deletes an item as it ends, and then it is [`Waited::Gone`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] where `key` is no key of the queue; [`ErrorKind::Interrupted`] after [`Queue::interrupt`].
    pub fn wait_for(&self, key: &str, wait: Duration) -> Result<Waited> {
        wait::wait_for(&self.0, key, wait)
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
    /// worker still holds them. Where items follow a settlement, the claim is a call of its own after it, and a repetition claims others.
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

    /// The items for which the item waits or has waited, and those that wait or have waited for it, at most 1,000 of each, in the order
    /// of their keys. Empty for an item that is not there, and where the description does not say `after`.
    ///
    /// # Errors
    /// As [`Queue::attempts`].
    pub fn waits(&self, key: &str) -> Result<Vec<Wait>> {
        let own = self.0.backend.calls("list the items for which an item waits", "they know none")?;
        calls::waits(&*self.0, &self.0.terms, own, key)
    }

    /// How far the items with these keys are, at most 1,000: as their handlers last reported it in the attempt that began last. There
    /// is none of an item that has reported nothing, and of a queue whose description has no `progress`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a text that is no key of this queue, [`ErrorKind::Unsupported`] where the procedures
    /// were written by hand.
    pub fn progress(&self, keys: &[&str]) -> Result<Vec<Progress>> {
        let own = self.0.backend.calls("find how far items are", "they keep no progress")?;
        calls::progress(&*self.0, &self.0.terms, own, keys)
    }

    /// Reports how far items are that this handle has claimed, for a program that works without a worker: a call for each 1,000. The
    /// answer is [`Answer::LeaseLost`] or [`Answer::Conflict`] for an item that it does not hold any more, of which nothing is kept.
    /// [`Answer::Ok`] without a state is an item whose row somebody has locked: report it again. Handlers of a worker call
    /// [`Job::progress`](crate::worker::Job::progress), which waits for nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the queue's description has no `progress`.
    pub fn report_progress(&self, reports: &[ProgressReport<'_>]) -> Result<Vec<Outcome>> {
        let own = self.0.backend.calls("report progress", "they keep none")?;
        let make = |work: &mut dyn FnMut(&mut _) -> _| self.0.ask(CallKind::Progress, YieldsTo::Closing, work);
        calls::report_progress(&self.0.terms, own, reports, make)
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
        self.0.process.ends.nudge();
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
        self.0.process.ends.nudge();
        self.0.pool.close(patience)
    }
}
