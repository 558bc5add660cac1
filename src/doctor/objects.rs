//! Compares the objects of a queue with those of an install: there, usable by this login, stored with the settings that filtered
//! indexes need; the indexes there, enabled and of the shape that the claim needs.

use super::{Examined, Finding};
use crate::catalog::{find_table, flag, number, text};
use crate::description::QueueSpec;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::Identifier;
use crate::render::{Index, Made, Object};

/// An object in the catalog.
struct CatalogObject {
    name: String,
    may_use: bool,
    ansi_nulls: bool,
    quoted_identifier: bool,
    pinned: bool,
}

/// Checks the objects of a queue.
pub(super) fn check(examined: &mut Examined, spec: &QueueSpec, made: &[Object]) -> Result<()> {
    let queue = spec.queue.as_str();
    let dialect = examined.session.dialect();
    let schema = examined.schema.clone();
    let rows =
        examined.session.execute(&dialect.query("ask/objects")?, &[crate::session::Param::Text(schema.as_str())])?;
    let known: Vec<_> = (0..rows.len())
        .map(|row| CatalogObject {
            name: text(&rows, row, 0),
            may_use: flag(&rows, row, 1),
            ansi_nulls: flag(&rows, row, 2),
            quoted_identifier: flag(&rows, row, 3),
            pinned: flag(&rows, row, 4),
        })
        .collect();
    sequences(examined, made)?;
    let (mut there, mut usable) = (0, 0);
    let mut denied = Vec::new();
    for made in made {
        match &made.makes {
            Made::Code { name, .. } => {
                let object = name.to_string();
                let Some(found) = known.iter().find(|known| known.name.eq_ignore_ascii_case(&name.name)) else {
                    let what = "is not there, or this login has no right on it at all";
                    examined.findings.push(Finding::error(
                        "object",
                        object,
                        what,
                        "install the queue again, or grant the right",
                    ));
                    continue;
                };
                there += 1;
                if found.may_use {
                    usable += 1;
                } else {
                    denied.push(name.name.as_str());
                }
                settings(examined, &object, found);
            }
            // An optional index may be missing, when another serves.
            Made::Index(wanted) if !wanted.optional => index(examined, wanted)?,
            _ => {}
        }
    }
    if there > 0 && dialect == Dialect::SqlServer {
        let what = format!("{there} procedures and views; their stored SET options were looked at");
        examined.findings.push(Finding::ok("object", queue, what));
    } else if there > 0 {
        examined.findings.push(Finding::ok("object", queue, format!("{there} functions and views are there")));
    }
    if denied.is_empty() {
        examined.findings.push(Finding::ok("permission", queue, format!("this login may use all {usable} of them")));
    } else {
        let what = format!("this login may not use {}", denied.join(", "));
        let roles = [
            ("enqueues", &spec.roles.producer),
            ("works", &spec.roles.worker),
            ("looks", &spec.roles.monitor),
            ("operates", &spec.roles.operator),
        ];
        let named: Vec<_> =
            roles.iter().filter_map(|(part, role)| Some(format!("{} ({part})", role.as_ref()?.as_str()))).collect();
        let remedy = if named.is_empty() {
            "grant it the rights of its part: producers Add_, workers Next_, Modify_, Renew_ and Recover_ (in \
             PostgreSQL add_ and so on), all of them the catalog; see Rights in docs/dba.md, or name roles in the \
             description"
                .to_owned()
        } else {
            let how = member_of(dialect);
            format!("where its part needs them, make it a member of a role of the queue: {}; {how}", named.join(", "))
        };
        examined.findings.push(Finding::warning("permission", queue, what, remedy));
    }
    Ok(())
}

/// The sequences of which the functions draw numbers. A new one begins at the first number, and that is as well: a key has its time besides.
fn sequences(examined: &mut Examined, made: &[Object]) -> Result<()> {
    let query = examined.session.dialect().query("ask/sequences")?;
    let rows = examined.session.execute(&query, &[crate::session::Param::Text(examined.schema.as_str())])?;
    if rows.is_empty() || !flag(&rows, 0, 0) {
        return Ok(());
    }
    let known: Vec<_> = (0..rows.len()).map(|row| text(&rows, row, 1)).collect();
    let needed = made.iter().filter_map(|object| match &object.makes {
        Made::Kept { kind, names, .. } if kind == "SEQUENCE" => Some(names),
        _ => None,
    });
    for name in needed.flatten() {
        if !known.iter().any(|known| known.eq_ignore_ascii_case(&name.name)) {
            let what = "is not there: calls that draw a number of it fail";
            examined.findings.push(Finding::error("sequence", name.to_string(), what, "install the queue again"));
        }
    }
    Ok(())
}

/// How a login becomes a member of a role.
pub(super) fn member_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::SqlServer => "ALTER ROLE role ADD MEMBER user",
        Dialect::Postgres => "GRANT role TO login",
    }
}

/// The settings that are stored with code at its creation.
fn settings(examined: &mut Examined, object: &str, found: &CatalogObject) {
    for (option, is_on) in [("ANSI_NULLS", found.ansi_nulls), ("QUOTED_IDENTIFIER", found.quoted_identifier)] {
        if !is_on {
            let what = format!(
                "was created with {option} OFF, which stays with it: it cannot use or change a filtered index (error 1934)"
            );
            let remedy = "install the queue again; if a script is run by hand, let it begin with SET ANSI_NULLS, QUOTED_IDENTIFIER ON \
                          (sqlcmd: -I)";
            examined.findings.push(Finding::error("set-options", object, what, remedy));
        }
    }
    if !found.pinned {
        let what = "runs with its owner's rights and has no search_path of its own: a user can put objects of the same name before it";
        examined.findings.push(Finding::error("search-path", object, what, "install the queue again"));
    }
}

fn index(examined: &mut Examined, wanted: &Index) -> Result<()> {
    let Index { name, table, filter, .. } = wanted;
    // The names are the catalog's, and not SQL's.
    let exact = |name: &str| Identifier::exact("a name", name);
    let object = format!("{table}.{name}");
    let Some(found) = find_table(&mut examined.session, &exact(&table.schema)?, &exact(&table.name)?)? else {
        let what = "the table is not there, or this login has no right on it and does not see it";
        let finding = Finding::warning("index", object, what, "check again as its owner");
        examined.findings.push(finding);
        return Ok(());
    };
    let Some(index) = found.index(&exact(name)?) else {
        let remedy = "install the queue again, which makes it, or names what stands in its place";
        examined.findings.push(Finding::error(
            "index",
            object,
            "is not there: without it calls fail or read everything",
            remedy,
        ));
        return Ok(());
    };
    let shown = |(name, descends): (&str, bool)| format!("{name}{}", if descends { " DESC" } else { "" });
    let is = index.columns.iter().map(|(name, descends)| shown((name, *descends))).collect::<Vec<_>>().join(", ");
    // The catalog has no name for an expression.
    let plain = wanted.columns.iter().map(|column| match column.expression {
        None => (column.name.as_str(), column.descending),
        Some(_) => ("", column.descending),
    });
    let should = plain.map(shown).collect::<Vec<_>>().join(", ");
    let same_columns = is.eq_ignore_ascii_case(&should);
    let finding = if index.disabled {
        Finding::error(
            "index",
            object,
            "is disabled or not valid",
            "rebuild it, or drop it and install the queue again",
        )
    } else if !same_columns || (index.filter.is_some() && filter.is_none()) {
        let filtered = if index.filter.is_some() { ", some rows only," } else { "" };
        let what = format!("is on {is}{filtered} and should be on {should}");
        Finding::error("index", object, what, "drop it and install the queue again")
    } else if let (None, Some(filter)) = (&index.filter, filter) {
        let what = format!(
            "holds all rows, and should hold those where {filter}: the claim passes over finished rows one by one"
        );
        Finding::warning("index", object, what, "drop it and install the queue again")
    } else {
        let used = uses(examined, &table.schema, &table.name, &index.name);
        Finding::ok("index", object, format!("there, on {should}; {used}"))
    };
    examined.findings.push(finding);
    Ok(())
}

/// Whether an index is used, by the server's own count.
fn uses(examined: &mut Examined, schema: &str, table: &str, index: &str) -> String {
    let dialect = examined.session.dialect();
    let params = [crate::session::Param::Text(schema), crate::session::Param::Text(table)];
    let rows = dialect.query("ask/usage").and_then(|query| examined.session.execute(&query, &params));
    let by_design = match dialect {
        Dialect::SqlServer => "the statements that need it name it, and fail without it",
        Dialect::Postgres => "the functions that need it are planned with nothing else",
    };
    match rows {
        Err(error) => format!("how often it is used cannot be seen ({}); {by_design}", error.message()),
        Ok(rows) => {
            let row = (0..rows.len()).find(|row| text(&rows, *row, 0) == index);
            match row.and_then(|row| number(&rows, row, 1)) {
                Some(count) if count > 0 => format!("used {count} times since the server began to count"),
                _ => format!("not used since the server began to count; {by_design}"),
            }
        }
    }
}
