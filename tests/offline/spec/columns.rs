//! What a description says of a column besides its type.

use readpast::{ErrorKind, QueueSpec};
use serde_json::{Value, json};

/// A queue with one column, of which `more` is said besides its name.
fn described(more: &Value) -> readpast::Result<QueueSpec> {
    let mut column = json!({"name": "C"});
    column.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    QueueSpec::from_json(&json!({"queue": "Q", "columns": [column]}).to_string())
}

fn refused(more: &Value) -> String {
    let error = described(more).expect_err(&more.to_string());
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.message().to_owned()
}

#[test]
fn a_default_is_a_value_of_its_column() {
    for (kind, default, why) in [
        ("integer", json!("1"), "columns[0].default: a column of type integer does not take \"1\""),
        ("integer", json!(2147483648_i64), "does not take 2147483648"),
        ("text(3)", json!("four"), "is 4 characters long; 3 are the most"),
        ("text", json!("a\u{0}"), "U+0000"),
        ("text", json!("a\nb"), "has a control character"),
        ("boolean", json!(0), "does not take 0"),
        ("decimal(4, 2)", json!("123.4"), "does not take"),
        ("timestamp", json!("now"), "does not take \"now\""),
        ("date", json!("2026-11-21T00:00"), "does not take"),
        ("guid", json!("x"), "does not take"),
        ("json", json!("text"), "does not take"),
        ("text", json!(null), "leave it out"),
    ] {
        let message = refused(&json!({"type": kind, "default": default}));
        assert!(
            message.starts_with("line 1: columns[0].default: ") && message.contains(why),
            "{kind} {default}: {message}"
        );
    }
    let toml = "queue = 'Q'\ncolumns = [{ name = 'At', type = 'timestamp', default = 2026-11-21 }]";
    let error = QueueSpec::from_toml(toml).unwrap_err();
    assert!(error.message().contains("line 2: columns[0].default: must be a value as JSON has it"), "{error}");
    let toml = "queue = 'Q'\ncolumns = [{ name = 'J', type = 'json', default = { a = [1, 2.5, true] } }]";
    let spec = QueueSpec::from_toml(toml).unwrap();
    assert_eq!(spec.columns[0].default, Some(json!({"a": [1, 2.5, true]})));
}

#[test]
fn a_default_of_a_subtype_is_held_to_the_same() {
    let spec = |default: &str| {
        QueueSpec::from_json(&format!(
            r#"{{"queue": "Q", "subtypes": [{{"name": "S", "columns": [{{"name": "C", "type": "integer", "default": {default}}}]}}]}}"#
        ))
    };
    let error = spec("1.5").unwrap_err();
    assert!(
        error.message().contains("subtypes[0].columns[0].default: a column of type integer does not take 1.5"),
        "{error}"
    );
    assert_eq!(spec("1").unwrap().subtypes[0].columns[0].default, Some(json!(1)));
}

#[test]
fn procedures_written_by_hand_have_their_own() {
    let text = r#"{"queue": "Q", "procedures": {"next": "n", "modify": "m", "view": "v", "key": "k", "token": "t"},
        "columns": [{"name": "C", "type": "text", "default": "x"}]}"#;
    let error = QueueSpec::from_json(text).unwrap_err();
    assert!(error.message().contains("columns[0].default: is decided by the hand-written procedures"), "{error}");
}
