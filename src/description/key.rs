//! The key of an item, as a caller writes it.

use super::{ColumnKind, KeyColumn, QueueSpec, Storage};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::item::{KeyForm, is_utc};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

impl QueueSpec {
    /// Whether a key has several columns: its text is then a JSON array of their values.
    pub(crate) fn has_composite_key(&self) -> bool {
        matches!(&self.storage, Storage::Table(table) if table.key.len() > 1)
    }

    /// Checks that `key` can be the key of an item of this queue, whether there is such an item or not. A server's error would be
    /// about its own types, where the caller mistook another text for a key.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] describes a key of this queue.
    pub fn check_key(&self, key: &str) -> Result<()> {
        let (is_key, what) = match &self.storage {
            Storage::Own => {
                (is_utc(key), "the time of its enqueueing (a timestamp), like 2026-11-21T08:30:00.0000000".to_owned())
            }
            // Hand-written procedures check their own keys.
            Storage::Procedures(_) => return Ok(()),
            Storage::Table(table) => match table.key.as_slice() {
                [column] => (fits(column.kind, key), format!("{} ({})", column.name.as_str(), column.kind)),
                columns => (
                    serde_json::from_str(key).is_ok_and(|values| fit(columns, &values)),
                    format!(
                        "a JSON array of {}",
                        columns
                            .iter()
                            .map(|c| format!("{} ({})", c.name.as_str(), c.kind))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                ),
            },
        };
        if is_key {
            return Ok(());
        }
        let shown: String = key.chars().take(100).collect();
        Err(Error::new(
            ErrorKind::InvalidItem,
            format!("{shown:?} is no key of queue {}: the key of an item is {what}", self.queue),
        ))
    }
}

/// Appends `key` in the form of requests: the procedures read `key` of an item that is settled, renewed or redriven, and each of
/// the `keys` of a filter. It is JSON text, or where the key has several columns the array in the caller's text: `"key": ["a",
/// "1"]`. So a key travels as JSON once, and the procedures take each column's value from its place. In answers, and as the key
/// to go on after, it is the caller's text.
pub(crate) fn put_key(out: &mut String, form: KeyForm<'_>, key: &str) -> std::result::Result<(), String> {
    let key = form.here(key)?;
    if form.composite {
        // The text is sent unchanged, once it is known to be an array.
        let _: Vec<&RawValue> = serde_json::from_str(key).map_err(|_| {
            format!("the key {} is no JSON array of the key's columns; take it from the item", Excerpt(key))
        })?;
        out.push_str(key);
    } else if key.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        // Keys and tokens rarely hold characters to escape.
        out.push('"');
        out.push_str(key);
        out.push('"');
    } else {
        out.push_str(&json!(key).to_string());
    }
    Ok(())
}

/// Whether `values` is an array with a value for each column.
fn fit(columns: &[KeyColumn], values: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    values.as_array().is_some_and(|values| {
        values.len() == columns.len()
            && values
                .iter()
                .zip(columns)
                .all(|(value, column)| text(value).is_some_and(|text| fits(column.kind, &text)))
    })
}

/// Whether a value can be read as one of this kind.
fn fits(kind: ColumnKind, value: &str) -> bool {
    match kind {
        ColumnKind::Integer => value.trim().parse::<i32>().is_ok(),
        ColumnKind::BigInteger => value.trim().parse::<i64>().is_ok(),
        ColumnKind::Guid => Uuid::parse_str(value).is_ok(),
        ColumnKind::Timestamp => is_utc(value),
        // The servers would round a number, and cut or refuse bytes.
        ColumnKind::Decimal(precision, scale) => {
            let digits = value.strip_prefix('-').unwrap_or(value);
            let (whole, after) = digits.split_once('.').unwrap_or((digits, ""));
            let all = |part: &str, most: usize| part.len() <= most && part.bytes().all(|byte| byte.is_ascii_digit());
            !whole.is_empty() && all(whole, usize::from(precision - scale).max(1)) && all(after, usize::from(scale))
        }
        ColumnKind::Binary(most) => {
            value.len().is_multiple_of(2)
                && most.is_none_or(|most| value.len() <= 2 * usize::from(most))
                && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(key: &str) -> QueueSpec {
        let text = format!(
            "queue = 'Q'\ncolumns = [{{ name = 'c', type = 'text' }}]\n[table]\nname = 't'\nkey = [{key}]\n[table.states]\nPending = {{ s = 0 }}\nProcessing = {{ s = 1 }}\n\
             Completed = {{ s = 2 }}\n"
        );
        QueueSpec::from_toml(&text).unwrap()
    }

    #[test]
    fn a_wrong_key_is_refused_with_the_form_of_a_right_one() {
        let own = QueueSpec::from_json(r#"{"queue": "Q"}"#).unwrap();
        let number = spec("{ name = 'id', type = 'integer' }");
        let guid = spec("{ name = 'id', type = 'guid' }");
        let amount = spec("{ name = 'id', type = 'decimal(4, 1)' }");
        let bytes = spec("{ name = 'id', type = 'binary(2)' }");
        let two = spec("{ name = 'a', type = 'text(5)' }, { name = 'b', type = 'bigint' }");
        for (spec, good, bad, what) in [
            (&own, &["2026-11-21", "2026-11-21T08:30:00.1234567"][..], &["2026", "abc", "2026-13-01"][..], "timestamp"),
            (&number, &["1", "-5"], &["one", "2147483648", "1.0", ""], "id (integer)"),
            (&guid, &["6f9619ff-8b86-d011-b42d-00c04fc964ff"], &["6f9619ff"], "id (guid)"),
            (&amount, &["0", "-123.4", "999."], &["1.25", "1234", ".5", "", "one"], "id (decimal(4, 1))"),
            (&bytes, &["01fF", "", "00"], &["1", "010203", "0x01", "zz"], "id (binary(2))"),
            (&two, &[r#"["x","1"]"#, r#"["x",1]"#], &["x", r#"["x"]"#, r#"["x","y"]"#], "a (text(5)), b (bigint)"),
        ] {
            good.iter().for_each(|key| spec.check_key(key).unwrap());
            for key in bad {
                let error = spec.check_key(key).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidItem);
                assert!(error.message().contains(what) && error.message().contains(&format!("{key:?}")), "{error}");
            }
        }
    }
}
