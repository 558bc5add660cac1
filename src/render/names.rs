//! How the columns of a queue's table are called in the SQL of a server.

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

    /// As it stands in SQL. A table that somebody else made has its names as they would be written there. In our own a name
    /// that the description gives is kept to the letter, and our columns are in each server's own manner: `LeaseOwner`,
    /// `lease_owner`.
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

    /// As the catalog has it.
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

    /// A name of ours, given as SQL Server has it. It needs no quotes in PostgreSQL.
    pub(super) fn ours(dialect: Dialect, name: &str) -> String {
        match (dialect, QueueName::new(name)) {
            (Dialect::Postgres, Ok(name)) => name.snake_case(),
            _ => format!("[{name}]"),
        }
    }
}
