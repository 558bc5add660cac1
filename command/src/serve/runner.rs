//! Actions on many items that this process does, on threads of their own: they go on when the browser has gone, and those of a process
//! that has died are taken up.

use super::{App, places};
use crate::output::note;
use crate::signals::Stop;
use readpast::{OperatorAction, OperatorVerb, Queue};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often actions are looked for that nobody is at work on.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Actions at a time: others wait for their turn.
const MOST: usize = 4;

pub struct Runner {
    stop: Stop,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Queue, with its place, and number of each action at work.
    running: HashSet<(String, i64)>,
    looked: Option<Instant>,
}

impl Runner {
    pub fn new(stop: Stop) -> Self {
        Self { stop, state: Arc::default() }
    }

    /// Does an action here and now, for a caller that has just begun it and waits.
    pub fn run(&self, queue: &Queue, number: i64) -> readpast::Result<Option<OperatorAction>> {
        match AtWork::on(&self.state, queue, number, usize::MAX) {
            Some(_at_work) => run(&self.stop, queue, number),
            None => Ok(None),
        }
    }

    /// Does an action on a thread of its own.
    pub fn start(&self, queue: &Queue, number: i64) {
        // The next look finds it where too many are at work.
        let Some(at_work) = AtWork::on(&self.state, queue, number, MOST) else { return };
        let (stop, queue, name) = (self.stop.clone(), queue.clone(), places::label(queue));
        let work = move || {
            let _at_work = at_work;
            if let Err(error) = run(&stop, &queue, number) {
                note(&format!("operation {number} of {}: {error}", places::label(&queue)));
            }
        };
        if let Err(error) = thread::Builder::new().name("operation".to_owned()).spawn(work) {
            note(&format!("operation {number} of {name} has no thread: {error}"));
        }
    }

    /// Takes up what nobody is at work on, now and then; a purge only where this server purges.
    pub fn look(&self, app: &App) {
        {
            let mut state = lock(&self.state);
            if state.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
                return;
            }
            state.looked = Some(Instant::now());
        }
        for sampler in app.queues.all() {
            for queue in places::each(&sampler.queue).into_iter().filter_map(|(_, queue)| queue.ok()) {
                // A queue without records, or a login that may not read them, has none to take up.
                for (number, verb) in queue.open_actions().unwrap_or_default() {
                    if app.purges || verb != OperatorVerb::Purge.word() {
                        self.start(&queue, number);
                    }
                }
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

/// An action that this process is at work on, until it is dropped.
struct AtWork {
    state: Arc<Mutex<State>>,
    name: (String, i64),
}

impl AtWork {
    /// `None`: this process is at work on it already, or on so many others.
    fn on(state: &Arc<Mutex<State>>, queue: &Queue, number: i64, most: usize) -> Option<Self> {
        let name = (places::label(queue), number);
        let mut open = lock(state);
        let is_free = open.running.len() < most && open.running.insert(name.clone());
        is_free.then(|| Self { state: Arc::clone(state), name })
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        lock(&self.state).running.remove(&self.name);
    }
}

/// Does an action, and logs its end.
fn run(stop: &Stop, queue: &Queue, number: i64) -> readpast::Result<Option<OperatorAction>> {
    let ended = queue.run_action(number, |_| stop.signal().is_none())?;
    if let Some(action) = &ended {
        note(&format!(
            "operation {number} of {}: {} of items by {}: {}, refused: {}; {}",
            places::label(queue),
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
