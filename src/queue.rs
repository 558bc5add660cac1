//! A queue: the face of the library. Each capability is one method here and one file below.

mod answers;
mod attached;
mod attempts;
mod backend;
mod claim;
mod claimer;
mod enqueue;
mod handwritten;
mod keeper;
mod kinds;
mod operate;
mod operation;
mod procedure;
mod retention;
mod retry;
mod settings;
mod settle;
mod stats;
mod unfit;
mod wake;
mod why;

pub use self::procedure::{Procedure, Worked};
pub use self::settings::Setting;
use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::Identifier;
use crate::install::{self, Installed};
use crate::item::{
    Attempt, Batch, Enqueued, Filter, ItemRef, Lease, NewItem, Outcome, QueueStats, Rows, Settlement, Watched, Why,
    normalize_utc, utc_text,
};
use crate::metrics::{Call, Ledger, Listed, Source};
pub use crate::pool::Connections;
use crate::pool::{Pool, closed};
use crate::session::{Attached, Param, Session, Shape};
use crate::spec::QueueSpec;
use backend::Backend;
use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
    time::{Duration, Instant, SystemTime},
};
use wake::{Interrupt, Signal, YieldsTo};

pub(crate) use keeper::{Keeping, LeaseHolder};
pub(crate) use settle::check as check_settlement;
pub(crate) use wake::Watcher;

/// The most items of one call. More row locks than this may make SQL Server lock the whole table.
pub const MAX_ITEMS: u32 = 1000;

/// The longest wait of one claim: a day.
pub const MAX_WAIT: Duration = Duration::from_secs(86_400);

/// An open queue, with its pool of connections and its worker's name. Clones are the same queue. Any number of threads
/// may use it at once. In the child of a fork every call that needs the server fails with [`ErrorKind::Forked`], and the
/// parent's connections are left alone.
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

/// What a handle has for itself; the rest it has in common with those that were shared from it.
struct Inner {
    interrupt: Interrupt,
    shared: Arc<Shared>,
    /// The caller's connection, where this handle works on one.
    attached: Option<Arc<Attached>>,
}

struct Shared {
    spec: QueueSpec,
    schema: Identifier,
    worker: String,
    dialect: Dialect,
    backend: Backend,
    /// What this process does with the queue, all its handles together.
    ledger: Arc<Ledger>,
    pool: Arc<Pool>,
    /// Has the pool's figures asked for.
    _listed: Listed,
    /// The columns that hold JSON, which only the description tells from text.
    json_columns: Vec<String>,
    /// `None` leaves it to the queue.
    lease_ms: Option<i32>,
    /// The time of the run, in queues that keep it.
    run_at: Option<String>,
    /// Whether this worker takes up what it left in flight when it was last alive.
    resumes: bool,
    /// What its claims take.
    kinds: kinds::Kinds,
    poll_interval: Duration,
    recover_interval: Duration,
    retention_interval: Duration,
    most_item_bytes: usize,
    query_timeout_sec: u32,
    retry: retry::Policy,
    signal: Arc<Signal>,
    keeper: Arc<keeper::Keeper>,
    pacing: Pacing,
}

/// How a worker on this queue is to claim ahead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    /// How many threads call the database.
    pub(crate) lanes: u32,
    /// The most items that wait for a handler.
    pub(crate) ahead: usize,
    /// How long an item may wait for one.
    pub(crate) hold: Duration,
}

impl Queue {
    /// Connects, checks that the schema and the queue are there in this library's version, and opens the queue.
    ///
    /// # Errors
    /// What a log-in fails with (transient failures are retried within `retry.budget_ms`);
    /// [`ErrorKind::SchemaMissing`], [`ErrorKind::SchemaOlder`], [`ErrorKind::SchemaNewer`],
    /// [`ErrorKind::UnknownQueue`]; [`ErrorKind::Unsupported`] when claims of the queue cannot be limited to the kinds that
    /// the settings name.
    pub fn open(config: &Config, name: &str) -> Result<Self> {
        let schema = config.schema()?;
        // Checked before the first connection: a bad name is a mistake of the caller, whatever the server says.
        crate::ident::QueueName::new(name)?;
        let run_at = Some(run_at(config)?);
        let pool = Pool::new(config);
        let retry = retry::Policy::new(config);
        let interrupt = Interrupt::default();
        let (spec, dialect, backend) = retry.run(&interrupt, YieldsTo::Closing, || {
            let mut session = pool.acquire()?;
            let dialect = session.dialect();
            let spec = install::look_up(&mut session, &schema, name)?;
            let backend = Backend::open(&mut session, &schema, &spec)?;
            Ok((spec, dialect, backend))
        })?;
        let (ledger, pool) = (Ledger::of(schema.as_str(), spec.queue.as_str()), Arc::new(pool));
        let shared = Shared {
            dialect,
            backend,
            signal: Signal::shared(&config.connection_string()?, schema.as_str(), name),
            worker: config.worker(),
            _listed: ledger.list(Arc::clone(&pool) as Arc<dyn Source>),
            ledger,
            pool,
            lease_ms: config.lease_ms(),
            run_at: run_at.filter(|_| spec.run_time()),
            json_columns: spec.json_columns(),
            resumes: spec.lease.resume_own && config.has_worker(),
            kinds: kinds::Kinds::new(config, &spec)?,
            spec,
            schema,
            poll_interval: config.duration("poll.interval_ms"),
            recover_interval: config.duration("recover.interval_ms"),
            retention_interval: config.duration("retention.interval_ms"),
            most_item_bytes: config.most_item_bytes(),
            query_timeout_sec: config.number("query.timeout_ms").div_ceil(1000),
            retry,
            keeper: Arc::default(),
            pacing: Pacing {
                lanes: config.number("worker.lanes"),
                ahead: config.number("worker.ahead") as usize,
                hold: config.duration("worker.hold_ms"),
            },
        };
        Ok(Self(Arc::new(Inner { interrupt, shared: Arc::new(shared), attached: None })))
    }

    /// Another handle on the same queue, with its connections, worker and leases in common, which can be interrupted for
    /// itself alone: for a caller whose waits are called off one by one, as a task's or a request's are. An interrupt of
    /// this handle reaches it too, until it is resumed here. Cheap enough to be made for one claim. Closing one of them
    /// closes all.
    #[must_use]
    pub fn share(&self) -> Self {
        let shared = Arc::clone(&self.0.shared);
        Self(Arc::new(Inner { interrupt: self.0.interrupt.share(), shared, attached: self.0.attached.clone() }))
    }

    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.spec.queue.as_str()
    }

    /// The name under which this handle holds leases.
    #[must_use]
    pub fn worker(&self) -> &str {
        &self.0.worker
    }

    /// How long a lease of this handle lasts, unless the queue's setting in AppSettings says otherwise.
    #[must_use]
    pub fn lease(&self) -> Duration {
        let ms = self.0.lease_ms.unwrap_or(self.0.spec.lease.ms);
        Duration::from_millis(u64::from(ms.unsigned_abs()))
    }

    /// What the queue is made of.
    #[must_use]
    pub fn spec(&self) -> &QueueSpec {
        &self.0.spec
    }

    /// Puts `items` into the queue, [`MAX_ITEMS`] in a commit. Up to so many go in all or none; of more, those before the one
    /// that fails are in, and the error has the operation with which the call is repeated to go on. Their keys come back in
    /// the same order. Of a queue that knows duplicates (`dedup` in its description), they alone are left out, and told by
    /// [`Enqueued::duplicate`]. Of no items nothing is sent.
    ///
    /// `operation` is an identity for the call, a GUID, by which a repetition is recognized; `None` makes one. Whoever gives
    /// one keeps it until a call with it succeeds: a repetition that fails leaves open what became of the first. Each commit of
    /// a call of several has an identity of its own, which is made of this one (UUIDv5) and its number.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] names the first item that does not fit the queue, before anything is sent.
    pub fn enqueue(&self, items: &[NewItem], operation: Option<&str>) -> Result<Vec<Enqueued>> {
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
        claim::claim(&self.0, max, wait)
    }

    /// Settles items, each on its own terms: what is refused for one leaves the others alone. [`MAX_ITEMS`] in a commit. The
    /// outcomes come back in the same order. Of no settlements nothing is sent.
    ///
    /// `operation` is as for [`Queue::enqueue`].
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] when the answer was lost and the retry budget ran out before it could be learnt;
    /// repeat the call with the error's operation.
    pub fn settle(&self, settlements: &[Settlement<'_>], operation: Option<&str>) -> Result<Vec<Outcome>> {
        settle::settle(&self.0, settlements, operation, 0).map(|(outcomes, _)| outcomes)
    }

    /// [`Queue::settle`], and in the round trip and the commit of the last of them a claim of up to `max` items, without waiting.
    pub fn settle_and_claim(
        &self,
        settlements: &[Settlement<'_>],
        operation: Option<&str>,
        max: u32,
    ) -> Result<(Vec<Outcome>, Batch)> {
        check_count("the number of items to claim", max as usize)?;
        settle::settle(&self.0, settlements, operation, max)
    }

    /// Extends leases to their full length from now on the server's clock, unless the queue's are fixed. Tokens stay as
    /// they are.
    pub fn renew(&self, leases: &[Lease<'_>]) -> Result<Vec<Outcome>> {
        settle::renew(&self.0, leases)
    }

    /// Gives the items of up to `max` run-out leases back, or to Failed when their attempts are spent, and says how many
    /// there were. Claims do this by themselves, one of all in the queue every `recover.interval_ms`.
    pub fn recover(&self, max: u32) -> Result<u32> {
        claim::recover(&self.0, max, claim::RECOVER_NOW)
    }

    /// Up to `max` items that fit `filter`, in the order of their keys, from after the key `after` on: a page, whose last key
    /// begins the next one. An empty batch is the end. Nothing is claimed or changed; every column of the worker view is
    /// there.
    pub fn find(&self, filter: &Filter, after: Option<&str>, max: u32) -> Result<Batch> {
        operate::find(&self.0, filter, after, max)
    }

    /// The item with this key, as a batch of one; an empty batch when there is none.
    pub fn get(&self, key: &str) -> Result<Batch> {
        operate::find(&self.0, &Filter::of_keys([key]), None, 1)
    }

    /// Why the item with this key is not being worked on, or that it is; `None` when there is no such item (or, with
    /// `own_types_only`, none of a type of this login). Changes nothing. Of an item that is due and waits it takes a scan of
    /// the queue to say; what this login may not look at is left out.
    pub fn why(&self, key: &str) -> Result<Option<Why>> {
        why::why(&self.0, key)
    }

    /// Lets items that ended, or that wait, be worked on as if they were new: Failed, Cancelled, Terminated,
    /// PartiallyCompleted, Error and Paused become Pending, due now, with all their attempts. Each item is judged by
    /// itself; the outcomes come back in the same order. Response, error and step stay.
    /// [`Answer::Duplicate`](crate::item::Answer::Duplicate): the same work is in the queue again, unfinished.
    ///
    /// `operation` is as for [`Queue::settle`].
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] as for [`Queue::settle`].
    pub fn redrive(&self, items: &[ItemRef<'_>], operation: Option<&str>) -> Result<Vec<Outcome>> {
        operate::redrive(&self.0, items, operation)
    }

    /// Deletes up to `max` finished items that fit `filter`, and says how many there were: call it again until there are
    /// none. A filter without states means Completed, PartiallyCompleted, Cancelled and Terminated; Failed items go only
    /// when they are named. Items that somebody holds at this moment are passed over.
    ///
    /// When the connection breaks, the call is repeated and counts only what the repetition deleted.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the filter names a state that is not final.
    pub fn purge(&self, filter: &Filter, max: u32) -> Result<u64> {
        operate::purge(&self.0, filter, max)
    }

    /// The attempts at the item that have ended, in the order of their ends, at most the newest 1,000: who had it and what came of
    /// it each time. Empty for an item that is not there, and where the description does not say `attempts.history`. What was
    /// released was not begun, and is not among them.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for what is no key of this queue, [`ErrorKind::Unsupported`] where the procedures were
    /// written by hand.
    pub fn attempts(&self, key: &str) -> Result<Vec<Attempt>> {
        attempts::attempts(&self.0, key)
    }

    /// Whether trace context travels with its items (`trace` in the description), so that spans are worth their while.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.0.spec.trace.is_some()
    }

    /// Deletes up to `max` items that ended longer ago than the queue's description lets them stay (`retention`), and what is
    /// remembered of attempts (`retention.history`), and says how many there were of both. Workers, and [`Procedure::work`], do this by themselves every `retention.interval_ms`; here it is for who
    /// claims without one. Not repeated when it fails: it has time. 0 when nothing is over, when somebody else does it or has done
    /// it within the interval (less an eighth), and for a queue that keeps all.
    pub fn retain(&self, max: u32) -> Result<u64> {
        operate::retain(&self.0, max, YieldsTo::Closing)
    }

    /// Figures about the queue. Costs the server a scan.
    pub fn stats(&self) -> Result<QueueStats> {
        stats::stats(&self.0)
    }

    /// Figures about the queue from looks of at most `most` rows each (1 to 1,000,000): the cost does not grow with the queue.
    /// What could not be counted to its end says so.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a bound that cannot be.
    pub fn watch(&self, most: u32) -> Result<Watched> {
        stats::watch(&self.0, most)
    }

    /// The queues that are installed in this one's schema now, by their names; this one among them, unless it was dropped.
    ///
    /// # Errors
    /// [`ErrorKind::SchemaMissing`] where nothing is installed any more.
    pub fn installed(&self) -> Result<Vec<Installed>> {
        self.0.with_session(Call::Installed, |session| install::installed_in(session, &self.0.schema))
    }

    /// What has become of the queue's connections, all its handles' together. Asks nobody.
    #[must_use]
    pub fn connections(&self) -> Connections {
        self.0.pool.connections()
    }

    /// Makes every claim on this handle, waiting or to come, return [`ErrorKind::Interrupted`] until [`Queue::resume`].
    /// It reaches the handles that were shared from this one, and not the one that this was shared from. Settles and renewals go on, so that work in hand can be finished. From any thread; returns at once.
    pub fn interrupt(&self) {
        self.0.interrupt.set(true);
        self.0.signal.nudge();
    }

    /// Ends what [`Queue::interrupt`] began.
    pub fn resume(&self) {
        self.0.interrupt.set(false);
    }

    /// The procedure (in PostgreSQL a function or procedure) called `name`, as a handler of this queue's items: `Handle`,
    /// `dbo.Handle`, `[my schema].[Handle]`. Without a schema it is in `dbo` (in PostgreSQL `public`).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when there is none, or none that this login may see.
    pub fn procedure(&self, name: &str) -> Result<Procedure> {
        Procedure::find(self, name)
    }

    /// Something may be due: those of this process who wait for the queue look at once. For whoever has enqueued without this
    /// library, or inside a transaction that has committed since. From any thread; returns at once, and asks nobody.
    pub fn wake(&self) {
        self.0.signal.wake();
    }

    /// Whether the call that changed items under the identity `operation` has committed: `false` when it was rolled back, was
    /// never made, or was more than an hour ago, when identities are forgotten. One that is under way is waited for. For whoever
    /// has lost the answer to a commit of his own, in which such a call was made.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when it is not a GUID.
    pub fn is_done(&self, operation: &str) -> Result<bool> {
        operation::is_done(&self.0, operation)
    }

    /// What the table AppSettings says of the queue, and the description where that says nothing. Procedures read it at each
    /// call. The login needs SELECT on the table.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a queue behind procedures written by hand, and those of a call.
    pub fn settings(&self) -> Result<Vec<Setting>> {
        settings::list(&self.0)
    }

    /// Sets `maxAttempts` (1 or more) or `leaseMs` (10 to 86,400,000) in the table AppSettings; `None` lets the description
    /// count again. It holds for all processes, from their next call on: an item that is claimed keeps its lease. The login
    /// needs SELECT, INSERT and UPDATE on the table, which no role of a queue has.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for another name or number, and as [`Queue::settings`].
    pub fn set_setting(&self, name: &str, value: Option<i32>) -> Result<()> {
        settings::set(&self.0, name, value)
    }

    /// What this process does with the queue.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        &self.0.ledger
    }

    /// How a worker on this queue is to claim ahead.
    pub(crate) fn pacing(&self) -> Pacing {
        self.0.pacing
    }

    /// How this handle was called off, if it was: [`ErrorKind::Interrupted`] or [`ErrorKind::Closed`].
    pub(crate) fn called_off(&self) -> Option<Error> {
        claim::unless_called_off(&self.0).err()
    }

    /// Whether it is the caller's turn to look at the queue, of all in this process that wait for it; else when to ask
    /// again.
    pub(crate) fn turn(&self) -> Result<(), Instant> {
        self.0.signal.turn(&self.0.kinds.key, self.0.poll_interval)
    }

    /// Whether it is the caller's turn to delete what is over, of all in this process, in a moment when there is nothing else to
    /// do; else when to ask again. `None` for a queue that keeps all.
    pub(crate) fn turn_to_retain(&self) -> Option<Result<(), Instant>> {
        retention::turn(&self.0, Duration::ZERO)
    }

    /// The same although there is other work: it has been due for a whole interval, or somebody has begun and there is more. A
    /// queue that is never idle must not grow for ever.
    pub(crate) fn must_retain(&self) -> bool {
        retention::turn(&self.0, self.0.retention_interval) == Some(Ok(()))
    }

    /// Whether somebody of this process is to delete what is over now, or after a pause since there is more.
    pub(crate) fn is_retention_pending(&self) -> bool {
        retention::is_pending(&self.0)
    }

    /// Deletes some of what is over, by who has the turn; nothing once the handle is called off.
    pub(crate) fn retain_some(&self) -> Result<()> {
        retention::bite(&self.0)
    }

    /// Has `watcher` told when it may be worth while to ask for a turn.
    pub(crate) fn watched_by(&self, watcher: Weak<dyn Watcher>) {
        self.0.signal.watch(watcher);
    }

    /// Has the leases of `holder` renewed every `interval`, for as long as it is there. `None` for a queue that keeps no
    /// leases.
    pub(crate) fn keep(&self, holder: Weak<dyn LeaseHolder>, interval: Duration) -> Result<Option<Keeping>> {
        if !self.0.backend.keeps_leases() {
            return Ok(None);
        }
        self.0.keeper.keep(self, holder, interval).map(Some)
    }

    /// Closes the queue, for all its handles: waiting claims return [`ErrorKind::Closed`], calls under way end first.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when some are still under way after `patience`; the queue is closed all the same.
    pub fn close(&self, patience: Duration) -> Result<()> {
        if self.0.attached.is_some() {
            // Neither the queue's connections nor the caller's are this handle's to close.
            return Ok(());
        }
        self.0.interrupt.close();
        self.0.keeper.close();
        self.0.signal.wake();
        self.0.pool.close(patience)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("name", &self.name()).field("worker", &self.worker()).finish_non_exhaustive()
    }
}

impl Deref for Inner {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Inner {
    /// The items in `rows`, which begin at row `first`.
    fn hand_out(&self, mut rows: Rows, first: usize) -> Batch {
        if !self.json_columns.is_empty() {
            // The server may have folded the names' letters.
            rows.say_json(|name| self.json_columns.iter().any(|json| json.to_lowercase() == name.to_lowercase()));
        }
        if let Some(trace) = &self.spec.trace {
            rows.say_trace(trace.as_str());
        }
        Batch::new(rows, first)
    }

    /// Runs `work` on a session, again and again while its errors are transient and the budget lasts. Everything that
    /// is run this way can be repeated: it reads, or carries an operation identity, or is recovered by the lease.
    fn with_session<T>(&self, call: Call, work: impl FnMut(&mut Session) -> Result<T>) -> Result<T> {
        self.with_session_yielding(call, YieldsTo::Closing, work)
    }

    /// The same, for work that can be left undone when the handle is called off.
    fn with_session_yielding<T>(
        &self,
        call: Call,
        yields_to: YieldsTo,
        mut work: impl FnMut(&mut Session) -> Result<T>,
    ) -> Result<T> {
        if self.attached.is_some() {
            return Err(attached::refused());
        }
        let mut is_again = false;
        self.retry.run(&self.interrupt, yields_to, || {
            if self.pool.is_closed() {
                return Err(closed());
            }
            if is_again {
                self.ledger.tries_again();
            }
            is_again = true;
            self.once(call, &mut work)
        })
    }

    /// One try on a session.
    fn once<T>(&self, call: Call, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut session = self.pool.acquire().inspect_err(|error| self.ledger.failed(error.kind()))?;
        self.ledger.time(call, || work(&mut session))
    }
}

/// The time that all claims of a handle carry.
fn run_at(config: &Config) -> Result<String> {
    let Some(given) = config.run_at() else { return Ok(utc_text(SystemTime::now())) };
    normalize_utc(given).ok_or_else(|| {
        let given = Excerpt(given);
        let message = format!("\"worker.run_at\" cannot be {given}; it takes a UTC time like 2026-11-21T08:30:00Z");
        Error::new(ErrorKind::InvalidConfig, message)
    })
}

/// Counts of items have the same bounds in every call.
fn check_count(what: &str, count: usize) -> Result<i32> {
    match i32::try_from(count) {
        Ok(count) if (1..=MAX_ITEMS.cast_signed()).contains(&count) => Ok(count),
        _ => {
            Err(Error::new(ErrorKind::InvalidArgument, format!("{what} is {count}; it must be from 1 to {MAX_ITEMS}")))
        }
    }
}

/// A call that answers item by item.
fn answered(session: &mut Session, text: &Arc<str>, params: &[Param<'_>]) -> Result<Rows> {
    session.call(text, params, Shape::Answers)
}
