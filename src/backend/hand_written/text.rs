//! The statements around the procedures.

use crate::catalog::{CatalogProcedure, Meaning, Parameter, ProcedureCall, QueueShape, TableColumn, TypeFamily};
use crate::dialect::Dialect;
use crate::error::Result;
use crate::ident::Identifier;
use minijinja::{Value, context};

/// A call of a procedure.
pub(in crate::backend) fn call(dialect: Dialect, call: &ProcedureCall, local_time: bool) -> Result<String> {
    let procedure = dialect.exact(&call.procedure.schema, &call.procedure.name)?;
    dialect.statement("foreign/call", context! { procedure, arguments => arguments(dialect, call)?, local_time })
}

/// A call of a procedure with these parameters, each as text.
pub(crate) fn invoke(dialect: Dialect, procedure: &CatalogProcedure, given: &[&Parameter]) -> Result<String> {
    let name = dialect.exact(&procedure.schema, &procedure.name)?;
    let arguments: Vec<_> =
        given.iter().map(|parameter| argument(dialect, parameter, kind(parameter.family))).collect::<Result<_>>()?;
    let context = context! { procedure => name, arguments, is_called => procedure.is_called, local_time => false };
    dialect.statement("foreign/invoke", context)
}

/// A call of `Modify_` for an item.
pub(super) fn modify(dialect: Dialect, shape: &QueueShape, local_time: bool) -> Result<String> {
    let call = &shape.modify;
    let at = |meaning| call.arguments.iter().position(|(_, known)| *known == meaning).map_or(0, |place| place + 1);
    let type_of =
        |meaning| call.arguments.iter().find(|(_, known)| *known == meaning).map(|(p, _)| p.type_name.clone());
    let context = context! {
        procedure => dialect.exact(&call.procedure.schema, &call.procedure.name)?,
        arguments => arguments(dialect, call)?,
        local_time,
        view => shape.view.quoted.as_str(),
        key => quoted(dialect, &shape.key.name)?,
        token => quoted(dialect, &shape.token.name)?,
        key_at => at(Meaning::Key),
        token_at => at(Meaning::Token),
        key_type => type_of(Meaning::Key),
        token_type => type_of(Meaning::Token),
    };
    dialect.statement("foreign/modify", context)
}

/// A query of `count` items by their keys.
pub(super) fn look(dialect: Dialect, shape: &QueueShape, count: usize) -> Result<String> {
    // The key's type as a parameter of Modify_, which the catalog has whole.
    let key_type = shape.modify.arguments.iter().find(|(_, meaning)| *meaning == Meaning::Key);
    let key_kind = if shape.key.family == TypeFamily::CoarseTime { "coarse" } else { kind(shape.key.family) };
    let context = context! {
        view => shape.view.quoted.as_str(),
        key => quoted(dialect, &shape.key.name)?,
        key_kind,
        key_type => key_type.map(|(parameter, _)| parameter.type_name.clone()),
        count,
    };
    dialect.statement("foreign/look", context)
}

/// A query of the number of items in each state.
pub(super) fn counts(dialect: Dialect, shape: &QueueShape, status: &TableColumn) -> Result<String> {
    let context = context! { view => shape.view.quoted.as_str(), status => quoted(dialect, &status.name)? };
    dialect.statement("foreign/counts", context)
}

fn arguments(dialect: Dialect, call: &ProcedureCall) -> Result<Vec<Value>> {
    call.arguments
        .iter()
        .map(|(parameter, meaning)| {
            argument(dialect, parameter, if *meaning == Meaning::Due { "due" } else { kind(parameter.family) })
        })
        .collect()
}

fn argument(dialect: Dialect, parameter: &Parameter, kind: &str) -> Result<Value> {
    Ok(context! {
        name => parameter.name.as_str(),
        quoted => quoted(dialect, &parameter.name)?,
        type => parameter.type_name.as_str(),
        kind,
    })
}

fn quoted(dialect: Dialect, name: &str) -> Result<String> {
    Ok(Identifier::new("a name", name)?.quoted(dialect.quote_style()))
}

/// The form in which a value is sent.
fn kind(family: TypeFamily) -> &'static str {
    match family {
        // A datetime takes a datetime2, but not its text.
        TypeFamily::Time | TypeFamily::CoarseTime | TypeFamily::Date => "time",
        TypeFamily::ZonedTime => "zoned",
        TypeFamily::Integer(_) | TypeFamily::Boolean => "integer",
        TypeFamily::Guid => "guid",
        TypeFamily::Binary => "binary",
        TypeFamily::Float
        | TypeFamily::Decimal
        | TypeFamily::Text
        | TypeFamily::Enum
        | TypeFamily::Json
        | TypeFamily::List
        | TypeFamily::Other => "text",
    }
}
