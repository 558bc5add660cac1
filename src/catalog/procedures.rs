//! Compares hand-written procedures with the description of their queue: the meaning of each parameter.

use super::procedure::{CatalogProcedure, Parameter, bare, find_procedure};
use super::{CatalogTable, TableColumn, TypeFamily, find_table};
use crate::description::{ClaimedBySpec, ProceduresSpec, QueueSpec, TableSpec};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, nearest};
use crate::session::Session;

/// The meaning of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Key,
    Token,
    Status,
    Step,
    Response,
    Error,
    Due,
    Worker,
    LeaseMs,
    Type,
    /// The queue's own column of this number.
    Column(usize),
}

/// A procedure, with its known parameters and the others.
#[derive(Debug, Clone)]
pub(crate) struct ProcedureCall {
    pub(crate) procedure: CatalogProcedure,
    pub(crate) arguments: Vec<(Parameter, Meaning)>,
    /// Parameters of unknown meaning; they keep their defaults.
    pub(crate) unknown: Vec<String>,
}

/// The procedures and the view of a queue.
#[derive(Debug, Clone)]
pub(crate) struct QueueShape {
    pub(crate) next: ProcedureCall,
    pub(crate) modify: ProcedureCall,
    pub(crate) add: Option<ProcedureCall>,
    pub(crate) view: CatalogTable,
    pub(crate) key: TableColumn,
    pub(crate) token: TableColumn,
}

/// The most characters of a token: an outcome has a field of its own for it, in C one of 40 bytes. Times, numbers and GUIDs are
/// shorter; of text that is not ASCII, fewer characters fit, and a token that does not fit is left out.
const LONGEST_TOKEN: i64 = 39;

impl ProcedureCall {
    /// Whether the procedure has a parameter of this meaning.
    pub(crate) fn takes(&self, meaning: Meaning) -> bool {
        self.arguments.iter().any(|(_, known)| *known == meaning)
    }
}

/// The queue's procedures and view in the catalog.
///
/// # Errors
/// [`ErrorKind::SchemaMismatch`] names the missing object and its place in the description.
pub(crate) fn shape(session: &mut Session, spec: &QueueSpec, procedures: &ProceduresSpec) -> Result<QueueShape> {
    let dialect = session.dialect();
    let schema = dialect.schema_of(procedures.schema.as_ref());
    let view = find_table(session, &schema, &procedures.view)?.ok_or_else(|| {
        let view = dialect.in_catalog(&procedures.view);
        refuse(format!(
            "there is no view {}.{view}, which procedures.view names, or this login has no right on it",
            schema.as_str()
        ))
    })?;
    let column = |place: &str, name: &Identifier| {
        view.column(name).cloned().ok_or_else(|| {
            let names: Vec<_> = view.columns.iter().map(|column| column.name.as_str()).collect();
            let near = nearest(name.as_str(), names.iter().copied());
            let near = near.map_or_else(|| format!("it has {}", names.join(", ")), |near| format!("there is {near}"));
            refuse(format!("the view {} has no column {}, which {place} names; {near}", view.name, name.as_str()))
        })
    };
    let key = column("procedures.key", &procedures.key)?;
    let token = column("procedures.token", &procedures.token)?;
    if token.family == TypeFamily::Text && token.length.is_none_or(|length| length > LONGEST_TOKEN) {
        return Err(refuse(format!(
            "the column {}.{}, which procedures.token names, is {}; a token is a time, a number, a GUID or text of at most \
             {LONGEST_TOKEN} characters",
            view.name,
            token.name,
            token.declared()
        )));
    }
    for (i, own) in spec.columns.iter().enumerate() {
        column(&format!("columns[{i}]"), &own.name)?;
    }
    let names = WordMeanings { key: bare(&key.name), token: bare(&token.name), spec };
    let mut call = |place: &str, name: &Identifier, is_add: bool| -> Result<ProcedureCall> {
        let found = find(session, &schema, place, name)?;
        understood(place, found, |parameter| names.meaning(parameter, is_add))
    };
    let next = call(NEXT, &procedures.next, false)?;
    let modify = call("procedures.modify", &procedures.modify, false)?;
    let add = procedures.add.as_ref().map(|add| call("procedures.add", add, true)).transpose()?;
    for (meaning, column) in [(Meaning::Key, &key), (Meaning::Token, &token)] {
        if !modify.takes(meaning) {
            return Err(refuse(format!(
                "{}.{} has no parameter called like the column {}: a call could not name the item",
                modify.procedure.schema, modify.procedure.name, column.name
            )));
        }
    }
    if !modify.takes(Meaning::Status) {
        return Err(refuse(format!(
            "{}.{} has no parameter called Status: a call could not report the outcome of an item",
            modify.procedure.schema, modify.procedure.name
        )));
    }
    Ok(QueueShape { next, modify, add, view, key, token })
}

/// The custom claim procedure of a described table: the worker's name goes to the parameter that is called like the column of the
/// owner, or like a worker.
///
/// # Errors
/// [`ErrorKind::SchemaMismatch`] when it is missing, or has a parameter of unknown meaning, or none for a worker.
pub(crate) fn claimer(session: &mut Session, table: &TableSpec, claimed_by: &ClaimedBySpec) -> Result<ProcedureCall> {
    let schema = session.dialect().schema_of(claimed_by.schema.as_ref());
    let found = find(session, &schema, NEXT, &claimed_by.next)?;
    let owner = table.lifecycle.owner.as_ref().map(|owner| bare(owner.as_str())).unwrap_or_default();
    let call = understood(NEXT, found, |parameter| match parameter {
        _ if parameter == owner => Some(Meaning::Worker),
        "worker" | "workername" | "leaseowner" => Some(Meaning::Worker),
        "leasems" => Some(Meaning::LeaseMs),
        _ => None,
    })?;
    if !call.takes(Meaning::Worker) {
        return Err(refuse(format!(
            "{}.{} has no parameter called like the column of table.lifecycle.owner: a call could not name the worker",
            call.procedure.schema, call.procedure.name
        )));
    }
    Ok(call)
}

const NEXT: &str = "procedures.next";

fn find(session: &mut Session, schema: &Identifier, place: &str, name: &Identifier) -> Result<CatalogProcedure> {
    find_procedure(session, schema, name)?.ok_or_else(|| {
        let name = session.dialect().in_catalog(name);
        refuse(format!(
            "there is no procedure {}.{name}, which {place} names, or this login may not execute it",
            schema.as_str()
        ))
    })
}

/// A procedure with the meaning of its parameters.
fn understood(
    place: &str,
    procedure: CatalogProcedure,
    meaning: impl Fn(&str) -> Option<Meaning>,
) -> Result<ProcedureCall> {
    let whole = format!("{}.{}", procedure.schema, procedure.name);
    if procedure.overloads > 1 {
        let message = format!(
            "there are {} functions {whole}, which {place} names; give one of its own name",
            procedure.overloads
        );
        return Err(refuse(message));
    }
    if procedure.is_called && procedure.selects {
        let message =
            format!("{whole}, which {place} names, is a procedure; make it a function, whose rows can be read");
        return Err(refuse(message));
    }
    let mut arguments = Vec::new();
    let mut unknown = Vec::new();
    for parameter in &procedure.parameters {
        match meaning(&parameter.meaning()) {
            Some(meaning) => arguments.push((parameter.clone(), meaning)),
            None if parameter.needs_value => {
                return Err(refuse(format!(
                    "{whole} needs a value for its parameter {:?}, whose meaning readpast does not know; give it a \
                     default",
                    parameter.name
                )));
            }
            None => unknown.push(parameter.name.clone()),
        }
    }
    Ok(ProcedureCall { procedure, arguments, unknown })
}

/// The meanings of words in this queue.
struct WordMeanings<'a> {
    key: String,
    token: String,
    spec: &'a QueueSpec,
}

impl WordMeanings<'_> {
    fn meaning(&self, name: &str, is_add: bool) -> Option<Meaning> {
        if is_add {
            let own = self.spec.columns.iter().position(|column| bare(column.name.as_str()) == name);
            if let Some(own) = own {
                return Some(Meaning::Column(own));
            }
        } else if name == self.key {
            return Some(Meaning::Key);
        } else if name == self.token {
            return Some(Meaning::Token);
        }
        Some(match name {
            "status" if !is_add => Meaning::Status,
            "type" if is_add => Meaning::Type,
            "step" => Meaning::Step,
            "response" if !is_add => Meaning::Response,
            "error" if !is_add => Meaning::Error,
            "scheduledfor" | "due" | "dueat" => Meaning::Due,
            "worker" | "workername" | "leaseowner" => Meaning::Worker,
            "leasems" => Meaning::LeaseMs,
            _ => return None,
        })
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::SchemaMismatch, message)
}
