//! A table as the catalog and the statistics have it, and how much of it speaks for a queue.

use super::meaning::{self, Role};
use super::{Churn, known};

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// The name of its base type.
    pub(super) kind: String,
    pub(super) length: i64,
    pub(super) nullable: bool,
    /// Whether the table numbers new rows in it.
    pub(super) numbered: bool,
    pub(super) default: Option<String>,
    /// Its place in the primary key, from 1; 0: none.
    pub(super) key_place: i64,
    /// The values that it has, where they are few and known.
    pub(super) values: Vec<String>,
    pub(super) computed: bool,
}

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
    /// About how many rows it has.
    pub(super) items: i64,
    pub(super) is_heap: bool,
    pub(super) escalates: bool,
    pub(super) columns: Vec<Column>,
}

impl Column {
    pub(super) fn is_time(&self) -> bool {
        let kinds = ["timestamp", "timestamptz", "datetime", "datetime2", "datetimeoffset", "smalldatetime"];
        // SQL Server's timestamp is a row version.
        kinds.contains(&self.kind.as_str()) && !(self.kind == "timestamp" && self.length == 8)
    }

    pub(super) fn is_text(&self) -> bool {
        ["text", "varchar", "bpchar", "nvarchar", "nchar", "char", "citext", "ntext"].contains(&self.kind.as_str())
    }

    pub(super) fn is_whole(&self) -> bool {
        ["int2", "int4", "int8", "tinyint", "smallint", "int", "bigint"].contains(&self.kind.as_str())
    }

    pub(super) fn is_flag(&self) -> bool {
        ["bool", "bit"].contains(&self.kind.as_str())
    }
}

impl Table {
    /// The column with this role in an item's life.
    pub(super) fn role(&self, role: Role) -> Option<&Column> {
        self.columns.iter().filter(|column| column.key_place == 0).find(|column| meaning::role(column) == Some(role))
    }

    /// The column that shows the state, if there is one.
    pub(super) fn state(&self) -> Option<&Column> {
        let mut shows: Vec<_> = self.columns.iter().filter(|column| meaning::shows_state(column)).collect();
        // Known values say more than a name.
        shows.sort_by_key(|column| (column.values.is_empty(), column.is_flag()));
        shows.into_iter().next()
    }

    /// Whether code speaks of it.
    pub(super) fn is_named_by(&self, source: &str) -> bool {
        let name = self.name.to_lowercase();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        source.match_indices(&name).any(|(at, _)| {
            let before = source[..at].chars().next_back().is_none_or(|c| !is_part(c));
            before && source[at + name.len()..].chars().next().is_none_or(|c| !is_part(c))
        })
    }

    /// The evidence for a queue, and its weight.
    pub(super) fn evidence<'a>(&self, churn: Churn, code: impl Iterator<Item = &'a str>) -> (u32, Vec<String>) {
        let mut score = 0;
        let mut evidence = Vec::new();
        let mut say = |points: u32, what: String| {
            score += points;
            evidence.push(what);
        };
        if let Some(system) = known::system(self) {
            say(6, format!("its name and columns are those of {}", system.name));
        }
        let lower = self.name.to_lowercase();
        let words = ["queue", "job", "outbox", "inbox", "task", "message", "envelope"];
        if let Some(word) = words.into_iter().find(|word| lower.contains(word)) {
            say(1, format!("it is called {:?}, with {word:?} in it", self.name));
        }
        if let Some(column) = self.state() {
            let known: Vec<_> = column.values.iter().filter(|value| meaning::state(value).is_some()).collect();
            if known.is_empty() {
                say(1, format!("{} looks like a state", column.name));
            } else {
                let shown: Vec<_> = column.values.iter().take(8).map(String::as_str).collect();
                say(2, format!("{} has few values: {}", column.name, shown.join(", ")));
            }
        }
        for role in Role::ALL {
            if let Some(column) = self.role(role).filter(|_| role.points() > 0) {
                say(role.points(), format!("{} looks like {}", column.name, role.what()));
            }
        }
        if churn.inserted > 1000 && churn.deleted * 2 > churn.inserted && self.items * 10 < churn.inserted {
            say(
                2,
                format!(
                    "rows come and go: {} were inserted and {} deleted, and there are about {}",
                    churn.inserted, churn.deleted, self.items
                ),
            );
        } else if churn.inserted > 1000 && churn.updated > churn.inserted {
            say(1, format!("rows change after they have come: {} inserts, {} updates", churn.inserted, churn.updated));
        }
        for name in code.take(5) {
            say(2, format!("{name} claims rows of it, or locks them"));
        }
        (score, evidence)
    }
}
