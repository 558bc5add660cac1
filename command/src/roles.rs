//! Which column of an item has which role, in readpast's own tables and in described ones.

use readpast::description::Storage;
use readpast::{Item, QueueSpec, Value};

/// The roles of columns that pages show, as readpast's own tables call them on each server.
const OWN: [(&str, &[&str]); 8] = [
    ("enqueued", &["EnqueuedAt", "enqueued_at"]),
    ("due", &["ScheduledFor", "scheduled_for"]),
    ("started", &["StartedAt", "started_at"]),
    ("changed", &["UpdatedAt", "updated_at"]),
    ("owner", &["LeaseOwner", "lease_owner"]),
    ("lease_until", &["LeaseUntil", "lease_until"]),
    ("response", &["Response", "ItemResponse", "item_response"]),
    ("error", &["Error", "ItemError", "item_error"]),
];

/// The name of the item's column with a role.
pub fn column<'a>(spec: &'a QueueSpec, item: &Item<'_>, role: &str) -> Option<&'a str> {
    if let Storage::Table(table) = &spec.storage {
        // A described table says when an item ended; readpast's own when it was changed last.
        let role = if role == "changed" { "finished" } else { role };
        return table.lifecycle.columns().into_iter().find(|(of, _)| *of == role).map(|(_, name)| name.as_str());
    }
    let names = OWN.iter().find(|(of, _)| *of == role)?.1;
    names.iter().copied().find(|name| item.value_of(name).is_some())
}

/// The text of that column, where it has one.
pub fn text(spec: &QueueSpec, item: &Item<'_>, role: &str) -> Option<String> {
    match item.value_of(column(spec, item, role)?)? {
        Value::Text(text) if !text.is_empty() => Some(text.to_owned()),
        _ => None,
    }
}
