//! Values that a filter looks for: in the queue's own columns, and in members of the JSON that a column holds.

use super::value::{column_of, put_object};
use super::{ColumnKind, ColumnSpec, QueueSpec};
use crate::error::Excerpt;
use crate::ident::{FoundName, did_you_mean, find_name};
use serde_json::{Value, json};

/// Names of a member behind its column.
const DEEPEST: usize = 3;

impl QueueSpec {
    /// The columns in which a filter can look for a value: no bytes, and nothing secret.
    pub fn searchable(&self) -> impl Iterator<Item = &ColumnSpec> {
        self.columns.iter().filter(|column| !column.secret && !matches!(column.kind, ColumnKind::Binary(_)))
    }
}

/// Whether a column may hold JSON, and a filter a member of it.
pub(crate) fn may_hold_json(column: &ColumnSpec) -> bool {
    matches!(column.kind, ColumnKind::Text(_) | ColumnKind::Json)
}

/// The members of a filter as the procedures read them, each value in the form of its column; empty where `given` is.
pub(crate) fn searched(spec: &QueueSpec, given: &[(String, String)]) -> Result<String, String> {
    let columns: Vec<_> = spec.searchable().collect();
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    let find = |name: &str| match find_name(name, names.iter().copied()) {
        FoundName::One(place) => Ok(Some(columns[place])),
        FoundName::Many => Err(format!("column {}: several differ in case alone", Excerpt(name))),
        FoundName::None => Ok(None),
    };
    let (mut own, mut members) = (Vec::<(String, String)>::new(), Vec::new());
    for (name, json) in given {
        if let Some(column) = find(name)? {
            if column.kind == ColumnKind::Json {
                return Err(format!("column {name:?} is JSON; look for a member of it, like \"{name}.id\""));
            }
            let value = column_of(column, "", &as_kind(column.kind, json))?;
            if own.iter().any(|(other, _)| *other == value.0) {
                return Err(format!("column {:?} is given twice", value.0));
            }
            own.push(value);
            continue;
        }
        let inner = name.split_once('.').map(|(head, path)| Ok::<_, String>((find(head)?, path))).transpose()?;
        let Some((Some(column), path)) = inner else {
            let (near, all) = (did_you_mean(name, names.iter().copied()), names.join(", "));
            return Err(format!("queue {} has no column {}{near} to look in; it has {all}", spec.queue, Excerpt(name)));
        };
        if !may_hold_json(column) {
            return Err(format!("column {:?} ({}) holds no JSON", column.name.as_str(), column.kind));
        }
        let path: Vec<_> = path.split('.').collect();
        if path.iter().any(|member| member.is_empty()) || path.len() > DEEPEST {
            return Err(format!("{}: a member has one to {DEEPEST} names behind its column", Excerpt(name)));
        }
        // As it is written in the document: a number keeps its digits.
        let text = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.clone());
        members.push(json!({"column": column.name.as_str(), "path": path, "value": text}));
    }
    let mut out = String::new();
    if !own.is_empty() {
        out.push_str(",\"columns\":");
        put_object(&mut out, &own);
    }
    if !members.is_empty() {
        out.push_str(&format!(",\"members\":{}", Value::Array(members)));
    }
    Ok(out)
}

/// A value as a column of this kind takes it: a person types numbers and truths as text.
fn as_kind(kind: ColumnKind, json: &str) -> String {
    let text = serde_json::from_str::<String>(json).ok();
    match kind {
        ColumnKind::Integer | ColumnKind::BigInteger | ColumnKind::Boolean | ColumnKind::Float => {
            text.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| json.to_owned())
        }
        _ => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> QueueSpec {
        QueueSpec::from_json(
            r#"{"queue": "Q", "columns": [{"name": "Customer", "type": "integer"}, {"name": "Body", "type": "text"},
                {"name": "Amount", "type": "decimal(10, 2)"}, {"name": "Paid", "type": "boolean"},
                {"name": "Doc", "type": "json"}, {"name": "Pin", "type": "text", "secret": true},
                {"name": "Bytes", "type": "binary"}]}"#,
        )
        .unwrap()
    }

    fn of(given: &[(&str, &str)]) -> Result<String, String> {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        searched(&spec(), &given)
    }

    #[test]
    fn values_have_the_form_of_their_columns() {
        assert_eq!(of(&[]), Ok(String::new()));
        assert_eq!(
            of(&[("customer", "\"42\""), ("Amount", "12.5"), ("Paid", "true"), ("Body", "\"a'b\"")]).unwrap(),
            r#","columns":{"Customer":42,"Amount":"12.5","Paid":true,"Body":"a'b"}"#
        );
        let found = of(&[("Doc.a.b\"c", "4.20"), ("Body.x", "\"y\""), ("Doc.big", "9007199254740993")]).unwrap();
        let members: Value = serde_json::from_str(&format!("{{{}}}", &found[1..])).unwrap();
        assert_eq!(
            members["members"],
            json!([
                {"column": "Doc", "path": ["a", "b\"c"], "value": "4.20"},
                {"column": "Body", "path": ["x"], "value": "y"},
                {"column": "Doc", "path": ["big"], "value": "9007199254740993"}
            ])
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (name, value, part) in [
            ("Nope", "1", "has no column \"Nope\" to look in; it has Customer, Body, Amount, Paid, Doc"),
            ("Custmer", "1", "Customer"),
            ("Pin", "\"1\"", "has no column \"Pin\""),
            ("Bytes", "\"MQ==\"", "has no column \"Bytes\""),
            ("Status", "\"Failed\"", "has no column \"Status\""),
            ("Customer", "\"x\"", "column \"Customer\" (integer) does not take"),
            ("Customer.a", "1", "column \"Customer\" (integer) holds no JSON"),
            ("Doc", "\"1\"", "look for a member of it, like \"Doc.id\""),
            ("Doc..a", "1", "one to 3 names behind its column"),
            ("Doc.a.b.c.d", "1", "one to 3 names behind its column"),
            ("Amount", "1.234", "does not take 1.234"),
        ] {
            let why = of(&[(name, value)]).unwrap_err();
            assert!(why.contains(part), "{name}: {why}");
        }
        assert!(of(&[("Customer", "1"), ("CUSTOMER", "2")]).unwrap_err().contains("given twice"));
    }
}
