//! The columns by which a queue is spread over several databases, and the options that no two databases can hold together.

use super::{Checked, DescriptionPath, same_name};
use crate::description::QueueSpec;
use crate::description::spread::{MOST_COLUMNS, spreads};
use crate::ident::Identifier;

pub(super) fn check(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    if spec.spread_by.is_empty() {
        return Ok(());
    }
    let count = spec.spread_by.len();
    place.need(count <= MOST_COLUMNS, || format!("has {count} columns; {MOST_COLUMNS} are the most"))?;
    place.distinct(&spec.spread_by)?;
    for (i, name) in spec.spread_by.iter().enumerate() {
        let place = place.nth(i);
        place.column(name, &spec.columns.iter().map(|column| &column.name).collect::<Vec<_>>())?;
        let Some(column) = spec.columns.iter().find(|column| column.name == *name) else { continue };
        place.need(spreads(column.kind), || {
            format!("has to be an integer, bigint, guid, date or text, whose values have one text, not {}", column.kind)
        })?;
        place.need(column.default.is_none(), || {
            "cannot have a default: the place is found before the database sets it".to_owned()
        })?;
        place.need(!column.secret, || "cannot be secret: the place of an item shows something of it".to_owned())?;
    }
    together(place, spec)
}

/// Refuses options by which items belong together that may be at different places.
fn together(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let within =
        |columns: &[Identifier]| spec.spread_by.iter().all(|name| columns.iter().any(|column| same_name(column, name)));
    let need = |option: &str, columns: &[Identifier], why: &str| {
        place.need(within(columns), || format!("has to be among the columns of {option}, or else {why}"))
    };
    if let Some(group) = &spec.order.group {
        need("order.group", std::slice::from_ref(group), "a group is at several places, and nobody keeps its order")?;
    }
    if let Some(dedup) = &spec.dedup {
        need("dedup", &dedup.columns, "the same work is at several places, and nobody sees it")?;
    }
    for limit in &spec.limits {
        let by = limit.by.as_slice();
        need("each limit", by, "what it counts is at several places, and nobody counts it together")?;
    }
    place.need(!spec.after, || {
        "cannot be beside after: items at different places cannot wait for each other".to_owned()
    })?;
    place.need(spec.schedules.as_ref().is_none_or(Vec::is_empty), || {
        "cannot be beside a schedule: each place would put its items in. Write schedule = [], and make the schedule at one place"
            .to_owned()
    })
}
