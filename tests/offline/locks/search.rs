//! All interleavings of a few sessions, and what goes wrong in one of them.

use super::history::{item, writer};
use super::session::{Step, World};
use super::statement::{Program, Search, Statement, To};
use super::world::{ATTEMPTS, Index, Key, Mode, Row, State, Table};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A fault that the search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A deadlock of procedures without a reader that gives way.
    Deadlock(Vec<&'static str>),
    /// A claim waits for somebody who changes items.
    ClaimWaits,
    /// A call that adds work waits for the end of one that adds other work.
    AdderWaits,
    /// Retention waits for a call that changes something.
    RetentionWaits,
    /// A renewal waits for somebody who changes one of its items, while the leases of the others run out.
    RenewalWaits,
    /// An item is lost, or has two owners.
    Wrong(String),
}

/// Rows that are there before: what each is, in the order of the keys, which begin with 1. Each has a work: its own place, ten
/// apart, from behind, so that the order of works is not that of keys.
pub fn table(rows: &[(State, bool)]) -> Table {
    let work = |place: usize| ((rows.len() - place) * 10) as Key;
    let row = |(place, (state, expired)): (usize, &(State, bool))| {
        let row = Row { state: *state, expired: *expired, work: Some(work(place)), group: None, kind: 0 };
        ((place + 1) as Key, row)
    };
    Table { rows: rows.iter().enumerate().map(row).collect(), waiting: &[Index::Due], ..Table::default() }
}

/// Rows of one group, by their keys.
pub fn group(rows: &[(Key, State)]) -> Table {
    let row = |(key, state): &(Key, State)| {
        (*key, Row { state: *state, expired: false, work: None, group: Some(1), kind: 0 })
    };
    Table { rows: rows.iter().map(row).collect(), waiting: &[Index::Due], ..Table::default() }
}

/// A table that finds what waits by these indexes; of which kind each row is.
pub fn with_kinds(table: Table, waiting: &'static [Index], kinds: &[u8]) -> Table {
    let mut table = Table { waiting, ..table };
    table.rows.values_mut().zip(kinds).for_each(|(row, kind)| row.kind = *kind);
    table
}

/// A table that remembers these attempts: at which item, and whether it is old enough to be forgotten.
pub fn with_attempts(table: Table, attempts: &[(Key, bool)]) -> Table {
    let mut table = table;
    for (item, is_old) in attempts {
        let of_item = table.attempts.range(item * ATTEMPTS..(item + 1) * ATTEMPTS).count();
        table.attempts.insert(item * ATTEMPTS + of_item as Key, *is_old);
    }
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
                Step::Done => {
                    while after.is_quarantined(number, program) {
                        after.step(number, program);
                    }
                    next.push(after);
                }
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
                if let Some(what) = unaccounted(table, &world, programs) {
                    return (Some(Finding::Wrong(what)), seen.len());
                }
                continue;
            }
            // A call that only looks gives way. No other needs to.
            let gives_way = |number: &&usize| programs[**number].yields && programs[**number].only_reads();
            let Some(victim) = blocked.iter().find(gives_way) else {
                let names = blocked.iter().map(|number| programs[*number].name).collect();
                return (Some(Finding::Deadlock(names)), seen.len());
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
    // A reader's shared lock is gone in a moment.
    let lasts = |other: &&usize| world.held[**other].values().any(|mode| *mode != Mode::S);
    if program.name == "retain" {
        return others.iter().find(lasts).map(|_| Finding::RetentionWaits);
    }
    if program.name == "renew" {
        return others.iter().find(lasts).map(|_| Finding::RenewalWaits);
    }
    match program.statements[world.sessions[number].at.0] {
        Statement::Search(Search { row: Some(Mode::U), .. } | Search { mode: Mode::U, .. })
        | Statement::Update(To::InFlight) => others.iter().find(lasts).map(|_| Finding::ClaimWaits),
        // The session that has it may keep it long.
        Statement::TakeRow { index: Index::Recovery, .. } => Some(Finding::ClaimWaits),
        Statement::LookUpWork { .. } | Statement::FindSame { .. } | Statement::Insert => {
            let is_other = |other: &&usize| {
                let theirs = &programs[**other];
                theirs.name == program.name && !theirs.arguments.iter().any(|work| program.arguments.contains(work))
            };
            others.iter().find(is_other).map(|_| Finding::AdderWaits)
        }
        _ => None,
    }
}

/// The fault that is left when all have ended.
fn unaccounted(before: &Table, world: &World, programs: &[Program]) -> Option<String> {
    for (number, session) in world.sessions.iter().enumerate() {
        let kinds: Vec<_> = programs[number].kinds().collect();
        for key in &session.claimed {
            let row = world.table.rows.get(key);
            let state = row.map(|row| row.state);
            if row.is_some_and(|row| !kinds.is_empty() && !kinds.contains(&row.kind)) {
                return Some(format!("{} claimed {key}, which is of another kind", programs[number].name));
            }
            if state != Some(State::InFlight(number as u8)) {
                return Some(format!("{} claimed {key}, which is {state:?}", programs[number].name));
            }
        }
        if session.was_victim && !programs[number].yields {
            return Some(format!("{} was rolled back", programs[number].name));
        }
    }
    if let Some(what) = misremembered(before, world, programs) {
        return Some(what);
    }
    let works: Vec<_> =
        world.table.rows.values().filter(|row| row.state != State::Finished).filter_map(|row| row.work).collect();
    let mut once = works.clone();
    once.sort_unstable();
    once.dedup();
    if once.len() < works.len() {
        return Some("a work is there twice".to_owned());
    }
    let added = programs
        .iter()
        .filter(|program| ["add", "replace"].contains(&program.name))
        .flat_map(|program| &program.arguments);
    let there = |work: &&Key| world.table.rows.values().any(|row| row.work == Some(**work));
    added.filter(|work| !there(work)).map(|work| format!("work {work} was not added")).next()
}

/// The end of an attempt is remembered, once, as long as its item is there; and it goes with its item, or when it is old.
fn misremembered(before: &Table, world: &World, programs: &[Program]) -> Option<String> {
    let attempts = || world.table.attempts.keys();
    let left = attempts().map(|attempt| item(*attempt)).find(|item| !world.table.rows.contains_key(item));
    if let Some(item) = left {
        return Some(format!("an attempt at {item} is left of it"));
    }
    let stays = |attempt: &Key| world.table.rows.contains_key(&item(*attempt));
    let lost = |attempt: &Key| stays(attempt) && !world.table.attempts.contains_key(attempt);
    let mut kept = before.attempts.iter().filter(|(_, is_old)| !**is_old).map(|(attempt, _)| *attempt);
    if let Some(attempt) = kept.find(lost) {
        return Some(format!("an attempt at {} is lost", item(attempt)));
    }
    for (number, program) in programs.iter().enumerate().filter(|(_, program)| program.remembers()) {
        for key in world.table.rows.keys() {
            let ended = world.sessions[number].ended.iter().filter(|ended| *ended == key).count();
            let written =
                attempts().filter(|attempt| item(**attempt) == *key && writer(**attempt) == Some(number)).count();
            if ended != written {
                return Some(format!("{} ended {ended} attempts at {key} and remembers {written}", program.name));
            }
        }
    }
    None
}
