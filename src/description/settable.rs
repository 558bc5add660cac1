//! The values that a settlement may set: the item's own columns and those of its subtypes, except those that the queue itself
//! uses.

use super::value::{by_place, column_of, put_due, put_object, shown};
use super::{ColumnSpec, Completion, QueueSpec, Storage, SubtypeSpec};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::Identifier;
use crate::item::{Columns, Edit};
use serde_json::Map;

impl QueueSpec {
    /// The columns that a settlement or an edit may write, besides those of subtypes.
    pub fn settable(&self) -> impl Iterator<Item = &ColumnSpec> {
        self.columns.iter().filter(|column| why_fixed(self, &column.name).is_none())
    }

    /// Checks an edit as a call does, without making it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`] names the column, [`ErrorKind::InvalidArgument`] the due time.
    pub fn check_edit(&self, edit: &Edit<'_>) -> Result<()> {
        let due = put_due(&mut Map::new(), edit.delay_ms, edit.due);
        due.map_err(|why| Error::new(ErrorKind::InvalidArgument, why))?;
        let set = edit.set.map_or(Ok(None), |set| check_set(self, false, set));
        set.map(drop).map_err(|why| Error::new(ErrorKind::InvalidItem, why))
    }
}

/// The values that a settlement sets, in the form to be sent: under the queue's own names. `None` when there are none.
/// `completes`: whether its action is to complete.
pub(crate) fn check_set(spec: &QueueSpec, completes: bool, json: &str) -> std::result::Result<Option<String>, String> {
    let given = Columns::from_json(json)
        .map_err(|_| format!("\"set\" takes an object with the queue's columns, not {}", shown(json)))?;
    if given.is_empty() {
        return Ok(None);
    }
    if let Storage::Procedures(_) = spec.storage {
        return Err(format!(
            "\"set\": the procedures of queue {} were written by hand and take no values for columns; write them in a call of \
             your own",
            spec.queue
        ));
    }
    if completes && spec.completion == Completion::Delete {
        return Err(format!(
            "\"set\": queue {} deletes completed items, and the values with them; leave them out, or have its \
             description keep completed items (\"completion\")",
            spec.queue
        ));
    }
    let settable: Vec<_> = spec.settable().collect();
    let table = spec.table();
    // A column of the life cycle may be listed among the queue's.
    let life = table.iter().flat_map(|table| table.columns_of_its_own());
    let life = life.filter(|name| !spec.columns.iter().any(|column| column.name == **name));
    let listed = spec.columns.iter().map(|column| &column.name).filter(|name| why_fixed(spec, name).is_some());
    let fixed: Vec<_> = listed.chain(life).collect();
    let open = settable.len() + spec.subtypes.len();
    let subtypes = spec.subtypes.iter().map(|subtype| &subtype.name);
    let names = settable.iter().map(|column| &column.name).chain(subtypes).chain(fixed.iter().copied());
    let names: Vec<_> = names.map(Identifier::as_str).collect();
    let mut out = Vec::new();
    for (place, value) in by_place(spec, &names, open, "", &given)? {
        if let Some(column) = settable.get(place) {
            out.push(value_of(column, "", value)?);
        } else if let Some(subtype) = spec.subtypes.get(place - settable.len()) {
            out.extend(values_of(spec, subtype, value)?);
        } else {
            let name = fixed[place - open];
            let why = why_fixed(spec, name).unwrap_or_default();
            return Err(format!("column {:?} is not to be set: {why}", name.as_str()));
        }
    }
    let mut object = String::new();
    put_object(&mut object, &out);
    Ok((!out.is_empty()).then_some(object))
}

/// The columns of a subtype, in an object by its name; `None` when there are none.
fn values_of(
    spec: &QueueSpec,
    subtype: &SubtypeSpec,
    json: &str,
) -> std::result::Result<Option<(String, String)>, String> {
    let name = subtype.name.as_str();
    let given = Columns::from_json(json)
        .map_err(|_| format!("column {name:?} takes an object with the subtype's columns, not {}", shown(json)))?;
    let prefix = format!("{name}.");
    let names: Vec<_> = subtype.columns.iter().map(|column| column.name.as_str()).collect();
    let values = by_place(spec, &names, names.len(), &prefix, &given)?
        .into_iter()
        .map(|(place, value)| value_of(&subtype.columns[place], &prefix, value))
        .collect::<std::result::Result<Vec<_>, String>>()?;
    let mut object = String::new();
    put_object(&mut object, &values);
    Ok((!values.is_empty()).then(|| (name.to_owned(), object)))
}

fn value_of(column: &ColumnSpec, prefix: &str, json: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = column_of(column, prefix, json)?;
    if value == "null" && !column.nullable {
        return Err(format!(
            "column {:?} must have a value; leave it out to keep the one it has",
            format!("{prefix}{name}")
        ));
    }
    Ok((name, value))
}

/// Why no settlement may set this column; `None` when it may.
fn why_fixed(spec: &QueueSpec, name: &Identifier) -> Option<&'static str> {
    if spec.trace.as_ref() == Some(name) {
        return Some("it says which trace the item was enqueued in (\"trace\"), for every attempt at it");
    }
    if spec.limits.iter().any(|limit| limit.by.as_ref() == Some(name) || limit.weight.as_ref() == Some(name)) {
        return Some("items are counted by it (\"limit\"); enqueue another item instead");
    }
    let table = spec.table()?;
    if table.key.iter().any(|key| key.name == *name) {
        return Some("it is the item's key; enqueue another item instead");
    }
    if table.columns_of_its_own().contains(&name) {
        return Some("it belongs to the item's life; say so by the action, step, response, error or due time");
    }
    let order = &spec.order;
    let is_priority = order.priority.as_ref().is_some_and(|priority| priority.column == *name);
    let recognized = spec.dedup.iter().flat_map(|dedup| &dedup.columns);
    // Its place in the index moves with a priority.
    let sought = table.seek.iter().map(|seek| &seek.name).chain(table.index.columns.iter().filter(|_| !is_priority));
    order.by.iter().chain(&order.group).chain(recognized).chain(sought).any(|column| column == name).then_some(
        "items are found, ordered or recognized by it (\"order\", \"dedup\", \"table.seek\", \"table.index\"); enqueue \
         another item instead",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(more: &str) -> QueueSpec {
        QueueSpec::from_json(&format!(
            r#"{{"queue": "Q", "types": ["A"], "columns": [
                {{"name": "PaidAt", "type": "timestamp"}}, {{"name": "Sum", "type": "decimal(4, 2)", "nullable": false}},
                {{"name": "Rank", "type": "integer", "nullable": false}}, {{"name": "Customer", "type": "integer"}},
                {{"name": "Work", "type": "integer"}}, {{"name": "Note", "type": "text(3)"}}],
                "order": {{"priority": {{"column": "Rank"}}, "group": "Customer"}}, "dedup": {{"columns": ["Work"]}}{more}}}"#
        ))
        .unwrap()
    }

    const SUBTYPES: &str = r#", "subtypes": [{"name": "Email", "columns": [
        {"name": "EmailTo", "type": "text", "nullable": false}, {"name": "Response", "type": "text(5)"}]}]"#;

    fn check(spec: &QueueSpec, json: &str) -> std::result::Result<Option<String>, String> {
        check_set(spec, true, json)
    }

    #[test]
    fn values_travel_under_the_queues_names() {
        let json =
            r#"{"paidat": "2026-11-21T08:30:00Z", "Sum": 1.50, "Note": null, "RANK": 7, "EMAIL": {"response": "ok"}}"#;
        assert_eq!(
            check(&spec(SUBTYPES), json).unwrap().unwrap(),
            r#"{"Email":{"Response":"ok"},"Note":null,"Rank":7,"Sum":"1.50","PaidAt":"2026-11-21T08:30:00.0000000"}"#
        );
        for nothing in ["{}", r#"{"Email": {}}"#] {
            assert_eq!(check(&spec(SUBTYPES), nothing), Ok(None));
        }
    }

    #[test]
    fn fixed_columns_are_refused_with_a_remedy() {
        let spec = spec(SUBTYPES);
        for (json, part) in [
            ("[1]", "takes an object with the queue's columns, not [1]"),
            (r#"{"Other": 1}"#, "queue Q has no column \"Other\"; it has PaidAt, Sum, Rank, Note, Email"),
            (r#"{"Sms": {"Response": "ok"}}"#, "queue Q has no column \"Sms\""),
            (r#"{"PaidAt": "soon"}"#, "column \"PaidAt\" (timestamp) does not take \"soon\""),
            (r#"{"Note": "long"}"#, "column \"Note\" (text(3)) is 4 characters long; 3 are the most"),
            (r#"{"Sum": null}"#, "column \"Sum\" must have a value; leave it out to keep"),
            (r#"{"status": "Failed"}"#, "column \"Status\" is not to be set: it belongs to the item's life"),
            (r#"{"LeaseUntil": null}"#, "column \"LeaseUntil\" is not to be set"),
            (r#"{"EnqueuedAt": "2026-11-21"}"#, "column \"EnqueuedAt\" is not to be set: it is the item's key"),
            (r#"{"Rank": null}"#, "column \"Rank\" must have a value"),
            (
                r#"{"Customer": 1}"#,
                "column \"Customer\" is not to be set: items are found, ordered or recognized by it",
            ),
            (r#"{"Work": 1}"#, "column \"Work\" is not to be set: items"),
            (r#"{"Email": "ok"}"#, "column \"Email\" takes an object with the subtype's columns, not \"ok\""),
            (r#"{"Email": null}"#, "column \"Email\" takes an object"),
            (r#"{"Email": {"Nope": 1}}"#, "queue Q has no column \"Email.Nope\"; it has EmailTo, Response"),
            (r#"{"Email": {"EmailTo": null}}"#, "column \"Email.EmailTo\" must have a value"),
            (r#"{"Email": {"Response": "longer"}}"#, "column \"Email.Response\" (text(5)) is 6 characters long"),
        ] {
            let why = check(&spec, json).unwrap_err();
            assert!(why.contains(part), "{json}: {why}");
        }
    }

    #[test]
    fn nothing_is_set_where_nothing_would_keep_it() {
        let spec = spec(r#", "completion": "delete""#);
        assert!(check(&spec, r#"{"Note": "a"}"#).unwrap_err().contains("deletes completed items"));
        assert_eq!(check(&spec, "{}"), Ok(None));
        assert!(check_set(&spec, false, r#"{"Note": "a"}"#).unwrap().is_some());
        let theirs = QueueSpec::from_json(
            r#"{"queue": "Q", "procedures": {"next": "n", "modify": "m", "view": "v", "key": "k", "token": "t"},
                "columns": [{"name": "Note", "type": "text"}]}"#,
        )
        .unwrap();
        assert!(check(&theirs, r#"{"Note": "a"}"#).unwrap_err().contains("written by hand"));
    }

    #[test]
    fn the_trace_of_the_producer_stays() {
        let spec = spec(r#", "trace": true"#);
        let name = spec.trace.as_ref().unwrap().as_str();
        assert!(spec.settable().all(|column| column.name.as_str() != name));
        let why = check(&spec, &format!(r#"{{"{name}": "00-a-b-01"}}"#)).unwrap_err();
        assert!(why.starts_with(&format!("column {name:?} is not to be set: it says which trace")), "{why}");
    }

    #[test]
    fn columns_of_limits_stay() {
        let spec = QueueSpec::from_json(
            r#"{"queue": "Q", "columns": [{"name": "Customer", "type": "integer"}, {"name": "Note", "type": "text"},
                {"name": "Size", "type": "integer"}], "limit": [{"by": "Customer", "at_once": 1, "weight": "Size"}]}"#,
        )
        .unwrap();
        assert_eq!(spec.settable().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["Note"]);
        let why = check(&spec, r#"{"customer": 1}"#).unwrap_err();
        assert!(why.starts_with("column \"Customer\" is not to be set: items are counted by it (\"limit\")"), "{why}");
    }

    #[test]
    fn an_adopted_table_lets_only_its_payload_be_set() {
        let spec = QueueSpec::from_json(
            r#"{"queue": "Q", "table": {"name": "t", "key": [{"name": "Id", "type": "guid"}], "seek": {"Part": [0, 1]},
                "lifecycle": {"enqueued": "CreatedAt", "error": "Trouble"}, "index": {"name": "i", "columns": ["S", "Due"]},
                "status": {"column": "S", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}},
                "columns": [{"name": "Body", "type": "json"},
                    {"name": "Part", "type": "integer"}, {"name": "Due", "type": "integer"}]}"#,
        )
        .unwrap();
        assert_eq!(spec.settable().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["Body"]);
        assert_eq!(check(&spec, r#"{"body": [1.10]}"#).unwrap().unwrap(), r#"{"Body":[1.10]}"#);
        for name in ["Id", "CreatedAt", "Trouble", "S", "Part", "Due"] {
            let why = check(&spec, &format!(r#"{{"{name}": 1}}"#)).unwrap_err();
            assert!(why.starts_with(&format!("column {name:?} is not to be set")), "{why}");
        }
    }
}
