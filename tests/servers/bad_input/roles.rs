//! The roles of a description: what a login of each may do, and what it may not. On PostgreSQL; the same on T-SQL is in
//! `tsql_roles`.

use super::assert_says;
use readpast::description::QueueSpec;
use readpast::error::{Error, ErrorKind};
use readpast::for_tests::Session;
use readpast::install::install;
use readpast::item::{Action, Filter, ItemRef, ItemState, Lease};
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::{Scratch, administer, all, changed, config, item};

/// A queue with roles, and their names: those are the cluster's, so each test has its own.
struct Shared {
    scratch: Scratch,
    roles: [String; 3],
}

impl Shared {
    fn new(more: &str) -> Self {
        let scratch = Scratch::new();
        let roles = ["producer", "worker", "operator"].map(|role| format!("{} \"{role}\" '--", scratch.name));
        let shared = Self { scratch, roles };
        install(&shared.scratch.config(&[]), Some(&shared.spec(more))).unwrap();
        shared
    }

    fn spec(&self, more: &str) -> QueueSpec {
        let [producer, worker, operator] = self.roles.each_ref().map(|role| serde_json::json!(role));
        QueueSpec::from_json(&format!(
            r#"{{"queue": "Job", "types": ["Default", "Sms"],
                "roles": {{"producer": {producer}, "worker": {worker}, "operator": {operator}{more}}}}}"#
        ))
        .unwrap()
    }

    /// A login that is a member of the role at `index`.
    fn login(&mut self, index: usize) -> String {
        let login = self.scratch.role();
        administer(&format!("GRANT {} TO {login}", quoted(&self.roles[index])));
        login
    }

    fn connection(&self, login: &str) -> String {
        changed(&self.scratch.connection(), &[("Uid", login), ("Pwd", "p")])
    }

    fn open(&self, login: &str) -> Queue {
        Queue::open(&config(&self.connection(login), &[]), "Job").unwrap()
    }

    /// The error of a statement by hand for this login.
    fn by_hand(&self, login: &str, statement: &str) -> Result<usize, Error> {
        let mut session = Session::open(&config(&self.connection(login), &[])).unwrap();
        session.execute(statement, &[]).map(|rows| rows.len())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for role in &self.roles {
            self.scratch.run(&format!("DROP OWNED BY {}", quoted(role)));
            administer(&format!("DROP ROLE {}", quoted(role)));
        }
    }
}

fn quoted(role: &str) -> String {
    format!("\"{}\"", role.replace('"', "\"\""))
}

#[track_caller]
fn denied<T>(result: Result<T, Error>, object: &str) {
    assert_says(result, ErrorKind::PermissionDenied, &["permission denied", object, "grant"]);
}

#[test]
fn a_producer_enqueues_and_no_more() {
    let mut shared = Shared::new("");
    let login = shared.login(0);
    let queue = shared.open(&login);
    queue.enqueue(&[item("a")], None).unwrap();
    shared.by_hand(&login, "SELECT * FROM readpast.add_job_trx('Sms')").unwrap();
    denied(queue.claim(1, Duration::ZERO), "next_job_set_trx");
    denied(queue.find(&Filter::default(), None, 1), "find_job");
    denied(queue.purge(&Filter::default(), 1), "purge_job_trx");
    denied(queue.stats(), "stats_job");
    denied(shared.by_hand(&login, "SELECT * FROM readpast.job"), "job");
    denied(shared.by_hand(&login, "SELECT * FROM readpast.worker_job_v"), "worker_job_v");
}

#[test]
fn a_worker_works_and_reads_the_view() {
    let mut shared = Shared::new("");
    shared.scratch.open(&[]).enqueue(&[item("a"), item("b")], None).unwrap();
    let login = shared.login(1);
    let queue = shared.open(&login);
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    queue.renew(&[Lease::from(batch.get(0).unwrap())]).unwrap();
    queue.settle(&all(&batch, Action::Complete), None).unwrap();
    queue.recover(1).unwrap();
    assert_eq!(shared.by_hand(&login, "SELECT * FROM readpast.worker_job_v").unwrap(), 2);
    assert_eq!(shared.by_hand(&login, "SELECT * FROM readpast.next_job_trx()").unwrap(), 1);

    denied(queue.enqueue(&[item("c")], None), "add_job_set_trx");
    denied(queue.find(&Filter::default(), None, 1), "find_job");
    denied(queue.redrive(&[ItemRef { key: "2001-01-01", token: None }], None), "redrive_job_set_trx");
    denied(queue.purge(&Filter::default(), 1), "purge_job_trx");
    denied(queue.stats(), "stats_job");
    for table in ["job", "queue_operation", "queue_spec", "app_settings", "queue_type_access"] {
        denied(shared.by_hand(&login, &format!("SELECT * FROM readpast.{table}")), table);
        denied(shared.by_hand(&login, &format!("DELETE FROM readpast.{table}")), table);
    }
    denied(shared.by_hand(&login, "DELETE FROM readpast.worker_job_v"), "worker_job_v");
}

#[test]
fn an_operator_does_everything_but_on_tables() {
    let mut shared = Shared::new("");
    let login = shared.login(2);
    let queue = shared.open(&login);
    queue.enqueue(&[item("a")], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    queue.settle(&all(&batch, Action::Fail), None).unwrap();
    let found = queue.find(&Filter::of_states([ItemState::Failed]), None, 10).unwrap();
    assert_eq!(found.len(), 1);
    queue.redrive(&[ItemRef::from(found.get(0).unwrap())], None).unwrap();
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 1);
    assert_eq!(queue.purge(&Filter::default(), 1).unwrap(), 0);
    denied(shared.by_hand(&login, "TRUNCATE readpast.job"), "job");
    denied(shared.by_hand(&login, "SELECT * FROM readpast.app_settings"), "app_settings");
}

/// Rights that are there stay there when it is installed again, and nothing more comes.
#[test]
fn installing_again_changes_nothing() {
    let shared = Shared::new("");
    let rights = "SELECT string_agg(p.proname || ' ' || p.proacl::text, '; ' ORDER BY p.proname) FROM pg_proc AS p \
                  WHERE p.pronamespace = 'readpast'::regnamespace";
    let before = shared.scratch.look(rights);
    install(&shared.scratch.config(&[]), Some(&shared.spec(""))).unwrap();
    assert_eq!(shared.scratch.look(rights), before);
    assert!(before.contains("purge_job_trx") && !before.contains("{=X"), "{before}");
}

#[test]
fn a_login_that_may_not_create_roles_installs_nothing() {
    let mut scratch = Scratch::empty();
    let login = scratch.role();
    administer(&format!("GRANT CREATE ON DATABASE {} TO {login}", scratch.name));
    let connection = changed(&scratch.connection(), &[("Uid", &login), ("Pwd", "p")]);
    let role = format!("{}_worker", scratch.name);
    let spec = QueueSpec::from_json(&format!(r#"{{"queue": "Job", "roles": {{"worker": "{role}"}}}}"#)).unwrap();
    let refused = install(&config(&connection, &[]), Some(&spec));
    assert_says(
        refused,
        ErrorKind::PermissionDenied,
        &["installing failed at", "role", &role, "have it created first"],
    );
    assert_eq!(scratch.look("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'readpast'"), "0");

    // The remedy: who may, creates it before.
    administer(&format!("CREATE ROLE {role}"));
    install(&config(&connection, &[]), Some(&spec)).unwrap();
    scratch.run(&format!("DROP OWNED BY {role}"));
    administer(&format!("DROP ROLE {role}"));
    // The login is the owner of the queue's objects.
    scratch.run(&format!("DROP OWNED BY {login}"));
}

#[test]
fn a_role_with_a_name_too_long_for_the_server() {
    let scratch = Scratch::new();
    let long = "r".repeat(64);
    let spec = QueueSpec::from_json(&format!(r#"{{"queue": "Job", "roles": {{"worker": "{long}"}}}}"#)).unwrap();
    let refused = install(&scratch.config(&[]), Some(&spec));
    assert_says(refused, ErrorKind::InvalidArgument, &["roles.worker", "64", "63", "shorten"]);
}
