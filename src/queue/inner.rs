//! The state behind the handles of a queue: opening it, and sessions for its calls, with retries after transient errors.

use super::dropped;
use super::pacing::Pacing;
use super::targets::Targets;
use crate::backend::{self, Procedures};
use crate::calls::{self, AskedQueue, CallTerms, Due, KnownQueues, RefusedItem, SeenWorker, Sessions, YieldsTo};
use crate::config::{Config, LibpqLogin};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::ident::QueueName;
use crate::install;
use crate::item::{Lease, Outcome};
use crate::metrics::{CallKind, Counters, Listed, Source};
use crate::pool::{Pool, Pooled, closed};
use crate::session::{Attached, Session};
use crate::shared::{
    AsksDue, BellPull, Interrupt, LeaseHolder, LeaseRenewer, Lifeline, OfQueue, Outage, Policy, Poller, Presence,
    Renewals, Renews, Served, before_recovery,
};
use crate::sync::Mutex;
use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// One handle's own part; it shares the rest with the handles that were shared from it.
pub(crate) struct QueueInner {
    pub(crate) interrupt: Interrupt,
    /// Dropped before the rest. `None`: threads look for themselves.
    pub(crate) served: Option<Arc<Served>>,
    pub(crate) shared: Arc<QueueShared>,
    /// The caller's connection, if the handle is attached to one.
    pub(crate) attached: Option<Arc<Attached>>,
    /// The person who acts through the handle.
    pub(crate) operator: Arc<str>,
    /// Whether a call is made once, since another place may do the same.
    pub(super) is_hasty: bool,
    /// Whether the handle has taken an item since it last made sure that no item of a dead worker is left.
    pub(crate) unsure: AtomicBool,
    /// Whether a worker claims on it, which keeps its leases and its lifeline.
    pub(crate) is_of_worker: AtomicBool,
    /// Items that their table refused, for the worker of this handle. `None`: the handle logs them.
    pub(crate) set_aside: Mutex<Option<Vec<RefusedItem>>>,
}

pub(crate) struct QueueShared {
    pub(crate) terms: CallTerms,
    pub(crate) backend: Box<dyn Procedures>,
    /// Counters of this process, for all handles.
    pub(crate) counters: Arc<Counters>,
    pub(crate) pool: Arc<Pool>,
    pub(super) outage: Arc<Outage>,
    /// Whether a thread tries the database of a place that is away.
    pub(super) is_tried: AtomicBool,
    /// Keeps the pool in the list of figures.
    _listed: Listed,
    /// Whether this worker recovers its own items of an earlier life.
    pub(crate) resumes: bool,
    pub(crate) poll_interval: Duration,
    pub(crate) recover_interval: Duration,
    pub(crate) cleaning_interval: Duration,
    pub(crate) query_timeout_sec: u32,
    pub(crate) retry: Policy,
    pub(crate) process: Arc<OfQueue>,
    pub(crate) renewer: Arc<LeaseRenewer>,
    pub(crate) pacing: Pacing,
    /// The turns of this handle's worker to report that it is there.
    pub(crate) presence: Presence,
    pub(crate) lifeline: Lifeline,
    /// The log-in by which it is found out whether sessions are the process's own.
    pub(super) direct: Option<Arc<LibpqLogin>>,
    pub(super) opened: Instant,
    /// The look at many queues of the schema.
    due: Arc<str>,
    doorbell: Option<Doorbell>,
    /// The queues that items have followed into.
    pub(super) targets: Targets,
}

/// The needs of a doorbell, where there may be one.
struct Doorbell {
    login: Arc<LibpqLogin>,
    /// The statements that ask to be woken: when something is added, and when items end.
    sleep: String,
    await_ends: String,
}

impl Deref for QueueInner {
    type Target = QueueShared;

    fn deref(&self) -> &QueueShared {
        &self.shared
    }
}

impl QueueInner {
    /// A handle on the queue, as [`super::Queue::open`] says. `outage` may have begun with an earlier try.
    pub(crate) fn open(config: &Config, name: &str, outage: Arc<Outage>) -> Result<Self> {
        let schema = config.schema()?;
        // Checked before the first connection: a bad name is a mistake of the caller, whatever the server says.
        QueueName::new(name)?;
        let run_at = CallTerms::run_at(config)?;
        let pool = Pool::new(config);
        let retry = Policy::new(config);
        let interrupt = Interrupt::default();
        let to_open = retry.within(config.open_timeout());
        let label = config.place().map_or_else(|| name.to_owned(), |place| format!("{name} at {place}"));
        let again = |error: &Error| outage.failed(&label, error);
        let (spec, dialect, backend) = to_open.run(&interrupt, YieldsTo::Closing, again, || {
            let mut session = pool.acquire()?;
            outage.is_over(&label);
            let dialect = session.dialect();
            let spec = install::look_up(&mut session, &schema, name)?;
            let backend = backend::open(&mut session, &schema, &spec)?;
            Ok((spec, dialect, backend))
        })?;
        let (counters, pool) = (Counters::of(schema.as_str(), spec.queue.as_str()), Arc::new(pool));
        let process = OfQueue::of(&config.connection_string()?, schema.as_str(), name);
        let due = dialect.schema_call("due", &schema)?.into();
        let login = config.doorbell().filter(|_| dialect == Dialect::Postgres).map(Arc::new);
        let terms = CallTerms::new(config, schema, spec, dialect, run_at)?;
        let lease = Duration::from_millis(u64::from(terms.described_lease_ms().unsigned_abs()));
        let doorbell = login.map(|login| {
            let statement = |name| dialect.schema_call(name, &terms.schema);
            Ok::<_, Error>(Doorbell { login, sleep: statement("sleep")?, await_ends: statement("await")? })
        });
        let shared = QueueShared {
            due,
            doorbell: doorbell.transpose()?,
            _listed: Listed::new(&counters, Arc::clone(&pool) as Arc<dyn Source>),
            counters,
            pool,
            outage,
            is_tried: AtomicBool::new(false),
            resumes: terms.spec.lease.resume_own && config.has_worker() && backend.own().is_some(),
            backend,
            poll_interval: config.duration("poll.interval_ms"),
            recover_interval: config.duration("recover.interval_ms"),
            cleaning_interval: config.duration("retention.interval_ms"),
            query_timeout_sec: config.number("query.timeout_ms").div_ceil(1000),
            retry,
            process,
            renewer: Arc::default(),
            pacing: Pacing::new(config, &terms.spec),
            targets: Targets::default(),
            presence: Presence::new(),
            lifeline: Lifeline::new(config.duration("lease.grace_ms"), lease),
            direct: config.libpq_login().filter(|_| dialect == Dialect::Postgres).map(Arc::new),
            opened: Instant::now(),
            terms,
        };
        let shared = Arc::new(shared);
        let served = if shared.backend.is_polled() {
            let stem = shared.terms.dialect.queue_stem(&shared.terms.spec.queue);
            let asked = AskedQueue { stem, recovery: before_recovery(shared.recover_interval) };
            let poller = Poller::of(&config.connection_string()?, shared.terms.schema.as_str());
            Some(poller.serve(asked, &shared.process, Arc::downgrade(&shared) as Weak<dyn AsksDue>))
        } else {
            None
        };
        let operator = config.operator().unwrap_or(&shared.terms.worker).into();
        Ok(Self {
            interrupt,
            served,
            shared,
            attached: None,
            operator,
            is_hasty: false,
            unsure: true.into(),
            is_of_worker: false.into(),
            set_aside: Mutex::default(),
        })
    }

    /// Another handle, with an interrupt of its own.
    pub(crate) fn share(&self, attached: Option<Arc<Attached>>) -> Self {
        let shared = Arc::clone(&self.shared);
        let interrupt = self.interrupt.share();
        let operator = Arc::clone(&self.operator);
        let served = self.served.clone();
        Self {
            interrupt,
            served,
            shared,
            attached,
            operator,
            is_hasty: false,
            unsure: true.into(),
            is_of_worker: false.into(),
            set_aside: Mutex::default(),
        }
    }

    /// Renews the leases of `holder` every `interval`, as long as it lives. `None`: the queue keeps no leases.
    pub(crate) fn renew_leases(&self, holder: Weak<dyn LeaseHolder>, interval: Duration) -> Result<Option<Renewals>> {
        if self.backend.own().is_none() {
            return Ok(None);
        }
        self.refuse_attached()?;
        let queue = Arc::clone(&self.shared) as Arc<dyn Renews>;
        self.shared.listens();
        self.renewer.renew(queue, holder, interval).map(Some)
    }

    /// Asks to be woken as these items end, where there is a bell. `begins`: it is to listen, if it does not. Whether that is relied on.
    pub(super) fn awaits(&self, keys: &[String], begins: bool) -> bool {
        let (Some(served), Some(Doorbell { login, await_ends, .. })) = (&self.served, &self.doorbell) else {
            return false;
        };
        let here = |key: &String| self.terms.key_form().here(key).map(str::to_owned).ok();
        let keys: Vec<_> = keys.iter().filter_map(here).collect();
        served.awaits(login, &keys, begins, |awaited| {
            self.once(CallKind::Find, |session| calls::await_ends(session, await_ends, awaited))
        })
    }

    /// [`ErrorKind::Unsupported`] on a handle that is attached to a caller's connection.
    pub(crate) fn refuse_attached(&self) -> Result<()> {
        if self.attached.is_none() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "this handle is attached to a caller's connection, where it only enqueues and settles; use the queue that \
             it was made from for other calls",
        ))
    }
}

impl Sessions for QueueInner {
    fn run(&self, call: CallKind, yields_to: YieldsTo, work: &mut dyn FnMut(&mut Session) -> Result<()>) -> Result<()> {
        self.refuse_attached()?;
        let mut is_again = false;
        let again = |error: &Error| self.outage.failed(&self.terms.label(), error);
        let retry = self.retry.within(self.is_hasty.then_some(Duration::ZERO));
        let result = retry.run(&self.interrupt, yields_to, again, || {
            if self.pool.is_closed() {
                return Err(closed());
            }
            if is_again {
                self.counters.tries_again();
            }
            is_again = true;
            self.tried(call, self.pool.acquire(), &mut *work)
        });
        if let (true, Err(error)) = (self.is_hasty, &result) {
            again(error);
        }
        result.map_err(|error| dropped::named_if_dropped(&self.pool, &self.terms, error))
    }

    fn called_off(&self) -> Option<Error> {
        if self.interrupt.is_closed() {
            return Some(closed());
        }
        self.interrupt.is_set().then(|| Error::new(ErrorKind::Interrupted, "the wait was interrupted"))
    }
}

impl QueueShared {
    /// Runs `work` on a session, with one try.
    pub(crate) fn tried<T>(
        &self,
        call: CallKind,
        session: Result<Pooled<'_>>,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let mut session = session.inspect_err(|error| self.counters.failed(error.kind()))?;
        self.take_lifeline(&mut session).inspect_err(|error| self.counters.failed(error.kind()))?;
        let asked = Instant::now();
        // A call that hangs holds up no item then: none is claimed yet, and the leases are renewed.
        if matches!(call, CallKind::Claim | CallKind::SettleAndClaim | CallKind::Work) {
            self.report_worker(&mut session);
        }
        let result = self.counters.time(call, || work(&mut session));
        if result.is_ok() {
            self.is_proved(&mut session, asked);
            if self.outage.is_on() {
                self.outage.is_over(&self.terms.label());
            }
            if call == CallKind::Renew {
                self.report_worker(&mut session);
            }
        }
        result.map_err(|error| at_fault(self.terms.dialect, call, error))
    }
}

impl QueueShared {
    /// A worker holds items, or will: the process listens for what happens to them. After a failure each renewal begins it again.
    fn listens(&self) {
        if let Some(doorbell) = &self.doorbell {
            self.process.polls.listen(&doorbell.login);
        }
    }
}

impl Renews for QueueShared {
    fn name(&self) -> &str {
        self.terms.queue()
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(u64::from(self.terms.described_lease_ms().unsigned_abs()))
    }

    /// Uses the connection that is kept for renewals.
    fn renew(&self, leases: &[Lease<'_>], limit: Duration) -> Result<Vec<Outcome>> {
        let own = self.backend.calls("renew a lease", NO_LEASES)?;
        calls::renew(&self.terms, own, leases, |work| {
            if self.pool.is_closed() {
                return Err(closed());
            }
            self.listens();
            self.tried(CallKind::Renew, self.pool.acquire_to_renew(limit), work)
                .map_err(|error| dropped::named_if_dropped(&self.pool, &self.terms, error))
        })
    }

    fn count_lost(&self, count: usize) {
        self.counters.loses(count);
    }

    fn prove_at(&self) -> Option<Instant> {
        self.lifeline.prove_at(Instant::now())
    }

    fn prove(&self, limit: Duration) -> bool {
        self.prove_lifeline(limit)
    }
}

impl AsksDue for QueueShared {
    fn due(
        &self,
        queues: &[AskedQueue],
        known: &mut KnownQueues,
        bell: Option<&BellPull<'_>>,
    ) -> Result<Option<Vec<Option<Due>>>> {
        let Some(session) = self.pool.acquire_now().transpose() else { return Ok(None) };
        let asked = self.tried(CallKind::Poll, session, |session| {
            if let (Some(bell), Some(Doorbell { sleep, .. })) = (bell, &self.doorbell) {
                bell.ask(|stems, channel, listener| calls::sleep(session, sleep, stems, channel, listener));
            }
            calls::due(session, &self.due, queues, known)
        });
        asked.map(Some)
    }

    fn doorbell(&self) -> Option<&Arc<LibpqLogin>> {
        self.doorbell.as_ref().map(|doorbell| &doorbell.login)
    }

    fn taken_from(&self, worker: &str) {
        if self.terms.worker.ends_with(worker) {
            self.renewer.hurry();
        }
    }

    fn reported_along(&self) -> Option<SeenWorker> {
        self.presence.take_along().then(|| SeenWorker::of(&self.terms, self.lifeline.grace_ms()))
    }
}

/// Why hand-written procedures have nothing to renew.
pub(crate) const NO_LEASES: &str = "they keep none: an item is its worker's for ever";

/// The error with the right side at fault when the server refuses a value. Claims and looks have only checked parameters, so the
/// value is in a table or a trigger, and the call is right.
fn at_fault(dialect: Dialect, call: CallKind, error: Error) -> Error {
    let gives_values = !matches!(
        call,
        CallKind::Claim
            | CallKind::Poll
            | CallKind::Recover
            | CallKind::Retain
            | CallKind::Why
            | CallKind::Stats
            | CallKind::Watch
    );
    if gives_values || error.kind() != ErrorKind::InvalidItem || dialect.refuses_argument(&error) {
        return error;
    }
    error.of_kind(ErrorKind::Database)
}
