//! The values of a new item's columns.

use crate::error::{Error, ErrorKind, Result};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The values of a new item's columns, by name. Each is JSON and kept as it was written, so that no digit of a number is
/// lost on its way.
#[derive(Debug, Clone, Default)]
pub struct Columns(BTreeMap<String, Box<RawValue>>);

impl Columns {
    /// Reads an object like `{"Recipient": "a@example.org"}`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] when it is not one.
    pub fn from_json(text: &str) -> Result<Self> {
        let read = serde_json::from_str(text).map(Self);
        read.map_err(|error| Error::new(ErrorKind::InvalidItem, format!("is not a JSON object: {error}")))
    }

    /// Sets the column called `name`, and returns whether it had a value before.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> bool {
        // It fails only for a value that is not JSON, which a `Value` always is.
        let raw = to_raw_value(&value.into()).unwrap_or_default();
        self.0.insert(name.into(), raw).is_some()
    }

    /// Sets the column called `name` to a JSON text, and returns whether it had a value before.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] when it is not JSON.
    pub fn insert_json(&mut self, name: impl Into<String>, json: &str) -> Result<bool> {
        let raw = serde_json::from_str(json);
        let raw = raw.map_err(|error| Error::new(ErrorKind::InvalidItem, format!("is not JSON: {error}")))?;
        Ok(self.0.insert(name.into(), raw).is_some())
    }

    /// All of it as one object.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// The value of the column of exactly this name, as JSON.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.get())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names, and values as JSON.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.get()))
    }
}

impl PartialEq for Columns {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl From<Map<String, Value>> for Columns {
    fn from(columns: Map<String, Value>) -> Self {
        columns.into_iter().collect()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Columns {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(columns: I) -> Self {
        let mut all = Self::default();
        for (name, value) in columns {
            all.insert(name, value);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_stay_as_they_were_written() {
        let columns = Columns::from_json(r#"{"n": 12345678901234567890.10, "j": {"b":1, "a":[2]}}"#).unwrap();
        assert_eq!(columns.get("n"), Some("12345678901234567890.10"));
        assert_eq!(columns.get("j"), Some(r#"{"b":1, "a":[2]}"#));
        assert_eq!(columns.get("N"), None);
        assert_eq!(columns.to_json(), r#"{"j":{"b":1, "a":[2]},"n":12345678901234567890.10}"#);
        assert_eq!(Columns::from_iter([("a", json!([1, null]))]).get("a"), Some("[1,null]"));
    }

    #[test]
    fn only_an_object_holds_columns() {
        for text in ["", "[]", "1", "{", r#"{"a": NaN}"#] {
            let mut columns = Columns::default();
            assert_eq!(columns.insert_json("a", text).is_ok(), ["[]", "1"].contains(&text), "{text}");
            assert_eq!(Columns::from_json(text).unwrap_err().kind(), ErrorKind::InvalidItem, "{text}");
        }
    }
}
