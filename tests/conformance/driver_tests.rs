//! The driver is no better than what it finds wrong: wrong answers of all kinds, of adapters that are a line of shell.

#[allow(dead_code, reason = "shared with the suite; each uses its part of it")]
mod driver;

use driver::{Cell, Program, Surroundings, Variables, load, matches, missing, render, run};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[track_caller]
fn fits(pattern: Value, answer: Value) {
    let result = matches(&pattern, &answer, &mut Variables::new());
    assert_eq!(result, Ok(()), "{pattern} against {answer}");
}

#[track_caller]
fn differs(pattern: Value, answer: Value, part: &str) {
    let wrong = matches(&pattern, &answer, &mut Variables::new()).expect_err("it must not fit");
    assert!(wrong.contains(part), "{part:?} is missing in: {wrong}");
}

#[test]
fn objects_are_compared_by_the_members_that_are_expected() {
    fits(json!({"a": 1}), json!({"a": 1, "b": 2}));
    fits(json!({}), json!({"a": 1}));
    differs(json!({"a": 1}), json!({"a": 2}), "a: 2, not 1");
    differs(json!({"a": {"b": [1, 2]}}), json!({"a": {"b": [1, 3]}}), "a.b[1]: 3, not 2");
    differs(json!({"a": 1}), json!({}), "a: missing");
    differs(json!({"a": 1}), json!([]), "the answer: []");
}

#[test]
fn arrays_are_compared_whole() {
    fits(json!([]), json!([]));
    differs(json!([1]), json!([1, 2]), "2 elements, not 1");
    differs(json!([1, 2]), json!([2, 1]), "[0]: 2, not 1");
    fits(json!({"$unordered": [1, {"a": 2}]}), json!([{"a": 2, "b": 3}, 1]));
    differs(json!({"$unordered": [1, 1]}), json!([1, 2]), "no element is 1");
    differs(json!({"$unordered": [1]}), json!([1, 1]), "2 elements, not 1");
    fits(json!({"$each": {"a": "$any"}, "$count": 2}), json!([{"a": 1}, {"a": 2}]));
    differs(json!({"$each": {"a": 1}}), json!([{"a": 1}, {"a": 2}]), "[1].a: 2, not 1");
    differs(json!({"$count": 2}), json!([1]), "has not the count");
    differs(json!({"$each": 1}), json!(1), "not an array");
}

#[test]
fn types_are_not_mixed_up() {
    fits(json!(1), json!(1.0));
    fits(json!(9_223_372_036_854_775_807_i64), json!(9_223_372_036_854_775_807_i64));
    differs(json!(9_223_372_036_854_775_807_i64), json!(9_223_372_036_854_775_806_i64), "not 9223372036854775807");
    differs(json!(1), json!("1"), "\"1\", not 1");
    differs(json!(null), json!(""), "\"\", not null");
    differs(json!(""), json!(null), "null, not \"\"");
    differs(json!(true), json!(1), "1, not true");
    differs(json!(null), json!(0), "0, not null");
    differs(json!({"a": null}), json!({}), "a: missing");
}

#[test]
fn operators_hold_or_not() {
    fits(json!({"$min": 1, "$max": 3}), json!(3));
    differs(json!({"$min": 1, "$max": 3}), json!(4), "is not at most");
    differs(json!({"$min": 1}), json!("2"), "is not at least");
    fits(json!({"$contains": ["Pool", "in use"]}), json!("the pool is in use"));
    differs(json!({"$contains": ["pool", "free"]}), json!("the pool is in use"), "\"free\"");
    differs(json!({"$contains": "a"}), json!(null), "does not contain");
    fits(json!({"$lacks": "secret"}), json!("harmless"));
    differs(json!({"$lacks": "secret"}), json!("a secret"), "contains");
    differs(json!({"$starts": "b"}), json!("ab"), "does not start with");
    fits(json!({"$length": 1}), json!("\u{1f600}"));
    differs(json!({"$length": 2}), json!("a"), "has not the length");
    fits(json!({"$one_of": [1, {"$length": 1}]}), json!("a"));
    differs(json!({"$one_of": [1, 2]}), json!(3), "is none of");
    fits(json!({"$not": ""}), json!("a"));
    differs(json!({"$not": ""}), json!(""), "must not be");
    differs(json!({"a": {"$not": ""}}), json!({}), "a: missing");
    fits(json!({"a": "$missing"}), json!({}));
    differs(json!({"a": "$missing"}), json!({"a": null}), "not missing");
    fits(json!({"a": "$any"}), json!({"a": null}));
    differs(json!({"a": "$any"}), json!({}), "a: missing");
}

#[test]
fn a_captured_value_must_come_back() {
    let mut variables = Variables::new();
    assert_eq!(
        matches(&json!([{"key": "$k"}, {"key": "$k"}]), &json!([{"key": 1}, {"key": 1}]), &mut variables),
        Ok(())
    );
    assert_eq!(variables["k"], 1);
    assert!(matches(&json!("$k"), &json!(2), &mut variables).is_err());
    assert!(matches(&json!({"$not": "$k"}), &json!(1), &mut variables).is_err());
    assert_eq!(matches(&json!({"$as": "other", "$not": "$k"}), &json!(2), &mut variables), Ok(()));
    assert_eq!(variables["other"], 2);
    assert_eq!(matches(&json!("$$k"), &json!("$k"), &mut variables), Ok(()));
}

/// A scenario without a server.
#[derive(Default)]
struct Alone(Variables);

impl Surroundings for Alone {
    fn variables(&mut self) -> &mut Variables {
        &mut self.0
    }

    fn spell(&self, column: &str) -> String {
        column.to_lowercase()
    }

    fn complete(&self, settings: &Value) -> Value {
        settings.clone()
    }

    fn act(&mut self, what: &str, _: &Value) -> Result<Option<Value>, String> {
        Ok(Some(what.into()))
    }
}

/// Runs the steps with an adapter that is a script of the shell.
fn tell(script: &str, steps: Value) -> Result<(), String> {
    tell_within(Duration::from_secs(60), script, steps)
}

fn tell_within(patience: Duration, script: &str, steps: Value) -> Result<(), String> {
    tell_as(&program(patience, false), script, steps)
}

fn program(patience: Duration, in_wine: bool) -> Program {
    let may_hang = Arc::new(AtomicBool::new(in_wine));
    Program { path: "/bin/sh".into(), arguments: Vec::new(), environment: Vec::new(), in_wine, patience, may_hang }
}

fn tell_as(program: &Program, script: &str, steps: Value) -> Result<(), String> {
    let folder = std::env::temp_dir();
    let name = format!("readpast-driver-test-{}-{:?}", std::process::id(), std::thread::current().id());
    let (path, complaints) = (folder.join(format!("{name}.sh")), folder.join(format!("{name}.err")));
    std::fs::write(&path, script).unwrap();
    let program = Program { arguments: vec![path.to_str().unwrap().to_owned()], ..program.clone() };
    let steps: Vec<_> = steps.as_array().unwrap().clone();
    let result = run(&steps, &program, &mut Alone::default(), &complaints);
    for file in [path, complaints] {
        // One of them may not have come about.
        let _ = std::fs::remove_file(file);
    }
    result
}

/// An adapter that answers each request with the next of these lines, and then ends with its input.
fn lines(answers: &[&str]) -> String {
    let said = answers.iter().map(|answer| format!("read -r line; echo '{answer}'\n"));
    said.collect::<String>() + "while read -r line; do :; done\n"
}

#[test]
fn right_answers_pass() {
    let answers = [r#"{"status": "READPAST_OK", "key": "a"}"#, r#"{"status": "READPAST_EMPTY", "status_": 1}"#];
    let steps = json!([
        {"do": "x", "expect": {"key": "$key"}}, {"driver": "anything", "expect": "anything"},
        {"do": "y", "key": "$key", "expect": {"status": "READPAST_EMPTY"}},
    ]);
    assert_eq!(tell(&lines(&answers), steps), Ok(()));
}

#[test]
fn a_captured_value_is_sent_as_it_is_spelt() {
    // Answers with what it was asked, so that the expectation sees it.
    let echo =
        "while read -r line; do printf '%s\\n' \"{\\\"status\\\": \\\"READPAST_OK\\\", \\\"asked\\\": $line}\"; done\n";
    let asked = json!({"queue": "q", "status": "x", "text": "aaa", "list": [1, 1], "both": "x-aa", "dollar": "$x"});
    let steps = json!([
        {"do": "x", "text": "v", "expect": {"asked": {"text": "$v"}}},
        {"do": "y", "#Status": "x", "text": {"$repeat": ["a", 3]}, "list": {"$times": [2, 1]}, "dollar": "$$x",
         "both": {"$concat": ["x-", {"$repeat": ["a", 2]}]}, "expect": {"asked": asked}},
        {"do": "z", "text": "$v", "expect": {"asked": {"text": "v", "expect": "$missing"}}},
    ]);
    assert_eq!(tell(echo, steps), Ok(()));
}

#[test]
fn wrong_answers_fail() {
    let failure = |status: &str, more: &str| {
        format!(r#"{{"status": "{status}", "error": {{"message": "m", "sqlstate": null, "native_code": 0{more}}}}}"#)
    };
    let plain = r#", "retryable": false, "operation": null"#;
    for (answer, expected, part) in [
        (r#"{"status": "READPAST_EMPTY"}"#.to_owned(), "READPAST_OK", "status: \"READPAST_EMPTY\""),
        ("{}".to_owned(), "READPAST_OK", "no status"),
        ("nonsense".to_owned(), "READPAST_OK", "not JSON"),
        (r#"{"status": "UNSUPPORTED"}"#.to_owned(), "UNSUPPORTED", "does not know this verb"),
        (r#"{"status": "READPAST_OK", "error": null}"#.to_owned(), "READPAST_OK", "has no error"),
        (r#"{"status": "READPAST_CLOSED"}"#.to_owned(), "READPAST_CLOSED", "error: missing"),
        (failure("READPAST_CLOSED", ""), "READPAST_CLOSED", "retryable: missing"),
        (failure("READPAST_DEADLOCK", plain), "READPAST_DEADLOCK", "error.retryable: false, not true"),
        (
            failure("READPAST_OUTCOME_UNKNOWN", r#", "retryable": true, "operation": null"#),
            "READPAST_OUTCOME_UNKNOWN",
            "error.operation",
        ),
        (failure("READPAST_CLOSED", r#", "retryable": false, "operation": "x""#), "READPAST_CLOSED", "error.operation"),
    ] {
        let wrong = tell(&lines(&[&answer]), json!([{"do": "x", "expect": {"status": expected}}])).unwrap_err();
        assert!(wrong.contains("step 1") && wrong.contains(part), "{part:?} is missing in: {wrong}");
    }
    let right = failure("READPAST_CLOSED", plain);
    assert_eq!(tell(&lines(&[&right]), json!([{"do": "x", "expect": {"status": "READPAST_CLOSED"}}])), Ok(()));
}

#[test]
fn adapters_that_hang_die_or_chatter_fail() {
    let step = json!([{"do": "x"}]);
    let ok = r#"echo '{"status": "READPAST_OK"}'"#;
    let wrong = |script: &str| tell(script, step.clone()).unwrap_err();
    let hangs = |script: &str| tell_within(Duration::from_secs(1), script, step.clone()).unwrap_err();
    assert!(hangs("read -r line; sleep 60").contains("no answer within 1000 ms"));
    // However slow the machine is, one of the two it is.
    let wrong_end = hangs(&format!("{ok}; exec sleep 60"));
    assert!(wrong_end.contains("does not end") || wrong_end.contains("no answer"), "{wrong_end}");
    assert!(wrong("read -r line; echo why >&2; exit 3").contains("standard error:\nwhy"));
    assert!(wrong("read -r line; exit 3").contains("the adapter ended: exit status: 3"));
    assert!(wrong(&format!("read -r line; {ok}; {ok}; read -r line")).contains("nothing was asked"));
    assert!(wrong(&format!("read -r line; {ok}; read -r line; exit 4")).contains("ended with exit status: 4"));
    assert!(wrong("read -r line; kill -SEGV $$").contains("signal"));
}

#[test]
fn a_program_that_wine_ends_before_it_begins_is_started_again() {
    let step = json!([{"do": "hello"}]);
    let begins_at = |last: u32, in_wine| {
        let marks = support::folder::folder("marks");
        let script = format!(
            "touch {0}/$$; [ $(ls {0} | wc -l) -ge {last} ] || exit 1; {1}",
            marks.display(),
            lines(&[r#"{"status": "READPAST_OK"}"#])
        );
        let told = tell_as(&program(Duration::from_secs(60), in_wine), &script, step.clone());
        std::fs::remove_dir_all(&marks).unwrap();
        told
    };
    assert_eq!(begins_at(3, true), Ok(()));
    assert!(begins_at(4, true).unwrap_err().contains("the adapter ended: exit status: 1"));
    assert!(begins_at(2, false).unwrap_err().contains("the adapter ended: exit status: 1"));
}

#[test]
fn one_program_may_hang_as_wine_ends_it() {
    let tell = |program: &Program| {
        let script = r#"read -r line; echo '{"status": "READPAST_OK"}'; exec sleep 60"#;
        tell_as(program, script, json!([{"do": "x"}]))
    };
    let in_wine = program(Duration::from_secs(5), true);
    assert_eq!(tell(&in_wine), Ok(()));
    assert!(tell(&in_wine).unwrap_err().contains("does not end"), "another time it is no chance");
    assert!(tell(&program(Duration::from_secs(5), false)).unwrap_err().contains("does not end"));
}

#[test]
fn every_status_has_to_be_expected() {
    let header = include_str!("../../include/readpast.h");
    let scenarios = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/scenarios"));
    assert!(missing(header, &scenarios).is_empty());
    let later = format!("{header}\n#define READPAST_LATER -99\n");
    assert_eq!(missing(&later, &scenarios).into_iter().collect::<Vec<_>>(), ["READPAST_LATER"]);
    let changed = header.replace("#define READPAST_CLOSED -6", "#define READPAST_CLOSED -96");
    assert_eq!(missing(&changed, &scenarios).into_iter().collect::<Vec<_>>(), ["READPAST_CLOSED"]);
    let without: Vec<_> = scenarios.into_iter().filter(|scenario| !scenario.name.starts_with("faults/")).collect();
    assert!(missing(header, &without).contains("READPAST_POOL_TIMEOUT"));
}

#[test]
fn the_table_shows_every_cell() {
    let cell = |scenario: &str, language: &str, result: Result<(), String>| Cell {
        scenario: scenario.to_owned(),
        place: "postgres",
        language: language.to_owned(),
        result,
    };
    let cells = [
        cell("t/one", "c", Ok(())),
        cell("t/two", "c", Err("why".to_owned())),
        cell("t/one", "python", Ok(())),
        cell("t/two", "python", Ok(())),
    ];
    let table = render(&cells, &["c".to_owned(), "python".to_owned()], &[("postgres", "PostgreSQL")]);
    let expected =
        "PostgreSQL  c        python\nt/one       ok       ok\nt/two       FAILED   ok\n            1/2      2/2\n\n";
    assert_eq!(table, expected);
}
