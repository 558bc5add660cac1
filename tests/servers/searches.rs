//! Values that a filter looks for, given by hand: one that is not understood narrows the choice, or the call is refused.

use readpast::item::NewItem;
use readpast::{Columns, Filter, Queue, QueueSpec, Settlement, install};
use support::both::Database;

const SPEC: &str =
    r#"{"queue": "Letter", "columns": [{"name": "Customer", "type": "integer"}, {"name": "Body", "type": "text"}]}"#;

/// A purge deletes what fits: were a value left out, that would be everything.
#[test]
fn a_purge_by_values_spares_what_does_not_fit() {
    for database in Database::each() {
        install(&database.config(&[]), Some(&QueueSpec::from_json(SPEC).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Letter").unwrap();
        let letter = |customer: i64, body: &str| NewItem {
            columns: Columns::from_iter([("Customer", customer.into()), ("Body", serde_json::Value::from(body))]),
            ..NewItem::default()
        };
        let added =
            queue.enqueue(&[letter(1, r#"{"a": {"b": 1}}"#), letter(2, "no JSON"), letter(3, "")], None).unwrap();
        let cancels: Vec<_> =
            added.iter().map(|receipt| Settlement::control(&receipt.key, None, readpast::Action::Cancel)).collect();
        queue.settle(&cancels, None).unwrap();
        let left = || queue.find(&Filter::default(), None, 10).unwrap().len();
        for filter in [
            r#"{"columns": {"Customer": 9}}"#,
            r#"{"columns": {"C\u0075stomer": 9}}"#,
            r#"{"columns": {"Customer": 9, "Customer": 1}}"#,
            r#"{"columns": {"Customer": 1, "Body": "no JSON"}}"#,
            r#"{"columns": {"Body": "no JSON "}}"#,
            r#"{"columns": {"Body": "NO JSON"}}"#,
            r#"{"columns": {"customer": 1}}"#,
            r#"{"columns": {"Nope": 1}}"#,
            r#"{"columns": {"Customer": null}}"#,
            r#"{"columns": {"Customer": "x"}}"#,
            r#"{"members": [{"column": "Body", "path": ["a", "b"], "value": "2"}]}"#,
            r#"{"members": [{"column": "Body", "path": ["b"], "value": "1"}]}"#,
            r#"{"members": [{"column": "Customer", "path": ["b"], "value": "1"}]}"#,
            r#"{"members": [{"column": "Body", "path": [], "value": "1"}]}"#,
            r#"{"members": [{"column": "Body", "path": ["a", "b", "c", "d"], "value": "1"}]}"#,
        ] {
            let call = database.pick(
                "EXECUTE [readpast].Purge_Letter_trx @Filter = N'{}', @Max = 10",
                "SELECT * FROM readpast.purge_letter_trx('{}', 10)",
            );
            // It deletes nothing, or is refused.
            let _ = database.session().execute(&call.replace("{}", filter), &[]);
            assert_eq!(left(), 3, "{filter}");
        }
        let one = Filter::from_json(r#"{"columns": {"Customer": 2, "Body": "no JSON"}}"#).unwrap();
        assert_eq!(queue.purge(&one, 10).unwrap(), 1);
        assert_eq!(left(), 2);
    }
}
