//! Columns and their values, as arguments give them.

use crate::failure::{Result, usage};
use readpast::QueueSpec;
use readpast::description::{ColumnKind, ColumnSpec};
use readpast::ident::Identifier;
use readpast::item::Columns;
use std::collections::BTreeMap;

/// `COLUMN=VALUE`, the value read as the column's type asks for; `COLUMN:=JSON`, the value as JSON. A column of a subtype is
/// `SUBTYPE.COLUMN`.
pub fn columns(spec: &QueueSpec, arguments: &[String]) -> Result<Columns> {
    let (mut own, mut of_subtypes) = (Columns::default(), BTreeMap::<&str, Columns>::new());
    for argument in arguments {
        let Some((name, text)) = argument.split_once('=') else {
            return Err(usage(format!("{argument:?} is not COLUMN=VALUE")));
        };
        let (full, is_json) = name.strip_suffix(':').map_or((name, false), |name| (name, true));
        let of_subtype = full.split_once('.').and_then(|(subtype, name)| {
            let subtype = spec.subtypes.iter().find(|known| is_called(&known.name, subtype))?;
            Some((subtype, name))
        });
        let (known, name) = of_subtype.map_or((&spec.columns, full), |(subtype, name)| (&subtype.columns, name));
        let into = of_subtype.map_or(&mut own, |(subtype, _)| of_subtypes.entry(subtype.name.as_str()).or_default());
        let twice = if is_json {
            let put = into.insert_json(name, text);
            put.map_err(|error| usage(format!("{full}:= takes JSON, and this {}", error.message())))?
        } else if is_written_as_json(known, name) {
            // A value that does not fit stays text; the check of the item then reports the column's type.
            into.insert_json(name, text).unwrap_or_else(|_| into.insert(name, text))
        } else {
            into.insert(name, text)
        };
        if twice {
            return Err(usage(format!("the column {full} is given twice")));
        }
    }
    for (name, columns) in of_subtypes {
        own.insert_json(name, &columns.to_json())?;
    }
    Ok(own)
}

/// Whether the values of a column look the same in JSON.
fn is_written_as_json(columns: &[ColumnSpec], name: &str) -> bool {
    let kind = columns.iter().find(|column| is_called(&column.name, name)).map(|column| column.kind);
    matches!(
        kind,
        Some(ColumnKind::Integer | ColumnKind::BigInteger | ColumnKind::Boolean | ColumnKind::Float | ColumnKind::Json)
    )
}

/// Whether `name` means a column or subtype. The check of the item distinguishes names that differ only in case.
fn is_called(known: &Identifier, name: &str) -> bool {
    known.as_str().to_lowercase() == name.to_lowercase()
}
