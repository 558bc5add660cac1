//! The call of the procedure: its parameters from the item, and its result.

use crate::backend::{invoke, own_results};
use crate::catalog::{self, Parameter, bare};
use crate::description::{QueueSpec, check_set, check_step, put_key};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::ident::Identifier;
use crate::item::{Item, ItemState, KeyForm, Rows, Value};
use crate::session::{Param, Session};
use serde_json::{Map, json};
use std::fmt::Write as _;

/// A procedure as the catalog describes it.
pub(super) struct Handler {
    dialect: Dialect,
    procedure: catalog::CatalogProcedure,
}

/// The procedure's result.
pub(super) struct HandlerResult {
    pub(super) status: String,
    pub(super) step: Option<String>,
    pub(super) response: Option<String>,
    pub(super) error: Option<String>,
    pub(super) delay_ms: Option<i64>,
    /// Values for columns, a JSON object.
    pub(super) set: Option<String>,
}

impl Handler {
    pub(super) fn find(session: &mut Session, name: &str) -> Result<Self> {
        let dialect = session.dialect();
        let (schema, object) = parts(name)?;
        let schema = dialect.schema_of(schema.as_ref());
        let found = catalog::find_procedure(session, &schema, &object)?;
        let procedure = found.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "there is no procedure {}.{}, or this login may not execute it",
                    schema.as_str(),
                    object.as_str()
                ),
            )
        })?;
        if procedure.overloads > 1 {
            let message =
                format!("there are {} procedures {}; give it a name of its own", procedure.overloads, Excerpt(name));
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(Self { dialect, procedure })
    }

    /// Its quoted name.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.procedure.schema, self.procedure.name)
    }

    /// Calls it for `item`.
    pub(super) fn call(&self, session: &mut Session, item: &Item<'_>, worker: &str) -> Result<HandlerResult> {
        let mut given: Vec<(&Parameter, Option<String>)> = Vec::new();
        for parameter in &self.procedure.parameters {
            match argument(item, worker, &parameter.meaning()) {
                Some(value) => given.push((parameter, value)),
                None if !parameter.needs_value => {}
                None => {
                    let message = format!(
                        "{} has the parameter {}, which matches no column of the items; give it a default, or a \
                         column's name",
                        self.name(),
                        parameter.name
                    );
                    return Err(Error::new(ErrorKind::InvalidConfig, message));
                }
            }
        }
        let parameters: Vec<_> = given.iter().map(|(parameter, _)| *parameter).collect();
        let text = invoke(self.dialect, &self.procedure, &parameters)?;
        let params: Vec<_> = given.iter().map(|(_, value)| Param::OptionalText(value.as_deref())).collect();
        let results = if self.procedure.is_called && self.dialect == Dialect::Postgres {
            vec![session.execute(&text, &params)?]
        } else {
            session.results(&text, &params)?
        };
        let own = own_results(self.dialect, &results);
        let returned = match self.dialect {
            Dialect::SqlServer => results.last().and_then(|last| catalog::number(last, 0, 0)).unwrap_or(0),
            Dialect::Postgres => 0,
        };
        if returned != 0 {
            return Err(Error::new(ErrorKind::Database, format!("{} returned {returned}", self.name())));
        }
        Ok(HandlerResult::of(own))
    }
}

impl HandlerResult {
    /// The last row with a column `Status`. In T-SQL the answers of called procedures come as well, of `Add_Q_utx` for one: they
    /// have a status too, but not of this item.
    fn of(results: &[Rows]) -> Self {
        let says =
            |rows: &&Rows| !rows.is_empty() && place(rows, "status").is_some() && place(rows, "answer").is_none();
        let rows = results.iter().rev().find(says);
        let text = |name| {
            let rows = rows?;
            catalog::optional_text(rows, 0, place(rows, name)?)
        };
        Self {
            status: text("status").unwrap_or_else(|| "Completed".to_owned()),
            step: text("step"),
            response: text("response"),
            error: text("error"),
            delay_ms: rows.and_then(|rows| catalog::number(rows, 0, place(rows, "delayms")?)),
            set: text("set"),
        }
    }

    /// An attempt that failed.
    pub(super) fn failed(error: &str) -> Self {
        let error = Some(error.to_owned());
        Self { error, ..Self::bare("Error") }
    }

    /// A claim of this one item.
    pub(super) fn taken() -> Self {
        Self::bare("Processing")
    }

    fn bare(status: &str) -> Self {
        Self { status: status.to_owned(), step: None, response: None, error: None, delay_ms: None, set: None }
    }

    /// The same, if an item of this queue can store all of it.
    pub(super) fn checked(mut self, spec: &QueueSpec) -> std::result::Result<Self, String> {
        if let Some(step) = &self.step {
            check_step(&spec.steps, step)?;
        }
        if let Some(set) = &self.set {
            self.set = check_set(spec, self.status == ItemState::Completed.as_str(), set)?;
        }
        Ok(self)
    }

    /// The array that `Modify_Q_Set_utx` reads, and checks.
    pub(super) fn to_json(&self, key: &str, token: &str, attempt: i32, form: KeyForm<'_>) -> Result<String> {
        let mut out = String::from("[{\"key\":");
        put_key(&mut out, form, key).map_err(|why| Error::new(ErrorKind::Protocol, why))?;
        let mut more = Map::new();
        for (name, text) in [("step", &self.step), ("response", &self.response), ("error", &self.error)] {
            if let Some(text) = text {
                more.insert(name.to_owned(), json!(text));
            }
        }
        if let Some(delay) = self.delay_ms {
            more.insert("delay_ms".to_owned(), json!(delay));
        }
        // An item that has never been claimed has no token where the table does not keep it.
        if !token.is_empty() {
            let _ = write!(out, ",\"token\":{}", json!(token));
        }
        let _ = write!(out, ",\"attempt\":{attempt},\"status\":{}", json!(self.status));
        more.iter().for_each(|(name, value)| out.push_str(&format!(",\"{name}\":{value}")));
        if let Some(set) = &self.set {
            let _ = write!(out, ",\"set\":{set}");
        }
        out.push_str("}]");
        Ok(out)
    }
}

/// The column of this meaning.
fn place(rows: &Rows, meaning: &str) -> Option<usize> {
    rows.columns().iter().position(|column| bare(&column.name) == meaning)
}

/// The item's value for this parameter: a column first, then the claim's. `None`: the item has no such value.
fn argument(item: &Item<'_>, worker: &str, meaning: &str) -> Option<Option<String>> {
    if let Some(at) = item.columns().iter().position(|column| bare(&column.name) == meaning) {
        return item.value(at).map(text_of);
    }
    Some(Some(match meaning {
        "key" => item.key().to_owned(),
        "token" => item.token().to_owned(),
        "attempt" => item.attempt().to_string(),
        "worker" => worker.to_owned(),
        _ => return None,
    }))
}

/// A value as the statement's parameter.
fn text_of(value: Value<'_>) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => i32::from(value).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => text.to_owned(),
        Value::Binary(bytes) => bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        }),
    })
}

/// Schema and name, each bare or in brackets or double quotes.
fn parts(name: &str) -> Result<(Option<Identifier>, Identifier)> {
    let wrong = || {
        let message =
            format!("{} is no name of a procedure; say Handle, dbo.Handle or [my schema].[Handle]", Excerpt(name));
        Error::new(ErrorKind::InvalidArgument, message)
    };
    let (first, rest) = part(name).ok_or_else(wrong)?;
    let Some(rest) = rest else { return Ok((None, Identifier::new("the procedure", &first)?)) };
    match part(rest).ok_or_else(wrong)? {
        (second, None) => {
            Ok((Some(Identifier::new("the procedure's schema", &first)?), Identifier::new("the procedure", &second)?))
        }
        _ => Err(wrong()),
    }
}

/// The first part of `text`, and the rest behind a point.
fn part(text: &str) -> Option<(String, Option<&str>)> {
    let close = match text.chars().next()? {
        '[' => ']',
        '"' => '"',
        _ => {
            let (part, rest) = text.split_once('.').map_or((text, None), |(part, rest)| (part, Some(rest)));
            return Some((part.to_owned(), rest));
        }
    };
    let mut part = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(close)?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        // Doubled, it is a part of the name.
        let Some(more) = rest.strip_prefix(close) else { break };
        part.push(close);
        rest = more;
    }
    if rest.is_empty() { Some((part, None)) } else { Some((part, Some(rest.strip_prefix('.')?))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Column, ColumnType};

    fn rows(cells: &[(&str, &str)]) -> Rows {
        let columns: Vec<_> =
            cells.iter().map(|(name, _)| Column { name: (*name).to_owned(), kind: ColumnType::Text }).collect();
        let mut rows = Rows::new(columns.into());
        cells.iter().for_each(|(_, value)| rows.push_text(|text| text.push_str(value)));
        rows
    }

    #[test]
    fn enqueues_of_the_procedure_do_not_touch_its_item() {
        let enqueued = rows(&[("Answer", "OK"), ("Status", "Pending")]);
        assert_eq!(HandlerResult::of(std::slice::from_ref(&enqueued)).status, "Completed");
        let result = HandlerResult::of(&[rows(&[("Status", "Failed"), ("Error", "no")]), enqueued]);
        assert_eq!((result.status.as_str(), result.error.as_deref()), ("Failed", Some("no")));
    }

    #[test]
    fn names_have_a_schema_or_none() {
        for (name, schema, object) in [
            ("Handle", None, "Handle"),
            ("dbo.Handle", Some("dbo"), "Handle"),
            ("[my.schema].[a]]b]", Some("my.schema"), "a]b"),
            ("\"s\".h", Some("s"), "h"),
        ] {
            let (found, name) = parts(name).unwrap();
            assert_eq!((found.as_ref().map(Identifier::as_str), name.as_str()), (schema, object));
        }
        for wrong in ["", "[a", "a.b.c", "[a]b"] {
            assert_eq!(parts(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument, "{wrong}");
        }
    }
}
