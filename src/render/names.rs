//! The names of a queue's columns in the SQL of a server.

use crate::description::{OWN_COLUMNS, QueueSpec};
use crate::dialect::Dialect;
use crate::ident::{Identifier, QueueName};
use minijinja::{Value, context};

/// The names of one queue's table.
#[derive(Clone, Copy)]
pub(super) struct TableNames {
    dialect: Dialect,
    own: bool,
}

impl TableNames {
    pub(super) fn of(dialect: Dialect, spec: &QueueSpec) -> Self {
        Self { dialect, own: spec.is_own() }
    }

    /// The name in SQL. The user's table has its names as the user would write them. In our own, a name of the description is
    /// kept literally, and our columns have each server's style: `LeaseOwner`, `lease_owner`.
    pub(super) fn quoted(self, name: &Identifier) -> String {
        let style = self.dialect.quote_style();
        if !self.own {
            return name.quoted_as_written(style);
        }
        if OWN_COLUMNS.contains(&name.as_str()) {
            return Self::ours(self.dialect, name.as_str());
        }
        name.quoted(style)
    }

    /// The name in the catalog.
    pub(super) fn in_catalog(self, name: &Identifier) -> String {
        let ours = self.own && OWN_COLUMNS.contains(&name.as_str());
        match (self.dialect, QueueName::new(name.as_str())) {
            (Dialect::Postgres, Ok(name)) if ours => name.snake_case(),
            _ if self.own => name.as_str().to_owned(),
            _ => self.dialect.in_catalog(name),
        }
    }

    /// A column of an index.
    pub(super) fn column(self, name: &Identifier, descending: bool) -> Value {
        context! { name => self.in_catalog(name), quoted => self.quoted(name), expression => (), descending }
    }

    /// A name of ours, given in SQL Server's style. It needs no quotes in PostgreSQL.
    pub(super) fn ours(dialect: Dialect, name: &str) -> String {
        match (dialect, QueueName::new(name)) {
            (Dialect::Postgres, Ok(name)) => name.snake_case(),
            _ => format!("[{name}]"),
        }
    }
}
