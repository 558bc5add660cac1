//! Compares two descriptions of a queue: the changes of its tables, and those that would lose data.

use super::{ColumnKind, ColumnSpec, Completion, LifecycleSpec, QueueSpec, Storage, TableSpec};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;

/// A change of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnChange {
    pub(crate) table: ColumnTable,
    /// The new column.
    pub(crate) column: ColumnSpec,
    /// The old one, where there was one.
    pub(crate) was: Option<ColumnSpec>,
}

impl ColumnChange {
    /// Whether the column was there, with another type.
    pub(crate) fn is_retyped(&self) -> bool {
        let new = &self.column;
        self.was
            .as_ref()
            .is_some_and(|was| (was.kind, was.nullable) != (new.kind, new.nullable) || was.sql_type != new.sql_type)
    }
}

/// The table of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnTable {
    /// In the queue's table.
    Queue,
    /// In the table of a subtype.
    Subtype(Identifier),
    /// In the table of the history.
    History(Identifier),
}

impl QueueSpec {
    /// The changes that turn the tables of this queue into those of `new`. Objects that a script makes when missing (tables,
    /// indexes, types of work) or always anew are not among them.
    ///
    /// # Errors
    /// [`ErrorKind::SchemaMismatch`] when existing rows would lose data or be read differently; the message names the keys.
    pub(crate) fn changes_to(&self, new: &Self) -> Result<Vec<ColumnChange>> {
        let mut comparison = Comparison { refused: Vec::new(), changes: Vec::new() };
        if self.queue != new.queue {
            comparison.refuse("queue", format!("is {}, not {}", self.queue, new.queue));
        }
        let (ours, history) = match (&self.storage, &new.storage) {
            (Storage::Own, Storage::Own) => (true, matches!(self.completion, Completion::History(_))),
            (Storage::Table(old), Storage::Table(table)) => {
                comparison.table(old, table);
                (old.create && table.create, false)
            }
            (Storage::Procedures(_), Storage::Procedures(_)) => (false, false),
            _ => {
                let why = "the items would stay where they are, and the queue would look for them elsewhere";
                comparison.refuse("table", why);
                (false, false)
            }
        };
        comparison.types(&self.types, &new.types);
        if self.after && !new.after {
            comparison.refuse("after", "items that wait for others would wait for ever");
        }
        // A table of the user's changes by the description only.
        if ours {
            comparison.columns("columns", &ColumnTable::Queue, &self.columns, &new.columns);
            if let (true, Completion::History(table), true) =
                (history, &new.completion, self.completion == new.completion)
            {
                let place = ColumnTable::History(table.clone());
                let changes: Vec<_> = comparison.changes.clone();
                comparison
                    .changes
                    .extend(changes.into_iter().map(|change| ColumnChange { table: place.clone(), ..change }));
            }
        }
        for subtype in self.subtypes.iter().filter(|_| ours) {
            let name = subtype.name.as_str();
            match new.subtypes.iter().find(|other| other.name == subtype.name) {
                None => {
                    comparison.refuse("subtypes", format!("{name} is not there any more, and its rows would be lost"))
                }
                Some(other) if other.exclusive != subtype.exclusive => {
                    comparison.refuse("subtypes", format!("{name} is exclusive or not for the rows that are there"));
                }
                Some(other) => {
                    let place = ColumnTable::Subtype(subtype.name.clone());
                    comparison.columns("subtypes.columns", &place, &subtype.columns, &other.columns);
                }
            }
        }
        comparison.conclude(self)
    }
}

struct Comparison {
    refused: Vec<String>,
    changes: Vec<ColumnChange>,
}

impl Comparison {
    fn refuse(&mut self, key: &str, why: impl std::fmt::Display) {
        self.refused.push(format!("{key}: {why}"));
    }

    fn types(&mut self, old: &[String], new: &[String]) {
        for gone in old.iter().filter(|kind| !new.contains(kind)) {
            self.refuse("types", format!("{gone:?} is not there any more, and items may be of it"));
        }
    }

    /// Refuses changes of the key and of the states.
    fn table(&mut self, old: &TableSpec, new: &TableSpec) {
        let stays = "has to stay as it is; to read the same table in another way, give the queue another name";
        let pairs = [
            ("table.schema", old.schema == new.schema),
            ("table.name", old.name == new.name),
            ("table.key", old.key == new.key),
            ("table.time", old.local_time == new.local_time),
            ("table.where", old.rows == new.rows),
            ("table.states", old.states == new.states),
        ];
        for (key, _) in pairs.iter().filter(|(_, same)| !same) {
            self.refuse(key, stays);
        }
        self.lifecycle(&old.lifecycle, &new.lifecycle);
    }

    fn lifecycle(&mut self, old: &LifecycleSpec, new: &LifecycleSpec) {
        for (role, column) in old.columns() {
            if !new.columns().contains(&(role, column)) {
                let key = format!("table.lifecycle.{role}");
                self.refuse(&key, format!("is {:?}, where the items that are there have it", column.as_str()));
            }
        }
        for (role, column) in new.columns() {
            // The other columns only add to an item; these show its state, and existing items have them elsewhere.
            let more = ["enqueued", "finished", "duration", "step", "response"].contains(&role);
            if !more && !old.columns().iter().any(|(other, _)| *other == role) {
                let key = format!("table.lifecycle.{role}");
                self.refuse(&key, format!("the items that are there do not have it in {:?}", column.as_str()));
            }
        }
    }

    fn columns(&mut self, key: &str, table: &ColumnTable, old: &[ColumnSpec], new: &[ColumnSpec]) {
        for column in old {
            let name = column.name.as_str();
            let Some(other) = new.iter().find(|other| other.name == column.name) else {
                self.refuse(key, format!("{name:?} is not there any more, and what it holds would be lost"));
                continue;
            };
            if !holds_all(other.kind, column.kind) {
                self.refuse(key, format!("{name:?} is {}, of which {} holds not every value", column.kind, other.kind));
            } else if column.nullable && !other.nullable {
                self.refuse(key, format!("{name:?} may be NULL in rows that are there, so it cannot become not null"));
            } else if *column != (ColumnSpec { secret: column.secret, ..other.clone() }) {
                let was = Some(column.clone());
                self.changes.push(ColumnChange { table: table.clone(), column: other.clone(), was });
            }
        }
        for column in new.iter().filter(|column| !old.iter().any(|other| other.name == column.name)) {
            if column.nullable || column.default.is_some() {
                self.changes.push(ColumnChange { table: table.clone(), column: column.clone(), was: None });
            } else {
                let name = column.name.as_str();
                let why = "is new and not null, and the rows that are there have no value for it; give it a default";
                self.refuse(key, format!("{name:?} {why}"));
            }
        }
    }

    fn conclude(self, old: &QueueSpec) -> Result<Vec<ColumnChange>> {
        if self.refused.is_empty() {
            return Ok(self.changes);
        }
        Err(Error::new(
            ErrorKind::SchemaMismatch,
            format!(
                "queue {} is installed with another description, and the change would lose or misread data: {}; take \
                 another queue name, or keep what is there",
                old.queue,
                self.refused.join("; ")
            ),
        ))
    }
}

/// Whether a column of the kind `new` holds every value of one of the kind `old`, and shows it alike.
fn holds_all(new: ColumnKind, old: ColumnKind) -> bool {
    match (old, new) {
        (ColumnKind::Text(Some(_)), ColumnKind::Text(None)) | (ColumnKind::Integer, ColumnKind::BigInteger) => true,
        (ColumnKind::Binary(Some(_)), ColumnKind::Binary(None)) => true,
        (ColumnKind::Text(Some(old)), ColumnKind::Text(Some(new)))
        | (ColumnKind::Binary(Some(old)), ColumnKind::Binary(Some(new))) => old <= new,
        (ColumnKind::Decimal(precision, scale), ColumnKind::Decimal(new_precision, new_scale)) => {
            scale <= new_scale && precision - scale <= new_precision - new_scale
        }
        _ => old == new,
    }
}
