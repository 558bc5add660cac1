//! The properties of a column besides its type.

use readpast::{Dialect, ErrorKind, QueueSpec, ident::Identifier};
use serde_json::{Value, json};

/// A queue with one column, which has `more` besides its name.
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
        ("binary(1)", json!("AP8="), "is 2 bytes long; 1 are the most"),
        ("binary", json!("00ff!"), "takes bytes as base64"),
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

#[test]
fn a_condition_is_one_and_whole() {
    let all = |check: Value| json!({"type": "integer", "check": check});
    for (check, place, why) in [
        (json!("C > 0)"), "check", "closes a parenthesis that it does not open"),
        (json!("(C > 0"), "check", "opens a parenthesis that it does not close"),
        (json!("C = 'x"), "check", "opens a quote that it does not close"),
        (json!("C > 0; DROP TABLE t"), "check", "has a semicolon"),
        (json!("C > 0 -- or not"), "check", "has a comment"),
        (json!("C >\n0"), "check", "has a control character"),
        (json!(" "), "check", "is empty"),
        (json!(5), "check", "must be text, not 5"),
        (json!({"sql_server": "C > 0"}), "check", "the key \"postgresql\" is missing"),
        (json!({"sql_server": "[a) = 1", "postgresql": "C > 0"}), "check.sql_server", "opens a quote"),
        (json!({"sql_server": "C > 0", "postgresql": ""}), "check.postgresql", "is empty"),
        (json!({"mysql": "C > 0"}), "check.mysql", "no such key"),
    ] {
        let message = refused(&all(check));
        assert!(message.starts_with(&format!("line 1: columns[0].{place}: ")) && message.contains(why), "{message}");
    }
    for check in [json!("C > 0"), json!({"sql_server": "[C] > 0", "postgresql": "\"C\" > 0"})] {
        let spec = described(&all(check.clone())).unwrap();
        let written: Value = serde_json::from_str(&spec.to_json()).unwrap();
        assert_eq!(written["columns"][0]["check"], check, "as it was");
    }
}

#[test]
fn a_reference_is_a_table_and_a_column() {
    for (kind, references, why) in [
        ("integer", "dbo.Users", "must be a table and a column of it, like \"dbo.Users(ID)\", not \"dbo.Users\""),
        ("integer", "Users(A, B)", "must be a table and a column"),
        ("json", "Users(A)", "a column of type json refers to none"),
        ("text", "Users(A)", "a column of type text refers to none"),
    ] {
        let message = refused(&json!({"type": kind, "references": references}));
        assert!(message.starts_with("line 1: columns[0].references: ") && message.contains(why), "{message}");
    }
    let spec = described(&json!({"type": "integer", "references": "[dbo].[Users]([ID])"})).unwrap();
    assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);
}

#[test]
fn constraints_are_for_tables_that_are_made() {
    let spec = |create: bool, column: &str| {
        QueueSpec::from_json(&format!(
            r#"{{"queue": "Q", "table": {{"name": "t", "create": {create}, "key": ["id"],
                "status": {{"column": "S", "values": {{"Pending": 0, "Processing": 1, "Completed": 2}}}}}},
                "columns": [{{"name": "C", "type": "integer", {column}}}]}}"#
        ))
    };
    for (key, column) in [
        ("check", r#""check": "C > 0""#),
        ("references", r#""references": "Users(ID)""#),
        ("sql_type", r#""sql_type": "dbo.DbUserID""#),
    ] {
        let error = spec(false, column).unwrap_err();
        assert!(error.message().contains(&format!("columns[0].{key}: is for tables that readpast makes")), "{error}");
        spec(true, column).unwrap();
    }
    spec(false, r#""default": 1"#).unwrap();
    let long = format!(
        r#"{{"queue": "Q{}", "columns": [{{"name": "C{0}", "type": "integer", "check": "1 = 1"}}]}}"#,
        "x".repeat(30)
    );
    let error = QueueSpec::from_json(&long).unwrap_err();
    assert!(error.message().contains("columns[0].check: the constraint would be called"), "{error}");
}

#[test]
fn a_type_of_the_authors_own_has_a_name() {
    for name in ["nvarchar(6)", "", "a.b.c", "dbo."] {
        let message = refused(&json!({"type": "text(6)", "sql_type": name}));
        assert!(message.contains("columns[0].sql_type: must be the name of a type of your own"), "{message}");
    }
    let spec = described(&json!({"type": "text(6)", "sql_type": "dbo.OtpCode"})).unwrap();
    assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);
    for (dialect, declared) in
        [(Dialect::SqlServer, "[C] [dbo].[OtpCode] NULL"), (Dialect::Postgres, "\"C\" \"dbo\".\"otpcode\" NULL")]
    {
        let objects = readpast::render::queue(dialect, &Identifier::new("the schema", "s").unwrap(), &spec).unwrap();
        assert!(objects.iter().any(|object| object.definition.contains(declared)), "{declared}");
    }
}

#[test]
fn bytes_are_of_some_length_and_are_no_group() {
    for kind in ["binary(0)", "binary(8001)", "binary(max)", "binary()"] {
        assert!(refused(&json!({"type": kind})).contains("columns[0].type: there is no column type"), "{kind}");
    }
    for (column, more, why) in [
        ("binary(4)", r#""order": {"group": "C"}"#, "order.group: \"C\" has bytes, but a group is a text"),
        ("binary", r#""dedup": {"columns": ["C"]}"#, "a column of type binary cannot be in an index"),
    ] {
        let text = format!(r#"{{"queue": "Q", "columns": [{{"name": "C", "type": "{column}"}}], {more}}}"#);
        let error = QueueSpec::from_json(&text).unwrap_err();
        assert!(error.message().contains(why), "{error}");
    }
    let theirs = r#"{"queue": "Q", "procedures": {"next": "n", "modify": "m", "view": "v", "key": "k", "token": "t"},
        "columns": [{"name": "C", "type": "binary"}]}"#;
    let error = QueueSpec::from_json(theirs).unwrap_err();
    assert!(error.message().contains("columns[0].type: is no type for hand-written procedures"), "{error}");
}

/// A default's name may be as long as SQL Server's are; a constraint's has to fit PostgreSQL.
#[test]
fn names_of_constraints_fit_their_server() {
    let (queue, name) = (format!("W{}", "q".repeat(30)), "c".repeat(40));
    let with = |more: &str| {
        QueueSpec::from_json(&format!(
            r#"{{"queue": "{queue}", "columns": [{{"name": "{name}", "type": "text(9)", {more}}}]}}"#
        ))
    };
    with(r#""default": "a""#).unwrap();
    with(r#""sql_type": "dbo.Code""#).unwrap();
    assert!(with(r#""check": "1 = 1""#).unwrap_err().message().contains("more than 63"));
}
