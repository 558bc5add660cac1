//! PostgreSQL's function for one item, which puts one that fits in by itself: it takes and refuses what the function for many does, and
//! keeps the same.

use readpast::{Error, ErrorKind, QueueSpec, install};
use support::both::Database;

const SPEC: &str = r#"{"queue": "By", "types": ["Letter", "Card"], "steps": ["first", "second"], "columns": [
    {"name": "Recipient", "type": "text(5)", "nullable": false}, {"name": "Amount", "type": "decimal(5, 2)"},
    {"name": "Count", "type": "integer", "default": 7}, {"name": "Ratio", "type": "float"}, {"name": "At", "type": "timestamp"},
    {"name": "Day", "type": "date"}, {"name": "Id", "type": "guid"}, {"name": "Bytes", "type": "binary(3)"},
    {"name": "Doc", "type": "json"}]}"#;

fn database() -> Database {
    // The first one is of PostgreSQL.
    let database = Database::each().remove(0);
    install(&database.config(&[]), Some(&QueueSpec::from_json(SPEC).unwrap())).unwrap();
    database
}

fn run(database: &Database, statement: &str) -> Result<(), Error> {
    database.session().execute(statement, &[]).map(drop)
}

/// The row of the one item that is there, which then goes.
fn row(database: &Database) -> String {
    let row = database.look(
        "SELECT concat_ws('|', type, step, status, attempt_num, \"Recipient\", \"Amount\", \"Count\", \"Ratio\", \"At\", \"Day\", \"Id\", \
         \"Bytes\", \"Doc\", scheduled_for > updated_at, error, response, abs(extract(epoch FROM enqueued_at - updated_at)) < 1) \
         FROM readpast.by",
    );
    run(database, "DELETE FROM readpast.by").unwrap();
    row
}

#[test]
fn one_item_is_taken_as_one_of_many() {
    let database = database();
    for (arguments, item) in [
        ("", ""),
        ("type_ => 'Card', step_ => 'second', \"Count_\" => NULL", r#""type": "Card", "step": "second""#),
        ("\"Count_\" => -1, \"Amount_\" => 999.99", r#""columns": {"Recipient": "r", "Count": -1, "Amount": 999.99}"#),
        ("\"Recipient_\" => 'üß€''\"'", r#""columns": {"Recipient": "üß€'\""}"#),
        ("scheduled_for_ => '2400-01-01 00:00Z'", r#""due": "2400-01-01T00:00:00Z""#),
        (
            "\"At_\" => '2026-01-02 03:04:05.678901+01'",
            r#""columns": {"Recipient": "r", "At": "2026-01-02T02:04:05.678901Z"}"#,
        ),
        (
            "\"Day_\" => '0001-01-01', \"Ratio_\" => 'NaN'",
            r#""columns": {"Recipient": "r", "Day": "0001-01-01", "Ratio": "NaN"}"#,
        ),
        (
            "\"Bytes_\" => '\\x0102ff', \"Doc_\" => '{\"a\": [1]}'",
            r#""columns": {"Recipient": "r", "Bytes": "AQL/", "Doc": {"a": [1]}}"#,
        ),
    ] {
        let recipient = if arguments.contains("Recipient") { "" } else { "\"Recipient_\" => 'r', " };
        let arguments = format!("{recipient}{arguments}");
        let arguments = arguments.trim_end_matches(", ");
        let mut item = item.to_owned();
        if !item.contains("columns") {
            let nulls = if arguments.contains("Count_\" => NULL") { r#", "Count": null"# } else { "" };
            let separator = if item.is_empty() { "" } else { ", " };
            item.push_str(&format!(r#"{separator}"columns": {{"Recipient": "r"{nulls}}}"#));
        }
        let item = item.replace('\'', "''");
        run(&database, &format!("SELECT * FROM readpast.add_by_set_utx('[{{{item}}}]')")).unwrap();
        let of_many = row(&database);
        for function in ["add_by_utx", "add_by_trx"] {
            run(&database, &format!("SELECT * FROM readpast.{function}({arguments})")).unwrap();
            assert_eq!(row(&database), of_many, "{function}: {arguments}");
        }
    }
}

#[test]
fn one_item_that_does_not_fit_is_refused_by_name() {
    let database = database();
    for (argument, words) in [
        ("type_ => 'Parcel'", r#""type" takes ["Letter","#),
        ("step_ => 'third'", r#""step" takes ["first","#),
        ("scheduled_for_ => 'infinity'", r#""due" takes timestamp"#),
        ("\"Amount_\" => 1.234", r#""columns.Amount" takes decimal(5, 2)"#),
        ("\"Amount_\" => 1000", r#""columns.Amount" takes decimal(5, 2)"#),
        ("\"At_\" => '-infinity'", r#""columns.At" takes timestamp"#),
        ("\"Day_\" => '10000-01-01'", r#""columns.Day" takes date"#),
        ("\"Bytes_\" => '\\x01020304'", r#""columns.Bytes" takes binary(3)"#),
        ("\"Doc_\" => '\"text\"'", r#""columns.Doc" takes json"#),
        ("\"Recipient_\" => '123456'", r#""columns.Recipient" takes text(5)"#),
        ("\"Recipient_\" => NULL", r#""columns.Recipient" must have a value"#),
    ] {
        let recipient = if argument.contains("Recipient") { "" } else { "\"Recipient_\" => 'r', " };
        let error = run(&database, &format!("SELECT * FROM readpast.add_by_utx({recipient}{argument})")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidItem, "{argument}: {error}");
        assert!(error.message().contains(words), "{argument}: {words:?} is not in {error}");
    }
    assert_eq!(database.look("SELECT COUNT(*) FROM readpast.by"), "0");
}

/// As when the clock is set back: numbers come again within one tick of ten milliseconds.
#[test]
fn one_item_whose_key_is_taken_gets_another() {
    let database = database();
    database.run(
        "DO $$ BEGIN FOR i IN 0..119 LOOP PERFORM setval('readpast.by_seq', 10 + i / 3 * 10); \
         PERFORM readpast.add_by_utx(\"Recipient_\" => 'r'); END LOOP; END $$",
    );
    assert_eq!(database.look("SELECT COUNT(*) FROM readpast.by"), "120");
}
