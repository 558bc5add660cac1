//! A worker over several places: a worker in each, with the handlers' threads and the stop in common. Items are taken from the places in
//! turn, and go back to their place by their keys.

use super::figures::WorkerFigures;
use super::notifier::Notifier;
use super::one::{OneEngine, Outward};
use super::reported::ReportedResult;
use super::take::{Taken, check_taken};
use super::terms::WorkerTerms;
use crate::error::{Error, Result};
use crate::item::{Answer, place_of_key};
use crate::queue::{Opened, Queue};
use crate::sync::Mutex;
use crate::threads;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

pub(super) struct PlacesEngine {
    /// A handle of its own: an interrupt of the original handle ends this worker.
    queue: Queue,
    terms: WorkerTerms,
    /// The worker of each place that is open.
    engines: Mutex<Arc<Vec<(String, OneEngine)>>>,
    arrivals: Arc<Notifier>,
    notifier: Arc<Notifier>,
    /// How many items an event loop wants, of any place.
    #[cfg(unix)]
    wanted: AtomicUsize,
    /// The place from which the next take begins.
    turn: AtomicUsize,
    started: AtomicBool,
    stopped: AtomicBool,
}

impl Opened for PlacesEngine {
    fn opened(&self) {
        self.join();
        self.arrivals.notify();
    }
}

impl PlacesEngine {
    pub(super) fn new(queue: &Queue, terms: WorkerTerms) -> Arc<Self> {
        let engine = Arc::new(Self {
            queue: queue.share(),
            terms,
            engines: Mutex::default(),
            arrivals: Arc::default(),
            notifier: Arc::default(),
            #[cfg(unix)]
            wanted: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            started: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        });
        if let Some(places) = engine.queue.over() {
            places.watch(Arc::downgrade(&engine) as Weak<dyn Opened>);
        }
        engine.join();
        engine
    }

    /// Takes up the work at places that were opened since.
    fn join(&self) {
        let Some(places) = self.queue.over() else { return };
        let mut joined = Vec::new();
        let mut engines = self.engines.lock();
        for (name, queue) in places.open_ones() {
            if engines.iter().any(|(known, _)| known == name) {
                continue;
            }
            let outward = Outward { notifier: Arc::clone(&self.notifier), arrivals: Some(Arc::clone(&self.arrivals)) };
            let one = OneEngine::new(queue, self.terms.clone(), outward);
            #[cfg(unix)]
            one.want(self.wanted.load(Ordering::SeqCst));
            Arc::make_mut(&mut engines).push((name.to_owned(), one.clone()));
            joined.push((name, one));
        }
        // A start may log, by the program's code.
        drop(engines);
        for (name, one) in joined {
            if self.stopped.load(Ordering::SeqCst) {
                one.stop();
            } else if self.started.load(Ordering::SeqCst)
                && let Err(error) = one.start()
            {
                log::error!("queue {}: no worker at the place {name}: {error}", self.queue.name());
            }
        }
    }

    pub(super) fn engines(&self) -> Arc<Vec<(String, OneEngine)>> {
        Arc::clone(&self.engines.lock())
    }

    /// The worker of an item.
    pub(super) fn of(&self, key: &str) -> Option<OneEngine> {
        let name = place_of_key(key)?;
        self.engines.lock().iter().find(|(known, _)| known == name).map(|(_, one)| one.clone())
    }

    pub(super) fn start(&self) -> Result<()> {
        self.started.store(true, Ordering::SeqCst);
        for (name, one) in self.engines().iter() {
            one.start().map_err(|error| self.failed(name, error))?;
        }
        Ok(())
    }

    /// Items of the first place, from the next one in turn on, that has some.
    pub(super) fn take(&self, max: u32, wait: Duration) -> Result<Taken> {
        check_taken(max)?;
        if !self.started.load(Ordering::SeqCst) {
            self.start()?;
        }
        let deadline = Instant::now().checked_add(wait);
        loop {
            let seen = self.arrivals.count();
            let engines = self.engines();
            let first = self.turn.fetch_add(1, Ordering::Relaxed) % engines.len().max(1);
            let mut is_over = true;
            for (name, one) in engines[first..].iter().chain(&engines[..first]) {
                match one.take(max, Duration::ZERO).map_err(|error| self.failed(name, error))? {
                    Taken::Items(batch) => return Ok(Taken::Items(batch)),
                    Taken::Nothing => is_over = false,
                    Taken::Stopping => {}
                }
            }
            if is_over || self.stopped.load(Ordering::SeqCst) {
                return Ok(Taken::Stopping);
            }
            let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(Taken::Nothing);
            }
            engines.iter().for_each(|(_, one)| one.begin_to_wait(max as usize));
            let _ = self.arrivals.after(seen, left);
            engines.iter().for_each(|(_, one)| one.end_wait(max as usize));
        }
    }

    /// An event loop wants so many items, of any place.
    #[cfg(unix)]
    pub(super) fn want(&self, max: usize) {
        // The lock keeps out a place that joins.
        let engines = self.engines.lock();
        self.wanted.store(max, Ordering::SeqCst);
        engines.iter().for_each(|(_, one)| one.want(max));
    }

    #[cfg(unix)]
    pub(super) fn notifier(&self) -> &Notifier {
        &self.notifier
    }

    /// The error of a place, which stops the worker at all of them.
    fn failed(&self, name: &str, error: Error) -> Error {
        self.stop();
        error.in_context(format_args!("place {name}"))
    }

    pub(super) fn end_as_reported(&self, reported: &[ReportedResult<'_>]) -> Vec<Answer> {
        let mut answers = vec![Answer::NotFound; reported.len()];
        for (name, one) in self.engines().iter() {
            let is_mine = |i: &usize| place_of_key(reported[*i].key) == Some(name);
            let mine: Vec<_> = (0..reported.len()).filter(is_mine).collect();
            if mine.is_empty() {
                continue;
            }
            let ended = one.end_as_reported(&mine.iter().map(|i| reported[*i]).collect::<Vec<_>>());
            mine.into_iter().zip(ended).for_each(|(i, answer)| answers[i] = answer);
        }
        answers
    }

    pub(super) fn changes(&self, seen: u64, wait: Duration) -> Option<u64> {
        self.notifier.after(seen, wait)
    }

    pub(super) fn end_changes(&self) {
        self.notifier.end();
    }

    pub(super) fn is_stopping(&self) -> bool {
        let engines = self.engines();
        self.stopped.load(Ordering::SeqCst)
            || engines.iter().any(|(_, one)| one.failure().is_some())
            || (!engines.is_empty() && engines.iter().all(|(_, one)| one.is_stopping()))
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.engines().iter().for_each(|(_, one)| one.stop());
        self.arrivals.notify();
        self.notifier.notify();
    }

    pub(super) fn abandon(&self) {
        self.stop();
        // Each may wait for its database.
        threads::each(&self.engines(), |(_, one)| one.abandon());
    }

    pub(super) fn close(&self, patience: Duration) -> Result<()> {
        let deadline = Instant::now().checked_add(patience);
        self.stop();
        let mut failure = None;
        for (name, one) in self.engines().iter() {
            let left = deadline.map_or(patience, |deadline| deadline.saturating_duration_since(Instant::now()));
            if let Err(error) = one.close(left) {
                failure.get_or_insert(error.in_context(format_args!("place {name}")));
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Those of all places together; of the times of a call those of the slowest.
    pub(super) fn figures(&self) -> WorkerFigures {
        self.engines().iter().map(|(_, one)| one.figures()).fold(WorkerFigures::default(), |all, one| all.plus(&one))
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }
}

impl Drop for PlacesEngine {
    fn drop(&mut self) {
        self.stop();
    }
}
