//! Checks how a table shows the state of an item.

use super::{Checked, DescriptionPath, Mistake, same_name, table::literal};
use crate::description::{
    ColumnCondition, ColumnSpec, Completion, Holds, KeySource, Literal, QueueSpec, RowCondition, SeekColumn, StateSpec,
    TableSpec,
};
use crate::ident::Identifier;
use crate::item::ItemState;

/// Columns that may hold anything but NULL in a state: entering the state writes a known value into each.
const SET: [&str; 4] = ["started", "finished", "owner", "error"];

/// Columns of the life cycle that may be NULL in a state. The others have their values in every state.
const NULLED: [&str; 8] = ["started", "finished", "owner", "error", "lease_until", "response", "step", "duration"];

pub(super) fn check(place: &DescriptionPath, spec: &QueueSpec, table: &TableSpec) -> Checked {
    if table.shows_presence() {
        return presence(spec, table);
    }
    for (i, state) in table.states.iter().enumerate() {
        let here = place.key(state.state.as_str());
        let again = table.states[..i].iter().any(|other| other.state == state.state);
        here.need(!again, || format!("the state {} is described already", state.state))?;
        let why = || "is empty; give at least one column and its value".to_owned();
        here.need(!state.conditions.is_empty(), why)?;
        for (i, condition) in state.conditions.iter().enumerate() {
            let name = condition.column.as_str();
            let here = here.key(name);
            let again = state.conditions[..i].iter().any(|other| same_name(&other.column, &condition.column));
            here.need(!again, || "the column stands here already, in other letters".to_owned())?;
            let in_key = table.key.iter().any(|column| same_name(&column.name, &condition.column));
            place.need(!in_key, || format!("{name:?} is a column of the key, which never changes"))?;
            holds(&here, state.state, condition, table)?;
        }
    }
    let several =
        table.conditions(ItemState::Pending).iter().filter(|c| matches!(&c.holds, Holds::Values(v) if v.len() > 1));
    let why = || "has lists for two columns; one column at most may have several values there".to_owned();
    place.key(ItemState::Pending.as_str()).need(several.count() < 2, why)?;
    needed(place, spec, table)?;
    for (i, one) in table.states.iter().enumerate() {
        for other in &table.states[..i] {
            if let Some(why) = confused(other, one) {
                return place.refuse(format!("{} and {} {why}", other.state, one.state));
            }
        }
    }
    for condition in table.states.iter().flat_map(|state| &state.conditions) {
        kind_of_literals(place, table, &condition.column)?;
    }
    Ok(())
}

/// Checks a table that shows no state: its rows are the work that is not done.
fn presence(spec: &QueueSpec, table: &TableSpec) -> Checked {
    let place = DescriptionPath::default().key("table");
    place.need(spec.completion != Completion::Keep, || {
        "the key \"states\" (or \"status\") is missing: how the table shows the state of an item. Where a row is there as long \
         as its work is not done, write completion = \"delete\" (or a history) instead"
            .to_owned()
    })?;
    let life = &table.lifecycle;
    let given = !spec.columns.is_empty() || table.key.iter().any(|key| key.source == KeySource::Producer);
    let filled = [&life.kind, &life.enqueued, &life.due, &life.attempts, &life.step, &life.token];
    let written = filled.into_iter().any(Option::is_some) || table.rows.iter().any(RowCondition::is_written);
    DescriptionPath::default().key("columns").need(given || written, || {
        "is empty, and a new item would have no value at all; name a column of the table that a producer gives"
            .to_owned()
    })?;
    let why = || {
        "needs \"table.states\": the procedure of procedures.next has to show in the table what it has claimed"
            .to_owned()
    };
    DescriptionPath::default().key("procedures").need(table.claimed_by.is_none(), why)
}

/// Checks the states that the table has to show.
fn needed(place: &DescriptionPath, spec: &QueueSpec, table: &TableSpec) -> Checked {
    let stays = spec.completion == Completion::Keep;
    let needed = [ItemState::Pending, ItemState::Processing, ItemState::Completed];
    let has = |state: &&ItemState| table.states.iter().any(|other| other.state == **state);
    match needed[..if stays { 3 } else { 2 }].iter().find(|state| !has(state)) {
        Some(ItemState::Completed) => {
            place.refuse("the state Completed is missing, since completed items stay in the table")
        }
        Some(state) => place.refuse(format!("the state {state} is missing")),
        None => Ok(()),
    }
}

fn holds(place: &DescriptionPath, state: ItemState, condition: &ColumnCondition, table: &TableSpec) -> Checked {
    let roles = table.lifecycle.columns();
    let role = roles.into_iter().find(|(_, other)| same_name(other, &condition.column)).map(|(role, _)| role);
    match (&condition.holds, role) {
        (Holds::Something, _) if state == ItemState::Pending => place
            .refuse("an item becomes Pending without anything to set the column to; give a value or { is = \"null\" }"),
        (Holds::Something, Some(role)) if SET.contains(&role) => Ok(()),
        (Holds::Something, _) => place.refuse(format!(
            "{{ is = \"set\" }} is for the columns of table.lifecycle that are {}: readpast has no value for any other",
            SET.join(", ")
        )),
        (Holds::Values(_), Some(role)) => {
            place.refuse(format!("is table.lifecycle.{role} as well, which holds no constant; use {{ is = \"null\" }}"))
        }
        (Holds::Null, Some(role)) if !NULLED.contains(&role) => {
            place.refuse(format!("is table.lifecycle.{role} as well, which has its value whatever the state"))
        }
        (Holds::Values(values), None) => {
            place.need(!values.is_empty(), || "is an empty list; give the value that says so".to_owned())?;
            for (i, value) in values.iter().enumerate() {
                let place = if values.len() > 1 { place.nth(i) } else { place.clone() };
                literal(&place, value)?;
                place.need(!values[..i].contains(value), || "the value stands in the list already".to_owned())?;
            }
            Ok(())
        }
        (Holds::Null, _) => Ok(()),
    }
}

/// Why two states look alike, `one` being the earlier in the list of all.
fn confused(one: &StateSpec, other: &StateSpec) -> Option<&'static str> {
    use ItemState::{Cancelled, Completed, Failed, PartiallyCompleted, Pending, Processing, Terminated};
    let within = |inner: &StateSpec, outer: &StateSpec| outer.conditions.iter().all(|c| inner.conditions.contains(c));
    let differ = one
        .conditions
        .iter()
        .any(|a| other.conditions.iter().any(|b| a.column == b.column && !overlap(&a.holds, &b.holds)));
    if differ {
        return None;
    }
    let same = within(one, other) && within(other, one);
    let ended = |state| matches!(state, Failed | Cancelled | Terminated | PartiallyCompleted);
    match (one.state, other.state) {
        // A row without a holder is then completed, and a completed item never comes back.
        (Processing, Completed) if within(other, one) => None,
        (one, other) if same && ended(one) && ended(other) => None,
        (Pending, _) => Some("hold for the same rows: a claim could not find waiting items"),
        _ if same => Some("are the same: leave out the one that the table need not show"),
        _ => Some("hold for the same rows: give a column that differs between them"),
    }
}

/// Whether some value of a column is both.
fn overlap(one: &Holds, other: &Holds) -> bool {
    match (one, other) {
        (Holds::Values(some), Holds::Values(others)) => some.iter().any(|value| others.contains(value)),
        (Holds::Null, Holds::Null) => true,
        (Holds::Null, _) | (_, Holds::Null) => false,
        _ => true,
    }
}

/// Checks that all constants of a column are of one type; returns one of them.
fn kind_of_literals<'a>(
    place: &DescriptionPath,
    table: &'a TableSpec,
    column: &Identifier,
) -> Result<Option<&'a Literal>, Mistake> {
    let conditions = table.states.iter().flat_map(|state| &state.conditions).filter(|c| c.column == *column);
    let mut literals = conditions.flat_map(|condition| match &condition.holds {
        Holds::Values(values) => values.as_slice(),
        _ => &[],
    });
    let first = literals.next();
    let other = literals.find(|other| first.map(std::mem::discriminant) != Some(std::mem::discriminant(*other)));
    place.need(other.is_none(), || format!("the column {:?} holds values of different types", column.as_str()))?;
    Ok(first)
}

/// Checks that a column that leads an index lists all values that the states give it.
pub(super) fn check_seek(place: &DescriptionPath, table: &TableSpec, seek: &SeekColumn) -> Checked {
    for condition in table.states.iter().flat_map(|state| &state.conditions).filter(|c| c.column == seek.name) {
        match &condition.holds {
            Holds::Values(values) if values.iter().all(|value| seek.values.contains(value)) => {}
            Holds::Values(_) => return place.refuse("lacks a value that table.states gives the column"),
            Holds::Null | Holds::Something => {
                return place.refuse("is NULL in some state, which no list of values has");
            }
        }
    }
    Ok(())
}

/// Checks that the type of every column is known, so that the table can be made.
pub(super) fn check_types(place: &DescriptionPath, table: &TableSpec, columns: &[ColumnSpec]) -> Checked {
    for condition in table.states.iter().flat_map(|state| &state.conditions) {
        let has_role = table.lifecycle.columns().iter().any(|(_, other)| same_name(other, &condition.column));
        let known = has_role || kind_of_literals(place, table, &condition.column)?.is_some();
        place.need(known, || {
            format!(
                "the type of the column {:?} is not known, since it is only ever NULL; make the table by hand",
                condition.column.as_str()
            )
        })?;
    }
    for row in &table.rows {
        let has_type = !row.literals().is_empty() || columns.iter().any(|column| column.name == row.column);
        let known = has_type || table.lifecycle.columns().iter().any(|(_, other)| *other == &row.column);
        place.need(known, || {
            format!(
                "the type of the column {:?} of table.where is not known; name it in \"columns\" as well",
                row.column.as_str()
            )
        })?;
    }
    Ok(())
}
