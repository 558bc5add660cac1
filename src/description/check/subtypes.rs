//! Checks tables of columns that only some items have.

use super::{Checked, DescriptionPath, MAX_NAME_BYTES, columns, same_name};
use crate::description::{QueueSpec, Storage, SubtypeSpec};
use crate::ident::{Identifier, QueueName};

/// The longest suffix of a subtype's table in the names of its objects.
const LONGEST_ENDING: usize = 13;

/// The suffixes of a queue's other objects, without underscores: no subtype may be called so.
const OBJECTS: [&str; 15] = [
    "seq",
    "pk",
    "due",
    "inflight",
    "ended",
    "lease",
    "item",
    "history",
    "group",
    "held",
    "work",
    "blockedv",
    "istypefn",
    "attempt",
    "shardturn",
];

pub(super) fn check(spec: &QueueSpec) -> Checked {
    let place = DescriptionPath::default().key("subtypes");
    // The names of the worker view and of items.
    let mut taken: Vec<Identifier> = spec.columns.iter().map(|column| column.name.clone()).collect();
    for (i, subtype) in spec.subtypes.iter().enumerate() {
        let place = place.nth(i);
        name(&place.key("name"), spec, &spec.subtypes[..i], subtype, &taken)?;
        let place = place.key("columns");
        let why = || "must be a list of at least one value, not an empty list".to_owned();
        place.need(!subtype.columns.is_empty(), why)?;
        columns::list(&place, &subtype.columns)?;
        let table = table(spec, subtype);
        for (i, column) in subtype.columns.iter().enumerate() {
            columns::constraints(&place.nth(i), spec, &table, column)?;
            taken.push(in_view(&place.nth(i), spec, subtype, &column.name, &taken)?);
        }
    }
    Ok(())
}

fn name(
    place: &DescriptionPath,
    spec: &QueueSpec,
    before: &[SubtypeSpec],
    subtype: &SubtypeSpec,
    taken: &[Identifier],
) -> Checked {
    place.word(&subtype.name)?;
    let shown = subtype.name.as_str();
    if before.iter().any(|other| same_name(&other.name, &subtype.name)) {
        return place.refuse(format!("there is another subtype {shown:?}"));
    }
    if taken.iter().any(|other| same_name(other, &subtype.name)) {
        return place.refuse(format!("{shown:?} is the name of a column already"));
    }
    let bare = shown.replace('_', "").to_ascii_lowercase();
    if OBJECTS.contains(&bare.as_str()) || spec.progress && bare == "progress" {
        return place.refuse(format!("{shown:?} stands in the name of another object of the queue; take another name"));
    }
    if columns::is_reserved(&spec.storage, shown) {
        return place.refuse(format!("{shown:?} is a column that every queue has already; take another name"));
    }
    if subtype.exclusive && !spec.types.iter().any(|kind| kind == shown) {
        return place.refuse(format!(
            "an exclusive subtype belongs to the items of one type, but the queue has no type {shown:?}; it has {}",
            spec.types.join(", ")
        ));
    }
    let table = table(spec, subtype);
    // No object is called after a table of the user's.
    let ending = if matches!(spec.storage, Storage::Table(_)) { 0 } else { LONGEST_ENDING };
    let most = MAX_NAME_BYTES - ending;
    place.need(table.len() <= most, || {
        format!("the table would be called {table}, which has more than {most} characters")
    })
}

/// The name of its table in PostgreSQL, which may be longer than in SQL Server.
fn table(spec: &QueueSpec, subtype: &SubtypeSpec) -> String {
    if let Storage::Table(table) = &spec.storage {
        return table.of_subtype(&subtype.name).as_str().to_owned();
    }
    let stem = QueueName::new(subtype.name.as_str()).map(|name| name.snake_case()).unwrap_or_default();
    format!("{}_{stem}", spec.queue.snake_case())
}

/// Checks the name of a column in the worker view.
fn in_view(
    place: &DescriptionPath,
    spec: &QueueSpec,
    subtype: &SubtypeSpec,
    column: &Identifier,
    taken: &[Identifier],
) -> Result<Identifier, super::Mistake> {
    let in_view = format!("{}_{}", subtype.name.as_str(), column.as_str());
    let why = || format!("the worker view would call it {in_view}, which has more than {MAX_NAME_BYTES} characters");
    place.need(in_view.len() <= MAX_NAME_BYTES, why)?;
    let is_key = match &spec.storage {
        Storage::Table(table) => table.key.iter().any(|key| same_name(&key.name, column)),
        _ => same_name(column, &Identifier::known("EnqueuedAt")) || column.as_str() == "enqueued_at",
    };
    let why = || {
        let key = column.as_str();
        format!("the table of a subtype has the key {key} already, of the queue's table; take another name")
    };
    place.need(!is_key, why)?;
    let named = Identifier::new("the name", &in_view).ok().filter(|named| {
        !taken.iter().any(|other| same_name(other, named)) && !columns::is_reserved(&spec.storage, named.as_str())
    });
    place.need(named.is_some(), || format!("the worker view would call it {in_view:?}, which is taken"))?;
    Ok(named.unwrap_or_else(|| column.clone()))
}
