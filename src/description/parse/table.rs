//! `table`: a table that was there before readpast.

use super::at::At;
use super::keys::Kind::{Choice, Either, Flag, Name, Names, OptionalName, Own};
use super::keys::{self, Key, key, needed, or, special};
use super::{columns, rows, states};
use crate::description::{
    ColumnKind, IndexSpec, KeyColumn, KeySource, KeyText, LifecycleSpec, QueueSpec, SeekColumn, SettingsTableSpec,
    Storage, TableSpec,
};
use crate::error::Result;
use crate::ident::Identifier;
use serde_json::{Value, json};

pub(super) static TABLE: [Key<TableSpec>; 13] = [
    or("`dbo`; in PostgreSQL `public`", key("schema", OptionalName(|table| &mut table.schema), "The table's schema.")),
    needed(key("name", Name(|table| &mut table.name), "The table's name.")),
    key("create", Flag(|table| &mut table.create), "Whether `install` makes the table when it is missing."),
    needed(key(
        "key",
        Own(
            "list of key columns, or of names",
            |at, table| {
                table.key = at.list(1)?.iter().map(key_column).collect::<Result<_>>()?;
                Ok(())
            },
            |table| Some(table.key.iter().map(|column| keys::write(&KEY_COLUMN, column, &no_key_column())).collect()),
        ),
        "The key of an item. A name alone is a `bigint` whose value the table makes.",
    )),
    key(
        "seek",
        Own("column = list of values", seek, written_seek),
        "Columns before the key in the index by which an item is found, with all values that they can have.",
    ),
    key(
        "time",
        Either(["utc", "local"], false, |table| &mut table.local_time),
        "Whether the times in the table are UTC or the server's local time.",
    ),
    key(
        "run_time",
        Flag(|table| &mut table.run_time),
        "Whether `started` gets one time that the worker gives for its whole run, as a correlation id.",
    ),
    or(
        "none",
        key(
            "lifecycle",
            Own(
                "role = column",
                |at, table| keys::read(at, &LIFECYCLE, &mut table.lifecycle).map(drop),
                |table| Some(keys::write(&LIFECYCLE, &table.lifecycle, &LifecycleSpec::default()).into()),
            ),
            "Which columns take part in an item's life: see below.",
        ),
    ),
    or(
        "all rows",
        key(
            "where",
            Own(
                "column = condition",
                |at, table| rows::rows(at).map(|rows| table.rows = rows),
                |table| (!table.rows.is_empty()).then(|| rows::written(&table.rows)),
            ),
            "Which rows are this queue's, in a table that it shares: see below.",
        ),
    ),
    or(
        "(this or `status`), or [presence](#states)",
        key(
            "states",
            Own(
                "state = conditions",
                |at, table| states::conditions_by_state(at).map(|states| table.states = states),
                |table| (!table.shows_presence()).then(|| states::written(&table.states)),
            ),
            "How the table shows the state of an item: see below.",
        ),
    ),
    or(
        "(this or `states`)",
        key(
            "status",
            Own("`{ column, values }`", states::status_column, |_| None),
            "Short for `states` if one column shows it: `values` has state = value.",
        ),
    ),
    or(
        "`IX_<queue>_Due`, made by readpast",
        key(
            "index",
            Own(
                "`{ name, columns }`",
                |at, table| keys::read(at, &INDEX, &mut table.index).map(drop),
                |table| {
                    table.index.name.is_some().then(|| keys::write(&INDEX, &table.index, &IndexSpec::default()).into())
                },
            ),
            "The index of the table that serves the claim: first the columns that tell Pending, then those of the order.",
        ),
    ),
    or(
        "readpast's `AppSettings`",
        key(
            "settings",
            Own("name, or a table with `schema`, `name`, `param`, `value`", settings, |table| {
                Some(keys::write(&SETTINGS, table.settings.as_ref()?, &no_settings()).into())
            }),
            "An existing table of settings. Each call reads `maxAttempts` and `leaseMs` of the queue from it, and from nowhere else. \
         `param` (`Param`) is its column of names, like `syncqueue.maxAttempts`; `value` (`ValInt`) that of whole numbers. If it has \
         no row, NULL, or a value below 1, the description counts. The owner of readpast's objects must own this table, or be able to \
         read it.",
        ),
    ),
];

pub(super) static KEY_COLUMN: [Key<KeyColumn>; 5] = [
    needed(key("name", Name(|column| &mut column.name), "Its name.")),
    or(
        "`bigint`",
        key(
            "type",
            Own(
                "`integer`, `bigint`, `decimal(p, s)`, `guid`, `text(n)`, `binary(n)`, `timestamp`",
                |at, column| columns::kind(at).map(|kind| column.kind = kind),
                |column| Some(json!(column.kind.to_string())),
            ),
            "Its type. The key of an item has bytes as hexadecimal digits.",
        ),
    ),
    special(or(
        "`nvarchar`, in PostgreSQL `varchar` or `text`",
        key(
            "stored",
            Choice(
                &["usual", "varchar", "char"],
                |column| column.stored as usize,
                |column, nth| column.stored = [KeyText::Usual, KeyText::Varchar, KeyText::Char][nth],
            ),
            "The form of its text in the table, where it is another: an index is used only if both sides have one type.",
        ),
    )),
    or(
        "the database's",
        key(
            "collation",
            OptionalName(|column| &mut column.collation),
            "Its collation in SQL Server, which compares no text with text of another one. PostgreSQL takes it from the table.",
        ),
    ),
    or(
        "`\"table\"` for `integer` and `bigint`, else `\"producer\"`",
        key(
            "source",
            Choice(
                &["table", "producer"],
                |column| column.source as usize,
                |column, nth| column.source = [KeySource::Table, KeySource::Producer][nth],
            ),
            "Where the value of a new item comes from: an identity of the table, or the item. A GUID that the item leaves out is \
         generated.",
        ),
    ),
];

pub(super) static LIFECYCLE: [Key<LifecycleSpec>; 13] = [
    key("type", OptionalName(|life| &mut life.kind), "The kind of work. Needed with more than one type."),
    key(
        "enqueued",
        OptionalName(|life| &mut life.enqueued),
        "When the item was enqueued. Filled in if the producer does not give it.",
    ),
    key("due", OptionalName(|life| &mut life.due), "Not before this time. NULL counts as due."),
    key("started", OptionalName(|life| &mut life.started), "When the current attempt began."),
    key("finished", OptionalName(|life| &mut life.finished), "When the item was finished."),
    key("duration", OptionalName(|life| &mut life.duration), "Milliseconds from started to finished."),
    key("attempts", OptionalName(|life| &mut life.attempts), "Claims so far. NULL counts as 0."),
    key("owner", OptionalName(|life| &mut life.owner), "The worker that holds the claim."),
    key("lease_until", OptionalName(|life| &mut life.lease_until), "The deadline of the claim."),
    key("step", OptionalName(|life| &mut life.step), "Where a job of many steps is."),
    key(
        "response",
        OptionalName(|life| &mut life.response),
        "The response of the last call. In PostgreSQL also a `json` or `jsonb` column, which keeps a document as such and other text \
         as a string; or a list (`text[]`, `jsonb[]`), to which it is added.",
    ),
    key(
        "error",
        OptionalName(|life| &mut life.error),
        "The last error. In PostgreSQL also `json`, `jsonb` or a list of texts or documents. To a list each error is added, unless it \
         says the same as the last; nothing is taken out.",
    ),
    key("token", OptionalName(|life| &mut life.token), "The time of the last change, a `datetime2` or `timestamptz`."),
];

static INDEX: [Key<IndexSpec>; 2] = [
    needed(key("name", OptionalName(|index| &mut index.name), "")),
    needed(key("columns", Names("list of columns", |index| &mut index.columns), "")),
];

static SETTINGS: [Key<SettingsTableSpec>; 4] = [
    key("schema", OptionalName(|settings| &mut settings.schema), ""),
    needed(key("name", Name(|settings| &mut settings.name), "")),
    key("param", Name(|settings| &mut settings.param), ""),
    key("value", Name(|settings| &mut settings.value), ""),
];

/// A table without a name, as reading begins.
pub(super) fn start() -> TableSpec {
    TableSpec {
        schema: None,
        name: Identifier::known("none"),
        create: false,
        key: Vec::new(),
        seek: Vec::new(),
        local_time: false,
        rows: Vec::new(),
        states: Vec::new(),
        lifecycle: LifecycleSpec::default(),
        run_time: false,
        index: IndexSpec::default(),
        claimed_by: None,
        settings: None,
    }
}

/// Reads `table`.
pub(super) fn read(at: &At<'_>, spec: &mut QueueSpec) -> Result<()> {
    let mut table = start();
    keys::read(at, &TABLE, &mut table)?;
    spec.storage = Storage::Table(Box::new(table));
    Ok(())
}

/// Writes it.
pub(super) fn written(spec: &QueueSpec) -> Option<Value> {
    let Storage::Table(table) = &spec.storage else { return None };
    Some(keys::write(&TABLE, table.as_ref(), &start()).into())
}

pub(super) fn no_key_column() -> KeyColumn {
    KeyColumn::new(Identifier::known("none"), ColumnKind::BigInteger, KeySource::Table)
}

fn key_column(at: &At<'_>) -> Result<KeyColumn> {
    let mut column = no_key_column();
    if at.is_text() {
        return Ok(KeyColumn { name: at.identifier()?, ..column });
    }
    let given = keys::read(at, &KEY_COLUMN, &mut column)?;
    if given.get("source").is_none() && !matches!(column.kind, ColumnKind::Integer | ColumnKind::BigInteger) {
        column.source = KeySource::Producer;
    }
    Ok(column)
}

fn seek(at: &At<'_>, table: &mut TableSpec) -> Result<()> {
    let values = |at: &At<'_>| at.list(1)?.iter().map(At::literal).collect::<Result<_>>();
    let members = at.members()?;
    let columns = members.iter().map(|(name, at)| Ok(SeekColumn { name: at.name(name)?, values: values(at)? }));
    table.seek = columns.collect::<Result<_>>()?;
    Ok(())
}

fn written_seek(table: &TableSpec) -> Option<Value> {
    let column = |seek: &SeekColumn| (seek.name.as_written(), seek.values.iter().map(states::literal).collect());
    (!table.seek.is_empty()).then(|| Value::Object(table.seek.iter().map(column).collect()))
}

fn no_settings() -> SettingsTableSpec {
    let (param, value) = (Identifier::known("Param"), Identifier::known("ValInt"));
    SettingsTableSpec { schema: None, name: Identifier::known("none"), param, value }
}

/// Reads `settings`: its name, when its columns are named as in readpast's own.
fn settings(at: &At<'_>, table: &mut TableSpec) -> Result<()> {
    let mut settings = no_settings();
    if at.is_text() {
        settings.name = at.identifier()?;
    } else {
        keys::read(at, &SETTINGS, &mut settings)?;
    }
    table.settings = Some(settings);
    Ok(())
}
