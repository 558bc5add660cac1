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
    /// When each thread wakes by itself; one for each kind.
    threads: [Option<Instant>; 2],
    polls: Option<Instant>,
    looks: u64,
}

impl Model {
    fn new() -> Self {
        let start = Instant::now();
        let mut model = Self {
            turns: Turns::default(),
            start,
            now: start,
            answered: Answered::Yes,
            is_blocked: false,
            items: Vec::new(),
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
            loop {
                let patience = self.turns.patience(INTERVAL);
                if let Some(until) = self.turns.of(name).next(patience, self.now) {
                    self.turns.sleeps(until, INTERVAL, self.now);
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
        for (_, since, due) in &self.items {
            let most = INTERVAL * 2 + GRACE;
            let waited = self.now.saturating_duration_since(*since.max(due));
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
            Step::Pass(ms) => self.pass(Duration::from_millis(*ms)),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..2_usize, prop::sample::select(vec![0, 0, 40, 700, 5_000])).prop_map(|(kind, delay)| Step::Add { kind, delay }),
        1 => any::<bool>().prop_map(Step::Block),
        1 => prop::sample::select(vec![Answered::Yes, Answered::Yes, Answered::Never, Answered::WithAnError]).prop_map(Step::Polls),
        6 => prop::sample::select(vec![1, 30, 60, 250, 999, 1_500, 9_000]).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Nobody sleeps over an item: it is claimed within the time after which the threads look by themselves, whatever the poller does.
    #[test]
    fn no_item_is_slept_over(steps in steps()) {
        let mut model = Model::new();
        for step in &steps {
            model.step(step);
        }
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
