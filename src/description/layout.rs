//! The layout of a described table: how each state is written into it, and read from it.

use super::{ClaimedBySpec, ColumnCondition, Direction, Holds, QueueSpec, SettingsTableSpec, Storage, TableSpec};
use crate::ident::Identifier;
use crate::item::ItemState;

/// One combination of the table's columns, and the states that are written so. The row in `<queue>_Lease` distinguishes these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) conditions: Vec<ColumnCondition>,
    pub(crate) states: Vec<ItemState>,
    /// The state of an item without such a row.
    pub(crate) default: ItemState,
}

/// A column that changes with the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) column: Identifier,
    /// Its values, with the states of each. In other states it stays as it is.
    pub(crate) cases: Vec<(Holds, Vec<ItemState>)>,
}

impl TableSpec {
    /// The columns of an item in `state`. A state that is not described is parked: the table shows the item as claimed, so that
    /// no other program claims it, and `<queue>_Lease` has its state. An item that waits for its next attempt is pending where
    /// the table has a due time, and parked until it is due where not.
    pub(crate) fn conditions(&self, state: ItemState) -> &[ColumnCondition] {
        let given = |state| self.states.iter().find(|s| s.state == state).map(|s| s.conditions.as_slice());
        let parked = if state == ItemState::Error && self.lifecycle.due.is_some() {
            ItemState::Pending
        } else {
            ItemState::Processing
        };
        given(state).or_else(|| given(parked)).unwrap_or_default()
    }

    /// All combinations of the table's columns, the more particular before the more general.
    pub(crate) fn encodings(&self) -> Vec<Encoding> {
        let mut encodings: Vec<Encoding> = Vec::new();
        for state in ItemState::ALL {
            let conditions = self.conditions(state);
            match encodings.iter_mut().find(|e| e.conditions == conditions) {
                Some(encoding) => encoding.states.push(state),
                None => {
                    encodings.push(Encoding { conditions: conditions.to_vec(), states: vec![state], default: state })
                }
            }
        }
        for encoding in &mut encodings {
            let explicit = |state: &ItemState| self.states.iter().any(|s| s.state == *state);
            // Where a claimed item looks like a completed one, a row without a holder is completed.
            let first = [ItemState::Pending, ItemState::Completed, ItemState::Processing];
            encoding.default = first
                .into_iter()
                .find(|state| encoding.states.contains(state) && explicit(state))
                .or_else(|| encoding.states.iter().copied().find(explicit))
                .unwrap_or(encoding.default);
        }
        encodings.sort_by_key(|e| (e.default != ItemState::Pending, std::cmp::Reverse(e.conditions.len())));
        encodings
    }

    /// The columns that change with the state.
    pub(crate) fn assignments(&self) -> Vec<Assignment> {
        let mut assignments: Vec<Assignment> = Vec::new();
        for state in ItemState::ALL {
            for ColumnCondition { column, holds } in self.conditions(state) {
                let at = assignments.iter().position(|a| a.column == *column).unwrap_or_else(|| {
                    assignments.push(Assignment { column: column.clone(), cases: Vec::new() });
                    assignments.len() - 1
                });
                let cases = &mut assignments[at].cases;
                match cases.iter_mut().find(|(held, _)| held == holds) {
                    Some((_, states)) => states.push(state),
                    None => cases.push((holds.clone(), vec![state])),
                }
            }
        }
        // A column that some state sets, and Pending does not test, is cleared when an item is to look new again: otherwise the
        // item would look like that other state as soon as a program claims it that sets only the columns that Pending tests.
        let waiting: Vec<_> =
            ItemState::ALL.into_iter().filter(|s| self.conditions(*s) == self.conditions(ItemState::Pending)).collect();
        for Assignment { cases, .. } in &mut assignments {
            let is_set = cases.iter().any(|(holds, _)| *holds == Holds::Something);
            let is_described = cases.iter().any(|(_, states)| states.contains(&ItemState::Pending));
            if is_set && !is_described {
                match cases.iter_mut().find(|(holds, _)| *holds == Holds::Null) {
                    Some((_, states)) => states.extend(&waiting),
                    None => cases.push((Holds::Null, waiting.clone())),
                }
            }
        }
        assignments
    }
}

impl QueueSpec {
    /// Whether claims carry the time of the worker's run.
    #[must_use]
    pub fn run_time(&self) -> bool {
        matches!(&self.storage, Storage::Table(table) if table.run_time)
    }

    /// The custom claim procedure, where there is one.
    pub(crate) fn claimed_by(&self) -> Option<&ClaimedBySpec> {
        match &self.storage {
            Storage::Table(table) => table.claimed_by.as_ref(),
            _ => None,
        }
    }

    /// The user's table with the settings of the queue, where there is one.
    pub(crate) fn settings_table(&self) -> Option<&SettingsTableSpec> {
        match &self.storage {
            Storage::Table(table) => table.settings.as_ref(),
            _ => None,
        }
    }

    /// The columns that order the due items of the table, each with whether it descends.
    pub(crate) fn order_columns(&self, table: &TableSpec) -> Vec<(Identifier, bool)> {
        let mut columns = Vec::new();
        if let Some(priority) = &self.order.priority {
            columns.push((priority.column.clone(), priority.highest_first));
        }
        if self.order.direction == Direction::Unordered {
            return columns;
        }
        let descends = self.order.direction == Direction::Lifo;
        let by: Vec<_> = match self.order.by.as_slice() {
            [] => table.lifecycle.due.iter().chain(&table.lifecycle.enqueued).take(1).cloned().collect(),
            by => by.to_vec(),
        };
        columns.extend(by.into_iter().map(|column| (column, descends)));
        // The key decides between equals, unless the order is that of an index of the user's.
        if table.index.name.is_none() || columns.is_empty() {
            for key in &table.key {
                if !columns.iter().any(|(column, _)| *column == key.name) {
                    columns.push((key.name.clone(), descends));
                }
            }
        }
        columns
    }

    /// The columns of the index in which a claim finds due items. It is the same without an order, as far as times go: due items
    /// are found in it, and nothing is sorted.
    pub(crate) fn due_columns(&self, table: &TableSpec) -> Vec<(Identifier, bool)> {
        let mut columns = self.order_columns(table);
        if self.order.direction == Direction::Unordered {
            let times = table.lifecycle.due.iter().chain(table.key.iter().map(|key| &key.name));
            columns.extend(times.map(|column| (column.clone(), false)));
        }
        columns
    }
}
