//! The context of T-SQL templates besides that of both servers: names of variables, the index of each statement, and how the
//! elements of a call are read.

mod access;

use super::names::TableNames;
use super::table::literal;
use super::{columns, kinds, subtypes};
use crate::description::{
    ColumnKind, ColumnSpec, Completion, Holds, KeyColumn, KeySource, KeyText, OWN_COLUMNS, QueueSpec, TableSpec,
};
use crate::dialect::Dialect;
use crate::ident::Identifier;
use crate::item::ItemState;
use minijinja::{Value, context};

/// The columns of `<queue>_Lease` besides the key's.
const LEASE_COLUMNS: [&str; 13] = [
    "Status",
    "Step",
    "AttemptNum",
    "Response",
    "Error",
    "StartedAt",
    "FinishedAt",
    "Duration",
    "DueAt",
    "UpdatedAt",
    "LeaseOwner",
    "LeaseUntil",
    "ClaimNum",
];

/// The parameters of `Add_` that are no columns.
const ADD_PARAMETERS: [&str; 3] = ["type", "step", "scheduledfor"];

const DIALECT: Dialect = Dialect::SqlServer;

/// The context of T-SQL's templates: `kind` has that of both servers. The table for the macros, in one piece, is `t`.
pub(super) fn context(schema: &Identifier, spec: &QueueSpec, table: &TableSpec, kind: Value) -> Value {
    // The moment of a call in the form of the table's times.
    let at = if table.local_time { "@_At" } else { "@_Now" };
    let kind = context! { ..context! { at }, ..access::context(spec, table), ..access::enqueue(spec, table), ..kind };
    context! { t => of_table(schema, spec, table, &kind), ..kind }
}

fn of_table(schema: &Identifier, spec: &QueueSpec, table: &TableSpec, kind: &Value) -> Value {
    let own = spec.is_own();
    let beside = table.beside();
    let of_kind = |name: &str| kind.get_attr(name).unwrap_or_default();
    let is = |name: &str| of_kind(name).is_true();
    let ours = |name: String| {
        let name = Identifier::new("a table", &name).map(|name| name.quoted(DIALECT.quote_style()));
        format!("{}.{}", schema.quoted(DIALECT.quote_style()), name.unwrap_or_default())
    };
    let queue = spec.queue.as_str();
    let names = TableNames::of(DIALECT, spec);
    let waits = (!beside).then(|| table.waits()).flatten().map(|(column, values)| {
        let values: Vec<_> = values.into_iter().filter_map(<[_]>::first).map(|value| literal(DIALECT, value)).collect();
        context! { quoted => names.quoted(column), values }
    });
    // A claim seeks one value. What waits under another becomes that one first.
    let staged = table.conditions(ItemState::Pending).iter().find_map(|condition| match &condition.holds {
        Holds::Values(values) => {
            let literals: Vec<_> = values.iter().map(|value| literal(DIALECT, value)).collect();
            let (first, others) = literals.split_first().filter(|(_, others)| !others.is_empty())?;
            Some(context! { quoted => names.quoted(&condition.column), first, others => others.to_vec() })
        }
        _ => None,
    });
    let group = spec.order.group.as_ref();
    let priority = spec.order.priority.as_ref().map(|priority| &priority.column);
    let due_index = table.index.name.as_ref().map_or_else(|| kinds::due_index(spec), |name| names.quoted(name));
    let history = match &spec.completion {
        Completion::History(name) if own => Some(ours(name.as_str().to_owned())),
        Completion::History(name) => {
            let schema = DIALECT.schema_of(table.schema.as_ref());
            Some(format!("{}.{}", names.quoted(&schema), names.quoted(name)))
        }
        _ => None,
    };
    let lifecycle: Vec<_> = OWN_COLUMNS.iter().map(|name| names.quoted(&Identifier::known(name))).collect();
    let payload: Vec<_> = spec.columns.iter().map(|column| names.quoted(&column.name)).collect();
    let row: Vec<_> = lifecycle.iter().chain(&payload).cloned().collect();
    let given = given(spec, table);
    context! {
        own,
        beside,
        key => table.key.iter().enumerate().map(|(at, key)| key_context(spec, key, at)).collect::<Vec<_>>(),
        table => of_kind("table"),
        lease => ours(format!("{queue}_Lease")),
        attempt => ours(format!("{queue}_Attempt")),
        progress => ours(format!("{queue}_Progress")),
        history,
        waits,
        staged,
        state_column => own.then_some("[Status]"),
        // A retry that waits in the side table, or that another program left so.
        parks_errors => beside && is("parks_errors"),
        shows_errors => beside && is("shows_errors"),
        foreign => !own && is("foreign"),
        due_index,
        group_in_due => group.is_some() && group == priority,
        // Reading the token visits the row.
        witness => table.lifecycle.token.is_none().then(|| of_kind("witness")),
        shown => lifecycle,
        row,
        columns => of_kind("columns"),
        payload,
        subtypes => subtypes(schema, spec, table),
        added => added(&of_kind("added"), table, &given, names),
        work => work(spec, table, &given, names),
        given => given.iter().map(|given| given.context(spec)).collect::<Vec<_>>(),
        coded => spec.columns.iter().any(|column| column.sql_type.is_some()) && own,
        numbered => is("numbered"),
        parameters => parameters(spec, table, &given),
        role => of_kind("role"),
        seek => of_kind("seek"),
        rows => of_kind("rows"),
        presence => is("presence"),
        claimable => of_kind("claimable"),
        encodings => of_kind("encodings"),
        pending => of_kind("pending"),
        processing => of_kind("processing"),
        completed => of_kind("completed"),
        written => of_kind("written"),
        completed_is_told => of_kind("completed_is_told"),
        due_leads => of_kind("due_leads"),
        local_time => table.local_time,
        at => of_kind("at"),
        run_time => table.run_time,
        lease_ms => spec.lease.ms,
    }
}

/// The name of the column number `at` of the key in variables, which no column of the table can have.
fn key_variable(at: usize) -> String {
    format!("[Key{}]", at + 1)
}

fn key_context(spec: &QueueSpec, key: &KeyColumn, at: usize) -> Value {
    let quoted = TableNames::of(DIALECT, spec).quoted(&key.name);
    let taken = LEASE_COLUMNS.iter().any(|name| name.eq_ignore_ascii_case(key.name.as_str()));
    context! {
        name => key.name.as_str(),
        type => key_type(key),
        collate => collate(key),
        hex => if let ColumnKind::Binary(Some(bytes)) = key.kind { 2 * u32::from(bytes) } else { 0 },
        is_guid => key.kind == ColumnKind::Guid,
        is_time => key.kind == ColumnKind::Timestamp,
        path => columns::path(key.name.as_str()),
        given => drawn_by_us(spec, key) && !spec.is_own(),
        var => key_variable(at),
        // In the tables of the attempts and of the reports, whose other columns never collide with a name of the table's.
        attempted => if spec.is_own() { quoted.clone() } else { key_variable(at) },
        kept => if taken { key_variable(at) } else { quoted.clone() },
        shown => quoted.clone(),
        quoted,
    }
}

/// The type of a column of the key.
pub(super) fn key_type(key: &KeyColumn) -> String {
    match (key.kind, key.stored) {
        (ColumnKind::Text(Some(length)), KeyText::Varchar | KeyText::Char) => format!("varchar({length})"),
        (kind, _) => DIALECT.column_type(kind),
    }
}

/// Its collation, where it has another than the database: text that is compared with it needs the same.
pub(super) fn collate(key: &KeyColumn) -> String {
    key.collation.as_ref().map(|collation| format!(" COLLATE {}", collation.as_str())).unwrap_or_default()
}

/// Whether a new item's value of this column is known before its row is there. The procedure generates a GUID, and not the table,
/// since otherwise no call could assign the keys to its items; the key of our own table is made of the time and a number.
pub(super) fn drawn_by_us(spec: &QueueSpec, key: &KeyColumn) -> bool {
    key.source == KeySource::Producer || key.kind == ColumnKind::Guid || spec.is_own()
}

/// A column that the elements of `Add_` give.
struct Given {
    column: ColumnSpec,
    var: String,
}

impl Given {
    fn context(&self, spec: &QueueSpec) -> Value {
        let is_work = spec.dedup.iter().any(|dedup| dedup.columns.contains(&self.column.name));
        let column = columns::context(DIALECT, &self.column, !spec.is_own());
        // Text is read at any length, so that the table refuses a long one; but a value to search for has its column's type.
        let read_type = column.get_attr(if is_work { "type" } else { "json_type" }).unwrap_or_default();
        context! { var => self.var.clone(), read_type, ..column }
    }
}

fn given(spec: &QueueSpec, table: &TableSpec) -> Vec<Given> {
    let is_key = |name: &Identifier| table.key.iter().any(|key| key.name == *name);
    let mut columns: Vec<_> = spec.columns.iter().filter(|column| !is_key(&column.name)).cloned().collect();
    // A producer may give the time of enqueueing, named among the columns or not; but in our own table that is the key.
    let enqueued = table.lifecycle.enqueued.as_ref().filter(|_| !spec.is_own());
    if let Some(name) = enqueued.filter(|name| !spec.columns.iter().any(|column| column.name == **name)) {
        columns.push(ColumnSpec::new(name.clone(), ColumnKind::Timestamp));
    }
    let numbered = columns.into_iter().enumerate();
    numbered.map(|(at, column)| Given { column, var: format!("[Column{}]", at + 1) }).collect()
}

/// The columns of a new row, each with the variable that has its value, if an element may give it.
fn added(listed: &Value, table: &TableSpec, given: &[Given], names: TableNames) -> Vec<Value> {
    let Ok(listed) = listed.try_iter() else { return Vec::new() };
    let variable = |quoted: &str| {
        let key = table.key.iter().position(|key| names.quoted(&key.name) == quoted).map(key_variable);
        key.or_else(|| given.iter().find(|given| names.quoted(&given.column.name) == quoted).map(|g| g.var.clone()))
    };
    listed
        .map(|column| {
            let quoted = column.get_attr("quoted").unwrap_or_default().to_string();
            context! { var => variable(&quoted), ..column }
        })
        .collect()
}

/// The columns whose values make an item unique.
fn work(spec: &QueueSpec, table: &TableSpec, given: &[Given], names: TableNames) -> Vec<Value> {
    let columns = spec.dedup.iter().flat_map(|dedup| &dedup.columns);
    columns
        .map(|name| {
            let key = table.key.iter().position(|key| key.name == *name).map(key_variable);
            let column = given.iter().find(|given| given.column.name == *name);
            context! {
                quoted => names.quoted(name),
                var => key.or_else(|| column.map(|given| given.var.clone())),
                nullable => column.is_some_and(|given| given.column.nullable),
            }
        })
        .collect()
}

/// The parameters of `Add_` for one item that are columns.
fn parameters(spec: &QueueSpec, table: &TableSpec, given: &[Given]) -> Vec<Value> {
    let keys = table.key.iter().filter(|key| key.source == KeySource::Producer);
    let keys = keys.map(|key| ColumnSpec::new(key.name.clone(), key.kind));
    let columns = given.iter().map(|given| given.column.clone());
    keys.chain(columns)
        .filter(|column| may_be_parameter(column.name.as_str()))
        .map(|column| {
            let nullable = column.nullable || !spec.is_own();
            let place = columns::path(column.name.as_str()).replacen('$', "$[0]", 1);
            context! { nullable, place, ..columns::context(DIALECT, &column, !spec.is_own()) }
        })
        .collect()
}

/// Whether the name can be a parameter's. A producer's column is a word already; the time of enqueueing may have any name, and
/// then has no parameter. Our own variables begin with an underscore, which no word does.
fn may_be_parameter(name: &str) -> bool {
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && !ADD_PARAMETERS.contains(&name.to_ascii_lowercase().as_str())
}

fn subtypes(schema: &Identifier, spec: &QueueSpec, table: &TableSpec) -> Vec<Value> {
    subtypes::contexts(DIALECT, schema, spec, table)
        .into_iter()
        .map(|subtype| {
            let alias = subtype.get_attr("alias").unwrap_or_default().to_string();
            let columns = subtype.get_attr("columns").and_then(|columns| columns.try_iter().map(Vec::from_iter));
            let columns: Vec<_> = columns
                .unwrap_or_default()
                .into_iter()
                .enumerate()
                .map(|(at, column)| context! { var => format!("[{alias}_{}]", at + 1), ..column })
                .collect();
            context! { columns, ..subtype }
        })
        .collect()
}
