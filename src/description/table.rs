//! A table that was there before readpast: which of its columns mean what. The table keeps its shape; what it has no
//! column for is kept beside it, in `<queue>_Lease`.

use super::{ClaimedBySpec, ColumnKind};
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
    /// What names an item: one column or more.
    pub key: Vec<KeyColumn>,
    /// Columns that stand before the key in the index by which an item is found, each with all values it can have.
    pub seek: Vec<SeekColumn>,
    /// What the times in the table are: UTC, or the server's local time.
    pub local_time: bool,
    /// How the table says in which state an item is, in the order of [`ItemState::ALL`]. Pending, Processing and, unless
    /// completed items leave the table, Completed are always there.
    pub states: Vec<StateSpec>,
    /// Which columns take part in the life of an item.
    pub lifecycle: LifecycleSpec,
    /// Whether the column `started` gets the time that the worker gives for its whole run, as a correlation id, instead of
    /// the time of the claim.
    pub run_time: bool,
    /// The index that serves the claim.
    pub index: IndexSpec,
    /// Whose procedure claims, where it is not readpast's.
    pub claimed_by: Option<ClaimedBySpec>,
    /// The table of settings that counts for this queue, where it is not readpast's.
    pub settings: Option<SettingsTableSpec>,
}

impl TableSpec {
    /// The table of a subtype, as it would be written there: beside this one, and called after both.
    pub(crate) fn of_subtype(&self, subtype: &Identifier) -> Identifier {
        let (name, subtype) = (self.name.as_str(), subtype.as_str());
        let exact = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        let named = exact.map_or_else(|| format!("{name}_{subtype}"), |exact| format!("\"{exact}_{subtype}\""));
        // Checked with the description.
        Identifier::new("the table of a subtype", &named).unwrap_or_else(|_| self.name.clone())
    }
}

/// A table of settings that was there before: a row for each, by its name.
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
    /// Its type: integer, bigint, guid, text(n) or timestamp.
    pub kind: ColumnKind,
    /// Where the value of a new item comes from.
    pub source: KeySource,
}

/// Where the value of a new item's key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// The table: an identity or a default.
    Table,
    /// The producer, among the item's columns. A GUID that it leaves out is made.
    Producer,
}

/// A column that leads an index, with all values it can have.
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

/// How the table says that an item is in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSpec {
    /// The state.
    pub state: ItemState,
    /// What holds then, all of it.
    pub conditions: Vec<ColumnCondition>,
}

/// What a column holds in some state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnCondition {
    /// The column.
    pub column: Identifier,
    /// What it holds.
    pub holds: Holds,
}

/// What a column holds in some state; entering the state makes it so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// This value.
    Value(Literal),
    /// NULL.
    Null,
    /// Anything but NULL. Only for columns of the life cycle: a time becomes that of the change, the error its text.
    Something,
}

/// The columns of a described table that take part in an item's life. What has no column is kept in `<queue>_Lease`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LifecycleSpec {
    /// The kind of work.
    pub kind: Option<Identifier>,
    /// When the item was enqueued; filled in when the producer does not.
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
    /// Whose claim it is.
    pub owner: Option<Identifier>,
    /// Until when.
    pub lease_until: Option<Identifier>,
    /// Where a job of many steps is.
    pub step: Option<Identifier>,
    /// What the last call said.
    pub response: Option<Identifier>,
    /// What went wrong last.
    pub error: Option<Identifier>,
    /// The last change, a datetime2 or timestamptz: the token.
    pub token: Option<Identifier>,
}

impl TableSpec {
    /// The columns that name an item, take part in its life, or tell its state, each once.
    pub(crate) fn columns_of_its_own(&self) -> Vec<&Identifier> {
        let key = self.key.iter().map(|column| &column.name);
        let life = self.lifecycle.columns().into_iter().map(|(_, name)| name);
        let compared = self.states.iter().flat_map(|state| &state.conditions).map(|condition| &condition.column);
        let mut once: Vec<&Identifier> = Vec::new();
        for name in key.chain(life).chain(compared) {
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
    /// The columns that are there, each with its role as a description calls it.
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
