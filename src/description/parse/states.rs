//! `table.states` and `table.status`: how a described table shows the state of an item.

use super::at::{At, KnownKeys};
use crate::description::{ColumnCondition, Holds, Literal, StateSpec};
use crate::error::Result;
use crate::ident::did_you_mean;
use crate::item::ItemState;

/// Reads `states`, or the `status` that is short for it.
pub(super) fn states(table: &KnownKeys<'_>) -> Result<Vec<StateSpec>> {
    let mut states = match (table.get("states"), table.get("status")) {
        (Some(at), None) => conditions_by_state(&at)?,
        (None, Some(at)) => status_column(&at)?,
        (Some(_), Some(at)) => {
            return Err(at.refuse("is short for \"states\", which is there as well; keep one of them"));
        }
        // A row is there as long as its work is not done.
        (None, None) => Vec::new(),
    };
    states.sort_by_key(|state| ItemState::ALL.iter().position(|other| *other == state.state));
    Ok(states)
}

fn state(at: &At<'_>, word: &str) -> Result<ItemState> {
    word.parse().map_err(|()| {
        let words: Vec<_> = ItemState::ALL.iter().map(|state| state.as_str()).collect();
        let near = did_you_mean(word, words.iter().copied());
        at.refuse(format!("there is no state {word:?}{near}; the states are {}", words.join(", ")))
    })
}

fn conditions_by_state(at: &At<'_>) -> Result<Vec<StateSpec>> {
    let mut states = Vec::new();
    for (word, at) in at.members()? {
        let state = state(&at, word)?;
        let members = at.members()?;
        let conditions =
            members.iter().map(|(name, at)| Ok(ColumnCondition { column: at.name(name)?, holds: holds(at)? }));
        states.push(StateSpec { state, conditions: conditions.collect::<Result<_>>()? });
    }
    Ok(states)
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

fn status_column(at: &At<'_>) -> Result<Vec<StateSpec>> {
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
    Ok(states)
}
