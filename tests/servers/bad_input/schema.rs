//! Schemas and queues that are missing, of another version, or were changed behind the library's back.

use super::assert_says;
use readpast::error::ErrorKind;
use readpast::item::{Action, Lease};
use readpast::queue::Queue;
use readpast::{description::QueueSpec, install::install};
use std::time::Duration;
use support::scratch::{Scratch, all, item};

#[test]
fn nothing_is_installed() {
    let scratch = Scratch::empty();
    let words = ["\"readpast\"", "no readpast objects", "install"];
    assert_says(Queue::open(&scratch.config(&[]), "Job"), ErrorKind::SchemaMissing, &words);
    let scratch = Scratch::new();
    let elsewhere = Queue::open(&scratch.config(&[("schema", "elsewhere")]), "Job");
    assert_says(elsewhere, ErrorKind::SchemaMissing, &["\"elsewhere\"", "set \"schema\""]);
}

#[test]
fn older_and_newer_installs_are_refused() {
    let scratch = Scratch::new();
    let open = || Queue::open(&scratch.config(&[]), "Job");
    scratch.run("UPDATE readpast.queue_spec SET rendered_by = 0");
    assert_says(open(), ErrorKind::SchemaOlder, &["\"readpast\"", "version 0", "install again"]);
    scratch.run("UPDATE readpast.queue_spec SET rendered_by = 99");
    scratch.run("UPDATE readpast.queue_schema_version SET version = version - 1");
    assert_says(open(), ErrorKind::SchemaOlder, &["version 0", "install again"]);
    scratch.run("UPDATE readpast.queue_schema_version SET version = 99");
    assert_says(open(), ErrorKind::SchemaNewer, &["version 99", "newer library"]);
    assert_says(install(&scratch.config(&[]), None), ErrorKind::SchemaNewer, &["version 99", "newer library"]);
}

#[test]
fn an_unknown_queue() {
    let scratch = Scratch::new();
    let open = |name| Queue::open(&scratch.config(&[]), name);
    assert_says(open("Jobs"), ErrorKind::UnknownQueue, &["\"Jobs\"", "it has Job"]);
    assert_says(open("job"), ErrorKind::UnknownQueue, &["\"job\"", "it has Job"]);
}

#[test]
fn a_schema_may_have_any_name_that_the_server_takes() {
    let scratch = Scratch::empty();
    let spec = QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap();
    for name in
        ["we\"ird", "a]b[c", "it's", "x; DROP SCHEMA public; --", "\u{43e}\u{447}\u{435}\u{440}\u{435}\u{434}\u{44c}"]
    {
        let config = scratch.config(&[("schema", name)]);
        install(&config, Some(&spec)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let queue = Queue::open(&config, "Job").unwrap();
        queue.enqueue(&[item("a")], None).unwrap();
        let batch = queue.claim(1, Duration::ZERO).unwrap();
        assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap().len(), 1, "{name}");
    }
    assert_eq!(scratch.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'public'"), "1");
}

/// PostgreSQL would cut the name, and look for the whole one later.
#[test]
fn a_schema_name_too_long_for_the_server() {
    let scratch = Scratch::empty();
    let fits = "s".repeat(63);
    let config = scratch.config(&[("schema", &fits)]);
    install(&config, Some(&QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap())).unwrap();
    Queue::open(&config, "Job").unwrap();
    let long = "\u{43e}".repeat(32);
    let config = scratch.config(&[("schema", &long)]);
    assert_says(install(&config, None), ErrorKind::InvalidArgument, &["63 bytes", "64", "shorten"]);
    assert_says(Queue::open(&config, "Job"), ErrorKind::InvalidArgument, &["63 bytes", "shorten"]);
}

#[test]
fn a_table_that_lacks_a_column() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    queue.enqueue(&[item("a"), item("b")], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    scratch.run("ALTER TABLE readpast.job DROP COLUMN \"Payload\" CASCADE");
    let words = ["payload", "install"];
    assert_says(queue.enqueue(&[item("c")], None), ErrorKind::SchemaMismatch, &words);
    assert_says(queue.claim(1, Duration::ZERO), ErrorKind::SchemaMismatch, &words);
    let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
    assert_eq!(outcomes.len(), 1, "what needs no lost column goes on");
}

#[test]
fn functions_and_tables_that_were_dropped() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    queue.enqueue(&[item("a")], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    scratch.run("DROP FUNCTION readpast.renew_job_set_trx");
    let lease = Lease::from(batch.get(0).unwrap());
    assert_says(queue.renew(&[lease]), ErrorKind::SchemaMismatch, &["renew_job_set_trx", "install"]);
    scratch.run("DROP TABLE readpast.job CASCADE");
    assert_says(queue.stats(), ErrorKind::SchemaMismatch, &["readpast.job", "install"]);
    let install_again = install(&scratch.config(&[]), Some(&QueueSpec::from_json(r#"{"queue": "Job"}"#).unwrap()));
    install_again.expect("the remedy works");
    scratch.open(&[]).stats().unwrap();
}

#[test]
fn a_description_with_other_columns() {
    let scratch = Scratch::new();
    let other = QueueSpec::from_json(r#"{"queue": "Job", "columns": [{"name": "Other", "type": "integer"}]}"#).unwrap();
    let changed = install(&scratch.config(&[]), Some(&other));
    assert_says(
        changed,
        ErrorKind::SchemaMismatch,
        &["Job", "columns: \"Payload\"", "would be lost", "another queue name"],
    );
}

/// An error at once, with the rule that forbids it: this test would take a minute otherwise.
#[test]
fn items_that_a_rule_of_the_table_forbids() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    scratch.run("CREATE UNIQUE INDEX no_twins ON readpast.job (\"Payload\")");
    scratch.run("ALTER TABLE readpast.job ADD CONSTRAINT short CHECK (LENGTH(\"Payload\") < 5)");
    queue.enqueue(&[item("a")], None).unwrap();
    assert_says(queue.enqueue(&[item("b"), item("a")], None), ErrorKind::InvalidItem, &["\"no_twins\""]);
    assert_says(queue.enqueue(&[item("abcde")], None), ErrorKind::InvalidItem, &["\"short\""]);
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job"), "1", "all of a call or none of it");
}
