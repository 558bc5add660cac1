//! A table in the catalog.

use super::{TypeFamily, flag, number, optional_text, text};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::Identifier;
use crate::session::{Param, Session};

/// A table or view.
#[derive(Debug, Clone)]
pub(crate) struct CatalogTable {
    pub(crate) dialect: Dialect,
    /// Its name with its schema, for messages.
    pub(crate) name: String,
    /// Schema and name, quoted.
    pub(crate) quoted: String,
    pub(crate) columns: Vec<TableColumn>,
    /// Its indexes; none for a view.
    pub(crate) indexes: Vec<TableIndex>,
    /// The names of its enabled triggers.
    pub(crate) triggers: Vec<String>,
    /// Triggers whose function has another owner than the table, each with that owner.
    pub(crate) strangers: Vec<String>,
    /// Those that run in place of the statement.
    pub(crate) instead: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    /// The base type's name, below any alias or domain.
    pub(crate) type_name: String,
    pub(crate) family: TypeFamily,
    /// The alias type or domain it was declared with.
    alias: Option<String>,
    /// The most characters of text, or bytes; `None` is any number.
    pub(crate) length: Option<i64>,
    pub(crate) nullable: bool,
    pub(crate) computed: bool,
    pub(crate) identity: bool,
    pub(crate) has_default: bool,
    /// The decimals of a time's seconds, or of an exact number; below zero, as many as a value has.
    pub(crate) decimals: i64,
    /// The collation of text, where it is not the database's.
    pub(crate) collation: Option<String>,
    /// The collation of text in SQL Server, whichever it is.
    pub(crate) collated: Option<String>,
    /// The code page of text, which lacks most letters.
    pub(crate) code_page: Option<i64>,
    /// The words of an enum.
    pub(crate) labels: Vec<String>,
}

/// An index.
#[derive(Debug, Clone)]
pub(crate) struct TableIndex {
    pub(crate) name: String,
    pub(crate) unique: bool,
    /// Disabled, or in PostgreSQL not valid.
    pub(crate) disabled: bool,
    /// The predicate of a filtered index.
    pub(crate) filter: Option<String>,
    pub(crate) ignores_duplicates: bool,
    /// The key's columns in their order, each with whether it descends. An expression has no name.
    pub(crate) columns: Vec<(String, bool)>,
}

/// The table or view of this name; `None` when there is none, or none that the login may see.
pub(crate) fn find_table(
    session: &mut Session,
    schema: &Identifier,
    name: &Identifier,
) -> Result<Option<CatalogTable>> {
    let dialect = session.dialect();
    let (schema, name) = (dialect.in_catalog(schema), dialect.in_catalog(name));
    let params = [Param::Text(&schema), Param::Text(&name)];

    let rows = session.execute(&dialect.query("ask/columns")?, &params)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let columns = (0..rows.len())
        .map(|row| {
            let type_name = text(&rows, row, 1);
            let labels: Option<Vec<String>> =
                optional_text(&rows, row, 11).and_then(|labels| serde_json::from_str(&labels).ok());
            let family = if labels.is_some() { TypeFamily::Enum } else { TypeFamily::of(dialect, &type_name) };
            TableColumn {
                name: text(&rows, row, 0),
                family,
                type_name,
                alias: optional_text(&rows, row, 2),
                length: number(&rows, row, 3)
                    .filter(|length| *length >= 0 && matches!(family, TypeFamily::Text | TypeFamily::Binary)),
                nullable: flag(&rows, row, 4),
                computed: flag(&rows, row, 5),
                identity: flag(&rows, row, 6),
                has_default: flag(&rows, row, 7),
                decimals: number(&rows, row, 8).unwrap_or(0),
                collation: optional_text(&rows, row, 9),
                code_page: number(&rows, row, 10),
                labels: labels.unwrap_or_default(),
                collated: optional_text(&rows, row, 12),
            }
        })
        .collect();

    let rows = session.execute(&dialect.query("ask/indexes")?, &params)?;
    let mut indexes: Vec<TableIndex> = Vec::new();
    for row in 0..rows.len() {
        let name = text(&rows, row, 0);
        if indexes.last().is_none_or(|index| index.name != name) {
            indexes.push(TableIndex {
                name,
                unique: flag(&rows, row, 1),
                disabled: flag(&rows, row, 2),
                filter: optional_text(&rows, row, 3),
                ignores_duplicates: flag(&rows, row, 4),
                columns: Vec::new(),
            });
        }
        if let Some(index) = indexes.last_mut() {
            index.columns.push((text(&rows, row, 5), flag(&rows, row, 6)));
        }
    }

    let rows = session.execute(&dialect.query("ask/triggers")?, &params)?;
    let name_of = |row| text(&rows, row, 0);
    let triggers = (0..rows.len()).map(name_of).collect();
    let instead = (0..rows.len()).filter(|row| flag(&rows, *row, 1)).map(name_of).collect();
    let strangers = (0..rows.len())
        .filter(|row| !text(&rows, *row, 2).is_empty())
        .map(|row| format!("{} (of {})", name_of(row), text(&rows, row, 2)))
        .collect();
    let quoted = dialect.exact(&schema, &name)?;
    Ok(Some(CatalogTable {
        dialect,
        name: format!("{schema}.{name}"),
        quoted,
        columns,
        indexes,
        triggers,
        instead,
        strangers,
    }))
}

impl TableColumn {
    /// Its type, for a person.
    pub(crate) fn declared(&self) -> String {
        let length = self.length.map(|length| format!("({length})")).unwrap_or_default();
        match &self.alias {
            Some(alias) => format!("{alias}, which is {}{length}", self.type_name),
            None => format!("{}{length}", self.type_name),
        }
    }
}

impl CatalogTable {
    /// The column that a description calls `name`.
    pub(crate) fn column(&self, name: &Identifier) -> Option<&TableColumn> {
        self.columns.iter().find(|column| same(self.dialect, name, &column.name))
    }

    /// The index that a description calls `name`. Some servers add a suffix to the name of an index to make it unique in the
    /// database.
    pub(crate) fn index(&self, name: &Identifier) -> Option<&TableIndex> {
        let wanted = self.dialect.in_catalog(name);
        self.indexes.iter().find(|index| same(self.dialect, name, &index.name)).or_else(|| {
            let begins = |index: &&TableIndex| {
                let longer = index.name.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(&wanted));
                self.dialect == Dialect::SqlServer && longer && index.name.len() >= wanted.len() + 32
            };
            self.indexes.iter().find(begins)
        })
    }

    /// The index under which no two rows have the same values in all of `columns`.
    pub(crate) fn unique_index(&self, columns: &[Identifier]) -> Option<&TableIndex> {
        self.indexes.iter().find(|index| {
            index.unique
                && !index.disabled
                && index.filter.is_none()
                && index.columns.iter().all(|(column, _)| columns.iter().any(|name| same(self.dialect, name, column)))
        })
    }
}

/// Whether a description's `name` means the catalog's `found`. SQL Server mostly ignores case.
pub(crate) fn same(dialect: Dialect, name: &Identifier, found: &str) -> bool {
    let wanted = dialect.in_catalog(name);
    match dialect {
        Dialect::SqlServer => wanted.to_lowercase() == found.to_lowercase(),
        Dialect::Postgres => wanted == found,
    }
}
