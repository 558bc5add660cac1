//! A model of one queue in a process: threads that claim, a poller that may fail, and items that others add, on a clock that moves by
//! itself. An item that may be claimed never waits for long, whatever fails.

use super::*;
use proptest::prelude::*;

const INTERVAL: Duration = Duration::from_millis(1000);
const KINDS: [&str; 2] = ["a", "b"];

#[derive(Debug, Clone)]
enum Step {
    /// Others add an item of a kind, due in so many ms.
    Add {
        kind: usize,
        delay: u64,
    },
    /// An item comes that counts as due and that nobody can claim, or those go.
    Block(bool),
    /// The poller's looks are answered from now on; no answer comes, or an error.
    Polls(Answered),
    /// The thread of a kind goes, or comes.
    Thread {
        kind: usize,
        is_there: bool,
    },
    Pass(u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Answered {
    Yes,
    Never,
    WithAnError,
}

struct Model {
    turns: Turns,
    start: Instant,
    now: Instant,
    answered: Answered,
    is_blocked: bool,
    /// Kind, since when it is there, and when it is due.
    items: Vec<(usize, Instant, Instant)>,
    /// How often the thread of each kind looks.
    intervals: [Duration; 2],
    /// Since when it is there.
    there: [Option<Instant>; 2],
    /// When each thread wakes by itself; one for each kind.
    threads: [Option<Instant>; 2],
    polls: Option<Instant>,
    looks: u64,
}

impl Model {
    fn new() -> Self {
        Self::of([INTERVAL; 2])
    }

    fn of(intervals: [Duration; 2]) -> Self {
        let start = Instant::now();
        let mut model = Self {
            turns: Turns::default(),
            start,
            now: start,
            answered: Answered::Yes,
            is_blocked: false,
            items: Vec::new(),
            intervals,
            there: [Some(start); 2],
            threads: [None; 2],
            polls: None,
            looks: 0,
        };
        model.settle();
        model
    }

    /// Threads claim until each sleeps, as fetchers do after each change; then the poller plans.
    fn settle(&mut self) {
        for (kind, name) in KINDS.into_iter().enumerate() {
            self.threads[kind] = None;
            while self.there[kind].is_some() {
                let interval = self.intervals[kind];
                let patience = self.turns.patience(interval);
                if let Some(until) = self.turns.of(name).next(patience, self.now) {
                    self.turns.sleeps(until, interval, self.now);
                    self.threads[kind] = Some(until);
                    break;
                }
                assert!(self.turns.of(name).take(patience, self.now));
                self.claim(kind);
            }
        }
        self.polls = self.turns.poll_at(self.start, self.now).map(|look| look.at.max(self.now));
    }

    fn claim(&mut self, kind: usize) {
        let wakes = self.turns.wakes + self.turns.of(KINDS[kind]).passed_on;
        let found = self.items.iter().position(|(of, _, due)| *of == kind && *due <= self.now);
        if let Some(place) = found {
            self.items.remove(place);
            self.turns.found_something(KINDS[kind], self.now);
        } else {
            let due = self.items.iter().filter(|(of, ..)| *of == kind).map(|(.., due)| *due - self.now).min();
            self.turns.found_nothing(KINDS[kind], wakes, due, self.now);
        }
    }

    fn look(&mut self) {
        self.looks += 1;
        match self.answered {
            Answered::Never => self.polls = None,
            Answered::WithAnError => _ = self.turns.is_left_alone(self.now),
            Answered::Yes => {
                let wakes = self.turns.all_wakes();
                let first = self.items.iter().map(|(.., due)| *due).min();
                let due = match first {
                    _ if self.is_blocked => Due::Now,
                    Some(due) if due <= self.now => Due::Now,
                    later => Due::Later(later.map(|due| due - self.now)),
                };
                self.turns.polled(wakes, due, self.now);
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let next = self.threads.iter().flatten().chain(&self.polls).min().copied();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            if self.polls.is_some_and(|polls| polls <= self.now) {
                self.look();
                let hangs = self.answered == Answered::Never;
                self.settle();
                if hangs {
                    self.polls = None;
                }
            } else {
                self.settle_without_plan();
            }
            self.check();
        }
        self.now = end;
        self.check();
    }

    /// A thread wakes; a poller that hangs goes on hanging.
    fn settle_without_plan(&mut self) {
        let hangs = self.answered == Answered::Never;
        self.settle();
        if hangs {
            self.polls = None;
        }
    }

    fn check(&self) {
        for (kind, since, due) in &self.items {
            let Some(there) = self.there[*kind] else { continue };
            let most = self.intervals[*kind] * 2 + GRACE;
            let waited = self.now.saturating_duration_since(there.max(*since).max(*due));
            assert!(waited <= most, "an item waits for {waited:?}");
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Add { kind, delay } => {
                self.items.push((*kind, self.now, self.now + Duration::from_millis(*delay)));
            }
            Step::Block(blocks) => self.is_blocked = *blocks,
            Step::Polls(answered) => {
                self.answered = *answered;
                self.settle_without_plan();
            }
            Step::Thread { kind, is_there } => {
                self.there[*kind] = is_there.then(|| self.there[*kind].unwrap_or(self.now));
                self.settle_without_plan();
            }
            Step::Pass(ms) => self.pass(Duration::from_millis(*ms)),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..2_usize, prop::sample::select(vec![0, 0, 40, 700, 5_000])).prop_map(|(kind, delay)| Step::Add { kind, delay }),
        1 => any::<bool>().prop_map(Step::Block),
        1 => prop::sample::select(vec![Answered::Yes, Answered::Yes, Answered::Never, Answered::WithAnError]).prop_map(Step::Polls),
        1 => (0..2_usize, any::<bool>()).prop_map(|(kind, is_there)| Step::Thread { kind, is_there }),
        6 => prop::sample::select(vec![1, 30, 60, 250, 999, 1_500, 9_000]).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Nobody sleeps over an item: it is claimed within the time after which the threads look by themselves, whatever the poller does.
    #[test]
    fn no_item_is_slept_over(steps in steps(), intervals in prop::array::uniform2(prop::sample::select(vec![50, 400, 1_000, 3_000]))) {
        let mut model = Model::of(intervals.map(Duration::from_millis));
        for step in &steps {
            model.step(step);
        }
        (0..2).for_each(|kind| model.step(&Step::Thread { kind, is_there: true }));
        model.pass(Duration::from_secs(20));
        prop_assert!(model.items.is_empty());
    }
}

/// With a poller that answers, an item of others waits no longer than the last pause.
#[test]
fn an_item_of_others_is_found_soon_after_work_and_within_the_interval_later() {
    for (idle, most) in [(1, 50), (60, 100), (200, 200), (2_000, 1_000), (60_000, 1_000)] {
        let mut model = Model::new();
        model.pass(Duration::from_secs(5));
        model.step(&Step::Add { kind: 0, delay: 0 });
        while !model.items.is_empty() {
            model.pass(Duration::from_millis(1));
        }
        model.pass(Duration::from_millis(idle));
        let added = model.now;
        model.step(&Step::Add { kind: 0, delay: 0 });
        while !model.items.is_empty() {
            model.pass(Duration::from_millis(1));
        }
        let waited = (model.now - added).as_millis();
        assert!(waited <= most + 1, "after {idle} ms: {waited} ms");
    }
}

/// One look an interval for all, and no claim that finds nothing.
#[test]
fn an_idle_process_looks_once_an_interval() {
    let mut model = Model::new();
    model.pass(Duration::from_secs(10));
    model.looks = 0;
    model.pass(Duration::from_secs(100));
    assert_eq!(model.looks, 100);
}

/// Claims ask for an item that nobody can claim no more often than those of a process without a poller.
#[test]
fn a_blocked_item_wakes_a_thread_once_an_interval() {
    let mut model = Model::new();
    model.step(&Step::Block(true));
    model.pass(Duration::from_secs(10));
    let before = model.turns.all_wakes();
    model.pass(Duration::from_secs(100));
    let wakes = model.turns.all_wakes() - before;
    assert!((90..=200).contains(&wakes), "{wakes} for two kinds");
}

/// Others may sleep all the time.
#[test]
fn the_poller_slows_down_when_a_hasty_thread_has_gone() {
    let (mut turns, start) = (Turns::default(), Instant::now());
    let hasty = INTERVAL / 20;
    assert!(turns.sleeps(start + INTERVAL * 3, INTERVAL, start));
    assert!(turns.sleeps(start + INTERVAL, hasty, start), "the poller is to look sooner");
    assert!(!turns.sleeps(start + INTERVAL * 4, INTERVAL, start));
    (0..20).for_each(|_| turns.pace.looked(start));
    let next = |turns: &mut Turns, now| turns.poll_at(start, now).unwrap().at;
    assert_eq!(next(&mut turns, start), start + hasty);
    assert_eq!(next(&mut turns, start + INTERVAL), start + INTERVAL, "only the others sleep now");
    assert!(!turns.sleeps(start + INTERVAL * 5, INTERVAL, start + INTERVAL));
    assert_eq!(turns.interval, INTERVAL);
}

/// The poller's thread has ended by a panic, or got no answer: a thread that falls asleep starts it, although others sleep.
#[test]
fn a_poller_that_failed_plans_anew() {
    let (mut turns, start) = (Turns::default(), Instant::now());
    assert!(turns.sleeps(start + INTERVAL * 9, INTERVAL, start));
    assert!(!turns.sleeps(start + INTERVAL * 9, INTERVAL, start));
    turns.is_left_alone(start);
    assert!(turns.sleeps(start + INTERVAL * 9, INTERVAL, start));
}
