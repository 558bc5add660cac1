//! Actions on many items that this process does, on threads of their own: they go on when the browser has gone, and those of a process
//! that has died are taken up.

use super::App;
use crate::output::note;
use crate::signals::Stop;
use readpast::{OperatorAction, Queue};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

/// How often actions are looked for that nobody is at work on.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Actions at a time: others wait for their turn.
const MOST: usize = 4;

pub struct Runner {
    stop: Stop,
    state: Arc<Mutex<State>>,
    /// Held while a request begins an action that it does itself: a look must not take it up.
    begins: RwLock<()>,
}

#[derive(Default)]
struct State {
    /// Queue and number of each action at work.
    running: HashSet<(String, i64)>,
    looked: Option<Instant>,
}

impl Runner {
    pub fn new(stop: Stop) -> Self {
        Self { stop, state: Arc::default(), begins: RwLock::default() }
    }

    /// Begins an action, and does it here and now, for a caller that waits for it.
    pub fn run(
        &self,
        queue: &Queue,
        begin: impl FnOnce() -> readpast::Result<i64>,
    ) -> readpast::Result<(i64, Option<OperatorAction>)> {
        let _begins = self.begins.read().unwrap_or_else(PoisonError::into_inner);
        let number = begin()?;
        Ok((number, run(&self.stop, queue, number)?))
    }

    /// Does an action on a thread of its own.
    pub fn start(&self, queue: &Queue, number: i64) {
        let name = (queue.name().to_owned(), number);
        let mut state = lock(&self.state);
        if state.running.len() >= MOST || !state.running.insert(name.clone()) {
            // The next look finds it.
            return;
        }
        drop(state);
        let (stop, queue, shared) = (self.stop.clone(), queue.clone(), Arc::clone(&self.state));
        let gone = name.clone();
        let work = move || {
            if let Err(error) = run(&stop, &queue, number) {
                note(&format!("operation {number} of {}: {error}", queue.name()));
            }
            lock(&shared).running.remove(&name);
        };
        if let Err(error) = thread::Builder::new().name("operation".to_owned()).spawn(work) {
            note(&format!("operation {number} of {} has no thread: {error}", gone.0));
            lock(&self.state).running.remove(&gone);
        }
    }

    /// Takes up what nobody is at work on, now and then.
    pub fn look(&self, app: &App) {
        {
            let mut state = lock(&self.state);
            if state.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
                return;
            }
            state.looked = Some(Instant::now());
        }
        let Ok(_nothing_begins) = self.begins.try_write() else { return };
        for sampler in app.queues.all() {
            // A queue without records, or a login that may not read them, has none to take up.
            for number in sampler.queue.open_actions().unwrap_or_default() {
                self.start(&sampler.queue, number);
            }
        }
    }

    /// Waits until all have ended their present steps, once the process is to stop.
    pub fn finish(&self, longest: Duration) {
        let until = Instant::now() + longest;
        while !lock(&self.state).running.is_empty() && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Does an action, and logs its end.
fn run(stop: &Stop, queue: &Queue, number: i64) -> readpast::Result<Option<OperatorAction>> {
    let ended = queue.run_action(number, |_| stop.signal().is_none())?;
    if let Some(action) = &ended {
        note(&format!(
            "operation {number} of {}: {} of items by {}: {}, refused: {}; {}",
            queue.name(),
            action.verb,
            action.who,
            action.done,
            action.refused,
            action.state
        ));
    }
    Ok(ended)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
