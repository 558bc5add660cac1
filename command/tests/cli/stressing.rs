//! `readpast stress`.

use crate::shell::{Running, Shell, is_running, until, with};
use readpast::{QueueSpec, install};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use support::limit::patience;
use support::scratch::administer;

fn copies(shell: &Shell) -> String {
    shell.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname LIKE 'readpast_stress_%'")
}

/// Waits until an item of the copy is in this state.
fn until_some_are(shell: &Shell, state: &str) {
    until(&format!("the copy has items that are {state}"), || {
        let schema =
            shell.look("SELECT COALESCE(MIN(nspname), '') FROM pg_namespace WHERE nspname LIKE 'readpast_stress_%'");
        let there = format!("SELECT COALESCE(TO_REGCLASS('{schema}.mail')::text, '')");
        !schema.is_empty()
            && !shell.look(&there).is_empty()
            && shell.look(&format!("SELECT COUNT(*) FROM {schema}.mail WHERE status = '{state}'")) != "0"
    });
}

#[test]
fn many_workers_on_a_copy_are_reported() {
    let shell = Shell::new();
    shell.fill(2);
    let done = shell.run(&["stress", "Mail", "--workers", "4", "--items", "200", "--for", "30m"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    for words in [
        "queue Mail, a copy: 4 workers, 200 items\n",
        "  done            200 in ",
        "  left            0, and 0 failed\n",
        "  done twice      0\n",
        "  lost            0\n",
        "  deadlocks       0\n",
        "  limit           ",
        "  would help      ",
        "  the workers' time\n",
        "    round trips ",
        " calls an item\n",
        "    log flush ",
        "    head and locks ",
        "    handlers ",
        "  processors      ",
        "  waits of the workers   (",
    ] {
        assert!(done.out.contains(words), "{words} is missing in {}", done.out);
    }
    // One at a time, and again what a call that was given up had taken.
    let claims = done.out.split("  claims ").nth(1).unwrap().trim_start().split_once("   p50 ").unwrap().0;
    assert!(claims.parse::<u32>().unwrap() >= 200, "{}", done.out);
    assert!(done.err.contains("the copy of Mail is the schema readpast_stress_"), "{}", done.err);
    assert_eq!((copies(&shell), shell.count("Pending")), ("0".to_owned(), "2".to_owned()));
}

/// Handlers take longer than any call: each works for a quarter of a second, twice, and all at once while items wait.
#[test]
fn the_limit_has_its_figures() {
    let shell = Shell::new();
    let options = ["--workers", "3", "--items", "60", "--batch", "10", "--handler", "25ms", "--for", "30m", "--json"];
    let done = shell.run(&[&["stress", "Mail"][..], &options].concat());
    assert_eq!(done.status, Some(0), "{done:?}");
    let limit: &Value = &done.json()[0]["limit"];
    let number = |name: &str| limit[name].as_f64().unwrap_or_else(|| panic!("{name} in {limit}"));
    let shares: Vec<_> = limit["shares"].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 0.01, "{limit}");
    assert!(limit["shares"]["handlers"].as_f64().unwrap() > 0.0, "{limit}");
    for name in ["round_trip_us", "round_trip_meanwhile_us", "commit_us", "processors", "own_busy"] {
        assert!(number(name) > 0.0, "{name} in {limit}");
    }
    // Three claims and three settlements of ten items, twice, and again those whose lease ran out.
    assert!(number("calls") >= 12.0 && number("calls_an_item") >= 0.2, "{limit}");
    assert!(number("looks_all_handlers_busy") <= number("looks"), "{limit}");
    assert_eq!((&limit["server_is_near"], &limit["log_flush_is_reckoned"]), (&true.into(), &false.into()), "{limit}");
    assert!(!limit["is"].as_str().unwrap().is_empty() && !limit["would_help"].as_str().unwrap().is_empty(), "{limit}");
    assert!(done.json()[0]["unread"].as_array().unwrap().is_empty(), "{done:?}");
}

/// A worker that dies settles nothing; another does its items, once.
#[test]
fn workers_that_die_lose_nothing() {
    let shell = Shell::new();
    let options = ["--workers", "4", "--items", "150", "--batch", "3", "--kill", "20", "--handler", "1ms"];
    let done = shell.run(&[&["stress", "Mail", "--for", "30m", "--json"][..], &options].concat());
    assert_eq!(done.status, Some(0), "{done:?}");
    let report: &Value = &done.json()[0];
    let number = |name: &str| report[name].as_i64().unwrap_or_else(|| panic!("{name} in {report}"));
    assert_eq!((number("twice"), number("lost"), number("left")), (0, 0, 0), "{report}");
    assert_eq!(number("done") + number("failed_items"), 150, "{report}");
    assert!(number("died_with") > 0 && number("claimed_again") > 0, "{report}");
    assert!(report["claims"]["p99_us"].as_i64() >= report["claims"]["p50_us"].as_i64(), "{report}");
    assert_eq!(copies(&shell), "0");
}

/// Each item has one attempt, so those of the dead fail. When the others are done the run is over, long before its time is.
#[test]
fn items_that_fail_have_ended_too() {
    let shell = Shell::empty();
    let text = r#"{"queue": "Once", "columns": [{"name": "Work", "type": "text(9)"}],
        "attempts": {"limit": 1}, "lease": {"ms": 1000}}"#;
    install(&shell.db.config(&[]), Some(&QueueSpec::from_json(text).unwrap())).unwrap();
    let options = ["--workers", "2", "--items", "40", "--batch", "1", "--kill", "30", "--for", "5m", "--json"];
    let done = shell.run(&[&["stress", "Once"][..], &options].concat());
    assert_eq!(done.status, Some(0), "{done:?}");
    let report: &Value = &done.json()[0];
    let number = |name: &str| report[name].as_i64().unwrap_or_else(|| panic!("{name} in {report}"));
    assert!(number("failed_items") > 0, "{report}");
    assert_eq!((number("done") + number("failed_items"), number("left")), (40, 0), "{report}");
    assert!(number("ms") < 300_000, "it went on until its time was over: {report}");
}

/// Workers are busy for hours: nobody waits for that.
#[test]
fn an_interrupt_ends_busy_workers_and_leaves_no_copy() {
    let shell = Shell::new();
    let options = ["--workers", "2", "--items", "50", "--batch", "10", "--handler", "1h", "--for", "1h", "--json"];
    let child = shell.start(&[&["stress", "Mail"][..], &options].concat());
    until_some_are(&shell, "Processing");
    child.signal("INT");
    until("it has ended", || !is_running(&child.id().to_string()));
    let done = child.end();
    assert_eq!((done.status, copies(&shell)), (Some(130), "0".to_owned()), "{done:?}");
    let report: &Value = &done.json()[0];
    assert_eq!((&report["done"], &report["left"], &report["lost"]), (&0.into(), &50.into(), &0.into()), "{report}");
}

/// The time ends what a worker is busy with, and the filling.
#[test]
fn the_time_ends_everything() {
    let shell = Shell::new();
    let busy = ["--workers", "2", "--items", "50", "--batch", "10", "--handler", "1h", "--for", "2s"];
    let full = ["--workers", "1", "--items", "10000000", "--batch", "100", "--for", "1s"];
    for (options, is_filled) in [(&busy[..], true), (&full, false)] {
        let child = shell.start(&[&["stress", "Mail", "--json"], options].concat());
        until("it has ended", || !is_running(&child.id().to_string()));
        let done = child.end();
        assert_eq!((done.status, copies(&shell)), (Some(0), "0".to_owned()), "{done:?}");
        let report: &Value = &done.json()[0];
        let number = |name: &str| report[name].as_i64().unwrap_or_else(|| panic!("{name} in {report}"));
        assert_eq!(number("items") + number("not_filled"), if is_filled { 50 } else { 10_000_000 }, "{report}");
        assert_eq!(number("not_filled") == 0, is_filled, "{report}");
        assert_eq!((number("left"), number("lost")), (number("items") - number("done"), 0), "{report}");
    }
}

/// Two letters or digits make 1296 texts, and one makes 36: there is no other work.
#[test]
fn duplicates_are_left_out_and_not_lost() {
    let shell = Shell::empty();
    let text = r#"{"queue": "Job", "columns": [{"name": "Work", "type": "text(2)", "nullable": false}],
        "dedup": {"columns": ["Work"]}}"#;
    install(&shell.db.config(&[]), Some(&QueueSpec::from_json(text).unwrap())).unwrap();
    let done = shell.run(&["stress", "Job", "--workers", "2", "--items", "2592", "--batch", "100", "--for", "30m"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    for words in [
        "queue Job, a copy: 2 workers, 1332 items\n",
        "  left out        1260, ",
        "  done            1332 in ",
        "  lost            0\n",
    ] {
        assert!(done.out.contains(words), "{words} is missing in {}", done.out);
    }
}

/// The others are busy for an hour; who cannot connect says so now.
#[test]
fn a_worker_that_cannot_connect_ends_all() {
    let mut shell = Shell::new();
    let role = shell.db.role();
    administer(&format!("ALTER ROLE {role} CONNECTION LIMIT 6"));
    for statement in [
        format!("GRANT CREATE ON DATABASE {} TO {role}", shell.db.name),
        format!("GRANT USAGE ON SCHEMA readpast TO {role}"),
        format!("GRANT SELECT ON ALL TABLES IN SCHEMA readpast TO {role}"),
        format!("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA readpast TO {role}"),
    ] {
        shell.db.run(&statement);
    }
    let connection = with(&shell, &[("Uid", &role), ("Pwd", "p")]);
    let mut command = shell.command(&["stress", "Mail", "--workers", "12", "--handler", "1h", "--for", "1h"]);
    command.env("READPAST_CONNECTION", connection);
    shell.write("readpast.toml", &format!("{}retry.budget_ms = 100\n", patience()));
    let child = Running::of(command.spawn().unwrap());
    until("it has ended", || !is_running(&child.id().to_string()));
    child.end().says(3, &["too many connections"]);
    assert_eq!(copies(&shell), "0");
}

#[test]
fn the_copy_of_a_killed_run_can_be_dropped() {
    let shell = Shell::new();
    let mut child = shell
        .command(&["stress", "Mail", "--workers", "2", "--items", "50", "--handler", "1h", "--for", "1h"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    let schema = told.split_whitespace().find(|word| word.starts_with("readpast_stress_")).unwrap();
    let schema = schema.trim_end_matches(';').to_owned();
    until_some_are(&shell, "Processing");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(copies(&shell), "1");
    shell.run(&["stress", "--drop", "readpast"]).says(2, &["is not the schema of a copy"]);
    shell.ok(&["stress", "--drop", &schema]);
    assert_eq!(copies(&shell), "0");
    shell.run(&["stress"]).says(2, &["required", "<QUEUE>"]);
    // The name is printed before there is anything that could be left.
    shell.run(&["stress", "Nope"]).says(5, &["Nope", "readpast stress --drop readpast_stress_"]);
    shell.run(&["stress", "Mail", "--kill", "51"]).says(2, &["--kill"]);
}
