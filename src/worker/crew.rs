//! The life of a worker, and its threads: each takes items, calls the handler, and ends them.

use super::failure;
use super::job::Job;
use super::stop::Stop;
use super::verdict::IntoVerdict;
use crate::engine::log_lines::Fields;
use crate::engine::{Begin, Engine, Taken, WorkerTerms};
use crate::error::{Error, ErrorKind, Result, log_text};
use crate::item::{Action, Item, Settlement, Verdict};
use crate::queue::Queue;
use log::Level;
use std::{
    panic::{self, AssertUnwindSafe},
    thread,
    time::Duration,
};

/// A worker, as it was set up.
pub(super) struct Crew {
    pub(super) queue: Queue,
    pub(super) threads: u32,
    pub(super) batch_size: u32,
    pub(super) stop: Stop,
    pub(super) settle_timeout: Option<Duration>,
    pub(super) terms: WorkerTerms,
}

/// Works on all threads until the worker is stopped.
pub(super) fn run<R: IntoVerdict>(crew: &Crew, handler: &(impl Fn(&Job<'_>) -> R + Sync)) -> Result<()> {
    let Crew { queue, threads, batch_size, stop, .. } = crew;
    let line = format!("threads: {threads}, items a batch: {batch_size}");
    live(crew, &line, |engine| on_threads(&Member { engine, queue, batch_size: *batch_size, handler }, *threads, stop))
}

fn on_threads<R: IntoVerdict>(
    member: &Member<'_, impl Fn(&Job<'_>) -> R + Sync>,
    threads: u32,
    stop: &Stop,
) -> Result<()> {
    thread::scope(|scope| {
        let mut members = Vec::new();
        let mut failure = None;
        for number in 1..=threads {
            let thread = thread::Builder::new().name(format!("readpast-worker-{number}"));
            match thread.spawn_scoped(scope, || member.run(stop)) {
                Ok(member) => members.push(member),
                Err(error) => {
                    stop.stop();
                    let message = format!("no thread could be started: {error}");
                    failure = Some(Error::new(ErrorKind::Unavailable, message));
                    break;
                }
            }
        }
        let ends = members.into_iter().map(|member| member.join().unwrap_or_else(|why| panic::resume_unwind(why)));
        // The first failure is reported after all threads have ended.
        let failures: Vec<_> = ends.filter_map(Result::err).collect();
        failure.into_iter().chain(failures).next().map_or(Ok(()), Err)
    })
}

/// Has a worker begin, `work`, and end. `work` returns when it was stopped, or by a failure, and no handler is at work.
pub(super) fn live(crew: &Crew, how: &str, work: impl FnOnce(&Engine) -> Result<()>) -> Result<()> {
    let Crew { queue, stop, settle_timeout, terms, .. } = crew;
    let Some(engine) = stop.begin(queue, terms.clone())? else { return Ok(()) };
    let name = queue.worker();
    let fields = Fields::default();
    fields.log(queue, Level::Info, &format!("worker {name} started: {how}"));
    let result = work(&engine);
    let closed = engine.close(*settle_timeout);
    stop.end(&engine);
    if let Some(payload) = engine.take_panic() {
        panic::resume_unwind(payload);
    }
    let ended = result.and(closed);
    match &ended {
        Ok(()) => fields.log(queue, Level::Info, &format!("worker {name} stopped")),
        Err(error) => {
            let fields = Fields { status: Some(format!("{:?}", error.kind())), ..fields };
            fields.log(queue, Level::Error, &format!("worker {name} ended: {error}"));
        }
    }
    ended
}

/// One thread.
struct Member<'a, F> {
    engine: &'a Engine,
    queue: &'a Queue,
    batch_size: u32,
    handler: &'a F,
}

/// Stops the others when a thread ends.
pub(super) struct StopOthers<'a>(pub(super) &'a Stop);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<R: IntoVerdict, F: Fn(&Job<'_>) -> R + Sync> Member<'_, F> {
    fn run(&self, stop: &Stop) -> Result<()> {
        let _stop_others = StopOthers(stop);
        loop {
            match self.engine.take(self.batch_size, Duration::MAX)? {
                Taken::Items(batch) => batch.iter().for_each(|item| self.work(item)),
                Taken::Nothing => {}
                Taken::Stopping => return Ok(()),
            }
        }
    }

    /// Calls the handler for an item, and ends it, if it may begin.
    fn work(&self, item: Item<'_>) {
        if self.engine.begin(item.key(), item.attempt()) == Begin::Ok {
            let verdict = self.handle(item);
            self.engine.end(&[verdict.settlement(item.key(), item.token(), item.attempt())]);
        }
    }

    fn handle(&self, item: Item<'_>) -> Verdict {
        let job = Job::new(item, self.engine);
        failure::forget_place();
        // Handlers know that they share their captures; a panic of theirs touches no state of ours.
        let handled = panic::catch_unwind(AssertUnwindSafe(|| (self.handler)(&job).into_verdict()));
        let verdict = handled.unwrap_or_else(|why| Verdict::retry(failure::text_of_panic(&*why)));
        note_failed(self.queue, &verdict.settlement(item.key(), item.token(), item.attempt()));
        verdict
    }
}

/// Logs a failed attempt, whether its handler returned an error or panicked.
pub(super) fn note_failed(queue: &Queue, settlement: &Settlement<'_>) {
    let Settlement { key, attempt, action, error, .. } = settlement;
    if matches!(action, Action::Retry | Action::Fail) {
        let error = log_text(error.unwrap_or("the handler gave no error"));
        let line = format!("item {key}, attempt {attempt} failed ({action:?}): {error}");
        Fields::of(settlement).log(queue, Level::Warn, &line);
    }
}
