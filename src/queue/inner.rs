//! What stands behind the handles of a queue: how it is opened, and how its calls get a session, again and again while that helps.

use super::backend::Backend;
use super::engine_side::Pacing;
use super::interrupt::{Interrupt, YieldsTo};
use super::outage::Outage;
use super::wake::Signal;
use super::{attached, keeper, kinds, retry};
use crate::config::Config;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::{Identifier, QueueName};
use crate::install;
use crate::item::{Batch, Rows, normalize_utc, utc_text};
use crate::metrics::{Call, Ledger, Listed, Source};
use crate::pool::{Pool, Pooled, closed};
use crate::session::{Attached, Session};
use crate::spec::QueueSpec;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// What a handle has for itself; the rest it has in common with those that were shared from it.
pub(super) struct Inner {
    pub(super) interrupt: Interrupt,
    pub(super) shared: Arc<Shared>,
    /// The caller's connection, where this handle works on one.
    pub(super) attached: Option<Arc<Attached>>,
    /// Whether it has not made sure, since it last took an item, that no dead worker's are left.
    pub(super) unsure: AtomicBool,
}

pub(super) struct Shared {
    pub(super) spec: QueueSpec,
    pub(super) schema: Identifier,
    pub(super) worker: String,
    pub(super) dialect: Dialect,
    pub(super) backend: Backend,
    /// What this process does with the queue, all its handles together.
    pub(super) ledger: Arc<Ledger>,
    pub(super) pool: Arc<Pool>,
    pub(super) outage: Outage,
    /// Has the pool's figures asked for.
    _listed: Listed,
    /// The columns that hold JSON, which only the description tells from text.
    pub(super) json_columns: Vec<String>,
    /// `None` leaves it to the queue.
    pub(super) lease_ms: Option<i32>,
    /// The time of the run, in queues that keep it.
    pub(super) run_at: Option<String>,
    /// Whether this worker takes up what it left in flight when it was last alive.
    pub(super) resumes: bool,
    /// Whether its claims leave their numbers with the items.
    pub(super) marks_claims: bool,
    /// What its claims take.
    pub(super) kinds: kinds::Kinds,
    pub(super) poll_interval: Duration,
    pub(super) recover_interval: Duration,
    pub(super) retention_interval: Duration,
    pub(super) most_item_bytes: usize,
    pub(super) query_timeout_sec: u32,
    pub(super) retry: retry::Policy,
    pub(super) signal: Arc<Signal>,
    pub(super) keeper: Arc<keeper::Keeper>,
    pub(super) pacing: Pacing,
}

impl Deref for Inner {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Inner {
    /// A handle on the queue, as [`super::Queue::open`] says.
    pub(super) fn open(config: &Config, name: &str) -> Result<Self> {
        let schema = config.schema()?;
        // Checked before the first connection: a bad name is a mistake of the caller, whatever the server says.
        QueueName::new(name)?;
        let run_at = Some(run_at(config)?);
        let pool = Pool::new(config);
        let retry = retry::Policy::new(config);
        let interrupt = Interrupt::default();
        let outage = Outage::default();
        let to_open = retry.within(config.open_timeout());
        let again = |error: &Error| outage.failed(name, error);
        let (spec, dialect, backend) = to_open.run(&interrupt, YieldsTo::Closing, again, || {
            let mut session = pool.acquire()?;
            outage.is_over(name);
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
            outage,
            lease_ms: config.lease_ms(),
            run_at: run_at.filter(|_| spec.run_time()),
            json_columns: spec.json_columns(),
            marks_claims: spec.marks_claims(),
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
                ahead_bytes: config.number("worker.ahead_bytes") as usize,
                hold: config.duration("worker.hold_ms"),
            },
        };
        Ok(Self { interrupt, shared: Arc::new(shared), attached: None, unsure: true.into() })
    }

    /// The items in `rows`, which begin at row `first`.
    pub(super) fn hand_out(&self, mut rows: Rows, first: usize) -> Batch {
        if !self.json_columns.is_empty() {
            // The server may have folded the names' letters.
            rows.say_json(|name| self.json_columns.iter().any(|json| json.to_lowercase() == name.to_lowercase()));
        }
        self.unsure.store(true, Ordering::Relaxed);
        if let Some(trace) = &self.spec.trace {
            rows.say_trace(trace.as_str());
        }
        Batch::new(rows, first)
    }

    /// Runs `work` on a session, again and again while its errors are transient and the budget lasts. Everything that
    /// is run this way can be repeated: it reads, or carries an operation identity, or asks first what its last try did,
    /// or is recovered by the lease.
    pub(super) fn with_session<T>(&self, call: Call, work: impl FnMut(&mut Session) -> Result<T>) -> Result<T> {
        self.with_session_yielding(call, YieldsTo::Closing, work)
    }

    /// The same, for work that can be left undone when the handle is called off.
    pub(super) fn with_session_yielding<T>(
        &self,
        call: Call,
        yields_to: YieldsTo,
        mut work: impl FnMut(&mut Session) -> Result<T>,
    ) -> Result<T> {
        if self.attached.is_some() {
            return Err(attached::refused());
        }
        let mut is_again = false;
        self.retry
            .run(
                &self.interrupt,
                yields_to,
                |error| self.outage.failed(self.spec.queue.as_str(), error),
                || {
                    if self.pool.is_closed() {
                        return Err(closed());
                    }
                    if is_again {
                        self.ledger.tries_again();
                    }
                    is_again = true;
                    self.once(call, &mut work)
                },
            )
            .map_err(|error| self.named_if_dropped(error))
    }

    /// An object that is missing, or may not be used, often belongs to a queue that was dropped.
    fn named_if_dropped(&self, error: Error) -> Error {
        // A call that was under way when its table went meets it in ways that no server documents.
        let may_be = [ErrorKind::SchemaMismatch, ErrorKind::PermissionDenied, ErrorKind::Database];
        if !may_be.contains(&error.kind()) {
            return error;
        }
        let name = self.spec.queue.as_str();
        match self.pool.acquire().and_then(|mut session| install::is_gone(&mut session, &self.schema, name)) {
            Ok(true) => {
                let message = format!("the queue {name:?} was dropped from the schema {:?}", self.schema.as_str());
                Error::new(ErrorKind::UnknownQueue, message)
            }
            // The last right that its roles had went with it.
            Err(asked) if asked.kind() == ErrorKind::PermissionDenied && error.kind() != ErrorKind::Database => {
                error.followed_by(&format!("; or the queue {name:?} was dropped, and the rights on it"))
            }
            _ => error,
        }
    }

    /// One try on the connection that is kept for the renewal of leases, within `limit`.
    pub(super) fn once_to_renew<T>(&self, limit: Duration, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        if self.attached.is_some() {
            return Err(attached::refused());
        }
        if self.pool.is_closed() {
            return Err(closed());
        }
        self.tried(Call::Renew, self.pool.acquire_to_renew(limit), work).map_err(|error| self.named_if_dropped(error))
    }

    /// One try on a session.
    pub(super) fn once<T>(&self, call: Call, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        self.tried(call, self.pool.acquire(), work)
    }

    fn tried<T>(
        &self,
        call: Call,
        session: Result<Pooled<'_>>,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let mut session = session.inspect_err(|error| self.ledger.failed(error.kind()))?;
        let result = self.ledger.time(call, || work(&mut session));
        if result.is_ok() {
            self.outage.is_over(self.spec.queue.as_str());
        }
        result.map_err(|error| whose(self.dialect, call, error))
    }
}

/// The side at fault when the server refuses a value. Claims and looks are given none but what is checked before anything is
/// done, so it is one that lies in a table, or of a trigger there: nothing that is wrong with the call.
fn whose(dialect: Dialect, call: Call, error: Error) -> Error {
    let gives_values =
        !matches!(call, Call::Claim | Call::Recover | Call::Retain | Call::Why | Call::Stats | Call::Watch);
    if gives_values || error.kind() != ErrorKind::InvalidItem || dialect.refuses_argument(&error) {
        return error;
    }
    error.of_kind(ErrorKind::Database)
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
