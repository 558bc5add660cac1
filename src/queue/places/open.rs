//! Opens the places: those that answer at once, and the others as soon as they do.

use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;
use crate::queue::handle::{Opened, PlaceList, PlaceListState, at};
use crate::queue::inner::QueueInner;
use crate::shared::Outage;
use crate::sync::{Condvar, Mutex};
use crate::threads;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long the first place that is open waits for the others.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pauses between the tries to open a place: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

impl PlaceList {
    /// Opens the places that answer, one at least; threads go on with the others.
    pub(super) fn open(config: &Config, queue: &str) -> Result<Arc<Self>> {
        let each = config.each()?;
        let names: Vec<_> = config.places().into_iter().map(str::to_owned).collect();
        let worker = config.worker();
        let list = Arc::new(Self {
            config: config.clone(),
            queue: queue.to_owned(),
            places: names.iter().map(|_| OnceLock::new()).collect(),
            state: Mutex::new(PlaceListState { failures: vec![None; names.len()], ..PlaceListState::default() }),
            changed: Condvar::new(),
            first: OnceLock::new(),
            turn: AtomicUsize::new(0),
            names,
        });
        for (number, mut config) in each.into_iter().enumerate() {
            config.set("worker", &worker)?;
            let weak = Arc::downgrade(&list);
            threads::start("readpast-place", move || run(&weak, &config, number))?;
        }
        list.wait_for_first().inspect_err(|_| list.close())?;
        Ok(list)
    }

    /// Waits until all have answered, or one is open and the others are slow.
    fn wait_for_first(&self) -> Result<()> {
        let begun = Instant::now();
        let mut state = self.state.lock();
        loop {
            // A mistake that waiting does not mend is the caller's to know.
            let wrong = state.failures.iter().flatten().find(|error| !error.kind().is_transient());
            if let Some(error) = wrong {
                return Err(error.clone());
            }
            let is_open = self.first.get().is_some();
            let answered = |number: usize| self.opened(number).is_some() || state.failures[number].is_some();
            if (0..self.names.len()).all(answered) {
                let failure = state.failures.iter().flatten().next().cloned();
                return if is_open { Ok(()) } else { Err(failure.unwrap_or_else(crate::pool::closed)) };
            }
            if is_open && begun.elapsed() >= PATIENCE {
                return Ok(());
            }
            self.changed.wait_until(&mut state, Instant::now() + Duration::from_millis(100));
        }
    }

    pub(super) fn watch(&self, watcher: Weak<dyn Opened>) {
        let mut state = self.state.lock();
        state.watchers.retain(|watcher| watcher.strong_count() > 0);
        state.watchers.push(watcher);
    }

    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Keeps a place that is open now, if the description suits the others. Called with the state locked, so that one is the first.
    fn keep(&self, number: usize, queue: Queue) -> Result<()> {
        queue.spec().check_several()?;
        let other = self.first.get().and_then(|first| self.opened(*first));
        if let Some(other) = other
            && other.spec().spread_by != queue.spec().spread_by
        {
            let message =
                "its description has another spread_by than that of the other places: install the same everywhere";
            return Err(Error::new(ErrorKind::SchemaMismatch, message));
        }
        let _ = self.places[number].set(queue);
        let _ = self.first.set(number);
        Ok(())
    }
}

/// Opens one place, however long that takes.
fn run(list: &Weak<PlaceList>, config: &Config, number: usize) {
    let mut pause = PAUSES[0];
    let (mut since, outage) = (None, Arc::<Outage>::default());
    loop {
        let Some(name) = list.upgrade().filter(|it| !it.state.lock().closed).map(|it| it.queue.clone()) else {
            return;
        };
        let opened = QueueInner::open(config, &name, Arc::clone(&outage)).map(Queue::of);
        let Some(list) = list.upgrade() else { return };
        let place = list.names[number].clone();
        let mut state = list.state.lock();
        if state.closed {
            // It was closed meanwhile; the place, if it is open, closes behind the lock.
            drop(state);
            return;
        }
        let kept = opened.and_then(|queue| list.keep(number, queue));
        match kept {
            Ok(()) => {
                state.failures[number] = None;
                let watchers: Vec<_> = state.watchers.iter().filter_map(Weak::upgrade).collect();
                drop(state);
                list.changed.notify_all();
                watchers.iter().for_each(|watcher| watcher.opened());
                if let Some(since) = since.map(|since: Instant| since.elapsed()) {
                    log::warn!("queue {name}: the place {place} is open after {:.1} s", since.as_secs_f64());
                }
                return;
            }
            Err(error) => {
                if since.is_none() && !outage.is_on() {
                    log::warn!("queue {name}: the place {place} is not open, and is tried again: {error}");
                    since = Some(Instant::now());
                }
                state.failures[number] = Some(error.in_context(at(&place)));
                list.changed.notify_all();
                if !state.closed {
                    list.changed.wait_until(&mut state, Instant::now() + pause);
                }
            }
        }
        pause = (pause * 2).min(PAUSES[1]);
    }
}
