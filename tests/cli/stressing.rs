//! `readpast stress`.

use crate::shell::{Shell, until};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn copies(shell: &Shell) -> String {
    shell.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname LIKE 'readpast_stress_%'")
}

#[test]
fn many_workers_on_a_copy_are_told_of() {
    let shell = Shell::new();
    shell.fill(2);
    let done = shell.run(&["stress", "Mail", "--workers", "4", "--items", "200"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    for words in [
        "queue Mail, a copy: 4 workers, 200 items\n",
        "  done            200 in ",
        "  left            0, and 0 failed\n",
        "  done twice      0\n",
        "  lost            0\n",
        "  claims          200   p50 ",
        "  deadlocks       0\n",
        "  what the workers waited for   (",
    ] {
        assert!(done.out.contains(words), "{words} is missing in {}", done.out);
    }
    assert!(done.err.contains("a copy of Mail is in the schema readpast_stress_"), "{}", done.err);
    assert_eq!((copies(&shell), shell.count("Pending")), ("0".to_owned(), "2".to_owned()));
}

/// Who dies settles nothing; what it had is done by another, once.
#[test]
fn workers_that_die_lose_nothing() {
    let shell = Shell::new();
    let options = ["--workers", "4", "--items", "150", "--batch", "3", "--kill", "20", "--handler", "1ms", "--json"];
    let done = shell.run(&[&["stress", "Mail"][..], &options].concat());
    assert_eq!(done.status, Some(0), "{done:?}");
    let report: &Value = &done.json()[0];
    let number = |name: &str| report[name].as_i64().unwrap_or_else(|| panic!("{name} in {report}"));
    assert_eq!((number("twice"), number("lost"), number("left")), (0, 0, 0), "{report}");
    assert_eq!(number("done") + number("failed_items"), 150, "{report}");
    assert!(number("died_with") > 0 && number("claimed_again") > 0, "{report}");
    assert!(report["claims"]["p99_us"].as_i64() >= report["claims"]["p50_us"].as_i64(), "{report}");
    assert_eq!(copies(&shell), "0");
}

#[test]
fn an_interrupt_leaves_no_copy() {
    let shell = Shell::new();
    let mut child = shell
        .command(&["stress", "Mail", "--workers", "2", "--items", "50", "--handler", "200ms", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the copy is worked on", || {
        let schema =
            shell.look("SELECT COALESCE(MIN(nspname), '') FROM pg_namespace WHERE nspname LIKE 'readpast_stress_%'");
        let there = format!("SELECT COALESCE(TO_REGCLASS('{schema}.mail')::text, '')");
        !schema.is_empty()
            && !shell.look(&there).is_empty()
            && shell.look(&format!("SELECT COUNT(*) FROM {schema}.mail WHERE status = 'Completed'")) != "0"
    });
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(copies(&shell), "0");
}

#[test]
fn what_a_killed_one_left_can_be_dropped() {
    let shell = Shell::new();
    let mut child = shell
        .command(&["stress", "Mail", "--workers", "2", "--items", "50", "--handler", "1s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    let schema = told.split_whitespace().find(|word| word.starts_with("readpast_stress_")).unwrap();
    let schema = schema.trim_end_matches(';').to_owned();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(copies(&shell), "1");
    shell.run(&["stress", "--drop", "readpast"]).says(2, &["is not the schema of a copy"]);
    shell.ok(&["stress", "--drop", &schema]);
    assert_eq!(copies(&shell), "0");
    shell.run(&["stress"]).says(2, &["required", "<QUEUE>"]);
    shell.run(&["stress", "Nope"]).says(5, &["Nope"]);
    shell.run(&["stress", "Mail", "--kill", "51"]).says(2, &["--kill"]);
}
