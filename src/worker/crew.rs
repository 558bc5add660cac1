//! The threads of a worker.

use super::desk::Desk;
use super::job::Job;
use super::renewal::Renewal;
use super::verdict::{IntoVerdict, Verdict};
use super::{Event, Worker, failure};
use crate::error::{Error, ErrorKind, Result};
use crate::item::{Action, Batch, Item, Settlement};
use std::{
    panic::{self, AssertUnwindSafe},
    thread,
    time::Duration,
};

/// The longest wait of one claim. A stop calls it off, so that it may be long.
const WAIT: Duration = Duration::from_secs(3600);

/// Works on all threads until the worker is stopped; one that cannot go on stops them all.
pub(super) fn run<R: IntoVerdict>(worker: &Worker, handler: &(impl Fn(&Job<'_>) -> R + Sync)) -> Result<()> {
    let name = worker.queue.worker();
    log::info!("worker {name} started: threads: {}, items a batch: {}", worker.threads, worker.batch_size);
    let member = Member {
        desk: Desk { queue: &worker.queue, stop: &worker.stop, observer: worker.observer.as_ref() },
        batch_size: worker.batch_size,
        renew_every: (worker.queue.lease() / 3).max(Duration::from_millis(1)),
        handler,
    };
    let ended = thread::scope(|scope| {
        let mut members = Vec::new();
        let mut failure = None;
        for number in 1..=worker.threads {
            let thread = thread::Builder::new().name(format!("readpast-worker-{number}"));
            match thread.spawn_scoped(scope, || member.run()) {
                Ok(member) => members.push(member),
                Err(error) => {
                    worker.stop.stop();
                    let message = format!("no thread could be started: {error}");
                    failure = Some(Error::new(ErrorKind::Unavailable, message));
                    break;
                }
            }
        }
        let ends = members.into_iter().map(|member| member.join().unwrap_or_else(|why| panic::resume_unwind(why)));
        // All have ended before the first failure is told.
        let failures: Vec<_> = ends.filter_map(Result::err).collect();
        failure.into_iter().chain(failures).next().map_or(Ok(()), Err)
    });
    match &ended {
        Ok(()) => log::info!("worker {name} stopped"),
        Err(error) => log::error!("worker {name} ended: {error}"),
    }
    ended
}

/// One thread.
struct Member<'a, F> {
    desk: Desk<'a>,
    batch_size: u32,
    renew_every: Duration,
    handler: &'a F,
}

/// Stops the others when a thread ends, be it by an error or an observer's panic. One that ends in order was stopped.
struct StopOthers<'a>(Desk<'a>);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.stop.stop();
    }
}

impl<R: IntoVerdict, F: Fn(&Job<'_>) -> R + Sync> Member<'_, F> {
    fn run(&self) -> Result<()> {
        let _stop_others = StopOthers(self.desk);
        let mut batch = Batch::default();
        loop {
            if batch.is_empty() {
                match self.claim()? {
                    Some(claimed) => batch = claimed,
                    None => return Ok(()),
                }
            }
            self.desk.tell(&Event::Claimed { batch: &batch });
            batch = self.work(&batch)?;
        }
    }

    /// The next items; `None` when it is time to end.
    fn claim(&self) -> Result<Option<Batch>> {
        while !self.desk.stop.is_stopped() {
            match self.desk.queue.claim(self.batch_size, WAIT) {
                Ok(batch) if batch.is_empty() => {}
                Ok(batch) => return Ok(Some(batch)),
                // It is to end, or the handle that it was made from was interrupted: then it is to end all the same.
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(None),
                Err(error) if self.desk.passes("claim", &error) => {}
                // Who is to end anyway need not complain of a server that does not answer.
                Err(error) if error.is_retryable() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Works on a batch and settles it; the next one comes with that.
    fn work(&self, batch: &Batch) -> Result<Batch> {
        let renewal = Renewal::start(self.desk.queue, batch, self.renew_every)
            .inspect_err(|error| log::warn!("leases will not be renewed: {error}"))
            .ok();
        let ended: Vec<_> = batch.iter().filter_map(|item| self.handle(item, renewal.as_ref())).collect();
        // A renewal beside the settle would find the items gone.
        drop(renewal);
        if ended.is_empty() { Ok(Batch::default()) } else { self.settle(ended) }
    }

    /// Has an item handled; `None` when it was lost before that.
    fn handle<'a>(&self, item: Item<'a>, renewal: Option<&Renewal>) -> Option<Ended<'a>> {
        let job = Job::new(item, self.desk, renewal);
        if job.is_stopping() {
            return Some(Ended { item, token: None, verdict: Verdict::release() });
        }
        if job.is_lost() {
            log::warn!("item {}, attempt {} was lost before its turn", job.key(), job.attempt());
            return None;
        }
        failure::forget_place();
        // Handlers know that they share what they capture; what is ours is not touched by one that panics.
        let handled = panic::catch_unwind(AssertUnwindSafe(|| (self.handler)(&job).into_verdict()));
        let verdict = handled.unwrap_or_else(|why| Verdict::retry(failure::text_of_panic(&*why)));
        let ended = Ended { item, token: job.into_token(), verdict };
        note_failed(&ended.settlement());
        Some(ended)
    }

    fn settle(&self, ended: Vec<Ended<'_>>) -> Result<Batch> {
        let settlements: Vec<_> = ended.iter().map(Ended::settlement).collect();
        match self.desk.settle(&settlements, self.batch_size) {
            Ok((_, next)) => Ok(next),
            Err(error) if is_of_one_item(&error) => {
                drop(settlements);
                ended.into_iter().try_for_each(|ended| self.settle_alone(ended))?;
                Ok(Batch::default())
            }
            Err(error) => Err(error),
        }
    }

    /// Settles one item so that what is wrong with it does not hold up the others.
    fn settle_alone(&self, mut ended: Ended<'_>) -> Result<()> {
        let refusal = match self.desk.settle(&[ended.settlement()], 0) {
            Err(error) if is_of_one_item(&error) => error,
            settled => return settled.map(drop),
        };
        note_refused(&ended.settlement(), &refusal);
        ended.verdict = ended.verdict.reworded(&refusal);
        self.desk.settle(&[ended.settlement()], 0).map(drop)
    }
}

/// An item that waits to be settled.
struct Ended<'a> {
    item: Item<'a>,
    /// What a step has made of the item's token.
    token: Option<String>,
    verdict: Verdict,
}

impl Ended<'_> {
    fn settlement(&self) -> Settlement<'_> {
        self.verdict.settlement(&self.item, self.token.as_deref().unwrap_or(self.item.token()))
    }
}

/// Logs an attempt that failed, be it that its handler says so or that it panicked.
fn note_failed(settlement: &Settlement<'_>) {
    let Settlement { key, attempt, action, error, .. } = settlement;
    if matches!(action, Action::Retry | Action::Fail) {
        let error = error.unwrap_or("no error is given");
        log::warn!("item {key}, attempt {attempt} failed ({action:?}): {error}");
    }
}

/// Logs what was refused by kind and length alone: its texts are nobody's business.
fn note_refused(settlement: &Settlement<'_>, refusal: &Error) {
    let Settlement { key, attempt, action, .. } = settlement;
    let texts = [("step", settlement.step), ("response", settlement.response), ("error", settlement.error)];
    let mut given: Vec<_> = texts
        .iter()
        .filter_map(|(name, text)| text.map(|text| format!("{name} of {} characters", text.chars().count())))
        .collect();
    given.extend(settlement.delay_ms.map(|_| "delay".to_owned()));
    given.extend(settlement.due.map(|_| "due".to_owned()));
    let given = given.join(", ");
    log::warn!(
        "item {key}, attempt {attempt}: what the handler gave ({given}) was refused, and is left out of its {action:?}: \
         {refusal}; shorten or correct it, or widen its column"
    );
}

/// Whether what one handler gave may be the reason: out of range, or more than a column takes.
fn is_of_one_item(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::InvalidItem | ErrorKind::Database)
}
