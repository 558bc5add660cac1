//! Handlers that are futures, on the runtime of the caller.

use super::async_job::AsyncJob;
use super::crew::{self, Crew, StopOthers};
use super::failure;
use super::stop::Stop;
use super::verdict::IntoVerdict;
use crate::engine::log_lines::Fields;
use crate::engine::{Begin, Engine, Taken};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Batch, Verdict};
use crate::queue::{MAX_ITEMS, Queue};
use crate::sync::{Condvar, Mutex};
use crate::threads;
use log::Level;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tracing::{Instrument as _, Span, field};

/// Works until the worker is stopped. A thread takes items, and spawns a task for each.
pub(super) async fn run<F: Future<Output: IntoVerdict> + Send + 'static>(
    crew: Crew,
    patience: Option<Duration>,
    handler: impl Fn(AsyncJob) -> F + Send + Sync + 'static,
) -> Result<()> {
    let lanes = Arc::new(Lanes { free: Mutex::new(crew.threads), changed: Condvar::new(), all: crew.threads });
    let mut leave = Leave { stop: crew.stop.clone(), has_ended: false };
    let (report, ended) = oneshot::channel();
    let (runtime, handler) = (Handle::current(), Arc::new(handler));
    threads::start("readpast-worker", move || {
        let line = format!("futures at once: {}", crew.threads);
        let work = |engine: &Engine| {
            let _stop = StopOthers(&crew.stop);
            let changes = listen(engine, patience)?;
            let spawn = |begun: Begun| {
                let work = work_on(begun, Arc::clone(&handler), changes.clone());
                drop(runtime.spawn(work));
            };
            feed(engine, &crew.queue, &lanes, spawn)
        };
        // A caller that has gone needs no report.
        let _ = report.send(panic::catch_unwind(AssertUnwindSafe(|| crew::live(&crew, &line, work))));
    })?;
    let ended = ended.await;
    leave.has_ended = true;
    match ended {
        Ok(Ok(result)) => result,
        Ok(Err(why)) => panic::resume_unwind(why),
        Err(_) => Err(Error::new(ErrorKind::Unavailable, "the worker's thread was killed")),
    }
}

/// Takes items and spawns them until the worker stops, then waits for their ends.
fn feed(engine: &Engine, queue: &Queue, lanes: &Arc<Lanes>, spawn: impl Fn(Begun)) -> Result<()> {
    let taken = loop {
        let free = lanes.wait_for(1);
        match engine.take(free.min(MAX_ITEMS), Duration::MAX) {
            Ok(Taken::Items(batch)) => begin(engine, queue, lanes, &batch).for_each(&spawn),
            Ok(Taken::Nothing) => {}
            Ok(Taken::Stopping) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    lanes.wait_for(lanes.all);
    taken
}

fn begin(engine: &Engine, queue: &Queue, lanes: &Arc<Lanes>, batch: &Batch) -> impl Iterator<Item = Begun> {
    let jobs = (0..batch.len()).filter_map(|index| AsyncJob::new(batch, index, engine));
    let begun = jobs.filter(|job| engine.begin(job.key(), job.attempt()) == Begin::Ok);
    begun.map(|job| Begun {
        engine: engine.clone(),
        queue: queue.clone(),
        _lane: Lane::new(lanes),
        job,
        has_ended: false,
    })
}

/// Runs the handler's future for an item until it ends or is called off.
async fn work_on<F: Future<Output: IntoVerdict> + Send>(
    begun: Begun,
    handler: Arc<impl Fn(AsyncJob) -> F>,
    changes: watch::Receiver<bool>,
) {
    let span = begun.span();
    let ended = {
        let job = begun.job.clone();
        let handled = async move { handler(job).await.into_verdict() };
        let mut handled = pin!(handled.instrument(span.clone()));
        let mut called_off = pin!(called_off(&begun, changes));
        poll_fn(|context| {
            failure::forget_place();
            // Handlers know that they share their captures; a panic of theirs touches no state of ours.
            match panic::catch_unwind(AssertUnwindSafe(|| handled.as_mut().poll(context))) {
                Ok(Poll::Ready(verdict)) => Poll::Ready(Ok(verdict)),
                Ok(Poll::Pending) => called_off.as_mut().poll(context).map(Err),
                Err(why) => Poll::Ready(Ok(Verdict::retry(failure::text_of_panic(&*why)))),
            }
        })
        .await
    };
    match ended {
        Ok(verdict) => begun.end(&verdict, &span),
        Err(why) => begun.call_off(why),
    }
}

/// Waits for a reason to go on no longer.
async fn called_off(begun: &Begun, mut changes: watch::Receiver<bool>) -> &'static str {
    loop {
        let is_overdue = *changes.borrow_and_update();
        if begun.job.is_lost() {
            return "the item is lost";
        }
        if is_overdue {
            return "the worker stops";
        }
        if changes.changed().await.is_err() {
            return "the worker has ended";
        }
    }
}

/// A thread that waits for changes, and passes each on; with it whether the futures' time after the stop is over.
fn listen(engine: &Engine, mut patience: Option<Duration>) -> Result<watch::Receiver<bool>> {
    let (tell, changes) = watch::channel(false);
    let engine = engine.clone();
    threads::start("readpast-changes", move || {
        let (mut seen, mut until) = (0, None::<Instant>);
        loop {
            let wait = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            let Some(changes) = engine.changes(seen, wait) else { return };
            seen = changes;
            if engine.is_stopping() {
                until = patience.take().and_then(|patience| Instant::now().checked_add(patience)).or(until);
            }
            let is_over = until.is_some_and(|until| until <= Instant::now());
            until = until.filter(|_| !is_over);
            tell.send_modify(|overdue| *overdue |= is_over);
        }
    })?;
    Ok(changes)
}

/// How many futures may begin.
struct Lanes {
    free: Mutex<u32>,
    changed: Condvar,
    all: u32,
}

impl Lanes {
    /// Waits until so many are free; returns how many are.
    fn wait_for(&self, count: u32) -> u32 {
        let mut free = self.free.lock();
        while *free < count {
            self.changed.wait(&mut free);
        }
        *free
    }

    fn change(&self, by: i32) {
        let mut free = self.free.lock();
        *free = free.saturating_add_signed(by);
        self.changed.notify_all();
    }
}

/// A place among the futures that run at once.
struct Lane(Arc<Lanes>);

impl Lane {
    fn new(lanes: &Arc<Lanes>) -> Self {
        lanes.change(-1);
        Self(Arc::clone(lanes))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.0.change(1);
    }
}

/// Gives everything back when the caller drops the future that waits for the worker.
struct Leave {
    stop: Stop,
    has_ended: bool,
}

impl Drop for Leave {
    fn drop(&mut self) {
        if !self.has_ended {
            self.stop.abandon();
        }
    }
}

/// An item that has begun. Its end is a release if nothing else was decided: its future was dropped.
struct Begun {
    engine: Engine,
    queue: Queue,
    /// Freed once the item has ended.
    _lane: Lane,
    job: AsyncJob,
    has_ended: bool,
}

impl Begun {
    fn span(&self) -> Span {
        let (queue, worker) = (self.queue.name(), self.queue.worker());
        let (key, attempt) = (self.job.key(), self.job.attempt());
        tracing::info_span!(target: "readpast::worker", "process", queue, worker, key, attempt, action = field::Empty)
    }

    fn end(mut self, verdict: &Verdict, span: &Span) {
        let item = self.job.item();
        let settlement = verdict.settlement(item.key(), item.token(), item.attempt());
        span.record("action", field::debug(settlement.action));
        span.in_scope(|| crew::note_failed(&self.queue, &settlement));
        self.engine.end(&[settlement]);
        self.has_ended = true;
    }

    fn call_off(self, why: &str) {
        let (key, attempt) = (self.job.key(), self.job.attempt());
        let line = format!("item {key}, attempt {attempt}: the handler is cancelled: {why}");
        Fields { key: Some(key), attempt: Some(attempt), ..Fields::default() }.log(&self.queue, Level::Warn, &line);
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.has_ended {
            let item = self.job.item();
            self.engine.end(&[Verdict::release().settlement(item.key(), item.token(), item.attempt())]);
        }
    }
}
