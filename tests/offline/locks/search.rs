//! All interleavings of a few sessions, and what goes wrong in one of them.

use super::session::{Step, World};
use super::statement::{Program, Statement, To};
use super::world::{Index, Key, Mode, Row, State, Table};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Of procedures of which none gives way.
    Deadlock(Vec<&'static str>),
    /// A claim waits for somebody who changes items.
    ClaimWaits,
    /// Whoever adds work waits for the end of somebody who adds other work.
    AdderWaits,
    /// An item is lost, or has two owners.
    Wrong(String),
}

/// Rows that are there before: what each is, in the order of the keys, which begin with 1. Each has a work: its own place, ten
/// apart, from behind, so that the order of works is not that of keys.
pub fn table(rows: &[(State, bool)]) -> Table {
    let work = |place: usize| ((rows.len() - place) * 10) as Key;
    let row = |(place, (state, expired)): (usize, &(State, bool))| {
        (
            (place + 1) as Key,
            Row { state: *state, expired: *expired, work: Some(work(place)), group: None, by_kind: false },
        )
    };
    Table { rows: rows.iter().enumerate().map(row).collect() }
}

/// Rows of one group, by their keys.
pub fn group(rows: &[(Key, State)]) -> Table {
    let row = |(key, state): &(Key, State)| {
        (*key, Row { state: *state, expired: false, work: None, group: Some(1), by_kind: false })
    };
    Table { rows: rows.iter().map(row).collect() }
}

/// Rows of a table that has an index of kinds.
pub fn of_kinds(rows: &[(State, bool)]) -> Table {
    let mut table = table(rows);
    table.rows.values_mut().for_each(|row| row.by_kind = true);
    table
}

/// Looks at every order in which the sessions can take their steps. Gives what was found first, and how many moments there were.
pub fn explore(table: &Table, programs: &[Program]) -> (Option<Finding>, usize) {
    explore_past(table, programs, &[])
}

/// The same, going on behind some findings.
pub fn explore_past(table: &Table, programs: &[Program], past: &[Finding]) -> (Option<Finding>, usize) {
    let first = World::new(table.clone(), programs);
    // A hash of 64 bits for each moment: that two of some 100,000 have the same is not to be expected.
    let mut seen = HashSet::from([hash(&first)]);
    let mut open = vec![first];
    while let Some(world) = open.pop() {
        let mut blocked = Vec::new();
        let mut next = Vec::new();
        for (number, program) in programs.iter().enumerate().filter(|(number, _)| !world.sessions[*number].is_done) {
            let mut after = world.clone();
            match after.step(number, program) {
                Step::Done => next.push(after),
                Step::Wrong(what) => return (Some(Finding::Wrong(what)), seen.len()),
                Step::Waits(others) => {
                    let finding = wait_that_must_not_be(&world, number, program, &others, programs);
                    if finding.as_ref().is_some_and(|finding| !past.contains(finding)) {
                        return (finding, seen.len());
                    }
                    blocked.push(number);
                }
            }
        }
        if next.is_empty() {
            if blocked.is_empty() {
                if let Some(what) = unaccounted(&world, programs) {
                    return (Some(Finding::Wrong(what)), seen.len());
                }
                continue;
            }
            let Some(victim) = blocked.iter().find(|number| programs[**number].yields) else {
                return (
                    Some(Finding::Deadlock(blocked.iter().map(|number| programs[*number].name).collect())),
                    seen.len(),
                );
            };
            let mut after = world.clone();
            after.roll_back(*victim);
            next.push(after);
        }
        for after in next {
            if seen.insert(hash(&after)) {
                open.push(after);
            }
        }
    }
    (None, seen.len())
}

fn hash(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

fn wait_that_must_not_be(
    world: &World,
    number: usize,
    program: &Program,
    others: &[usize],
    programs: &[Program],
) -> Option<Finding> {
    match program.statements[world.sessions[number].at.0] {
        Statement::Search { mode: Mode::U, .. } | Statement::Update(To::InFlight) => {
            // A reader's shared lock is gone in a moment.
            let lasts = |other: &&usize| world.held[**other].values().any(|mode| *mode != Mode::S);
            others.iter().find(lasts).map(|_| Finding::ClaimWaits)
        }
        // Whoever has it may be long about it.
        Statement::TakeRow { index: Index::Recovery, .. } => Some(Finding::ClaimWaits),
        Statement::LookUpWork { .. } | Statement::Insert => {
            let is_other = |other: &&usize| {
                let theirs = &programs[**other];
                theirs.name == program.name && !theirs.arguments.iter().any(|work| program.arguments.contains(work))
            };
            others.iter().find(is_other).map(|_| Finding::AdderWaits)
        }
        _ => None,
    }
}

/// What is wrong when all have ended.
fn unaccounted(world: &World, programs: &[Program]) -> Option<String> {
    for (number, session) in world.sessions.iter().enumerate() {
        for key in &session.claimed {
            let state = world.table.rows.get(key).map(|row| row.state);
            if state != Some(State::InFlight(number as u8)) {
                return Some(format!("{} claimed {key}, which is {state:?}", programs[number].name));
            }
        }
        if session.was_victim && !programs[number].yields {
            return Some(format!("{} was rolled back", programs[number].name));
        }
    }
    let works: Vec<_> =
        world.table.rows.values().filter(|row| row.state != State::Finished).filter_map(|row| row.work).collect();
    let mut once = works.clone();
    once.sort_unstable();
    once.dedup();
    if once.len() < works.len() {
        return Some("a work is there twice".to_owned());
    }
    let added = programs.iter().filter(|program| program.name == "add").flat_map(|program| &program.arguments);
    let there = |work: &&Key| world.table.rows.values().any(|row| row.work == Some(**work));
    added.filter(|work| !there(work)).map(|work| format!("work {work} was not added")).next()
}
