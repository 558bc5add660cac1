//! The author's own types, alias types in SQL Server and domains in PostgreSQL, of the columns of a table that readpast makes. A
//! missing one is reported, and not made: its owner decides its base and its length.

use super::fit::holds;
use super::types::TypeFamily;
use super::{number, text};
use crate::description::{ColumnKind, ColumnSpec, QueueSpec, SqlName};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::finding::Finding;
use crate::session::{Param, Session};

/// Findings about the types that the columns of `spec` name.
pub(crate) fn check_types(session: &mut Session, spec: &QueueSpec) -> Result<Vec<Finding>> {
    let own = spec.columns.iter().map(|column| (column, column.name.as_str().to_owned()));
    let of_subtypes = spec.subtypes.iter().flat_map(|subtype| {
        subtype.columns.iter().map(|column| (column, format!("{}.{}", subtype.name.as_str(), column.name.as_str())))
    });
    let mut findings = Vec::new();
    for (column, name) in own.chain(of_subtypes) {
        if let Some(kept) = &column.sql_type {
            findings.extend(check(session, spec, column, &name, kept)?);
        }
    }
    Ok(findings)
}

fn check(
    session: &mut Session,
    spec: &QueueSpec,
    column: &ColumnSpec,
    name: &str,
    kept: &SqlName,
) -> Result<Option<Finding>> {
    let dialect = session.dialect();
    let schema = dialect.in_catalog(&dialect.schema_of(kept.schema.as_ref()));
    let bare = dialect.in_catalog(&kept.name);
    let rows = session.execute(&dialect.query("ask/types")?, &[Param::Text(&schema), Param::Text(&bare)])?;
    let object = format!("{schema}.{bare}");
    let error = |what: String, remedy: String| Ok(Some(Finding::error("type", &object, what, remedy)));
    let kind = column.kind;
    if rows.is_empty() {
        let word = if dialect == Dialect::SqlServer { "TYPE" } else { "DOMAIN" };
        let from = if dialect == Dialect::SqlServer { "FROM" } else { "AS" };
        let (quoted, base) = (dialect.written(kept), dialect.column_type(kind));
        return error(
            format!("there is no such type for the column {name:?}"),
            format!("CREATE {word} {quoted} {from} {base}, or as its owner wants it; or leave sql_type out"),
        );
    }
    let base = text(&rows, 0, 0);
    if !holds(TypeFamily::of(dialect, &base), kind) {
        return error(
            format!("is {base}, and the column {name:?} is {kind}"),
            "say the type that it holds, or take another type".to_owned(),
        );
    }
    let length = number(&rows, 0, 1).filter(|length| *length > 0);
    if let (ColumnKind::Text(most), Some(length)) = (kind, length)
        && most.is_none_or(|most| i64::from(most) > length)
    {
        let remedy = format!("say type = \"text({length})\", so that a longer value is refused before it is sent");
        return error(format!("holds {length} characters, and the column {name:?} is {kind}"), remedy);
    }
    if let (ColumnKind::Binary(most), Some(length)) = (kind, length)
        && most.is_none_or(|most| i64::from(most) > length)
    {
        let remedy = format!("say type = \"binary({length})\", so that a longer value is refused before it is sent");
        return error(format!("holds {length} bytes, and the column {name:?} is {kind}"), remedy);
    }
    if let (ColumnKind::Decimal(digits, behind), Some(has), Some(has_behind)) =
        (kind, number(&rows, 0, 2), number(&rows, 0, 3))
    {
        let (digits, behind) = (i64::from(digits), i64::from(behind));
        if has_behind < behind || has - has_behind < digits - behind {
            let what = format!(
                "holds {} digits before the point and {has_behind} behind it, and the column {name:?} is {kind}",
                has - has_behind
            );
            let remedy = "say the type that it holds, so that nothing is refused or rounded by the server".to_owned();
            return error(what, remedy);
        }
    }
    let compared = spec.dedup.iter().flat_map(|dedup| &dedup.columns).chain(&spec.order.group);
    let is_compared = spec.columns.contains(column) && compared.into_iter().any(|other| *other == column.name);
    if dialect == Dialect::SqlServer && is_compared && matches!(base.as_str(), "varchar" | "char") {
        let what = format!(
            "is {base}, and the column {name:?} is compared with nvarchar (\"dedup\", \"order.group\"): no index would be sought in"
        );
        return error(what, "take a type that is nvarchar, or leave sql_type out".to_owned());
    }
    Ok(None)
}
