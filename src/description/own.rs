//! Readpast's own table, described as any other: a table with every column.

use super::{
    ColumnCondition, ColumnKind, Holds, IndexSpec, KeyColumn, KeySource, LifecycleSpec, Literal, QueueSpec, StateSpec,
    Storage, TableSpec,
};
use crate::ident::Identifier;
use crate::item::ItemState;
use std::borrow::Cow;

/// The columns of readpast's own tables that take part in an item's life, by their names in SQL Server.
pub(crate) const OWN_COLUMNS: [&str; 13] = [
    "EnqueuedAt",
    "Type",
    "Status",
    "Step",
    "AttemptNum",
    "Response",
    "Error",
    "StartedAt",
    "Duration",
    "ScheduledFor",
    "UpdatedAt",
    "LeaseOwner",
    "LeaseUntil",
];

/// The column of an own table on SQL Server with an item's shard, where it has shards. It is no part of an item: it is computed
/// from the key, for the index.
pub(crate) const SHARD: &str = "Shard";

impl TableSpec {
    /// The table that readpast makes for `spec`: it has a column for every role, and its status is the state's name. The key
    /// is the time of enqueueing, which is stamped so that two items never share it.
    #[must_use]
    pub fn own(spec: &QueueSpec) -> Self {
        let column = Identifier::known;
        let some = |name| Some(Identifier::known(name));
        let in_state = |state: ItemState| ColumnCondition {
            column: column("Status"),
            holds: Holds::Values(vec![Literal::Text(state.as_str().to_owned())]),
        };
        Self {
            schema: None,
            name: spec.queue.to_identifier(),
            create: true,
            key: vec![KeyColumn::new(column("EnqueuedAt"), ColumnKind::Timestamp, KeySource::Table)],
            seek: Vec::new(),
            local_time: false,
            rows: Vec::new(),
            states: ItemState::ALL.map(|state| StateSpec { state, conditions: vec![in_state(state)] }).to_vec(),
            lifecycle: LifecycleSpec {
                kind: some("Type"),
                enqueued: some("EnqueuedAt"),
                due: some("ScheduledFor"),
                started: some("StartedAt"),
                finished: None,
                duration: some("Duration"),
                attempts: some("AttemptNum"),
                owner: some("LeaseOwner"),
                lease_until: some("LeaseUntil"),
                step: some("Step"),
                response: some("Response"),
                error: some("Error"),
                token: some("UpdatedAt"),
            },
            run_time: false,
            index: IndexSpec::default(),
            claimed_by: None,
            settings: None,
        }
    }

    /// Whether the table has a side table `<queue>_Lease`: when it has no column for a role that the state machine needs, or its
    /// columns do not show every state.
    #[must_use]
    pub fn beside(&self) -> bool {
        let life = &self.lifecycle;
        let started = life.started.is_some() && !self.run_time;
        let duration = life.duration.is_some() || (started && life.finished.is_some());
        let kept = [&life.due, &life.attempts, &life.owner, &life.lease_until, &life.token];
        let results = [&life.step, &life.response, &life.error];
        let has_all = started && duration && kept.into_iter().chain(results).all(Option::is_some);
        !has_all || self.encodings().iter().any(|encoding| encoding.states.len() > 1) || self.waits().is_none()
    }

    /// The column that shows claimable items, with its values for Pending and for Error (once, when they are alike). None when it
    /// takes more than one column.
    pub(crate) fn waits(&self) -> Option<(&Identifier, Vec<&[Literal]>)> {
        let one = |state| match self.conditions(state) {
            [ColumnCondition { column, holds: Holds::Values(values) }] => Some((column, values.as_slice())),
            _ => None,
        };
        let ((column, pending), (other, error)) = (one(ItemState::Pending)?, one(ItemState::Error)?);
        let values = if pending == error { vec![pending] } else { vec![pending, error] };
        (column == other).then_some((column, values))
    }
}

impl QueueSpec {
    /// The table of the items; none behind hand-written procedures.
    pub(crate) fn table(&self) -> Option<Cow<'_, TableSpec>> {
        match &self.storage {
            Storage::Own => Some(Cow::Owned(TableSpec::own(self))),
            Storage::Table(table) => Some(Cow::Borrowed(table)),
            Storage::Procedures(_) => None,
        }
    }

    /// Whether a claim marks its items with its number, so that a lost answer can be repeated: in a column of readpast's own
    /// table, or in the side table of a described one. A table with every column, and without a side table, has no place for it.
    pub(crate) fn marks_claims(&self) -> bool {
        match &self.storage {
            Storage::Own => true,
            Storage::Table(table) => table.claimed_by.is_none() && table.beside(),
            Storage::Procedures(_) => false,
        }
    }

    /// Whether the table is readpast's own.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.storage, Storage::Own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_beside_a_table_that_has_it_all() {
        let own = TableSpec::own(&QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap());
        assert!(!own.beside());
        let lacks = |change: fn(&mut TableSpec)| {
            let mut table = own.clone();
            change(&mut table);
            table.beside()
        };
        assert!(lacks(|table| table.lifecycle.due = None));
        assert!(lacks(|table| table.lifecycle.started = None));
        assert!(lacks(|table| table.lifecycle.lease_until = None));
        assert!(lacks(|table| table.lifecycle.response = None));
        assert!(lacks(|table| table.run_time = true), "the start of the attempt is not in it");
        assert!(lacks(|table| table.states.truncate(8)), "a state is not in_state");
        assert!(lacks(|table| table.lifecycle.duration = None));
        assert!(!lacks(|table| {
            table.lifecycle.duration = None;
            table.lifecycle.finished = Some(Identifier::known("FinishedAt"));
        }));
        assert!(!lacks(|table| table.lifecycle.kind = None), "one type needs no column");
    }

    #[test]
    fn every_column_of_our_own_is_known_by_name() {
        let own = TableSpec::own(&QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap());
        let mut named: Vec<_> = own.lifecycle.columns().into_iter().map(|(_, name)| name.as_str()).collect();
        named.push("Status");
        named.sort_unstable();
        let mut known = OWN_COLUMNS.to_vec();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
