//! The objects of scripts, as data: the files in `sql/<server>` declare the object of each statement, so that no code reads its
//! text.

use super::pack::pack;
use crate::dialect::{Dialect, Statement};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use minijinja::Value;
use minijinja::value::ValueKind;
use std::fmt;

/// A statement of a script, and its object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// Its file below `sql/<server>`.
    pub file: &'static str,
    /// Its object.
    pub makes: Made,
    /// The statement.
    pub definition: String,
}

/// The object of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Made {
    /// A procedure, function or view, which every install makes anew.
    Code {
        /// Its kind.
        kind: CodeKind,
        /// Its name.
        name: Name,
    },
    /// An object that is made when missing, and stays: a table, a type, a sequence; code on which other objects depend.
    Kept {
        /// Its kind: `TABLE`, say.
        kind: String,
        /// Its name; a schema's own stands in no schema.
        names: Vec<Name>,
        /// Whether it is a table of the user's, which stays when the queue is dropped.
        theirs: bool,
    },
    /// An index.
    Index(Index),
    /// A grant.
    Grant(Grant),
    /// No named object: rows, settings, a column that changes.
    Nothing,
}

/// The kind of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// A procedure; SQL Server only.
    Procedure,
    /// A function.
    Function,
    /// A view.
    View,
    /// A trigger; SQL Server only.
    Trigger,
}

/// The name of an object, as the catalog has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The schema.
    pub schema: String,
    /// The name in it.
    pub name: String,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// Its name, in the schema of its table.
    pub name: String,
    /// Its table.
    pub table: Name,
    /// The columns of its key.
    pub columns: Vec<IndexColumn>,
    /// The included columns.
    pub include: Vec<String>,
    /// The condition on its rows, as SQL; all where there is none.
    pub filter: Option<String>,
    /// Whether no two rows have the same key.
    pub unique: bool,
    /// Whether it is left out where the table has one that serves.
    pub optional: bool,
}

/// A column in the key of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexColumn {
    /// The column, as the catalog has it.
    pub name: String,
    /// The indexed expression, where that is not the column itself.
    pub expression: Option<String>,
    /// Whether it descends.
    pub descending: bool,
}

/// A right that is granted to a role.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// `EXECUTE` or `SELECT`.
    pub right: String,
    /// The object.
    pub on: Name,
    /// The role.
    pub role: String,
}

impl fmt::Display for CodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Procedure => "PROCEDURE",
            Self::Function => "FUNCTION",
            Self::View => "VIEW",
            Self::Trigger => "TRIGGER",
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.schema.is_empty() {
            write!(f, "{}.", self.schema)?;
        }
        f.write_str(&self.name)
    }
}

impl Name {
    /// The name in SQL.
    pub(crate) fn quoted(&self, dialect: Dialect) -> Result<String> {
        dialect.exact(&self.schema, &self.name)
    }
}

impl Object {
    /// Its statement, for a message: `CREATE VIEW readpast.worker_job_v`.
    pub(crate) fn description(&self) -> String {
        match &self.makes {
            Made::Code { kind, name } => format!("CREATE {kind} {name}"),
            Made::Kept { kind, names, .. } => {
                let names: Vec<_> = names.iter().map(Name::to_string).collect();
                format!("CREATE {kind} {}", names.join(", "))
            }
            Made::Index(index) => format!("CREATE INDEX {} ON {}", index.name, index.table),
            Made::Grant(Grant { right, on, role }) => format!("GRANT {right} ON {on} TO {role}"),
            Made::Nothing => format!("a statement of {}", self.file),
        }
    }

    /// The object of `statement` in `file`; its names without a schema are in `schema`.
    pub(super) fn new(schema: &Identifier, file: &'static str, statement: Statement) -> Result<Self> {
        let wrong = |what: &str| {
            Error::new(ErrorKind::Protocol, format!("the SQL file {file} says {what} of a statement: {statement:?}"))
        };
        let Statement { kind, name, attributes, .. } = &statement;
        let attribute =
            |key: &str| attributes.get_attr(key).ok().filter(|value| !value.is_undefined() && !value.is_none());
        let whole = |value: &Value| named(schema, value).ok_or_else(|| wrong("no name"));
        let kept = |kind: &str| {
            let names = match name.kind() {
                ValueKind::Seq => name.try_iter().map_err(|_| wrong("no name"))?.map(|name| whole(&name)).collect(),
                _ => whole(name).map(|name| vec![name]),
            };
            let theirs = attribute("theirs").is_some_and(|value| value.is_true());
            Ok::<_, Error>(Made::Kept { kind: kind.to_owned(), names: names?, theirs })
        };
        let code = |kind: CodeKind| match attribute("once") {
            Some(_) => kept(&kind.to_string()),
            None => Ok(Made::Code { kind, name: whole(name)? }),
        };
        let makes = match kind.as_deref() {
            None => Made::Nothing,
            Some("PROCEDURE") => code(CodeKind::Procedure)?,
            Some("FUNCTION") => code(CodeKind::Function)?,
            Some("VIEW") => code(CodeKind::View)?,
            Some("TRIGGER") => code(CodeKind::Trigger)?,
            Some(kind @ ("TABLE" | "TYPE" | "SEQUENCE")) => kept(kind)?,
            Some("SCHEMA") => {
                let name = Name { schema: String::new(), name: schema.as_str().to_owned() };
                Made::Kept { kind: "SCHEMA".to_owned(), names: vec![name], theirs: false }
            }
            Some("INDEX") => {
                let list = |key| attribute(key).map(|list| list.try_iter().map(Vec::from_iter)).transpose();
                let list = |key| list(key).map(Option::unwrap_or_default).map_err(|_| wrong("no list"));
                Made::Index(Index {
                    name: name.as_str().ok_or_else(|| wrong("no name"))?.to_owned(),
                    table: whole(&attribute("on").ok_or_else(|| wrong("no table"))?)?,
                    columns: list("columns")?
                        .iter()
                        .map(column)
                        .collect::<Option<_>>()
                        .ok_or_else(|| wrong("no columns"))?,
                    include: list("include")?
                        .iter()
                        .map(|value| attr(value, "name"))
                        .collect::<Option<_>>()
                        .ok_or_else(|| wrong("no columns"))?,
                    filter: attribute("where").map(|filter| filter.to_string()).filter(|filter| !filter.is_empty()),
                    unique: attribute("unique").is_some_and(|value| value.is_true()),
                    optional: attribute("optional").is_some_and(|value| value.is_true()),
                })
            }
            Some("GRANT") => Made::Grant(Grant {
                right: name.as_str().ok_or_else(|| wrong("no right"))?.to_owned(),
                on: whole(&attribute("on").ok_or_else(|| wrong("no object"))?)?,
                role: attribute("to").ok_or_else(|| wrong("no role"))?.to_string(),
            }),
            Some(_) => return Err(wrong("an unknown kind")),
        };
        Ok(Self { file, makes, definition: pack(&statement.text) })
    }
}

/// A text names an object in our schema; a user's table comes with its own.
fn named(schema: &Identifier, value: &Value) -> Option<Name> {
    match value.as_str() {
        Some(name) => Some(Name { schema: schema.as_str().to_owned(), name: name.to_owned() }),
        None => Some(Name { schema: attr(value, "schema")?, name: attr(value, "name")? }),
    }
}

fn column(value: &Value) -> Option<IndexColumn> {
    Some(IndexColumn {
        name: attr(value, "name")?,
        expression: attr(value, "expression"),
        descending: value.get_attr("descending").is_ok_and(|value| value.is_true()),
    })
}

fn attr(value: &Value, name: &str) -> Option<String> {
    value.get_attr(name).ok()?.as_str().map(str::to_owned)
}
