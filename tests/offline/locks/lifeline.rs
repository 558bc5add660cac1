//! A model of lifelines, and all interleavings of a worker that loses connections, a recovery that takes it for dead, and a server that
//! may begin anew. Time passes by the second; the grace is two of them.

use super::rendered::{procedure, script};
use std::collections::HashSet;

const GRACE: u8 = 2;
const END: u8 = 6;

/// The rules that a variant leaves out, to show what each is for.
#[derive(Debug, Clone, Copy, Default)]
struct Without {
    /// The lock that a recovery keeps while it takes the items.
    seizing: bool,
    /// The worker's own look at its last proof before it begins an item.
    doubt: bool,
    /// The question whether the server is still the one that had the lock.
    epoch: bool,
    /// The memory that there was such doubt, after a connection has come back.
    gaps: bool,
    /// The end of what was noted of a free lock, when a connection takes it.
    clearing: bool,
    /// The wait between the first look at a free lock and the verdict.
    grace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Holder {
    #[default]
    Nobody,
    Worker,
    Heir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct World {
    now: u8,
    epoch: u8,
    /// The worker's connections, each of which has held its lock since then.
    open: [Option<u8>; 2],
    is_dead: bool,
    /// When a call of the worker last succeeded.
    proved: u8,
    /// It was not sure for a while.
    had_gap: bool,
    holder: Holder,
    has_begun: bool,
    heir_has_begun: bool,
    /// The row: of which server, and since when the lock is known to be free.
    registered: u8,
    free_since: Option<u8>,
    /// The recovery that is under way has judged the worker dead.
    seizes: bool,
}

impl World {
    fn is_free(&self) -> bool {
        self.open == [None; 2]
    }

    fn steps(&self, without: Without) -> Vec<Self> {
        let mut after = Vec::new();
        let mut step = |can: bool, change: &dyn Fn(&mut Self)| {
            if can {
                let mut next = *self;
                change(&mut next);
                after.push(next);
            }
        };
        step(self.now < END, &|world| world.now += 1);
        for one in 0..2 {
            step(self.open[one].is_some(), &|world| world.open[one] = None);
            let may_come_back = without.seizing || !self.seizes;
            step(!self.is_dead && self.open[one].is_none() && may_come_back, &|world| {
                world.open[one] = Some(world.now);
                world.free_since = world.free_since.filter(|_| without.clearing);
            });
        }
        step(!self.is_dead, &|world| (world.is_dead, world.open, world.has_begun) = (true, [None; 2], false));
        for since in self.open.into_iter().flatten() {
            // A connection that had the lock then has had it all the time.
            let proves = |world: &mut Self| {
                world.had_gap |= since >= world.proved + GRACE;
                world.proved = world.now;
            };
            step(true, &proves);
            step(self.registered != self.epoch, &|world| {
                proves(world);
                (world.registered, world.free_since) = (world.epoch, None);
            });
        }
        let is_sure = (without.doubt || self.now < self.proved + GRACE) && (without.gaps || !self.had_gap);
        step(!self.is_dead && !self.has_begun && self.holder != Holder::Nobody && is_sure, &|world| {
            world.has_begun = true;
        });
        // Another that looks notes what it sees, and a later look is the verdict.
        let knows = without.epoch || self.registered == self.epoch;
        step(knows, &|world| world.free_since = world.is_free().then(|| world.free_since.unwrap_or(world.now)));
        let grace = if without.grace { 0 } else { GRACE };
        let is_dead = knows && self.free_since.is_some_and(|since| since + grace <= self.now) && self.is_free();
        step(is_dead && !self.seizes, &|world| world.seizes = true);
        step(self.seizes, &|world| {
            world.seizes = false;
            if world.holder == Holder::Worker {
                world.holder = Holder::Nobody;
            }
        });
        step(self.holder == Holder::Nobody, &|world| (world.holder, world.heir_has_begun) = (Holder::Heir, true));
        step(self.epoch == 0, &|world| (world.epoch, world.open, world.seizes) = (1, [None; 2], false));
        after
    }

    /// A fault between two moments.
    fn fault(&self, before: &Self) -> Option<&'static str> {
        if self.has_begun && !before.has_begun && self.holder != Holder::Worker {
            return Some("it begins what others may have");
        }
        let is_taken = before.holder == Holder::Worker && self.holder == Holder::Nobody;
        if is_taken && !before.is_dead && before.now < before.proved + GRACE {
            return Some("it is taken for dead while it is sure of a connection");
        }
        (is_taken && before.registered != before.epoch).then_some("another server has freed the lock")
    }
}

/// The faults that there are, and whether a dead worker's item is ever begun again.
fn explore(without: Without) -> (HashSet<&'static str>, bool) {
    let first = World { open: [Some(0); 2], holder: Holder::Worker, ..World::default() };
    let (mut seen, mut open) = (HashSet::from([first]), vec![first]);
    let (mut faults, mut runs_again) = (HashSet::new(), false);
    while let Some(world) = open.pop() {
        for after in world.steps(without) {
            faults.extend(after.fault(&world));
            runs_again |= after.is_dead && after.heir_has_begun && after.epoch == 0;
            if seen.insert(after) {
                open.push(after);
            }
        }
    }
    assert!(seen.len() > 1000, "{}", seen.len());
    (faults, runs_again)
}

#[test]
fn a_worker_that_is_sure_of_a_connection_is_never_taken_for_dead() {
    assert_eq!(explore(Without::default()), (HashSet::new(), true));
}

#[test]
fn each_rule_of_lifelines_is_needed() {
    let faults = |without| explore(without).0;
    let begins = "it begins what others may have";
    assert!(faults(Without { doubt: true, ..Without::default() }).contains(begins));
    assert!(faults(Without { gaps: true, ..Without::default() }).contains(begins));
    let sure = "it is taken for dead while it is sure of a connection";
    assert!(faults(Without { seizing: true, ..Without::default() }).contains(sure));
    assert!(faults(Without { clearing: true, ..Without::default() }).contains(sure));
    assert!(faults(Without { grace: true, ..Without::default() }).contains(sure));
    assert!(faults(Without { epoch: true, ..Without::default() }).contains("another server has freed the lock"));
}

/// The model is of these locks: one that the sessions share and keep, and one that waits for nobody and goes with the recovery.
#[test]
fn the_model_of_lifelines_is_of_the_rendered_sql() {
    let batches = script(r#"{"queue": "Job", "columns": []}"#);
    let has = |name: &str, words: &[&str]| {
        let tokens = &procedure(&batches, name).tokens;
        let is_it =
            |at: usize| words.iter().zip(&tokens[at..]).all(|(word, token)| token.text.trim_matches('\'') == *word);
        assert!((0..tokens.len()).any(is_it), "{name} lacks {words:?}");
    };
    has("QueueLifelineTake", &["@LockMode", "=", "Shared", ",", "@LockOwner", "=", "Session"]);
    has(
        "QueueRecoveryTurn",
        &["@LockMode", "=", "Exclusive", ",", "@LockOwner", "=", "Transaction", ",", "@LockTimeout", "=", "0"],
    );
    let look = &procedure(&batches, "QueueLifelineLook").tokens;
    assert!(!look.iter().any(|token| token.is("sp_getapplock")), "a look keeps no lock");
    let turn = &procedure(&batches, "QueueRecoveryTurn").tokens;
    assert!(turn.iter().any(|token| token.text == "ServerBegan"), "a lock of another server says nothing");
}
