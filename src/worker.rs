//! Workers in Rust: threads that take items from the engine, call the handler, and end them.

#[cfg(feature = "tokio")]
mod async_handlers;
#[cfg(feature = "tokio")]
mod async_job;
mod by_type;
mod crew;
mod failure;
mod handlers;
mod job;
#[cfg(feature = "tokio")]
mod on_tokio;
mod procedure;
mod renewal;
mod stop;
mod unreadable;
mod verdict;
mod work;

#[cfg(feature = "tokio")]
pub use self::{
    async_handlers::{AsyncHandlers, AsyncNext},
    async_job::AsyncJob,
};
pub use self::{
    failure::trace_panics,
    handlers::{Handlers, Next},
    job::Job,
    procedure::{Procedure, Worked},
    renewal::Renewal,
    stop::Stop,
    unreadable::Unreadable,
    verdict::IntoVerdict,
    work::{from_column, from_columns},
};
pub use crate::engine::Event;

use crate::engine::{Observer, WorkerTerms};
use crate::error::{Error, ErrorKind, Result};
use crate::queue::{MAX_ITEMS, Queue};
use crew::Crew;
use std::{fmt, sync::Arc, time::Duration};

/// The most threads of one worker. A handler that mostly waits can use many; one that computes needs as many as there are
/// processors.
pub const MAX_THREADS: u32 = 1000;

/// Runs a handler for each item of a queue, until it is stopped.
///
/// Each thread takes an item, calls the handler for it, and ends it; neither waits for the database. Threads of their own
/// ([`Engine`](crate::Engine)) claim ahead, settle all ended items in one call, and renew the leases, however long a handler
/// takes. The handler's result decides about the item ([`IntoVerdict`]): nothing, a [`Verdict`](crate::Verdict), or a `Result` of
/// these.
///
/// - An error is a failed attempt: its text and that of its sources go to the item's error column, and the item is tried again
///   after the queue's backoff until its attempts are spent.
/// - A panic is the same, with the panic's message; [`trace_panics`] adds its place. Handlers share their captures, which stay as
///   a panic left them. (A program built with `panic = "abort"` ends, as it asked to.)
/// - The database refuses the result of an item that was lost meanwhile ([`Job::is_lost`]); the worker logs it, and leaves the
///   item to its new holder.
/// - A value that the database cannot store, such as a response longer than its column, is left out, and the item's error says
///   so.
/// - Each failed attempt is logged at the level `warn` with key and attempt, through the crate `log`; start and stop are at
///   `info`. No log line has a column of an item.
/// - The worker logs transient failures and waits for their end; all others end it, and [`Worker::run`] returns them. Items in
///   flight then come back when their leases run out.
///
/// Connections: one for each call under way (at most the setting `worker.fetchers`, 2 by default), however many threads there are, now and then
/// one to renew leases or to write progress, and one for each step while it is recorded.
///
/// ```no_run
/// use readpast::{Config, Queue, Worker};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::new();
/// config.set("connection", &std::env::var("READPAST_CONNECTION")?)?;
/// let worker = Worker::new(&Queue::open(&config, "Notification")?).threads(4);
/// worker.run(|job| -> Result<(), std::io::Error> {
///     std::fs::write(job.key(), job.item().to_json())
/// })?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a worker works when it is run"]
pub struct Worker {
    queue: Queue,
    threads: u32,
    batch_size: u32,
    stop: Stop,
    settle_timeout: Option<Duration>,
    #[cfg(feature = "tokio")]
    stop_timeout: Option<Duration>,
    until_empty: bool,
    observer: Option<Observer>,
}

impl Worker {
    /// A worker of one thread that takes one item at a time. It has a handle of its own ([`Queue::share`]): its stop does not
    /// touch other users of `queue`, while an interrupt of `queue` stops it.
    pub fn new(queue: &Queue) -> Self {
        let queue = queue.share();
        Self {
            queue,
            threads: 1,
            batch_size: 1,
            stop: Stop::default(),
            settle_timeout: None,
            #[cfg(feature = "tokio")]
            stop_timeout: None,
            until_empty: false,
            observer: None,
        }
    }

    /// On how many threads handlers run at once, from 1 to [`MAX_THREADS`].
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// How many items a thread takes at a time, from 1 to [`MAX_ITEMS`], and handles one after the other. For handlers that work
    /// better with several items; a larger number saves no round trips.
    pub fn batch_size(mut self, items: u32) -> Self {
        self.batch_size = items;
        self
    }

    /// How long a stopped worker waits for the database to settle its items, after the last handler has ended: a lease's length
    /// by default. Then it gives up, and the leases run out.
    pub fn settle_timeout(mut self, timeout: Duration) -> Self {
        self.settle_timeout = Some(timeout);
        self
    }

    /// How long futures of [`Worker::run_async`] may go on after a stop: until they end by default. Nothing ends functions.
    #[cfg(feature = "tokio")]
    pub fn stop_timeout(mut self, timeout: Duration) -> Self {
        self.stop_timeout = Some(timeout);
        self
    }

    /// Whether it stops by itself when nothing is due and nothing in flight.
    pub fn until_empty(mut self, so: bool) -> Self {
        self.until_empty = so;
        self
    }

    /// Calls `observer` for each event, on the thread that reports it, which waits for it: for metrics and audits. A panic in it
    /// ends the worker.
    pub fn observe(mut self, observer: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// A handle that stops this worker, for another thread or a signal handler's.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Works until it is stopped. Once stopped, a worker does not start again; make another one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the number of threads or items is out of range; [`ErrorKind::Closed`] when the queue
    /// was closed; the failure of a claim or a settle, if it is not transient. All threads have ended then.
    ///
    /// # Panics
    /// When an observer does. Panics of handlers stay with their items.
    pub fn run<R: IntoVerdict>(&self, handler: impl Fn(&Job<'_>) -> R + Sync) -> Result<()> {
        crew::run(&self.crew()?, &handler)
    }

    /// Works until it is stopped, as [`Worker::run`] does, with a handler whose futures run on the caller's tokio runtime, as many at
    /// once as [`Worker::threads`]; one that waits needs no thread. `batch_size` has no effect. Two threads of the worker wait for the
    /// library. Each future is inside a span `process` of the crate `tracing`, with queue, worker, key, attempt and action.
    ///
    /// A future whose item is lost is dropped, likewise one that goes on for longer than [`Worker::stop_timeout`] after a stop; the item
    /// is given back, and the attempt does not count. Dropping the future of this call does that at once with all items; so does the end
    /// of the runtime.
    ///
    /// ```no_run
    /// # async fn work(queue: &readpast::Queue, pool: std::sync::Arc<str>) -> readpast::Result<()> {
    /// let worker = readpast::Worker::new(queue).threads(100);
    /// worker
    ///     .run_async(move |job| {
    ///         let pool = pool.clone();
    ///         async move {
    ///             let to = job.text("Recipient").ok_or("there is no recipient")?;
    ///             println!("mail to {to} by {pool}");
    ///             Ok::<_, &str>(())
    ///         }
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Worker::run`].
    ///
    /// # Panics
    /// Outside a runtime, and when an observer panics.
    #[cfg(feature = "tokio")]
    pub async fn run_async<F: Future<Output: IntoVerdict> + Send + 'static>(
        &self,
        handler: impl Fn(AsyncJob) -> F + Send + Sync + 'static,
    ) -> Result<()> {
        on_tokio::run(self.crew()?, self.stop_timeout, handler).await
    }

    fn crew(&self) -> Result<Crew> {
        check("threads", self.threads, MAX_THREADS)?;
        check("items of a batch", self.batch_size, MAX_ITEMS)?;
        Ok(Crew {
            queue: self.queue.clone(),
            threads: self.threads,
            batch_size: self.batch_size,
            stop: self.stop.clone(),
            settle_timeout: self.settle_timeout,
            terms: WorkerTerms { until_empty: self.until_empty, observer: self.observer.clone() },
        })
    }
}

fn check(what: &str, count: u32, most: u32) -> Result<()> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidArgument, format!("the number of {what} is {count}; it must be from 1 to {most}")))
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, threads, batch_size, .. } = self;
        f.debug_struct("Worker")
            .field("queue", queue)
            .field("threads", threads)
            .field("batch_size", batch_size)
            .finish_non_exhaustive()
    }
}
