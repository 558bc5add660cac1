//! Hand-written procedures in the catalog: their names and parameters.

use super::{TypeFamily, flag, text};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::Identifier;
use crate::session::{Param, Session};

/// A procedure, or in PostgreSQL a function or a procedure.
#[derive(Debug, Clone)]
pub(crate) struct CatalogProcedure {
    /// Its schema and name as the catalog has them.
    pub(crate) schema: String,
    pub(crate) name: String,
    /// The parameters that take a value, in the order of their declaration.
    pub(crate) parameters: Vec<Parameter>,
    /// Whether it is called, and not selected from.
    pub(crate) is_called: bool,
    /// Whether the server selects from what can be called.
    pub(crate) selects: bool,
    /// How many there are of this name: PostgreSQL distinguishes them by their parameters.
    pub(crate) overloads: usize,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    /// Its name as the catalog has it: `@Status`, `status_`.
    pub(crate) name: String,
    /// Its type as it would be written in a cast.
    pub(crate) type_name: String,
    pub(crate) family: TypeFamily,
    /// Whether it certainly has no default. SQL Server does not report that.
    pub(crate) needs_value: bool,
}

impl Parameter {
    /// The name without its marks: `@Status`, `p_status` and `status_` are all `status`.
    pub(crate) fn meaning(&self) -> String {
        bare(&self.name)
    }
}

/// A parameter's or column's name without marks, case and underscores.
pub(crate) fn bare(name: &str) -> String {
    let name = name.trim_start_matches('@').trim_matches('_').to_lowercase();
    let name = ["p_", "in_", "_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    name.replace('_', "")
}

/// The procedure of this name; `None` when there is none, or none that the login may see.
pub(crate) fn find_procedure(
    session: &mut Session,
    schema: &Identifier,
    name: &Identifier,
) -> Result<Option<CatalogProcedure>> {
    let dialect = session.dialect();
    let (schema, name) = (dialect.in_catalog(schema), dialect.in_catalog(name));
    let rows = session.execute(&dialect.query("ask/parameters")?, &[Param::Text(&schema), Param::Text(&name)])?;
    if rows.is_empty() {
        return Ok(None);
    }
    let first = text(&rows, 0, 0);
    let mut others: Vec<_> = (0..rows.len()).map(|row| text(&rows, row, 0)).collect();
    others.dedup();
    // A procedure without parameters has one row, without a parameter in it.
    let of_first = (0..rows.len()).filter(|row| text(&rows, *row, 0) == first && !text(&rows, *row, 1).is_empty());
    let parameters = of_first
        .map(|row| {
            let type_name = text(&rows, row, 2);
            Parameter {
                name: text(&rows, row, 1),
                family: TypeFamily::of(dialect, &type_name),
                type_name: match dialect {
                    Dialect::SqlServer => type_name,
                    Dialect::Postgres => text(&rows, row, 3),
                },
                needs_value: dialect == Dialect::Postgres && !flag(&rows, row, 4),
            }
        })
        .collect();
    Ok(Some(CatalogProcedure {
        schema,
        name,
        parameters,
        is_called: flag(&rows, 0, 5),
        selects: dialect == Dialect::Postgres,
        overloads: others.len(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_parameter_has_many_spellings() {
        for name in
            ["@ScheduledFor", "scheduled_for", "p_scheduled_for", "_scheduled_for", "scheduled_for_", "ScheduledFor"]
        {
            assert_eq!(bare(name), "scheduledfor", "{name}");
        }
        assert_eq!(bare("@Step"), "step");
    }
}
