//! Checks the table of settings that a description names in place of readpast's own.

use crate::catalog::{TypeFamily, find_table};
use crate::description::SettingsTableSpec;
use crate::error::Result;
use crate::finding::Finding;
use crate::ident::nearest;
use crate::session::Session;

pub(super) fn check(session: &mut Session, settings: &SettingsTableSpec, findings: &mut Vec<Finding>) -> Result<()> {
    let schema = session.dialect().schema_of(settings.schema.as_ref());
    let Some(found) = find_table(session, &schema, &settings.name)? else {
        let name = format!("{}.{}", schema.as_str(), settings.name.as_str());
        let remedy = "correct table.settings, or leave it out and readpast's own AppSettings counts; a login without any right on \
                      a table does not see it";
        findings.push(Finding::error("table", name, "there is no such table, which table.settings names", remedy));
        return Ok(());
    };
    for (key, name) in [("param", &settings.param), ("value", &settings.value)] {
        let Some(column) = found.column(name) else {
            let near = nearest(name.as_str(), found.columns.iter().map(|column| column.name.as_str()));
            let remedy = near.map_or_else(|| "correct it".to_owned(), |near| format!("there is {near}"));
            let what = format!("has no column {}, which table.settings.{key} names", name.as_str());
            findings.push(Finding::error("column", &found.name, what, remedy));
            continue;
        };
        let fits = match key {
            "param" => column.family == TypeFamily::Text,
            _ => matches!(column.family, TypeFamily::Integer(_)),
        };
        if !fits {
            let wanted = if key == "param" { "text" } else { "a whole number" };
            let what = format!(
                "the column {} is {}, and table.settings.{key} has to be {wanted}",
                column.name,
                column.declared()
            );
            findings.push(Finding::error("column", &found.name, what, "name another column, or another table"));
        }
    }
    Ok(())
}
