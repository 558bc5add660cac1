//! The description of a queue, from JSON and to it.

use super::{ColumnKind, ColumnSpec, Completion, LeaseSpec, OrderSpec, QueueSpec, RolesSpec, Storage};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{Identifier, QueueName};
use serde_json::{Map, Value, json};

/// The columns of the life cycle and of the answers, without underscores: no column of the queue's own may be called so.
const RESERVED: [&str; 20] = [
    "enqueuedat",
    "type",
    "status",
    "step",
    "attemptnum",
    "response",
    "error",
    "startedat",
    "duration",
    "scheduledfor",
    "updatedat",
    "leaseowner",
    "leaseuntil",
    "answer",
    "answerordinal",
    "answerduems",
    "answerkey",
    "answertoken",
    "answerattempt",
    "answerstatus",
];

impl QueueSpec {
    /// Reads a description like
    /// `{"queue": "Notification", "types": ["Email"], "columns": [{"name": "Recipient", "type": "text(254)"}]}`.
    ///
    /// `types` may be left out and is then `["Default"]`; `columns` may be left out and is then one column `Payload` of
    /// type `text`. A column is nullable unless it says `"nullable": false`. Types are `text`, `text(n)`, `integer`,
    /// `bigint`, `boolean`, `float`, `decimal(p, s)`, `timestamp`, `date`, `guid` and `json`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] with the place of the mistake.
    pub fn from_json(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| refuse(format!("the queue's description is not JSON: {error}")))?;
        let spec = object(&value, "the queue's description", &["queue", "types", "columns"])?;
        let queue = QueueName::new(string(spec.get("queue"), "queue")?)?;

        let types = match spec.get("types") {
            None => vec!["Default".to_owned()],
            Some(Value::Array(types)) if !types.is_empty() => {
                types.iter().enumerate().map(|(i, kind)| type_name(kind, i)).collect::<Result<_>>()?
            }
            Some(_) => return Err(refuse("\"types\" must be an array of at least one name".to_owned())),
        };

        let columns = match spec.get("columns") {
            None => vec![json!({"name": "Payload", "type": "text"})],
            Some(Value::Array(columns)) if !columns.is_empty() => columns.clone(),
            Some(_) => return Err(refuse("\"columns\" must be an array of at least one column".to_owned())),
        };
        let columns: Vec<_> = columns.iter().enumerate().map(|(i, c)| column(c, i)).collect::<Result<_>>()?;
        for (i, column) in columns.iter().enumerate() {
            if columns[..i].iter().any(|other| other.name.as_str().eq_ignore_ascii_case(column.name.as_str())) {
                return Err(refuse(format!("columns[{i}]: there is another column {:?}", column.name.as_str())));
            }
        }
        Ok(Self {
            settings: queue.as_str().to_ascii_lowercase(),
            queue,
            storage: Storage::Own,
            types,
            columns,
            subtypes: Vec::new(),
            order: OrderSpec::default(),
            max_attempts: 3,
            backoff: None,
            lease: LeaseSpec::default(),
            completion: Completion::default(),
            dedup: None,
            roles: RolesSpec::default(),
        })
    }

    /// The description as JSON, complete: what was left out is there with its default.
    pub fn to_json(&self) -> String {
        let columns: Vec<_> = self
            .columns
            .iter()
            .map(|column| {
                json!({
                    "name": column.name.as_str(), "type": column.kind.to_string(), "nullable": column.nullable
                })
            })
            .collect();
        json!({"queue": self.queue.as_str(), "types": self.types, "columns": columns}).to_string()
    }
}

fn column(value: &Value, index: usize) -> Result<ColumnSpec> {
    let place = format!("columns[{index}]");
    let column = object(value, &place, &["name", "type", "nullable"])?;
    let name = string(column.get("name"), &format!("{place}.name"))?;
    // Held to the same characters as queue names: it becomes a parameter's name and a JSON path as well.
    QueueName::new(name).map_err(|_| {
        refuse(format!(
            "{place}: the column name {name:?} is not allowed; use a letter first, then letters, digits and underscores \
             (ASCII), 40 at most"
        ))
    })?;
    if RESERVED.contains(&name.replace('_', "").to_ascii_lowercase().as_str()) {
        return Err(refuse(format!("{place}: {name:?} is a column that every queue has already; take another name")));
    }
    let nullable = match column.get("nullable") {
        None => true,
        Some(Value::Bool(nullable)) => *nullable,
        Some(_) => return Err(refuse(format!("{place}.nullable must be true or false"))),
    };
    let kind = string(column.get("type"), &format!("{place}.type"))?;
    let kind = column_kind(kind).ok_or_else(|| {
        refuse(format!(
            "{place}: there is no column type {kind:?}; there are text, text(1 to 4000), integer, bigint, boolean, \
             float, decimal(1 to 38, 0 to 38), timestamp, date, guid and json"
        ))
    })?;
    Ok(ColumnSpec { name: Identifier::new(&place, name)?, kind, nullable })
}

fn column_kind(text: &str) -> Option<ColumnKind> {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.trim_end().strip_suffix(')')?)),
        None => (text.trim(), None),
    };
    match (name, arguments) {
        ("text", None) => Some(ColumnKind::Text(None)),
        ("text", Some(length)) => {
            let length = length.trim().parse().ok().filter(|length| (1..=4000).contains(length))?;
            Some(ColumnKind::Text(Some(length)))
        }
        ("integer", None) => Some(ColumnKind::Integer),
        ("bigint", None) => Some(ColumnKind::BigInteger),
        ("boolean", None) => Some(ColumnKind::Boolean),
        ("float", None) => Some(ColumnKind::Float),
        ("decimal", Some(arguments)) => {
            let (precision, scale) = arguments.split_once(',')?;
            let precision = precision.trim().parse().ok().filter(|precision| (1..=38).contains(precision))?;
            let scale = scale.trim().parse().ok().filter(|scale| *scale <= precision)?;
            Some(ColumnKind::Decimal(precision, scale))
        }
        ("timestamp", None) => Some(ColumnKind::Timestamp),
        ("date", None) => Some(ColumnKind::Date),
        ("guid", None) => Some(ColumnKind::Guid),
        ("json", None) => Some(ColumnKind::Json),
        _ => None,
    }
}

fn type_name(value: &Value, index: usize) -> Result<String> {
    let name = string(Some(value), &format!("types[{index}]"))?;
    let length = name.encode_utf16().count();
    if length == 0 || length > 60 || name.contains(char::is_control) {
        return Err(refuse(format!("types[{index}] must have 1 to 60 characters, none of them a control character")));
    }
    Ok(name.to_owned())
}

fn object<'a>(value: &'a Value, place: &str, keys: &[&str]) -> Result<&'a Map<String, Value>> {
    let Value::Object(map) = value else {
        return Err(refuse(format!("{place} must be a JSON object")));
    };
    match map.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(refuse(format!("{place} has an unknown key {key:?}; the keys are {}", keys.join(", ")))),
        None => Ok(map),
    }
}

fn string<'a>(value: Option<&'a Value>, place: &str) -> Result<&'a str> {
    value.and_then(Value::as_str).ok_or_else(|| refuse(format!("{place} must be there and be text")))
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_filled_in_and_round_trip() {
        let spec = QueueSpec::from_json(r#"{"queue": "Notification"}"#).unwrap();
        assert_eq!(spec.types, ["Default"]);
        assert_eq!(spec.columns[0].kind, ColumnKind::Text(None));
        assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);

        let text =
            r#"{"queue":"Q","types":["a","b"],"columns":[{"name":"D","type":"decimal(10, 2)","nullable":false}]}"#;
        let spec = QueueSpec::from_json(text).unwrap();
        assert_eq!(spec.columns[0].kind, ColumnKind::Decimal(10, 2));
        assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, place) in [
            ("nonsense", "JSON"),
            ("[]", "description"),
            (r#"{"queue": "a b"}"#, "a b"),
            (r#"{"queue": "Q", "colums": []}"#, "colums"),
            (r#"{"queue": "Q", "types": []}"#, "types"),
            (r#"{"queue": "Q", "types": [1]}"#, "types[0]"),
            (
                r#"{"queue": "Q", "columns": [{"name": "A", "type": "text"}, {"name": "a", "type": "text"}]}"#,
                "columns[1]",
            ),
            (r#"{"queue": "Q", "columns": [{"name": "Updated_At", "type": "text"}]}"#, "Updated_At"),
            (r#"{"queue": "Q", "columns": [{"name": "A", "type": "text(0)"}]}"#, "text(0)"),
            (r#"{"queue": "Q", "columns": [{"name": "A", "type": "decimal(2, 3)"}]}"#, "decimal(2, 3)"),
            (r#"{"queue": "Q", "columns": [{"name": "A]", "type": "text"}]}"#, "A]"),
        ] {
            let error = QueueSpec::from_json(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(place), "{error} should name {place}");
        }
    }
}
