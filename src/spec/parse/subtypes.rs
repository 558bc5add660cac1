//! `subtypes`: tables of what only some items have.

use super::at::Table;
use super::columns::{self, Declared, is_reserved, same_name};
use crate::error::Result;
use crate::ident::{Identifier, QueueName};
use crate::spec::{Storage, SubtypeSpec};

/// PostgreSQL keeps so many bytes of a name.
const MAX_NAME_BYTES: usize = 63;

/// The longest that is added to a subtype's table to name what belongs to it.
const LONGEST_ENDING: usize = 13;

/// What a queue's other objects have after its name, without underscores: no subtype may be called so.
const OBJECTS: [&str; 13] = [
    "seq", "pk", "due", "inflight", "ended", "lease", "item", "history", "group", "held", "work", "blockedv",
    "istypefn",
];

/// Reads `subtypes`.
pub(super) fn subtypes(
    spec: &Table<'_>,
    queue: &QueueName,
    types: &[String],
    declared: &Declared<'_>,
) -> Result<Vec<SubtypeSpec>> {
    let Some(at) = spec.get("subtypes") else { return Ok(Vec::new()) };
    if let Storage::Table(_) = declared.storage {
        return Err(at.refuse("are for readpast's own tables; an adopted table is one table"));
    }
    // What the worker view and the items have under their own names.
    let mut taken: Vec<Identifier> = declared.columns.iter().map(|column| column.name.clone()).collect();
    let mut subtypes: Vec<SubtypeSpec> = Vec::new();
    for at in at.list(0)? {
        let subtype = at.table(&["name", "exclusive", "columns"])?;
        let name_at = subtype.need("name")?;
        let name = name_at.word()?;
        let shown = name.as_str();
        let exclusive = subtype.boolean("exclusive", false)?;
        if subtypes.iter().any(|other| same_name(&other.name, &name)) {
            return Err(name_at.refuse(format!("there is another subtype {shown:?}")));
        }
        if taken.iter().any(|other| same_name(other, &name)) {
            return Err(name_at.refuse(format!("{shown:?} is the name of a column already")));
        }
        let bare = shown.replace('_', "").to_ascii_lowercase();
        if OBJECTS.contains(&bare.as_str()) {
            return Err(name_at
                .refuse(format!("{shown:?} stands in the name of another object of the queue; take another name")));
        }
        if is_reserved(declared.storage, shown) {
            return Err(
                name_at.refuse(format!("{shown:?} is a column that every queue has already; take another name"))
            );
        }
        if exclusive && !types.iter().any(|kind| kind == shown) {
            return Err(name_at.refuse(format!(
                "an exclusive subtype is what the items of one type have, and the queue has no type {shown:?}; it has {}",
                types.join(", ")
            )));
        }
        // In PostgreSQL's manner, which may be longer.
        let table = format!("{}_{}", queue.snake_case(), QueueName::new(shown)?.snake_case());
        let most = MAX_NAME_BYTES - LONGEST_ENDING;
        if table.len() > most {
            return Err(
                name_at.refuse(format!("the table would be called {table}, which has more than {most} characters"))
            );
        }
        let at = subtype.need("columns")?;
        let columns = columns::list(&at, 1)?;
        for (at, column) in at.list(1)?.iter().zip(&columns) {
            let in_view = format!("{shown}_{}", column.name.as_str());
            if in_view.len() > MAX_NAME_BYTES {
                return Err(at.refuse(format!(
                    "the worker view would call it {in_view}, which has more than {MAX_NAME_BYTES} characters"
                )));
            }
            let in_view = Identifier::new("the name", &in_view)?;
            if same_name(&column.name, &Identifier::known("EnqueuedAt")) || column.name.as_str() == "enqueued_at" {
                return Err(at.refuse("the table of a subtype has the key EnqueuedAt already; take another name"));
            }
            if taken.iter().any(|other| same_name(other, &in_view)) || is_reserved(declared.storage, in_view.as_str()) {
                return Err(at.refuse(format!("the worker view would call it {:?}, which is taken", in_view.as_str())));
            }
            taken.push(in_view);
        }
        subtypes.push(SubtypeSpec { name, exclusive, columns });
    }
    Ok(subtypes)
}
