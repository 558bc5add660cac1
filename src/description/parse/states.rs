//! `table.states` and `table.status`: how a described table shows the state of an item.

use super::at::At;
use crate::description::{ColumnCondition, Holds, Literal, StateSpec, TableSpec};
use crate::error::Result;
use crate::ident::did_you_mean;
use crate::item::ItemState;
use serde_json::{Value, json};

fn state(at: &At<'_>, word: &str) -> Result<ItemState> {
    word.parse().map_err(|()| {
        let words: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        let near = did_you_mean(word, words.iter().copied());
        at.refuse(format!("there is no state {word:?}{near}; the states are {}", words.join(", ")))
    })
}

/// Reads `states`: for each the columns that tell it.
pub(super) fn conditions_by_state(at: &At<'_>) -> Result<Vec<StateSpec>> {
    let mut states = Vec::new();
    for (word, at) in at.members()? {
        let state = state(&at, word)?;
        let members = at.members()?;
        let conditions =
            members.iter().map(|(name, at)| Ok(ColumnCondition { column: at.name(name)?, holds: holds(at)? }));
        states.push(StateSpec { state, conditions: conditions.collect::<Result<_>>()? });
    }
    Ok(in_order(states))
}

fn in_order(mut states: Vec<StateSpec>) -> Vec<StateSpec> {
    states.sort_by_key(|state| ItemState::ALL.iter().position(|other| *other == state.state));
    states
}

/// Writes them.
pub(super) fn written(states: &[StateSpec]) -> Value {
    let states = states.iter().map(|state| {
        let conditions = state.conditions.iter().map(|c| (c.column.as_written(), written_holds(&c.holds)));
        (state.state.as_str().to_owned(), Value::Object(conditions.collect()))
    });
    Value::Object(states.collect())
}

/// Writes the value of a column.
pub(super) fn written_holds(holds: &Holds) -> Value {
    match holds {
        Holds::Values(values) => match values.as_slice() {
            [value] => literal(value),
            values => values.iter().map(literal).collect(),
        },
        Holds::Null => json!({"is": "null"}),
        Holds::Something => json!({"is": "set"}),
    }
}

/// Writes a constant.
pub(super) fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Integer(number) => json!(number),
        Literal::Boolean(value) => json!(value),
        Literal::Text(text) => json!(text),
    }
}

fn holds(at: &At<'_>) -> Result<Holds> {
    if at.is_table() {
        let null = at.table(&["is"])?.need("is")?.choice(&["null", "set"])? == 0;
        return Ok(if null { Holds::Null } else { Holds::Something });
    }
    let wanted = "a whole number, true, false, text, a list of them, { is = \"null\" } or { is = \"set\" }";
    values(at, wanted).map(Holds::Values)
}

/// A value, or a list of values that mean the same.
pub(super) fn values(at: &At<'_>, wanted: &str) -> Result<Vec<Literal>> {
    if at.is_list() {
        return at.list(1)?.iter().map(At::literal).collect();
    }
    at.literal().map(|value| vec![value]).map_err(|_| at.wrong(wanted))
}

/// Reads `status`, which is short for `states`.
pub(super) fn status_column(at: &At<'_>, table: &mut TableSpec) -> Result<()> {
    if !table.states.is_empty() {
        return Err(at.refuse("is short for \"states\", which is there as well; keep one of them"));
    }
    let status = at.table(&["column", "values"])?;
    let column = status.need("column")?.identifier()?;
    let mut states = Vec::new();
    for (word, at) in status.need("values")?.members()? {
        let conditions = vec![ColumnCondition {
            column: column.clone(),
            holds: Holds::Values(values(&at, "a whole number, true, false, text, or a list of them")?),
        }];
        states.push(StateSpec { state: state(&at, word)?, conditions });
    }
    table.states = in_order(states);
    Ok(())
}
