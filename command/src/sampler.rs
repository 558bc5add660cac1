//! The figures of each queue, and how they were: taken again and again by one thread, so that any number of readers costs the
//! database the same.

use crate::failure::Result;
use readpast::config::Config;
use readpast::item::{Minute, OfPlace, RegisteredWorker, Schedule, Trend};
use readpast::{ErrorKind, ItemState, Queue, Watched};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How many samples are kept: an hour of one each five seconds.
const KEPT: usize = 720;

/// A queue, and what is known of it.
pub struct Sampler {
    pub queue: Queue,
    /// The description that it was opened with, as the database has it; `None` where it did not say.
    pub description: Option<String>,
    report: fn(&str),
    known: Mutex<Known>,
}

#[derive(Default, Clone)]
struct Known {
    samples: VecDeque<Arc<Sample>>,
    /// Why the last look failed.
    trouble: Option<String>,
    failures: u64,
    /// The workers of the registry, and when they were read.
    workers: Option<(Instant, Arc<Vec<RegisteredWorker>>)>,
    /// The schedules, read with the workers.
    schedules: Arc<Vec<Schedule>>,
    /// The newest figures of each place.
    places: Arc<Vec<OfPlace>>,
    /// The minutes of a day, and when the last ones were read.
    day: Option<(Instant, Arc<Vec<Minute>>)>,
    /// Records that could not be read or kept the last time, and why.
    missing: BTreeMap<&'static str, String>,
}

/// How often the registry is read, and how often the last minutes.
const WORKERS_EVERY: Duration = Duration::from_secs(10);
const MINUTES_EVERY: Duration = Duration::from_secs(30);
/// The schedules that are watched.
const SCHEDULES: u32 = 100;
const DAY: Duration = Duration::from_secs(86_400);

/// Figures, and when they were taken.
pub struct Sample {
    pub watched: Watched,
    pub at: SystemTime,
    /// How long the database took.
    pub took: Duration,
}

/// The samples, the oldest first, and why there is no newer one.
pub struct History {
    pub samples: Vec<Arc<Sample>>,
    pub trouble: Option<String>,
    pub failures: u64,
    /// The workers that have reported within a week, those that did so last first; none where they cannot be read.
    pub workers: Arc<Vec<RegisteredWorker>>,
    /// The next schedules; none where they cannot be read.
    pub schedules: Arc<Vec<Schedule>>,
    /// The places of a queue over several databases, each with its newest figures.
    pub places: Arc<Vec<OfPlace>>,
    /// The minutes of the last day, as far as they were kept.
    pub day: Arc<Vec<Minute>>,
}

impl Sampler {
    /// A queue with a new description keeps its samples.
    pub fn open(
        config: &Config,
        name: &str,
        description: Option<String>,
        earlier: Option<&Self>,
        report: fn(&str),
    ) -> Result<Arc<Self>> {
        let queue = Queue::open(config, name)?;
        let known = earlier.map(|earlier| earlier.lock().clone()).unwrap_or_default();
        Ok(Arc::new(Self { queue, description, report, known: Mutex::new(known) }))
    }

    pub fn history(&self) -> History {
        let known = self.lock();
        History {
            samples: known.samples.iter().cloned().collect(),
            trouble: known.trouble.clone(),
            failures: known.failures,
            workers: known.workers.as_ref().map(|(_, workers)| Arc::clone(workers)).unwrap_or_default(),
            schedules: Arc::clone(&known.schedules),
            places: Arc::clone(&known.places),
            day: known.day.as_ref().map(|(_, day)| Arc::clone(day)).unwrap_or_default(),
        }
    }

    /// Where the queue is going, by the newest look and one of some minutes before.
    pub fn trend(&self) -> Option<Trend> {
        trend(&self.history().samples)
    }

    /// The newest figures, and whether they are no older than the last look.
    pub fn latest(&self) -> (Option<Arc<Sample>>, bool) {
        let known = self.lock();
        (known.samples.back().cloned(), known.trouble.is_none() && !known.samples.is_empty())
    }

    pub fn sample(&self, most: u32) {
        let begun = Instant::now();
        let found = self.queue.watch_places(most);
        let took = begun.elapsed();
        if let Ok((watched, places)) = &found {
            self.keep_minute(watched, places, most);
            self.read_records();
            let away = watched.away.first().map(|of| of.error.clone());
            self.reported("no figures of a place", away.map_or(Ok(()), Err));
        }
        let mut known = self.lock();
        match found {
            Ok((watched, places)) => {
                known.trouble = None;
                known.places = Arc::new(places);
                if known.samples.len() == KEPT {
                    known.samples.pop_front();
                }
                known.samples.push_back(Arc::new(Sample { watched, at: SystemTime::now(), took }));
            }
            Err(error) => {
                let text = error.to_string();
                // Once, and not with every look.
                if known.trouble.as_ref() != Some(&text) {
                    (self.report)(&format!("no figures of {}: {text}", self.queue.name()));
                }
                known.trouble = Some(text);
                known.failures += 1;
                let away = |of: &OfPlace| OfPlace { name: of.name.clone(), watched: Err(error.clone()) };
                known.places = Arc::new(known.places.iter().map(away).collect());
            }
        }
    }

    /// Keeps the figures of this minute, each place its own, if no other process has.
    fn keep_minute(&self, watched: &Watched, places: &[OfPlace], most: u32) {
        let keep = |queue: &Queue, watched: &Watched| match is_for_all(watched, most) {
            true => queue.keep_minute(watched),
            false => Ok(false),
        };
        let at_place = |of: &OfPlace| match &of.watched {
            Ok(watched) => self.queue.at(&of.name).and_then(|queue| keep(&queue, watched)).map(drop),
            Err(_) => Ok(()),
        };
        let kept = match places {
            [] => keep(&self.queue, watched).map(drop),
            places => places.iter().map(at_place).fold(Ok(()), readpast::Result::and),
        };
        self.reported("the minute cannot be kept", kept);
    }

    /// Reads the registry and the minutes when it is time. What cannot be read stays as it was.
    fn read_records(&self) {
        let queue = &self.queue;
        let (workers, day) = {
            let known = self.lock();
            (known.workers.clone(), known.day.clone())
        };
        let is_due = |read: Option<Instant>, every| read.is_none_or(|read| read.elapsed() >= every);
        if is_due(workers.as_ref().map(|(read, _)| *read), WORKERS_EVERY) {
            let found = self.reported("the workers cannot be read", queue.workers()).map(Arc::new);
            let found = found.or_else(|| workers.map(|(_, workers)| workers)).unwrap_or_default();
            let schedules = if queue.spec().schedules.is_some() {
                self.reported("the schedules cannot be read", queue.next_schedules(SCHEDULES)).unwrap_or_default()
            } else {
                Vec::new()
            };
            let mut known = self.lock();
            known.workers = Some((Instant::now(), found));
            known.schedules = Arc::new(schedules);
        }
        if is_due(day.as_ref().map(|(read, _)| *read), MINUTES_EVERY) {
            let mut minutes = day.map(|(_, minutes)| minutes.to_vec()).unwrap_or_default();
            let yesterday = SystemTime::now().checked_sub(DAY).unwrap_or(SystemTime::UNIX_EPOCH);
            minutes.retain(|minute| minute.at > yesterday);
            let since = minutes.last().map_or(yesterday, |minute| minute.at);
            minutes.extend(self.reported("the last day cannot be read", queue.minutes(since)).unwrap_or_default());
            self.lock().day = Some((Instant::now(), Arc::new(minutes)));
        }
    }

    /// A record, or a report why there is none: once, and not with every look. A login that may not see records has none, and neither
    /// have hand-written procedures.
    fn reported<T>(&self, what: &'static str, found: readpast::Result<T>) -> Option<T> {
        let why = found.as_ref().err().filter(|error| !has_none(error.kind())).map(ToString::to_string);
        let mut known = self.lock();
        match why {
            Some(why) if known.missing.get(what) != Some(&why) => {
                (self.report)(&format!("{what} of {}: {why}", self.queue.name()));
                known.missing.insert(what, why);
            }
            Some(_) => {}
            None => drop(known.missing.remove(what)),
        }
        found.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a queue or a login lacks records for good.
fn has_none(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::SchemaMismatch | ErrorKind::Unsupported)
}

/// The rows of a worker's look for the figures of a minute.
const LOOK_OF_WORKERS: u32 = 10_000;

/// Whether figures can stand for those of any process: a smaller look than a worker's must have seen all.
fn is_for_all(watched: &Watched, most: u32) -> bool {
    let is_cut = watched.due_capped
        || watched.window_capped
        || [ItemState::Processing, ItemState::Failed].into_iter().any(|state| watched.is_capped(state));
    most >= LOOK_OF_WORKERS || !is_cut
}

/// Over how long a change is measured: long enough that a burst does not show as an hour of it.
const SPAN: Duration = Duration::from_secs(300);

/// Where a queue is going, by the newest of its samples and the oldest that is not older than some minutes.
pub fn trend(samples: &[Arc<Sample>]) -> Option<Trend> {
    let newest = samples.last()?;
    let ago = |sample: &Sample| newest.at.duration_since(sample.at).unwrap_or_default();
    let earlier = samples.iter().find(|sample| ago(sample) <= SPAN).filter(|sample| !ago(sample).is_zero());
    Some(newest.watched.trend(earlier.map(|sample| (&sample.watched, ago(sample)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_a_small_look_cut_are_not_kept() {
        let mut watched = Watched::default();
        assert!(is_for_all(&watched, 100));
        watched.due_capped = true;
        assert!(is_for_all(&watched, LOOK_OF_WORKERS) && !is_for_all(&watched, LOOK_OF_WORKERS - 1));
    }
}
