//! The doorbell of a process: the thread that listens, and which queues have a sleeper's row in the database.

use crate::bell::Bell;
use crate::calls::Awaited;
use crate::config::LibpqLogin;
use crate::error::Result;
use crate::sync::Mutex;
use crate::threads;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How often the process asks to be woken again, which also proves the bell.
const PROOF: Duration = Duration::from_secs(300);

/// How long the bell may take to ring when the process has rung it itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause before the next try to listen, which doubles with each that fails.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(300)];

/// A worker that ends within it needs no bell.
pub(super) const WORKER: Duration = Duration::from_secs(1);

/// How soon the listener's thread learns that nobody needs it any more.
const TICK: Duration = Duration::from_secs(1);

/// The poller, to which others ring.
pub(super) trait Rung: Send + Sync {
    /// Something has happened in a queue.
    fn rung(&self, ring: Ring<'_>);

    /// The bell works now.
    fn listens(&self);
}

/// A notification. Queues have their names in names of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ring<'a> {
    /// The process has rung itself.
    Proof,
    Added {
        stem: &'a str,
    },
    /// An item for whose end the process waits may have ended.
    Settled {
        stem: &'a str,
        key: &'a str,
    },
    /// An item was taken from a worker whose name ends so.
    Taken {
        stem: &'a str,
        worker: &'a str,
    },
}

impl<'a> Ring<'a> {
    /// A text on the process's own channel or on that of its schema, where programs of others may say what they like.
    fn of(is_own: bool, text: &'a str) -> Option<Self> {
        match (is_own, text.split_once(' ')) {
            (true, None) if text.is_empty() => Some(Self::Proof),
            (true, None) => Some(Self::Added { stem: text }),
            (true, Some((stem, key))) => Some(Self::Settled { stem, key }),
            (false, Some((stem, worker))) => Some(Self::Taken { stem, worker }),
            (false, None) => None,
        }
    }
}

/// The question to be woken, for those who make it.
pub(crate) struct BellPull<'a> {
    pub(super) bell: &'a Doorbell,
    /// The queues that rest.
    pub(super) resting: Vec<&'a str>,
}

impl BellPull<'_> {
    /// Asks, if it is time, by `send`: that who adds to one of these queues notifies this channel, on which this session listens. A
    /// failure is no failure of the look that follows: what is added later rings, or is found by a look.
    pub(crate) fn ask(&self, send: impl FnOnce(&[&str], &str, i32) -> Result<()>) {
        if let Some(listener) = self.bell.must_ask(&self.resting)
            && let Err(error) = send(&self.resting, &self.bell.channel, listener)
        {
            log::debug!("the process could not ask to be woken: {error}");
            self.bell.was_not_asked();
        }
    }
}

/// A listener's thread. Its end lets another begin, also after a panic.
struct Run {
    of: Arc<Doorbell>,
    number: u64,
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut state = self.of.state.lock();
        if state.runs == Some(self.number) {
            state.runs = None;
        }
        if state.number == self.number {
            state.falls_silent(Instant::now());
        }
    }
}

/// The bell of one process for one schema of one database.
pub(super) struct Doorbell {
    /// The channel: a name that no other process has.
    channel: String,
    /// The channel of all processes, by the schema's name: holders of items listen to it.
    schema: String,
    state: Mutex<DoorbellState>,
}

#[derive(Default)]
struct DoorbellState {
    /// The session that listens; `None`: none does.
    listener: Option<i32>,
    /// Counts the listeners: an earlier one has nothing to say.
    number: u64,
    /// The listener whose thread runs.
    runs: Option<u64>,
    /// When to try again, after this pause.
    again: Option<(Instant, Duration)>,
    /// The queues of which the database knows that the process sleeps over them.
    asleep: HashSet<String>,
    /// The items, each in its queue, of which it knows that the process waits for their ends. `true`: the bell has rung for it, and a
    /// look follows.
    awaited: HashMap<(String, String), bool>,
    /// When the process last asked to be woken, and when it last was.
    asked: Option<Instant>,
    rung_at: Option<Instant>,
}

impl DoorbellState {
    /// No ring can be relied on: the sleepers' rows lead to a listener that is gone.
    fn falls_silent(&mut self, now: Instant) {
        let pause = self.again.map_or(PAUSES[0], |(_, pause)| (pause * 2).min(PAUSES[1]));
        self.again = Some((now + pause, pause));
        self.forgets();
    }

    /// The listener is not this process's any more.
    fn forgets(&mut self) {
        self.number += 1;
        (self.listener, self.asked) = (None, None);
        self.asleep.clear();
        self.awaited.clear();
    }

    /// Whether the end of the listener `number` is news.
    fn is_first_failure(&self, number: u64) -> bool {
        self.number == number && self.again.is_none()
    }

    /// Whether the bell was silent although the process had rung it.
    fn has_failed(&self, now: Instant) -> bool {
        self.asked.is_some_and(|asked| now > asked + PATIENCE && self.rung_at.is_none_or(|rung_at| rung_at < asked))
    }

    /// Whether it is time to ring the bell. One that was silent is given up.
    fn must_prove(&mut self, now: Instant) -> bool {
        if self.has_failed(now) {
            self.falls_silent(now);
        }
        self.asked.is_none_or(|asked| now >= asked + PROOF)
    }

    /// The session to ask for a ring with, if the process is to ask now that it has nothing to do in these queues.
    fn must_ask(&mut self, resting: &[&str], now: Instant) -> Option<i32> {
        let is_time = self.must_prove(now);
        let listener = self.listener?;
        let is_news = resting.iter().any(|stem| !self.asleep.contains(*stem));
        (!resting.is_empty() && (is_news || is_time)).then_some(listener)
    }

    /// It asks: from now on a row may be gone only with a ring.
    fn asks(&mut self, resting: &[&str], now: Instant) {
        if self.asked.is_none() || self.rung_at >= self.asked {
            self.asked = Some(now);
        }
        self.asleep.extend(resting.iter().map(|stem| (*stem).to_owned()));
    }

    /// Whether the process has not asked for a ring of one of these items of a queue yet: it does now.
    fn must_await(&mut self, stem: &str, keys: &[String]) -> bool {
        let keys: Vec<_> = keys.iter().map(|key| (stem.to_owned(), key.clone())).collect();
        let is_news = keys.iter().any(|key| !self.awaited.contains_key(key));
        if is_news {
            self.awaited.retain(|(of, _), _| of != stem);
            self.awaited.extend(keys.into_iter().map(|key| (key, false)));
        } else {
            // Most have ended; for the others it asks next time.
            keys.iter().for_each(|key| {
                if self.awaited.get(key) == Some(&true) {
                    self.awaited.remove(key);
                }
            });
        }
        is_news
    }

    /// A ring has taken the row that led to it.
    fn rung(&mut self, ring: Ring<'_>, now: Instant) {
        match ring {
            Ring::Proof => (self.rung_at, self.again) = (Some(now), None),
            Ring::Added { stem } => _ = self.asleep.remove(stem),
            Ring::Settled { stem, key } => {
                self.awaited.entry((stem.to_owned(), key.to_owned())).and_modify(|has_rung| *has_rung = true);
            }
            Ring::Taken { .. } => {}
        }
    }
}

impl Doorbell {
    pub(super) fn new(schema: &str) -> Self {
        let channel = format!("readpast_{}", uuid::Uuid::now_v7().simple());
        Self { channel, schema: schema.to_owned(), state: Mutex::default() }
    }

    /// The session to ask for a ring with, if the process is to ask now; the caller asks before it looks at the queues.
    fn must_ask(&self, resting: &[&str]) -> Option<i32> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let listener = state.must_ask(resting, now)?;
        state.asks(resting, now);
        Some(listener)
    }

    /// Asks by `send` that the process is woken as these items of a queue end, if it listens and has not asked. Whether it relies on
    /// that: the bell has rung.
    pub(super) fn awaits(&self, stem: &str, keys: &[String], send: impl FnOnce(&Awaited<'_>) -> Result<()>) -> bool {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let rings = state.must_prove(now);
        let Some(listener) = state.listener else { return false };
        let is_proven = !rings && state.rung_at >= state.asked;
        if !state.must_await(stem, keys) && !rings {
            return is_proven;
        }
        if rings {
            state.asks(&[], now);
        }
        drop(state);
        let sent = send(&Awaited { stem, keys, channel: &self.channel, listener, rings });
        if let Err(error) = &sent {
            log::debug!("the process could not ask to be woken when items end: {error}");
            let mut state = self.state.lock();
            state.awaited.retain(|(of, _), _| of != stem);
            if rings {
                state.asked = None;
            }
        }
        sent.is_ok() && is_proven
    }

    /// Listens no more. The connection goes within a moment.
    pub(super) fn hang_up(&self) {
        self.state.lock().forgets();
    }

    /// The process could not ask.
    fn was_not_asked(&self) {
        self.state.lock().falls_silent(Instant::now());
    }

    /// Listens after a pause, if no thread does and the last failure is long enough ago.
    pub(super) fn listen(self: &Arc<Self>, login: &Arc<LibpqLogin>, poller: Weak<dyn Rung>, pause: Duration) {
        let mut state = self.state.lock();
        if state.runs == Some(state.number) || state.again.is_some_and(|(again, _)| Instant::now() < again) {
            return;
        }
        state.runs = Some(state.number);
        let (login, run) = (Arc::clone(login), Run { of: Arc::clone(self), number: state.number });
        drop(state);
        // A thread that cannot be started drops the run.
        _ = threads::start_unwatched("readpast-doorbell", move || {
            std::thread::sleep(pause);
            let why = run.of.run(&login, run.number, &poller);
            let is_first = run.of.state.lock().is_first_failure(run.number);
            drop(run);
            if let (Err(why), true) = (why, is_first && !threads::process_ends()) {
                log::info!("no other process can wake this one for now, so that it polls only: {why}");
            }
        });
    }

    /// Listens as long as the poller lives and the bell is this one. The error says why there is none.
    fn run(&self, login: &LibpqLogin, number: u64, poller: &Weak<dyn Rung>) -> std::result::Result<(), String> {
        if self.state.lock().number != number {
            return Ok(());
        }
        let bell = Bell::open(login, &[&self.channel, &self.schema])?;
        // Anew: the log-in may have come to parts of OpenSSL that nothing had used.
        threads::leave(threads::this_thread());
        let mut state = self.state.lock();
        if state.number != number {
            return Ok(());
        }
        state.listener = Some(bell.listener);
        drop(state);
        poller.upgrade().inspect(|poller| poller.listens());
        loop {
            let rings = bell.rings(TICK)?;
            let Some(poller) = poller.upgrade() else { return Ok(()) };
            let mut state = self.state.lock();
            if state.number != number {
                return Ok(());
            }
            let now = Instant::now();
            let rings = rings.iter().filter_map(|(channel, text)| Ring::of(*channel == self.channel, text));
            let rings: Vec<_> = rings.inspect(|ring| state.rung(*ring, now)).collect();
            drop(state);
            rings.into_iter().for_each(|ring| poller.rung(ring));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_asks_once_and_then_only_to_prove_the_bell() {
        let (mut state, start) = (DoorbellState::default(), Instant::now());
        assert_eq!(state.must_ask(&["a"], start), None, "nobody listens yet");
        state.listener = Some(7);
        assert_eq!(state.must_ask(&[], start), None, "it has work");
        assert_eq!(state.must_ask(&["a"], start), Some(7));
        state.asks(&["a"], start);
        assert_eq!(state.must_ask(&["a"], start), None);
        assert_eq!(state.must_ask(&["a", "b"], start), Some(7), "another queue");
        state.rung(Ring::Proof, start);
        state.rung(Ring::Added { stem: "a" }, start);
        assert_eq!(state.must_ask(&["a"], start), Some(7), "who rang has taken the row");
        state.asks(&["a"], start);
        assert_eq!(state.must_ask(&["a"], start + PROOF), Some(7));
    }

    #[test]
    fn a_process_asks_for_the_end_of_an_item_once() {
        let (mut state, now) = (DoorbellState::default(), Instant::now());
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        assert!(state.must_await("q", &keys(&["a", "b"])) && !state.must_await("q", &keys(&["b"])));
        assert!(state.must_await("other", &keys(&["a"])), "of another queue");
        state.rung(Ring::Settled { stem: "q", key: "a" }, now);
        assert!(!state.must_await("q", &keys(&["a", "b"])), "a look follows, which finds its end");
        assert!(state.must_await("q", &keys(&["a", "b"])), "it had none");
        assert!(state.must_await("q", &keys(&["c"])) && state.must_await("q", &keys(&["a"])), "others were forgotten");
        assert!(!state.must_await("other", &keys(&["a"])));
    }

    #[test]
    fn notifications_of_others_are_no_rings() {
        assert_eq!(Ring::of(true, ""), Some(Ring::Proof));
        assert_eq!(Ring::of(true, "q"), Some(Ring::Added { stem: "q" }));
        assert_eq!(Ring::of(true, "q a b"), Some(Ring::Settled { stem: "q", key: "a b" }));
        assert_eq!(Ring::of(false, "q a b"), Some(Ring::Taken { stem: "q", worker: "a b" }));
        assert_eq!([Ring::of(false, ""), Ring::of(false, "q")], [None, None]);
    }

    #[test]
    fn another_listens_after_the_panic_of_a_listener() {
        let bell = Arc::new(Doorbell::new("s"));
        bell.state.lock().runs = Some(0);
        let run = Run { of: Arc::clone(&bell), number: 0 };
        std::thread::spawn(move || {
            let _run = run;
            panic!("as it happens");
        })
        .join()
        .unwrap_err();
        let state = bell.state.lock();
        assert!(state.runs.is_none() && state.number == 1 && state.again.is_some(), "after a pause");
    }

    #[test]
    fn a_bell_that_does_not_ring_is_not_relied_on() {
        let (mut state, start) = (DoorbellState { listener: Some(7), ..Default::default() }, Instant::now());
        state.asks(&["a"], start);
        let late = start + PATIENCE + Duration::from_millis(1);
        assert_eq!(state.must_ask(&["b"], start + PATIENCE), Some(7));
        state.asks(&["b"], start + PATIENCE);
        assert_eq!(
            (state.must_ask(&["a"], late), state.listener),
            (None, None),
            "another question does not begin it anew"
        );
        assert!(state.asleep.is_empty() && state.again.is_some_and(|(again, _)| again > late));
        state.listener = Some(8);
        state.asks(&["a"], late);
        state.rung(Ring::Proof, late);
        assert_eq!(state.must_ask(&["c"], late + PATIENCE * 2), Some(8), "it rang");
        assert_eq!(state.again, None, "and the next failure is a first one");
    }
}
