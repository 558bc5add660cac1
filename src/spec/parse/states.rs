//! `table.states` and `table.status`: how an adopted table says in which state an item is.

use super::at::{At, Table};
use super::columns::same_name;
use crate::error::Result;
use crate::ident::{Identifier, did_you_mean};
use crate::item::ItemState;
use crate::spec::{Condition, Holds, KeyColumn, LifecycleSpec, Literal, SeekColumn, StateSpec, TableSpec};

/// Columns that may hold anything but NULL in a state: what is written into each when an item enters it is known.
const SET: [&str; 4] = ["started", "finished", "owner", "error"];

/// Columns of the life cycle that may be NULL in a state. The others have their values whatever the state.
const NULLED: [&str; 8] = ["started", "finished", "owner", "error", "lease_until", "response", "step", "duration"];

/// Reads `states`, or the `status` that is short for it.
pub(super) fn states(table: &Table<'_>, key: &[KeyColumn], lifecycle: &LifecycleSpec) -> Result<Vec<StateSpec>> {
    let mut states = match (table.get("states"), table.get("status")) {
        (Some(at), None) => conditions_by_state(&at, lifecycle)?,
        (None, Some(at)) => status_column(&at)?,
        (Some(_), Some(at)) => {
            return Err(at.refuse("is short for \"states\", which is there as well; keep one of them"));
        }
        (None, None) => {
            let why = "the key \"states\" (or \"status\") is missing: how the table says where an item is";
            return Err(table.at().refuse(why));
        }
    };
    states.sort_by_key(|state| ItemState::ALL.iter().position(|other| *other == state.state));
    let at = table.get("states").or_else(|| table.get("status"));
    for condition in states.iter().flat_map(|state| &state.conditions) {
        if let (true, Some(at)) = (key.iter().any(|column| same_name(&column.name, &condition.column)), &at) {
            let name = condition.column.as_str();
            return Err(at.refuse(format!("{name:?} is a column of the key, which never changes")));
        }
    }
    Ok(states)
}

fn state(at: &At<'_>, word: &str) -> Result<ItemState> {
    word.parse().map_err(|()| {
        let words: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        let near = did_you_mean(word, words.iter().copied());
        at.refuse(format!("there is no state {word:?}{near}; the states are {}", words.join(", ")))
    })
}

fn conditions_by_state(at: &At<'_>, lifecycle: &LifecycleSpec) -> Result<Vec<StateSpec>> {
    let mut states = Vec::new();
    for (word, at) in at.members()? {
        let state = state(&at, word)?;
        let mut conditions: Vec<Condition> = Vec::new();
        for (name, at) in at.members()? {
            let column = at.name(name)?;
            if conditions.iter().any(|other| same_name(&other.column, &column)) {
                return Err(at.refuse("the column stands here already, in other letters"));
            }
            let holds = holds(&at)?;
            check_column(&at, state, &column, &holds, lifecycle)?;
            conditions.push(Condition { column, holds });
        }
        if conditions.is_empty() {
            return Err(at.refuse("says nothing; give at least one column and what it holds"));
        }
        states.push(StateSpec { state, conditions });
    }
    Ok(states)
}

fn holds(at: &At<'_>) -> Result<Holds> {
    if at.is_table() {
        let null = at.table(&["is"])?.need("is")?.choice(&["null", "set"])? == 0;
        return Ok(if null { Holds::Null } else { Holds::Something });
    }
    match at.literal() {
        Ok(literal) => Ok(Holds::Value(literal)),
        Err(_) if at.is_text() => at.literal().map(Holds::Value),
        Err(_) => Err(at.wrong("a whole number, true, false, text, { is = \"null\" } or { is = \"set\" }")),
    }
}

fn check_column(
    at: &At<'_>,
    state: ItemState,
    column: &Identifier,
    holds: &Holds,
    lifecycle: &LifecycleSpec,
) -> Result<()> {
    let role = lifecycle.columns().into_iter().find(|(_, other)| same_name(other, column)).map(|(role, _)| role);
    match (holds, role) {
        (Holds::Something, _) if state == ItemState::Pending => {
            Err(at.refuse("an item becomes Pending without anything to set the column to; give a value or { is = \"null\" }"))
        }
        (Holds::Something, Some(role)) if SET.contains(&role) => Ok(()),
        (Holds::Something, _) => Err(at.refuse(format!(
            "{{ is = \"set\" }} is for the columns of table.lifecycle that are {}: of no other is it known what to set it to",
            SET.join(", ")
        ))),
        (Holds::Value(_), Some(role)) => {
            Err(at.refuse(format!("is table.lifecycle.{role} as well, which holds no constant; use {{ is = \"null\" }}")))
        }
        (Holds::Null, Some(role)) if !NULLED.contains(&role) => {
            Err(at.refuse(format!("is table.lifecycle.{role} as well, which has its value whatever the state")))
        }
        (Holds::Null, _) | (Holds::Value(_), None) => Ok(()),
    }
}

fn status_column(at: &At<'_>) -> Result<Vec<StateSpec>> {
    let status = at.table(&["column", "values"])?;
    let column = status.need("column")?.identifier()?;
    let mut states = Vec::new();
    for (word, at) in status.need("values")?.members()? {
        let conditions = vec![Condition { column: column.clone(), holds: Holds::Value(at.literal()?) }];
        states.push(StateSpec { state: state(&at, word)?, conditions });
    }
    Ok(states)
}

/// Whether the states that the table needs are there, and can be told apart.
pub(super) fn check(table: &Table<'_>, spec: &TableSpec, leaves: bool) -> Result<()> {
    let Some(at) = table.get("states").or_else(|| table.get("status")) else { return Ok(()) };
    let has = |state| spec.states.iter().any(|other| other.state == state);
    let needed = [ItemState::Pending, ItemState::Processing, ItemState::Completed];
    let needed = &needed[..if leaves { 2 } else { 3 }];
    if let Some(state) = needed.iter().copied().find(|state| !has(*state)) {
        let why = if state == ItemState::Completed { ", since completed items stay in the table" } else { "" };
        return Err(at.refuse(format!("how an item is {state} is missing{why}")));
    }
    for (i, one) in spec.states.iter().enumerate() {
        for other in &spec.states[..i] {
            if let Some(why) = confused(other, one) {
                let (one, other) = (one.state, other.state);
                return Err(at.refuse(format!("{other} and {one} {why}")));
            }
        }
    }
    for condition in spec.states.iter().flat_map(|state| &state.conditions) {
        kind_of_literals(&at, spec, &condition.column)?;
    }
    Ok(())
}

/// Why two states cannot be told apart, `one` being the earlier in the list of all.
fn confused(one: &StateSpec, other: &StateSpec) -> Option<&'static str> {
    use ItemState::{Cancelled, Completed, Failed, PartiallyCompleted, Pending, Processing, Terminated};
    let within = |inner: &StateSpec, outer: &StateSpec| outer.conditions.iter().all(|c| inner.conditions.contains(c));
    let differ = one.conditions.iter().any(|a| {
        other.conditions.iter().any(|b| {
            let both_some = |a: &Holds, b: &Holds| *a != Holds::Null && *b == Holds::Something;
            let overlap = a.holds == b.holds || both_some(&a.holds, &b.holds) || both_some(&b.holds, &a.holds);
            a.column == b.column && !overlap
        })
    });
    if differ {
        return None;
    }
    let same = within(one, other) && within(other, one);
    let ended = |state| matches!(state, Failed | Cancelled | Terminated | PartiallyCompleted);
    match (one.state, other.state) {
        // What nobody holds any more is then completed, and an item that is completed never comes back.
        (Processing, Completed) if within(other, one) => None,
        (one, other) if same && ended(one) && ended(other) => None,
        (Pending, _) => Some("hold for the same rows: a claim could not tell what is waiting"),
        _ if same => Some("are the same: leave out the one that the table need not show"),
        _ => Some("hold for the same rows: give a column that differs between them"),
    }
}

/// Whether all constants that a column holds are of one type; one of them.
fn kind_of_literals<'a>(at: &At<'_>, spec: &'a TableSpec, column: &Identifier) -> Result<Option<&'a Literal>> {
    let conditions = spec.states.iter().flat_map(|state| &state.conditions).filter(|c| c.column == *column);
    let mut literals = conditions.filter_map(|condition| match &condition.holds {
        Holds::Value(literal) => Some(literal),
        _ => None,
    });
    let first = literals.next();
    match literals.find(|other| first.map(std::mem::discriminant) != Some(std::mem::discriminant(*other))) {
        None => Ok(first),
        Some(_) => Err(at.refuse(format!("the column {:?} holds values of different types", column.as_str()))),
    }
}

/// Whether a column that leads an index has among its values all that the states give it.
pub(super) fn check_seek(at: &At<'_>, spec: &TableSpec, seek: &SeekColumn) -> Result<()> {
    for condition in spec.states.iter().flat_map(|state| &state.conditions).filter(|c| c.column == seek.name) {
        match &condition.holds {
            Holds::Value(literal) if seek.values.contains(literal) => {}
            Holds::Value(_) => return Err(at.refuse("lacks a value that table.states gives the column")),
            Holds::Null | Holds::Something => {
                return Err(at.refuse("is NULL in some state, which no list of values has"));
            }
        }
    }
    Ok(())
}

/// Whether the type of every column is known, so that the table can be made.
pub(super) fn check_types(at: &At<'_>, spec: &TableSpec) -> Result<()> {
    for condition in spec.states.iter().flat_map(|state| &state.conditions) {
        let has_role = spec.lifecycle.columns().iter().any(|(_, other)| same_name(other, &condition.column));
        if !has_role && kind_of_literals(at, spec, &condition.column)?.is_none() {
            return Err(at.refuse(format!(
                "the type of the column {:?} is not known, since it is only ever NULL; make the table by hand",
                condition.column.as_str()
            )));
        }
    }
    Ok(())
}
