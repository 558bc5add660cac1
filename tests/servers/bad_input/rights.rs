//! A login without the rights it needs.

use super::assert_says;
use readpast::error::ErrorKind;
use readpast::install::install;
use readpast::item::{Action, Lease};
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::{Scratch, all, changed, config, item};

/// A worker's role: it may execute functions, and nothing else.
fn worker(scratch: &mut Scratch) -> String {
    let role = scratch.role();
    scratch.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    scratch.run(&format!("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA readpast TO {role}"));
    role
}

fn open(scratch: &Scratch, role: &str) -> Result<Queue, readpast::error::Error> {
    let connection = changed(&scratch.connection(), &[("Uid", role), ("Pwd", "p")]);
    Queue::open(&config(&connection, &[]), "Job")
}

#[test]
fn a_worker_needs_nothing_but_to_execute() {
    let mut scratch = Scratch::new();
    let role = worker(&mut scratch);
    let queue = open(&scratch, &role).unwrap();
    queue.enqueue(&[item("a")], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    queue.renew(&[Lease::from(batch.get(0).unwrap())]).unwrap();
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    queue.recover(1).unwrap();
    assert_eq!(queue.stats().unwrap().count(readpast::item::ItemState::Completed), 1);
}

#[test]
fn each_right_that_is_missing_is_named() {
    let mut scratch = Scratch::new();
    let role = worker(&mut scratch);
    let queue = open(&scratch, &role).unwrap();
    queue.enqueue(&[item("a")], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    let item_of = || batch.get(0).unwrap();

    let denied = |function: &str, call: &dyn Fn() -> Result<(), readpast::error::Error>| {
        let function = format!("readpast.{function}");
        scratch.run(&format!("REVOKE EXECUTE ON FUNCTION {function} FROM {role}"));
        let name = function.trim_start_matches("readpast.");
        assert_says(call(), ErrorKind::PermissionDenied, &["permission denied", name, "grant"]);
        scratch.run(&format!("GRANT EXECUTE ON FUNCTION {function} TO {role}"));
        call().unwrap_or_else(|error| panic!("the remedy works: {error}"));
    };
    denied("add_job_set_trx", &|| queue.enqueue(&[item("b")], None).map(drop));
    denied("next_job_set_trx", &|| queue.claim(1, Duration::ZERO).map(drop));
    denied("renew_job_set_trx", &|| queue.renew(&[Lease::from(item_of())]).map(drop));
    denied("modify_job_set_trx", &|| queue.settle(&all(&batch, Action::Complete), None).map(drop));
    denied("recover_job_trx", &|| queue.recover(1).map(drop));
    denied("stats_job", &|| queue.stats().map(drop));
}

#[test]
fn an_error_names_the_rights_that_a_stranger_lacks() {
    let mut scratch = Scratch::new();
    let role = scratch.role();
    assert_says(open(&scratch, &role), ErrorKind::PermissionDenied, &["schema readpast", "grant"]);
    scratch.run(&format!("GRANT USAGE ON SCHEMA readpast TO {role}"));
    assert_says(open(&scratch, &role), ErrorKind::PermissionDenied, &["queue_catalog", "grant"]);
}

#[test]
fn installing_without_the_right_to_create() {
    let mut scratch = Scratch::empty();
    let role = scratch.role();
    let connection = changed(&scratch.connection(), &[("Uid", &role), ("Pwd", "p")]);
    let refused = install(&config(&connection, &[]), None);
    assert_says(
        refused,
        ErrorKind::PermissionDenied,
        &["installing failed at", "CREATE SCHEMA", &scratch.name, "install as", "may create"],
    );
    assert_eq!(scratch.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'readpast'"), "0");
}
