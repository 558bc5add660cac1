//! A table that was there before readpast: the meaning of its columns. The table keeps its shape; the side table `<queue>_Lease`
//! has the rest.

use super::{ClaimedBySpec, ColumnKind, RowCondition};
use crate::ident::Identifier;
use crate::item::ItemState;

/// A described table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpec {
    /// Its schema; without it the server's usual one, `dbo` or `public`.
    pub schema: Option<Identifier>,
    /// Its name.
    pub name: Identifier,
    /// Whether `install` makes it when it is missing.
    pub create: bool,
    /// The columns of an item's key: one or more.
    pub key: Vec<KeyColumn>,
    /// Columns that stand before the key in the index that finds an item, each with all its possible values.
    pub seek: Vec<SeekColumn>,
    /// Whether the table's times are the server's local time, or UTC.
    pub local_time: bool,
    /// The rows that are this queue's: all, or those that meet each of these conditions.
    pub rows: Vec<RowCondition>,
    /// How the table shows the state of an item, in the order of [`ItemState::ALL`]. Pending, Processing and, unless completed
    /// items leave the table, Completed are always there; or none is, where a row is there as long as its work waits.
    pub states: Vec<StateSpec>,
    /// The columns of an item's life cycle.
    pub lifecycle: LifecycleSpec,
    /// Whether the column `started` gets the time of the worker's whole run, as a correlation id, instead of the time of the
    /// claim.
    pub run_time: bool,
    /// The index that serves the claim.
    pub index: IndexSpec,
    /// The custom claim procedure, if there is one.
    pub claimed_by: Option<ClaimedBySpec>,
    /// The table with this queue's settings, if it is not readpast's.
    pub settings: Option<SettingsTableSpec>,
}

impl TableSpec {
    /// The table of a subtype, as SQL writes it: in the same schema, and named after both.
    pub(crate) fn of_subtype(&self, subtype: &Identifier) -> Identifier {
        // Checked with the description.
        let named = self.name.with_ending("the table of a subtype", &format!("_{}", subtype.as_str()));
        named.unwrap_or_else(|_| self.name.clone())
    }
}

/// A table of settings that was there before, with a row for each name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsTableSpec {
    /// Its schema; without it the server's usual one, `dbo` or `public`.
    pub schema: Option<Identifier>,
    /// Its name.
    pub name: Identifier,
    /// The column of the names, like `syncqueue.maxAttempts`.
    pub param: Identifier,
    /// The column of the values, a whole number.
    pub value: Identifier,
}

/// A column of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: Identifier,
    /// Its type: integer, bigint, decimal(p, s), guid, text(n), binary(n) or timestamp.
    pub kind: ColumnKind,
    /// The form of its text in the table.
    pub stored: KeyText,
    /// Its collation in SQL Server, where that is not the database's.
    pub collation: Option<Identifier>,
    /// The source of a new item's value.
    pub source: KeySource,
}

impl KeyColumn {
    /// A column of this name: text as each server usually has it, in the database's collation.
    #[must_use]
    pub const fn new(name: Identifier, kind: ColumnKind, source: KeySource) -> Self {
        Self { name, kind, stored: KeyText::Usual, collation: None, source }
    }
}

/// The form of a key's text in the table: compared with text in another one, an index would not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum KeyText {
    /// `nvarchar` or `nchar`; in PostgreSQL `varchar` or `text`.
    #[default]
    Usual,
    /// `varchar`.
    Varchar,
    /// `char`.
    Char,
}

/// The source of the key of a new item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// The table: an identity or a default.
    Table,
    /// The producer, among the item's columns. A GUID that it leaves out is generated.
    Producer,
}

/// A column that leads an index, with all its possible values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeekColumn {
    /// Its name.
    pub name: Identifier,
    /// Its values.
    pub values: Vec<Literal>,
}

/// A constant in a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A whole number.
    Integer(i64),
    /// True or false: a bit.
    Boolean(bool),
    /// Text.
    Text(String),
}

/// How the table shows a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSpec {
    /// The state.
    pub state: ItemState,
    /// The conditions, all of which hold then.
    pub conditions: Vec<ColumnCondition>,
}

/// The value of a column in some state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnCondition {
    /// The column.
    pub column: Identifier,
    /// Its value.
    pub holds: Holds,
}

/// The value of a column in some state; entering the state writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// One of these values, of which entering the state writes the first. There is at least one.
    Values(Vec<Literal>),
    /// NULL.
    Null,
    /// Anything but NULL. Only for columns of the life cycle: a time becomes that of the change, the error its text.
    Something,
}

/// The columns of a described table that take part in an item's life. The side table `<queue>_Lease` has those that are missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifecycleSpec {
    /// The kind of work.
    pub kind: Option<Identifier>,
    /// When the item was enqueued; filled in when the producer does not give it.
    pub enqueued: Option<Identifier>,
    /// Not before this time. NULL counts as due.
    pub due: Option<Identifier>,
    /// When the current attempt began.
    pub started: Option<Identifier>,
    /// When the item was finished.
    pub finished: Option<Identifier>,
    /// Milliseconds from started to finished.
    pub duration: Option<Identifier>,
    /// Claims so far. NULL counts as 0.
    pub attempts: Option<Identifier>,
    /// The holder of the claim.
    pub owner: Option<Identifier>,
    /// The end of its lease.
    pub lease_until: Option<Identifier>,
    /// The step of a job of many steps.
    pub step: Option<Identifier>,
    /// The last response.
    pub response: Option<Identifier>,
    /// The last error.
    pub error: Option<Identifier>,
    /// The last change, a datetime2 or timestamptz: the token.
    pub token: Option<Identifier>,
}

impl TableSpec {
    /// Whether the table shows no state: a row is there as long as its work is not done, and the side table has its state.
    pub(crate) fn shows_presence(&self) -> bool {
        self.states.is_empty()
    }

    /// The columns of key, life cycle, rows and states, each once.
    pub(crate) fn columns_of_its_own(&self) -> Vec<&Identifier> {
        let key = self.key.iter().map(|column| &column.name);
        let life = self.lifecycle.columns().into_iter().map(|(_, name)| name);
        let compared = self.states.iter().flat_map(|state| &state.conditions).map(|condition| &condition.column);
        let rows = self.rows.iter().map(|condition| &condition.column);
        let mut once: Vec<&Identifier> = Vec::new();
        for name in key.chain(life).chain(compared).chain(rows) {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        once
    }

    /// All names that the description gives, each with the key that gives it.
    pub(crate) fn names(&self) -> Vec<(String, &Identifier)> {
        let key = |key: &str| format!("table.{key}");
        let mut names: Vec<_> = self.schema.iter().map(|name| (key("schema"), name)).collect();
        names.push((key("name"), &self.name));
        names.extend(self.key.iter().map(|column| (key("key"), &column.name)));
        names
            .extend(self.lifecycle.columns().into_iter().map(|(role, name)| (key(&format!("lifecycle.{role}")), name)));
        names.extend(self.rows.iter().map(|condition| (key("where"), &condition.column)));
        let conditions = self.states.iter().flat_map(|state| state.conditions.iter().map(move |c| (state.state, c)));
        names.extend(conditions.map(|(state, condition)| (key(&format!("states.{state}")), &condition.column)));
        if let Some(claimed_by) = &self.claimed_by {
            let named =
                [("procedures.schema", claimed_by.schema.as_ref()), ("procedures.next", Some(&claimed_by.next))];
            names.extend(named.into_iter().filter_map(|(key, name)| Some((key.to_owned(), name?))));
        }
        if let Some(settings) = &self.settings {
            let named = [
                ("schema", settings.schema.as_ref()),
                ("name", Some(&settings.name)),
                ("param", Some(&settings.param)),
                ("value", Some(&settings.value)),
            ];
            let named = named.into_iter().filter_map(|(part, name)| Some((key(&format!("settings.{part}")), name?)));
            names.extend(named);
        }
        names.extend(self.index.name.iter().chain(&self.index.columns).map(|name| (key("index"), name)));
        names
    }
}

impl LifecycleSpec {
    /// The life cycle's columns, each with its role in a description.
    #[must_use]
    pub fn columns(&self) -> Vec<(&'static str, &Identifier)> {
        let roles = [
            ("type", &self.kind),
            ("enqueued", &self.enqueued),
            ("due", &self.due),
            ("started", &self.started),
            ("finished", &self.finished),
            ("duration", &self.duration),
            ("attempts", &self.attempts),
            ("owner", &self.owner),
            ("lease_until", &self.lease_until),
            ("step", &self.step),
            ("response", &self.response),
            ("error", &self.error),
            ("token", &self.token),
        ];
        roles.into_iter().filter_map(|(role, column)| Some((role, column.as_ref()?))).collect()
    }
}

/// The index by which the claim finds due items in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexSpec {
    /// An index of the table. Without a name readpast makes one of its own, `IX_<queue>_Due`.
    pub name: Option<Identifier>,
    /// Its columns where it has a name, so that the claim's order can follow them.
    pub columns: Vec<Identifier>,
}
