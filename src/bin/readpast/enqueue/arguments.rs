//! Items from the command line, and what holds for items that do not say otherwise.

use super::Args;
use crate::failure::{Result, usage};
use readpast::spec::{ColumnKind, ColumnSpec};
use readpast::{NewItem, QueueSpec};
use serde_json::{Map, Value};

/// What an item has that does not say otherwise.
pub struct Defaults {
    kind: Option<String>,
    step: Option<String>,
    due: Option<String>,
    delay_ms: Option<i64>,
}

impl Defaults {
    pub fn new(args: &Args) -> Result<Self> {
        let delay = args.delay.map(|delay| i64::try_from(delay.as_millis()));
        Ok(Self {
            kind: args.kind.clone(),
            step: args.step.clone(),
            due: args.due.clone(),
            delay_ms: delay.transpose().map_err(|_| usage("--delay is too long"))?,
        })
    }

    /// An item of these columns.
    fn item(&self, columns: Map<String, Value>) -> NewItem {
        NewItem {
            kind: self.kind.clone(),
            step: self.step.clone(),
            due: self.due.clone(),
            delay_ms: self.delay_ms,
            columns,
        }
    }

    /// An item from JSON: its columns, or an object that has them as `columns` beside other things.
    pub fn parse(&self, json: &str) -> std::result::Result<NewItem, String> {
        let value: Value = serde_json::from_str(json).map_err(|error| format!("this is not JSON: {error}"))?;
        let Value::Object(mut object) = value else {
            return Err("an item is a JSON object, like {\"Column\": \"value\"}".to_owned());
        };
        let columns = match object.get_mut("columns") {
            Some(Value::Object(columns)) => std::mem::take(columns),
            _ => return Ok(self.item(object)),
        };
        let mut item = self.item(columns);
        for (key, value) in object {
            let text = || value.as_str().map(str::to_owned).ok_or_else(|| format!("{key:?} must be text"));
            match key.as_str() {
                "columns" => {}
                _ if value.is_null() => {}
                "type" => item.kind = Some(text()?),
                "step" => item.step = Some(text()?),
                "due" => (item.due, item.delay_ms) = (Some(text()?), None),
                "delay_ms" => {
                    let delay = value.as_i64().ok_or("\"delay_ms\" must be a whole number")?;
                    (item.due, item.delay_ms) = (None, Some(delay));
                }
                _ => {
                    return Err(format!(
                        "there is no {key:?} beside \"columns\"; there are type, step, due and delay_ms"
                    ));
                }
            }
        }
        Ok(item)
    }
}

/// The items that the arguments give, all of them checked.
pub fn items(spec: &QueueSpec, args: &Args, defaults: &Defaults) -> Result<Vec<NewItem>> {
    let items = if args.item.is_empty() {
        vec![defaults.item(columns(spec, &args.columns)?)]
    } else {
        let parse = |json: &String| defaults.parse(json).map_err(|why| usage(format!("--item: {why}")));
        args.item.iter().map(parse).collect::<Result<_>>()?
    };
    for item in &items {
        spec.check_item(item)?;
    }
    Ok(items)
}

/// `COLUMN=VALUE`, the value read as the column's type asks for; `COLUMN:=JSON`, the value as it is. A column of a subtype
/// is `SUBTYPE.COLUMN`.
fn columns(spec: &QueueSpec, arguments: &[String]) -> Result<Map<String, Value>> {
    let mut columns = Map::new();
    for argument in arguments {
        let Some((name, text)) = argument.split_once('=') else {
            return Err(usage(format!("{argument:?} is not COLUMN=VALUE")));
        };
        let (full, is_json) = name.strip_suffix(':').map_or((name, false), |name| (name, true));
        let of_subtype = full.split_once('.').and_then(|(subtype, name)| {
            let subtype = spec.subtypes.iter().find(|known| known.name.as_str() == subtype)?;
            Some((subtype, name))
        });
        let (known, name) = of_subtype.map_or((&spec.columns, full), |(subtype, name)| (&subtype.columns, name));
        let value = if is_json {
            let json = serde_json::from_str(text);
            json.map_err(|error| usage(format!("{full}:= takes JSON, and this is none: {error}")))?
        } else {
            typed(known, name, text)
        };
        let into = match of_subtype {
            Some((subtype, _)) => columns.entry(subtype.name.as_str()).or_insert_with(|| Value::Object(Map::new())),
            None => &mut Value::Null,
        };
        let twice = match into {
            Value::Object(of_subtype) => of_subtype.insert(name.to_owned(), value),
            _ => columns.insert(name.to_owned(), value),
        };
        if twice.is_some() {
            return Err(usage(format!("the column {full} is given twice")));
        }
    }
    Ok(columns)
}

/// What does not fit stays text; the check of the item then says what the column takes.
fn typed(columns: &[ColumnSpec], name: &str, text: &str) -> Value {
    match columns.iter().find(|column| column.name.as_str() == name).map(|column| column.kind) {
        Some(
            ColumnKind::Integer | ColumnKind::BigInteger | ColumnKind::Boolean | ColumnKind::Float | ColumnKind::Json,
        ) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        _ => Value::String(text.to_owned()),
    }
}
