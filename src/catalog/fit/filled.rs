//! Checks columns that must be written, and cannot; columns that no call fills; and triggers, which write on their own account.

use super::Check;
use crate::catalog::table::same;
use crate::description::{Completion, SubtypeSpec};
use crate::finding::Finding;
use crate::ident::Identifier;

pub(super) fn check(check: &mut Check<'_>) {
    computed(check);
    unfilled(check);
    triggers(check);
}

/// The same of the table of a subtype.
pub(super) fn of_subtype(check: &mut Check<'_>, number: usize, subtype: &SubtypeSpec) {
    let table = check.table;
    let keys = table.key.iter().map(|key| ("table.key".to_owned(), &key.name));
    let columns = subtype.columns.iter().map(|column| (format!("subtypes[{number}].columns"), &column.name));
    let written: Vec<_> = keys.chain(columns).collect();
    not_writable(check, written.clone());
    without_value(check, &written.into_iter().map(|(_, name)| name).collect::<Vec<_>>());
    triggers(check);
}

/// The columns that readpast writes: those that change with the state, those of the life cycle, and a producer's.
fn written<'a>(check: &Check<'a>) -> Vec<(String, &'a Identifier)> {
    let table = check.table;
    let states = table.states.iter().flat_map(|state| {
        state.conditions.iter().map(move |condition| (format!("table.states.{}", state.state), &condition.column))
    });
    let roles = table.lifecycle.columns().into_iter().map(|(role, name)| (format!("table.lifecycle.{role}"), name));
    let columns = check.spec.columns.iter().map(|column| ("columns".to_owned(), &column.name));
    let rows = table.rows.iter().filter(|row| row.is_written()).map(|row| ("table.where".to_owned(), &row.column));
    states.chain(roles).chain(columns).chain(rows).collect()
}

fn computed(check: &mut Check<'_>) {
    not_writable(check, written(check));
}

fn not_writable(check: &mut Check<'_>, written: Vec<(String, &Identifier)>) {
    for (place, name) in written {
        let Some(column) = check.found.column(name).filter(|column| column.computed || column.identity) else {
            continue;
        };
        let kind = if column.computed { "computed" } else { "an identity" };
        let what = format!("is {kind}, so it cannot be written, but readpast must write it ({place})");
        let remedy = match place.as_str() {
            "table.lifecycle.duration" => "leave it out: the table fills it by itself".to_owned(),
            "table.where" => "write { \"=\" = ... }, which says nothing about new items".to_owned(),
            _ => format!("take it out of {place}, or name the columns that it is made of"),
        };
        let object = format!("{}.{}", check.found.name, column.name);
        if !check.findings.iter().any(|finding| finding.check == "computed" && finding.object == object) {
            check.error("computed", column, what, remedy);
        }
    }
}

/// Checks that a new item's row has a value in every column that must have one.
fn unfilled(check: &mut Check<'_>) {
    let table = check.table;
    let mut filled: Vec<&Identifier> = written(check).into_iter().map(|(_, name)| name).collect();
    // A key from the table has a check of its own.
    filled.extend(table.key.iter().map(|key| &key.name));
    without_value(check, &filled);
}

fn without_value(check: &mut Check<'_>, filled: &[&Identifier]) {
    let dialect = check.found.dialect;
    for column in &check.found.columns {
        let has_value = column.nullable || column.has_default || column.identity || column.computed;
        // A row version is the server's.
        let is_given = filled.iter().any(|name| same(dialect, name, &column.name));
        if has_value || is_given || ["timestamp", "rowversion"].contains(&column.type_name.as_str()) {
            continue;
        }
        let what = "must have a value, has no default, and no place of the description fills it: enqueueing through \
                    readpast would fail (claiming and settling would not)";
        let remedy = "name it in columns so that producers give it, or give it a default";
        check.warning("unfilled", column, what, remedy);
    }
}

fn triggers(check: &mut Check<'_>) {
    if check.found.triggers.is_empty() {
        return;
    }
    if !check.found.instead.is_empty() {
        let names = check.found.instead.join(", ");
        let what =
            format!("has the triggers {names}, which run INSTEAD OF a change: readpast's changes may never be there");
        let remedy = "let them be AFTER triggers, or work on another table";
        check.findings.push(Finding::error("trigger", &check.found.name, what, remedy));
        return;
    }
    if !check.found.strangers.is_empty() {
        let names = check.found.strangers.join(", ");
        let what = format!(
            "has triggers with functions of others than its owner: {names}; they run with the rights of readpast's functions"
        );
        let remedy = "let the table's owner have those functions, or drop the triggers";
        check.findings.push(Finding::warning("trigger-owner", &check.found.name, what, remedy));
    }
    let names = check.found.triggers.join(", ");
    let what = format!(
        "has the triggers {names}: they fire with every claim and settle, and run in its transaction. readpast's \
         statements on this table have no OUTPUT clause, which SQL Server refuses beside triggers, so they work"
    );
    let remedy = match check.spec.completion {
        Completion::Keep => "see that they take many rows at once, change no column of the description, and are fast",
        Completion::Delete | Completion::History(_) => {
            "see that they take many rows at once, change no column of the description, and let completed items be deleted"
        }
    };
    check.findings.push(Finding::warning("trigger", &check.found.name, what, remedy));
}
