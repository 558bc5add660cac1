//! The database's catalog: the user's tables with their columns, indexes and triggers, and procedures with their parameters. Read
//! once, compared with a description without a further round trip.

mod alias;
mod fit;
mod procedure;
mod procedures;
mod server;
mod table;
mod types;

pub(crate) use self::{
    alias::check_types,
    fit::{fit, refuse_unfit},
    procedure::{CatalogProcedure, Parameter, bare, find_procedure},
    procedures::{Meaning, ProcedureCall, QueueShape, claimer, shape},
    server::{ServerFacts, server_facts},
    table::{CatalogTable, TableColumn, TableIndex, find_table},
    types::TypeFamily,
};

use crate::item::{Rows, Value};

/// The text of a cell, empty where it is NULL.
pub(crate) fn text(rows: &Rows, row: usize, column: usize) -> String {
    match rows.value(row, column) {
        Value::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

/// The text of a cell; `None` where it is NULL.
pub(crate) fn optional_text(rows: &Rows, row: usize, column: usize) -> Option<String> {
    match rows.value(row, column) {
        Value::Text(text) => Some(text.to_owned()),
        _ => None,
    }
}

/// The number in a cell; `None` where it is NULL.
pub(crate) fn number(rows: &Rows, row: usize, column: usize) -> Option<i64> {
    match rows.value(row, column) {
        Value::Integer(number) => Some(number),
        Value::Boolean(value) => Some(value.into()),
        // Some drivers return booleans as characters.
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// Whether a cell holds a number other than 0.
pub(crate) fn flag(rows: &Rows, row: usize, column: usize) -> bool {
    number(rows, row, column).is_some_and(|number| number != 0)
}
