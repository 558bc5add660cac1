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
mod lifeline;
mod limit;
mod moved;
mod number;
mod one_try;
mod operate;
mod pacing;
mod pause;
mod places;
mod record;
mod schedule;
mod settle;
mod settle_part;
mod targets;
mod transit;
mod trend;
mod undeliverable;
mod wait;
mod why;

pub use self::claim::MAX_WAIT;
pub use self::handle::Queue;
pub use self::moved::Moved;
pub use self::places::Rebalanced;
pub use self::wait::Waited;
pub use crate::calls::{MAX_ITEMS, QueueSetting};
pub use crate::pool::Connections;

use crate::calls::{self, Answers, Ask, YieldsTo, check_count};
use crate::config::Config;
use crate::description::QueueSpec;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::install::{self, Installed};
use crate::item::{
    Answer, Attempt, Batch, Filter, Lease, NewItem, OfPlace, Outcome, Progress, ProgressReport, QueueStats, Receipt,
    Settlement, Trend, Wait, Watched, Why,
};
use crate::metrics::CallKind;
use crate::session::Attached;
use crate::shared::Renews;
use handle::Over;
pub(crate) use handle::{Opened, Places};
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
        let config = crate::places::found(config)?;
        if config.places().is_empty() || config.place().is_some() {
            return Ok(Self::of(QueueInner::open(&config, name, Arc::default())?));
        }
        Ok(Self(Over::Places(Arc::new(Places::open(&config, name)?))))
    }

    /// The places over which the handle is open, by their names: all of the settings, or the one that was chosen; none where the queue is
    /// in one database ([`Config::places`]).
    #[must_use]
    pub fn places(&self) -> Vec<String> {
        match &self.0 {
            Over::One(inner) => inner.terms.place().map(str::to_owned).into_iter().collect(),
            Over::Places(places) => places.names().to_vec(),
        }
    }

    /// A handle on the queue at one place, as of [`share`](Self::share): for calls that cannot be about several places. Keys have the
    /// place before them there, too.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names the places that there are; the failure to open the place, if it is away since the start.
    pub fn at(&self, place: &str) -> Result<Self> {
        match &self.0 {
            Over::Places(places) => places.at(place).map(Self::share),
            Over::One(inner) if inner.terms.place() == Some(place) => Ok(self.share()),
            Over::One(inner) => {
                let here =
                    inner.terms.place().map_or_else(|| "one database".to_owned(), |here| format!("the place {here}"));
                let message = format!("the queue is open at {here}, and not at a place {place:?}");
                Err(Error::new(ErrorKind::InvalidArgument, message))
            }
        }
    }

    /// A handle on the same queue whose [`Queue::enqueue`] and [`Queue::settle`] run on a connection of the caller's, inside the
    /// transaction that is open there. It refuses all other calls.
    ///
    /// # Errors
    /// The failure of `connection`, which receives the server's dialect and the time-out of a statement in seconds.
    pub(crate) fn attach(&self, connection: impl FnOnce(Dialect, u32) -> Result<Attached>) -> Result<Self> {
        let one = self.one()?;
        attached::calls(one)?;
        let attached = connection(one.terms.dialect, one.query_timeout_sec)?;
        Ok(Self::of(one.share(Some(Arc::new(attached)))))
    }

    /// Another handle on the same queue, with its connections, worker and leases in common, and an interrupt of its own: for a
    /// caller that cancels waits one by one, as tasks and requests do. An interrupt of this handle reaches it too, until it is
    /// resumed here. Cheap enough for one claim. Closing one of them closes all.
    #[must_use]
    pub fn share(&self) -> Self {
        match &self.0 {
            Over::One(inner) => Self::of(inner.share(inner.attached.clone())),
            Over::Places(places) => Self(Over::Places(Arc::new(places.share(None)))),
        }
    }

    /// The inside of the queue, for its workers: each works in one database.
    pub(crate) fn inner(&self) -> &QueueInner {
        self.any()
    }

    /// The settings that it was opened with, for checks on a connection of their own.
    pub(crate) fn config(&self) -> Result<&Config> {
        let any = self.any();
        any.refuse_attached()?;
        let of_one = any.pool.config()?;
        Ok(self.over().map_or(of_one, Places::config))
    }

    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.any().terms.queue()
    }

    /// The name under which this handle holds leases.
    #[must_use]
    pub fn worker(&self) -> &str {
        &self.any().terms.worker
    }

    /// How long a lease of this handle lasts, unless the queue's setting in AppSettings says otherwise.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.any().shared.lease()
    }

    /// The queue's description.
    #[must_use]
    pub fn spec(&self) -> &QueueSpec {
        &self.any().terms.spec
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
        match &self.0 {
            Over::One(one) => enqueue::enqueue(one, items, operation),
            Over::Places(places) => places.enqueue(items, operation),
        }
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
        match &self.0 {
            Over::One(one) => one.claim(max, wait, wait.is_zero()),
            Over::Places(places) => places.claim(max, wait),
        }
    }

    /// Waits up to `wait`, a day at most, until the item has ended, and returns it as it is then: its state, its response and its error.
    /// For a producer that needs the result of its work.
    ///
    /// The threads of a process that wait for items of the same queue share one question to the server. It comes within 20 ms
    /// of a settlement of this process, otherwise 20 ms after the first, then ever later, up to `poll.interval_ms`. On PostgreSQL
    /// the doorbell reports a settlement of another process at once. No connection is held in between. A queue with `completion` deletes an item as it ends, and then it is [`Waited::Gone`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] where `key` is no key of the queue; [`ErrorKind::Interrupted`] after [`Queue::interrupt`].
    pub fn wait_for(&self, key: &str, wait: Duration) -> Result<Waited> {
        wait::wait_for(self.of_key(key)?, key, wait)
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
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.settle(settlements, operation),
        };
        let (outcomes, _) = one.settle(settlements, operation, 0, Answers::All)?;
        one.record_control(settlements, &outcomes);
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
        let one = match &self.0 {
            Over::One(one) => one,
            // The claim is a call of its own: it may be at another place.
            Over::Places(places) => {
                let outcomes = places.settle(settlements, operation)?;
                return Ok((outcomes, settle::unless_failed(places.claim(max.unsigned_abs(), Duration::ZERO))));
            }
        };
        let (outcomes, batch) = one.settle(settlements, operation, max, Answers::All)?;
        one.record_control(settlements, &outcomes);
        Ok((outcomes, batch))
    }

    /// Extends leases to their full length from now on the server's clock, unless the queue's are fixed. Tokens stay as
    /// they are.
    pub fn renew(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.for_each(leases, |lease| lease.key, Self::renew),
        };
        let own = one.backend.calls("renew a lease", inner::NO_LEASES)?;
        let outcomes = calls::renew(&one.terms, own, leases, |work| one.ask(CallKind::Renew, YieldsTo::Closing, work))?;
        one.counters.loses(outcomes.iter().filter(|outcome| outcome.answer != Answer::Ok).count());
        Ok(outcomes)
    }

    /// Recovers the items of up to `max` run-out leases: they become due again, or Failed when their attempts are spent. Returns
    /// how many there were. Claims do this by themselves, one of all in the queue every `recover.interval_ms`.
    pub fn recover(&self, max: u32) -> Result<u32> {
        match &self.0 {
            Over::One(one) => one.recover(max),
            Over::Places(places) => places.recover(max),
        }
    }

    /// Up to `max` items that fit `filter`, in the order of their keys, from after the key `after` on: a page, whose last key
    /// begins the next one. An empty batch is the end. Nothing is claimed or changed; every column of the worker view is
    /// there.
    pub fn find(&self, filter: &Filter, after: Option<&str>, max: u32) -> Result<Batch> {
        match &self.0 {
            Over::One(one) => find::find(one, filter, after, max),
            Over::Places(places) => places.find(filter, after, max),
        }
    }

    /// The key after which the page behind this one begins, which [`find`](Self::find) has returned for up to `max` items; `None`: it was
    /// the last. Over several places a page has items of one of them, so that one that is not full may be followed by others.
    #[must_use]
    pub fn next_page(&self, page: &Batch, max: u32) -> Option<String> {
        let (last, is_full) = (page.iter().last()?, page.len() >= max as usize);
        match &self.0 {
            Over::One(_) => is_full.then(|| last.key().to_owned()),
            Over::Places(places) => places.next_page(last.key(), is_full),
        }
    }

    /// The start of the place behind that of the page after `after`; `None` behind the last, and where there is one database.
    #[must_use]
    pub fn page_behind(&self, after: Option<&str>) -> Option<String> {
        self.over().and_then(|places| places.page_behind(after))
    }

    /// Whether a page after `after` begins with the first item of a place.
    #[must_use]
    pub fn is_start_of_place(&self, after: &str) -> bool {
        self.over().is_some_and(|places| places.is_start(after))
    }

    /// As [`find`](Self::find), but reads at most `most` items of the queue, so that it takes no longer in a queue of millions.
    /// The key that is returned with the items says where to go on: it is there when the page is not full and the call may not
    /// have read all items. Keys in the filter are looked up, however many items there are.
    pub fn look(&self, filter: &Filter, after: Option<&str>, max: u32, most: u32) -> Result<(Batch, Option<String>)> {
        match &self.0 {
            Over::One(one) => find::look(one, filter, after, max, most),
            Over::Places(places) => places.look(filter, after, max, most),
        }
    }

    /// The item with this key, as a batch of one; an empty batch when there is none.
    pub fn get(&self, key: &str) -> Result<Batch> {
        find::find(self.of_key(key)?, &Filter::of_keys([key]), None, 1)
    }

    /// The key of the item that `given` names. A short number ([`QueueSpec::short_number`]) may have spaces and dashes, and may
    /// lack its last digits down to the second; it means the latest month in which that time has passed on the server's clock.
    /// Any other text comes back as it is.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] when no item fits, or several: it names them.
    pub fn whole_key(&self, given: &str) -> Result<String> {
        match &self.0 {
            Over::One(one) => number::whole_key(&[one], given),
            Over::Places(places) => places.whole_key(given),
        }
    }

    /// Why the item with this key is not being worked on, or that it is; `None` when there is no such item (or, with
    /// `own_types_only`, none of a type of this login). Changes nothing. For an item that is due and waits it scans the queue; it
    /// leaves out what this login may not see.
    pub fn why(&self, key: &str) -> Result<Option<Why>> {
        why::why(self.of_key(key)?, key)
    }

    /// The ended attempts at the item, in the order of their ends, at most the newest 1,000: the worker and the result of each.
    /// Empty for an item that is not there, and where the description does not say `attempts.history`. A released attempt was not
    /// begun, and is not among them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a text that is no key of this queue, [`ErrorKind::Unsupported`] where the procedures
    /// were written by hand.
    pub fn attempts(&self, key: &str) -> Result<Vec<Attempt>> {
        let one = self.of_key(key)?;
        let own = one.backend.calls("list the attempts at an item", "they record none")?;
        calls::attempts(one, &one.terms, own, key)
    }

    /// The items for which the item waits or has waited, and those that wait or have waited for it, at most 1,000 of each, in the order
    /// of their keys. Empty for an item that is not there, and where the description does not say `after`.
    ///
    /// # Errors
    /// As [`Queue::attempts`].
    pub fn waits(&self, key: &str) -> Result<Vec<Wait>> {
        let one = self.of_key(key)?;
        let own = one.backend.calls("list the items for which an item waits", "they know none")?;
        calls::waits(one, &one.terms, own, key)
    }

    /// How far the items with these keys are, at most 1,000: as their handlers last reported it in the attempt that began last. There
    /// is none of an item that has reported nothing, and of a queue whose description has no `progress`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a text that is no key of this queue, [`ErrorKind::Unsupported`] where the procedures
    /// were written by hand.
    pub fn progress(&self, keys: &[&str]) -> Result<Vec<Progress>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.progress(keys),
        };
        let own = one.backend.calls("find how far items are", "they keep no progress")?;
        calls::progress(&**one, &one.terms, own, keys)
    }

    /// Reports how far items are that this handle has claimed, for a program that works without a worker: a call for each 1,000. The
    /// answer is [`Answer::LeaseLost`] or [`Answer::Conflict`] for an item that it does not hold any more, of which nothing is kept.
    /// [`Answer::Ok`] without a state is an item whose row somebody has locked: report it again. Handlers of a worker call
    /// [`Job::progress`](crate::worker::Job::progress), which waits for nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the queue's description has no `progress`.
    pub fn report_progress(&self, reports: &[ProgressReport<'_>]) -> Result<Vec<Outcome>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.for_each(reports, |report| report.key, Self::report_progress),
        };
        let own = one.backend.calls("report progress", "they keep none")?;
        let make = |work: &mut dyn FnMut(&mut _) -> _| one.ask(CallKind::Progress, YieldsTo::Closing, work);
        calls::report_progress(&one.terms, own, reports, make)
    }

    /// Whether trace context travels with its items (`trace` in the description), so that spans are useful.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.any().terms.spec.trace.is_some()
    }

    /// Deletes up to `max` items that ended longer ago than the queue's description keeps them (`retention`), and records of
    /// attempts (`retention.history`), and returns how many there were of both. Workers, and `Procedure::work`, do this by
    /// themselves every `retention.interval_ms`; call it in a program that claims without a worker. It is not repeated when it
    /// fails: it can wait. 0 when nothing has expired, when another process does it or has done it within the interval (less an
    /// eighth), and for a queue that keeps all.
    pub fn retain(&self, max: u32) -> Result<u64> {
        match &self.0 {
            Over::One(one) => one.retain(max, || Ok(())),
            Over::Places(places) => places.retain(max),
        }
    }

    /// Figures about the queue; over several places those of all together. Costs the server a scan.
    pub fn stats(&self) -> Result<QueueStats> {
        match &self.0 {
            Over::One(one) => one.backend.stats(&**one, &one.terms),
            Over::Places(places) => places.stats(),
        }
    }

    /// Figures about the queue from looks of at most `most` rows each (1 to 1,000,000): the cost does not grow with the queue. A
    /// figure that was not counted to its end says so.
    ///
    /// Over several places each is looked at so, all at once, and the figures are added up; of waits and times it is those of the place
    /// where they are longest. A place that does not answer is named in [`Watched::away`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a bound out of range; over several places the failure of the first, if none answers.
    pub fn watch(&self, most: u32) -> Result<Watched> {
        self.watch_places(most).map(|(watched, _)| watched)
    }

    /// The same, with the figures of each place besides; none where the handle is on one database.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn watch_places(&self, most: u32) -> Result<(Watched, Vec<OfPlace>)> {
        match &self.0 {
            Over::One(one) => Ok((trend::watch(one, most)?, Vec::new())),
            Over::Places(places) => places.look_at_each(most),
        }
    }

    /// The trend of the queue, and the look behind it, of at most `most` rows, as in [`watch`](Self::watch). A queue that cannot
    /// count arrivals and ends is looked at twice, `apart` from each other, unless that is zero: the call takes that much longer.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a bound out of range; [`ErrorKind::Interrupted`] when an [interrupt](Self::interrupt)
    /// ends the pause between the looks.
    pub fn trend(&self, most: u32, apart: Duration) -> Result<(Watched, Trend)> {
        trend::trend(self, most, apart)
    }

    /// The queues that are installed in this one's schema now, by their names; this one among them, unless it was dropped. Over several
    /// places: as [`installed`](install::installed) lists them.
    ///
    /// # Errors
    /// [`ErrorKind::SchemaMissing`] where nothing is installed any more.
    pub fn installed(&self) -> Result<Vec<Installed>> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => {
                return places
                    .answers(Self::installed)
                    .map(|each| install::at_any(each.into_iter().map(|(_, there)| there)));
            }
        };
        let schema = &one.terms.schema;
        one.ask(CallKind::Installed, YieldsTo::Closing, |session| install::installed_in(session, schema))
    }

    /// The state of the queue's connections, for all its handles. Does not ask the server.
    #[must_use]
    pub fn connections(&self) -> Connections {
        match &self.0 {
            Over::One(one) => one.pool.connections(),
            Over::Places(places) => places.connections(),
        }
    }

    /// Makes every claim on this handle, waiting or to come, return [`ErrorKind::Interrupted`] until [`Queue::resume`]. It
    /// reaches the handles that were shared from this one, and not the one that this was shared from. Settles and renewals go on,
    /// so that work in flight can be finished. From any thread; returns at once.
    pub fn interrupt(&self) {
        match &self.0 {
            Over::One(one) => {
                one.interrupt.set(true);
                one.process.polls.nudge();
                one.process.ends.nudge();
            }
            Over::Places(places) => places.interrupt(),
        }
    }

    /// Ends an interrupt.
    pub fn resume(&self) {
        match &self.0 {
            Over::One(one) => one.interrupt.set(false),
            Over::Places(places) => places.resume(),
        }
    }

    /// Reports that something may be due: waiting threads of this process look at the queue at once. Call it after an enqueue
    /// without this library, or after the commit of a transaction of your own. From any thread; returns at once, and does not ask
    /// the server.
    pub fn wake(&self) {
        match &self.0 {
            Over::One(one) => one.process.polls.wake(),
            Over::Places(places) => places.wake(),
        }
    }

    /// Whether the call that changed items under the identity `operation` has committed: `false` when it was rolled back, was
    /// never made, or was more than an hour ago, when identities are forgotten. The call waits for one that is under way. It is
    /// for a caller that lost the answer to its own commit, in which such a call was made.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it is not a GUID.
    pub fn is_done(&self, operation: &str) -> Result<bool> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.is_done(operation),
        };
        let own = one.backend.calls("find the outcome of an operation", "they keep no record of operations")?;
        calls::is_done(&**one, &one.terms, own, operation)
    }

    /// Closes the queue, for all its handles: waiting claims return [`ErrorKind::Closed`], calls under way end first.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when some are still under way after `patience`; the queue is closed all the same.
    pub fn close(&self, patience: Duration) -> Result<()> {
        let one = match &self.0 {
            Over::One(one) => one,
            Over::Places(places) => return places.close(patience),
        };
        if one.attached.is_some() {
            // The queue and the caller own the connections, not this handle.
            return Ok(());
        }
        one.interrupt.close();
        one.renewer.close();
        one.served.iter().for_each(|served| served.leave(Instant::now()));
        one.process.polls.wake();
        one.process.ends.nudge();
        one.pool.close(patience)
    }
}
