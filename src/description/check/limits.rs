//! Limits: what they count, and the options with which claims cannot hold them.

use super::{Checked, DescriptionPath, same_name};
use crate::description::limit::{MOST_CHARS, MOST_LIMITS};
use crate::description::{ColumnKind, LimitSpec, QueueSpec, TiersSpec};
use crate::ident::Identifier;
use crate::item::{LIMIT_COUNT, Rate};

pub(super) fn check(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    if spec.limits.is_empty() {
        return Ok(());
    }
    beside(place, spec)?;
    let count = spec.limits.len();
    place.need(count <= MOST_LIMITS, || format!("has {count} limits; {MOST_LIMITS} are the most"))?;
    for (i, limit) in spec.limits.iter().enumerate() {
        if let Some(tiers) = &limit.tiers {
            let is_sought = limit.by.is_some() && spec.limits[..i].iter().all(|other| other.by.is_none());
            check_tiers(&place.nth(i).key("at_once"), spec, tiers, is_sought && limit.at_once.is_none())?;
        }
        if let Some(weight) = &limit.weight {
            check_weight(&place.nth(i).key("weight"), spec, limit, weight)?;
        }
        let (place, before) = (place.nth(i), &spec.limits[..i]);
        match &limit.by {
            None => {
                let again = before.iter().any(|other| other.by.is_none());
                place.need(!again, || {
                    "has no \"by\", as a limit before it; one limit counts the whole queue".to_owned()
                })?;
            }
            Some(by) => {
                let place = place.key("by");
                let again = before.iter().filter_map(|other| other.by.as_ref()).any(|other| same_name(other, by));
                place.need(!again, || format!("{:?} has a limit already; give both numbers in one", by.as_str()))?;
                column(&place, spec, by)?;
            }
        }
        numbers(&place, limit)?;
    }
    Ok(())
}

/// Refuses tables and options with which claims search in another way.
fn beside(place: &DescriptionPath, spec: &QueueSpec) -> Checked {
    let table = spec.table();
    place.need(table.as_ref().is_some_and(|table| table.claimed_by.is_none()), || {
        "is for claims of readpast's own, not for those of a procedure that a table has already".to_owned()
    })?;
    place.need(table.is_none_or(|table| !table.shows_presence()), || {
        "cannot be with a table whose rows show no state: a claim would look at all that is in work, key by key"
            .to_owned()
    })?;
    place.need(spec.shards.is_none(), || {
        "cannot be beside shards: its claims take turns, so that one head is as good as many".to_owned()
    })?;
    // One limit of all only says how many a claim takes.
    if spec.limits.iter().any(|limit| limit.by.is_some()) {
        place.need(spec.order.group.is_none(), || {
            "with \"by\" cannot be beside order.group: a claim would pass over what waits in its group, key by key"
                .to_owned()
        })?;
        let by_kind = "a claim would search for each kind in each key";
        place.need(!spec.claim_by.kind && !spec.claim_by.step, || {
            format!("with \"by\" cannot be beside claim_by: {by_kind}")
        })?;
        place.need(!spec.roles.own_types_only, || {
            format!("with \"by\" cannot be beside roles.own_types_only: {by_kind}")
        })?;
    }
    place.need(spec.lease.durable, || {
        "cannot be beside lease.durable = false: after a crash that forgets claims, their items are not counted while workers \
         still have them"
            .to_owned()
    })
}

fn column(place: &DescriptionPath, spec: &QueueSpec, by: &Identifier) -> Checked {
    place.column(by, &spec.columns.iter().map(|column| &column.name).collect::<Vec<_>>())?;
    let Some(column) = spec.columns.iter().find(|column| column.name == *by) else { return Ok(()) };
    let kind = column.kind;
    let fits = match kind {
        ColumnKind::Integer | ColumnKind::BigInteger | ColumnKind::Boolean | ColumnKind::Guid => true,
        _ => kind.most_chars().is_some_and(|most| most <= MOST_CHARS),
    };
    place.need(fits, || {
        format!("has to be an integer, bigint, boolean, guid, or text of at most {MOST_CHARS} characters, not {kind}")
    })?;
    place
        .need(!column.secret, || format!("{:?} cannot be secret: answers about its limit have its values", by.as_str()))
}

fn check_tiers(place: &DescriptionPath, spec: &QueueSpec, tiers: &TiersSpec, is_sought: bool) -> Checked {
    place.need(is_sought, || {
        "goes by a column only in the first limit with \"by\", and instead of a number".to_owned()
    })?;
    let at = place.key("from");
    at.column(&tiers.from, &spec.columns.iter().map(|column| &column.name).collect::<Vec<_>>())?;
    let column = spec.columns.iter().find(|column| column.name == tiers.from);
    at.need(column.is_none_or(|column| is_tier(column.kind)), || {
        format!("has to be an integer, bigint, or text of at most {MOST_CHARS} characters")
    })?;
    at.need(column.is_none_or(|column| !column.secret), || {
        format!("{:?} cannot be secret: the number of a key tells its value", tiers.from.as_str())
    })?;
    place.need(!tiers.numbers.is_empty(), || "has no number: give one for each value, like pro = 10".to_owned())?;
    tiers.numbers.iter().try_for_each(|(value, number)| count(place, value, Some(*number)))
}

fn check_weight(place: &DescriptionPath, spec: &QueueSpec, limit: &LimitSpec, weight: &Identifier) -> Checked {
    let counts = limit.by.is_some() && (limit.at_once.is_some() || limit.tiers.is_some());
    place
        .need(counts, || "says as how many an item counts for at_once of a key: give \"by\" and at_once".to_owned())?;
    place.column(weight, &spec.columns.iter().map(|column| &column.name).collect::<Vec<_>>())?;
    let Some(column) = spec.columns.iter().find(|column| column.name == *weight) else { return Ok(()) };
    let is_number = matches!(column.kind, ColumnKind::Integer | ColumnKind::BigInteger);
    place.need(is_number, || format!("has to be an integer or bigint, not {}", column.kind))?;
    place.need(!column.secret, || format!("{:?} cannot be secret: answers about its limit add it up", weight.as_str()))
}

fn is_tier(kind: ColumnKind) -> bool {
    let is_number = matches!(kind, ColumnKind::Integer | ColumnKind::BigInteger);
    is_number || matches!(kind, ColumnKind::Text(_)) && kind.most_chars().is_some_and(|most| most <= MOST_CHARS)
}

fn count(place: &DescriptionPath, key: &str, number: Option<u32>) -> Checked {
    place.key(key).need(number.is_none_or(|number| LIMIT_COUNT.contains(&number)), || {
        let number = number.unwrap_or_default();
        format!("must be a whole number from {} to {}, not {number}", LIMIT_COUNT.start(), LIMIT_COUNT.end())
    })
}

fn numbers(place: &DescriptionPath, limit: &LimitSpec) -> Checked {
    let limits = limit.at_once.is_some() || limit.tiers.is_some() || limit.rate.is_some();
    place.need(limits, || "limits nothing: give at_once, rate, or both".to_owned())?;
    count(place, "at_once", limit.at_once)?;
    count(place, "burst", limit.burst)?;
    let is_possible = limit.rate.is_none_or(Rate::is_possible);
    place.key("rate").need(is_possible, || format!("must be {}", Rate::FORM))?;
    let has_rate = limit.burst.is_none() || limit.rate.is_some();
    place.key("burst").need(has_rate, || "says how many of a rate start together, and there is no rate".to_owned())
}
