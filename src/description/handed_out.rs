//! The columns that a worker sees, by the description.

use super::{ColumnKind, ColumnSpec, QueueSpec, Storage};
use crate::error::Result;
use crate::item::{Batch, Column, ColumnType, Life, Shape, made_batch};

impl QueueSpec {
    /// The names of the columns in which a worker finds JSON. A subtype's column is called `<subtype>_<column>`.
    pub(crate) fn json_columns(&self) -> Vec<String> {
        let is_json = |column: &Column| column.kind == ColumnType::Json;
        self.handed_out().into_iter().filter(is_json).map(|column| column.name).collect()
    }

    /// Items for the test of a handler, without a queue or a server, with the columns of this description. [`Batch::from_json`]
    /// describes `items`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidItem`](crate::ErrorKind::InvalidItem) names the item that cannot be made, and the column.
    pub fn batch_from_json(&self, items: &str) -> Result<Batch> {
        let shape = Shape {
            known: self.handed_out(),
            trace: self.trace.as_ref().map(|name| name.as_str()),
            own: !matches!(self.storage, Storage::Table(_)),
            shows: &|life, name| self.shows(life, name),
        };
        made_batch(items, shape)
    }

    /// Whether the column of an item that the server calls `name` is that of its life cycle.
    pub(crate) fn shows(&self, life: Life, name: &str) -> bool {
        match &self.storage {
            Storage::Own => life.is_called(name, true),
            // Its view has times as they are stored, and all others are in UTC.
            Storage::Procedures(procedures) => life.is_called(name, true) && !(procedures.local_time && life.is_time()),
            Storage::Table(table) => {
                let lacks = (life == Life::Kind && table.lifecycle.kind.is_none())
                    || (life == Life::Enqueued && table.lifecycle.enqueued.is_none());
                life.is_called(name, false) && !lacks
            }
        }
    }

    /// The queue's own columns and those of its subtypes, as a worker sees them.
    fn handed_out(&self) -> Vec<Column> {
        let shown = |prefix: &str, column: &ColumnSpec| Column {
            name: format!("{prefix}{}", column.name.as_str()),
            kind: shown_as(column.kind),
        };
        let mut columns: Vec<_> = self.columns.iter().map(|column| shown("", column)).collect();
        for subtype in &self.subtypes {
            let prefix = format!("{}_", subtype.name.as_str());
            columns.extend(subtype.columns.iter().map(|column| shown(&prefix, column)));
        }
        columns
    }
}

fn shown_as(kind: ColumnKind) -> ColumnType {
    match kind {
        ColumnKind::Text(_) => ColumnType::Text,
        ColumnKind::Integer | ColumnKind::BigInteger => ColumnType::Integer,
        ColumnKind::Boolean => ColumnType::Boolean,
        ColumnKind::Float => ColumnType::Float,
        ColumnKind::Decimal(..) => ColumnType::Decimal,
        ColumnKind::Timestamp => ColumnType::Timestamp,
        ColumnKind::Date => ColumnType::Date,
        ColumnKind::Guid => ColumnType::Guid,
        ColumnKind::Json => ColumnType::Json,
        ColumnKind::Binary(_) => ColumnType::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Value;

    fn spec() -> QueueSpec {
        QueueSpec::from_text(
            r#"{"queue": "Q", "columns": [{"name": "Body", "type": "json"}, {"name": "At", "type": "timestamp"},
                {"name": "Sum", "type": "decimal(9, 2)"}],
                "subtypes": [{"name": "Mail", "columns": [{"name": "Head", "type": "json"}]}]}"#,
        )
        .unwrap()
    }

    #[test]
    fn json_columns_come_from_the_description() {
        assert_eq!(spec().json_columns(), ["Body", "Mail_Head"]);
    }

    #[test]
    fn a_made_item_has_the_life_cycle_of_its_table() {
        let spec = QueueSpec::from_text(
            r#"{"queue": "Q", "columns": [{"name": "EnqueuedAt", "type": "text"}],
                "table": {"name": "T", "key": [{"name": "No", "type": "integer", "source": "producer"}],
                "lifecycle": {"type": "Sort", "enqueued": "Born"}, "states": {"Pending": {"S": 0}, "Processing": {"S": 1},
                "Completed": {"S": 2}}}}"#,
        )
        .unwrap();
        let items =
            r#"[{"type": "Mail", "due": "2026-11-21", "enqueued": "2026-11-20", "columns": {"EnqueuedAt": "x"}}]"#;
        let batch = spec.batch_from_json(items).unwrap();
        let item = batch.get(0).unwrap();
        assert_eq!((item.kind(), item.due()), (Some("Mail"), Some("2026-11-21T00:00:00.0000000")));
        assert_eq!(item.value_of("ItemType"), Some(Value::Text("Mail")));
        assert_eq!(item.value_of("type"), Some(Value::Text("Mail")));
        assert_eq!(item.enqueued(), Some("2026-11-20T00:00:00.0000000"), "not the user's column");
        assert_eq!(item.value_of("EnqueuedAt"), Some(Value::Text("x")));
    }

    #[test]
    fn a_made_item_has_the_columns_of_the_description() {
        let items = r#"[{"columns": {"body": {"n": 1.10}, "At": "2026-11-21", "sum": 12.50, "Type": "Default"}},
                        {"columns": {"Body": "no JSON"}}]"#;
        let batch = spec().batch_from_json(items).unwrap();
        assert_eq!(
            batch.get(0).unwrap().to_json(),
            r#"{"Body":{"n": 1.10},"At":"2026-11-21T00:00:00.0000000","Sum":"12.50","Mail_Head":null,"Type":"Default"}"#
        );
        assert_eq!(batch.get(1).unwrap().value_of("Body"), Some(Value::Text("no JSON")));
        let error = spec().batch_from_json(r#"[{"columns": {"At": "soon"}}]"#).unwrap_err();
        assert_eq!(error.message(), r#"item 0: column "At" (Timestamp) does not take "soon""#);
    }
}
