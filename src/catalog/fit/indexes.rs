//! Checks the indexes: one under which the key names one row, one that serves the claim, one that keeps out duplicates.

use super::Check;
use crate::catalog::TableIndex;
use crate::catalog::table::same;
use crate::finding::Finding;
use crate::ident::{Identifier, nearest};

pub(super) fn check(check: &mut Check<'_>) {
    key(check);
    claim(check);
    dedup(check);
    made(check);
}

fn list(names: &[Identifier]) -> String {
    names.iter().map(Identifier::as_str).collect::<Vec<_>>().join(", ")
}

/// A settle searches by the key, with the columns of `seek` before it: it must reach one row, and by a seek.
fn key(check: &mut Check<'_>) {
    let key: Vec<_> = check.table.key.iter().map(|key| key.name.clone()).collect();
    let mut seek: Vec<_> = check.table.seek.iter().map(|seek| seek.name.clone()).collect();
    if check.found.unique_index(&key).is_none() {
        let known_by_seek = {
            let mut all = seek.clone();
            all.extend(key.iter().cloned());
            !seek.is_empty() && check.found.unique_index(&all).is_some()
        };
        let identity = check.table.key.iter().any(|key| check.found.column(&key.name).is_some_and(|c| c.identity));
        let (what, remedy) = if known_by_seek {
            let what = format!(
                "the key ({}) is unique only together with {}: two rows could share it, and be settled as one",
                list(&key),
                list(&seek)
            );
            (what, "an identity does not repeat by itself; else add a unique constraint on the key")
        } else {
            let what = format!("no unique index keeps the key ({}) from standing in two rows", list(&key));
            (what, "add a primary key or a unique constraint on it, or correct table.key")
        };
        let leads = |index: &TableIndex| {
            let first = index.columns.first().is_some_and(|(column, _)| same(check.found.dialect, &key[0], column));
            first && !index.disabled && index.filter.is_none()
        };
        let alone = key.len() == 1 && check.found.indexes.iter().any(leads);
        if (known_by_seek || alone) && identity {
            let what = format!("the key ({}) is an identity, unique by itself; no index says so", list(&key));
            check.findings.push(Finding::ok("key", &check.found.name, what));
        } else if known_by_seek {
            check.findings.push(Finding::warning("key", &check.found.name, what, remedy));
        } else {
            check.findings.push(Finding::error("key", &check.found.name, what, remedy));
        }
    }
    seek.extend(key.iter().cloned());
    let serves = |index: &&TableIndex| {
        let leads = index.columns.len() >= seek.len()
            && index.columns.iter().take(seek.len()).all(|(c, _)| seek.iter().any(|s| same(check.found.dialect, s, c)));
        leads && !index.disabled && index.filter.is_none()
    };
    let served = check.found.indexes.iter().find(serves).map(|index| index.name.clone());
    if served.is_none() {
        let what = format!("no index begins with {}, by which an item is found to settle it", list(&seek));
        let remedy = "add one, or name the columns that stand before the key in an index in table.seek";
        check.findings.push(Finding::warning("key", &check.found.name, what, remedy));
    }
}

/// The claim uses a named index, or one that install makes.
fn claim(check: &mut Check<'_>) {
    let Some(name) = &check.table.index.name else { return };
    let object = format!("{}.{}", check.found.name, name.as_str());
    let dialect = check.found.dialect;
    let Some(index) = check.found.index(name) else {
        let names: Vec<_> = check.found.indexes.iter().map(|index| index.name.as_str()).collect();
        let remedy = match nearest(name.as_str(), names.iter().copied()) {
            Some(near) => format!("there is {near}: correct table.index.name"),
            None if names.is_empty() => {
                "the table has no index: leave table.index out, and readpast makes one".to_owned()
            }
            None => format!("the table has {}; or leave table.index out, and readpast makes one", names.join(", ")),
        };
        check.findings.push(Finding::error(
            "index",
            object,
            "there is no such index, and table.index names it",
            remedy,
        ));
        return;
    };
    if index.disabled {
        let remedy = "rebuild it";
        check.findings.push(Finding::error("index", object, "is disabled, and the claim goes by it", remedy));
        return;
    }
    let wanted = &check.table.index.columns;
    let agrees = wanted.iter().zip(&index.columns).all(|(name, (column, _))| same(dialect, name, column))
        && wanted.len() <= index.columns.len();
    if !agrees {
        let there: Vec<_> = index.columns.iter().map(|(column, _)| column.as_str()).collect();
        let what = format!("has the columns {}, and table.index.columns says {}", there.join(", "), list(wanted));
        let remedy =
            format!("write columns = [{}]", there.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>().join(", "));
        check.findings.push(Finding::error("index", object, what, remedy));
    }
}

/// Only a unique index keeps out a duplicate: between the look-up and the insert of one call another may insert.
fn dedup(check: &mut Check<'_>) {
    let Some(dedup) = &check.spec.dedup else { return };
    if let Some(index) = check.found.unique_index(&dedup.columns) {
        let ignores =
            if index.ignores_duplicates { ", which ignores duplicates silently; readpast reports them" } else { "" };
        let what = format!("the index {} keeps duplicates out{ignores}", index.name);
        check.findings.push(Finding::ok("dedup", &check.found.name, what));
        return;
    }
    let filtered = check.found.indexes.iter().find(|index| {
        index.unique
            && !index.disabled
            && index.columns.iter().all(|(c, _)| dedup.columns.iter().any(|d| same(check.found.dialect, d, c)))
    });
    match filtered {
        Some(index) => {
            let filter = index.filter.clone().unwrap_or_default();
            let what = format!("the index {} keeps duplicates out only where {filter}", index.name);
            let remedy = "make sure that this matches \"among\"";
            check.findings.push(Finding::warning("dedup", &check.found.name, what, remedy));
        }
        // As install makes it: no index of a made table covers some keys of work.
        None if check.table.create => {
            let what = format!(
                "no unique index keeps the same {} from standing in two rows; enqueueing by readpast looks under a \
                 lock; other programs that insert rows must do so too",
                list(&dedup.columns)
            );
            check.findings.push(Finding::ok("dedup", &check.found.name, what));
        }
        None => {
            let what = format!("no unique index keeps the same {} from standing in two rows", list(&dedup.columns));
            let remedy = "add one: without it two producers at once can both enqueue the same work";
            check.findings.push(Finding::error("dedup", &check.found.name, what, remedy));
        }
    }
}

/// The indexes that an install adds to a user's table, or has added, and nothing else.
fn made(check: &mut Check<'_>) {
    let leads = |index: &&TableIndex, columns: &[Identifier]| {
        let first = &index.columns[..index.columns.len().min(columns.len())];
        index.filter.is_none() && columns.iter().all(|c| first.iter().any(|(f, _)| same(check.found.dialect, c, f)))
    };
    // The last of them serves dedup, unless one of the table's own does.
    let own = check.spec.dedup.as_ref().and_then(|d| check.found.indexes.iter().find(|i| leads(i, &d.columns)));
    let serves_dedup = |name: &str| name.ends_with("_Work") || name.ends_with("_same");
    // Some servers add a suffix to the name of an index to make it unique in the database.
    let is_there = |name: &&str| check.found.indexes.iter().any(|index| index.name.starts_with(*name));
    let wanted =
        check.made.iter().map(String::as_str).filter(|name| is_there(name) || own.is_none() || !serves_dedup(name));
    let (there, missing): (Vec<_>, Vec<_>) = wanted.partition(is_there);
    let mut notes = Vec::new();
    if !missing.is_empty() {
        notes.push(format!("install adds to it {}, and changes nothing else", missing.join(", ")));
    }
    if !there.is_empty() {
        notes.push(format!("install has added to it {}, and nothing else", there.join(", ")));
    }
    let findings = notes.into_iter().map(|what| Finding::ok("index", &check.found.name, what)).collect::<Vec<_>>();
    check.findings.extend(findings);
}
