//! Checks a table that was there before readpast.

use super::{Checked, DescriptionPath, columns, rows, same_name, states};
use crate::description::{ColumnKind, KeyColumn, KeySource, KeyText, Literal, QueueSpec, TableSpec};

pub(super) fn check(spec: &QueueSpec, table: &TableSpec) -> Checked {
    let place = DescriptionPath::default().key("table");
    key(&place.key("key"), &table.key)?;
    lifecycle(&place.key("lifecycle"), table)?;
    let why = || "needs the column that gets the time of the run: name it in table.lifecycle.started".to_owned();
    place.key("run_time").need(!table.run_time || table.lifecycle.started.is_some(), why)?;
    let why = || "the table has no column for the type; name it in table.lifecycle.type".to_owned();
    DescriptionPath::default().key("types").need(spec.types.len() == 1 || table.lifecycle.kind.is_some(), why)?;
    states::check(&place.key("states"), spec, table)?;
    rows::check(&place.key("where"), table)?;
    let index = place.key("index").key("columns");
    index.distinct(&table.index.columns)?;
    for (i, column) in table.index.columns.iter().enumerate() {
        index.nth(i).column(column, &columns::all(spec))?;
    }
    for column in &table.seek {
        let place = place.key("seek").key(column.name.as_str());
        place
            .need(!column.values.is_empty(), || "must be a list of at least one value, not an empty list".to_owned())?;
        for (i, value) in column.values.iter().enumerate() {
            literal(&place.nth(i), value)?;
            let again = column.values[..i].contains(value);
            place.nth(i).need(!again, || "the value stands in the list already".to_owned())?;
        }
        place.column(&column.name, &columns::all(spec))?;
        states::check_seek(&place, table, column)?;
    }
    let numbers = |key: &KeyColumn| key.source == KeySource::Table && matches!(key.kind, ColumnKind::Decimal(..));
    if let Some(i) = table.key.iter().position(numbers).filter(|_| table.create) {
        return place
            .key("key")
            .nth(i)
            .key("type")
            .refuse("the identity of a table that install makes is integer or bigint");
    }
    if table.create { states::check_types(&place.key("create"), table, &spec.columns) } else { Ok(()) }
}

/// Checks a constant for SQL.
pub(super) fn literal(place: &DescriptionPath, value: &Literal) -> Checked {
    let plain = !matches!(value, Literal::Text(text) if text.contains(char::is_control));
    place.need(plain, || "contains a control character".to_owned())
}

fn key(place: &DescriptionPath, key: &[KeyColumn]) -> Checked {
    place.need(!key.is_empty(), || "must be a list of at least one value, not an empty list".to_owned())?;
    for (i, column) in key.iter().enumerate() {
        let place = place.nth(i);
        let kind = column.kind;
        let from_table = |column: &KeyColumn| column.source == KeySource::Table;
        match kind {
            ColumnKind::Text(None) => return place.key("type").refuse("text in a key has a length, like text(40)"),
            // The longest that an index takes.
            ColumnKind::Binary(Some(1701..)) => return place.key("type").refuse("a key has at most 1700 bytes"),
            ColumnKind::Integer
            | ColumnKind::BigInteger
            | ColumnKind::Decimal(..)
            | ColumnKind::Binary(Some(_))
            | ColumnKind::Guid
            | ColumnKind::Text(_)
            | ColumnKind::Timestamp => {}
            kind => {
                let why = format!(
                    "a key is integer, bigint, decimal(p, s), guid, text(n), binary(n) or timestamp, not {kind}"
                );
                return place.key("type").refuse(why);
            }
        }
        place.key("type").need(kind.is_possible(), || format!("there is no column type {kind}"))?;
        let is_text = matches!(kind, ColumnKind::Text(_));
        let why = || format!("only text is stored so, and the column is {kind}");
        place.key("stored").need(is_text || column.stored == KeyText::Usual, why)?;
        if let Some(collation) = &column.collation {
            place.key("collation").need(is_text, || format!("only text has a collation, and the column is {kind}"))?;
            place.key("collation").word(collation)?;
        }
        if !from_table(column) {
            // A producer's column is a parameter's name and a path in JSON as well.
            place.key("name").word(&column.name)?;
        } else if !matches!(kind, ColumnKind::Integer | ColumnKind::BigInteger | ColumnKind::Decimal(_, 0)) {
            return place.key("source").refuse(format!(
                "only a whole number can come from the table, as its identity; a {kind} comes from the producer"
            ));
        }
        let again = key[..i].iter().any(|other| same_name(&other.name, &column.name));
        place.need(!again, || format!("the key has a column {:?} already", column.name.as_str()))?;
        let why = || "one column of the key at most comes from the table; give \"source\" = \"producer\"".to_owned();
        place.need(!from_table(column) || !key[..i].iter().any(from_table), why)?;
    }
    Ok(())
}

fn lifecycle(place: &DescriptionPath, table: &TableSpec) -> Checked {
    let roles = table.lifecycle.columns();
    for (i, (role, name)) in roles.iter().enumerate() {
        let place = place.key(role);
        if *role == "enqueued" {
            // A producer may give it.
            place.word(name)?;
        }
        let in_key = table.key.iter().any(|column| same_name(&column.name, name));
        place.need(!in_key, || format!("{:?} is a column of the key, which never changes", name.as_str()))?;
        if let Some((other, _)) = roles[..i].iter().find(|(_, other)| same_name(other, name)) {
            return place.refuse(format!("the column {:?} is {other:?} already", name.as_str()));
        }
    }
    Ok(())
}
