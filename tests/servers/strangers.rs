//! A login of the database that has no right on anything of readpast's: it holds nobody up, and nothing of its making is in the
//! way unseen. On PostgreSQL.

use super::bad_input::assert_says;
use readpast::description::QueueSpec;
use readpast::error::ErrorKind;
use readpast::for_tests::Session;
use readpast::install::install;
use readpast::item::NewItem;
use readpast::queue::Queue;
use std::thread;
use support::scratch::{Scratch, changed, config};

/// A table of others, in which no work is to be there twice.
const ORDERS: &str = r#"{"queue": "Orders", "columns": [{"name": "number", "type": "integer"}],
    "dedup": {"columns": ["number"]},
    "table": {"name": "work", "key": [{"name": "id", "type": "bigint", "source": "table"}],
        "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}}"#;

const DDL: &str = "CREATE TABLE work (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state integer NOT NULL DEFAULT 0, number integer UNIQUE)";

fn stranger(scratch: &mut Scratch) -> Session {
    let login = scratch.role();
    let connection = changed(&scratch.connection(), &[("Uid", &login), ("Pwd", "p")]);
    Session::open(&config(&connection, &[])).unwrap()
}

/// Those are any login's to take, and to keep.
#[test]
fn advisory_locks_of_a_stranger_stop_no_add_and_no_install() {
    let mut scratch = Scratch::empty();
    scratch.run(DDL);
    let spec = QueueSpec::from_json(ORDERS).unwrap();
    install(&scratch.config(&[]), Some(&spec)).unwrap();
    let mut stranger = stranger(&mut scratch);
    // Locks that adds and installs used once, and installs of a new schema still do.
    for name in ["readpast/install/readpast", "readpast/add/\"readpast\".orders"] {
        stranger.execute(&format!("SELECT pg_advisory_lock(hashtextextended('{name}', 0))"), &[]).unwrap();
    }
    install(&scratch.config(&[]), Some(&spec)).unwrap();
    let queue = Queue::open(&scratch.config(&[]), "Orders").unwrap();
    let item = || NewItem { columns: [("number", 1)].into_iter().collect(), ..NewItem::default() };
    assert!(!queue.enqueue(&[item()], None).unwrap()[0].duplicate);
    assert!(queue.enqueue(&[item()], None).unwrap()[0].duplicate);
    for lock in [
        "SELECT 1 AS one FROM readpast.queue_turn FOR UPDATE",
        "LOCK TABLE readpast.queue_schema_version IN SHARE MODE",
    ] {
        let error = stranger.transaction(|stranger| stranger.execute(lock, &[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    }
    drop(stranger);

    scratch.run("DELETE FROM readpast.queue_turn");
    assert_says(queue.enqueue(&[item()], None), ErrorKind::SchemaMismatch, &["orders add", "install the queue again"]);
}

/// Two at once add the same work once, by the row that they lock in turn.
#[test]
fn adds_take_turns() {
    let scratch = Scratch::empty();
    scratch.run(DDL);
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(ORDERS).unwrap())).unwrap();
    let duplicates: usize = thread::scope(|scope| {
        let add = || {
            let queue = Queue::open(&scratch.config(&[]), "Orders").unwrap();
            let items = |number| NewItem { columns: [("number", number)].into_iter().collect(), ..NewItem::default() };
            (0..40).filter(|number| queue.enqueue(&[items(*number)], None).unwrap()[0].duplicate).count()
        };
        let adding: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
        adding.into_iter().map(|adding| adding.join().unwrap()).sum()
    });
    assert_eq!((duplicates, scratch.look("SELECT COUNT(*) FROM work").as_str()), (120, "40"));
}

/// The name of an index is the schema's, and what is made IF NOT EXISTS is left out where something has its name.
#[test]
fn the_name_of_an_index_is_not_squatted() {
    let mut scratch = Scratch::new();
    let login = scratch.role();
    scratch.run(&format!("GRANT USAGE, CREATE ON SCHEMA readpast TO {login}"));
    let connection = changed(&scratch.connection(), &[("Uid", &login), ("Pwd", "p")]);
    let mut eve = Session::open(&config(&connection, &[])).unwrap();
    eve.execute("CREATE TABLE readpast.hers (a integer)", &[]).unwrap();
    eve.execute("CREATE INDEX mail_work ON readpast.hers (a)", &[]).unwrap();
    let mail = QueueSpec::from_json(
        r#"{"queue": "Mail", "columns": [{"name": "Payload", "type": "text(50)"}], "dedup": {"columns": ["Payload"]}}"#,
    )
    .unwrap();
    let refused = install(&scratch.config(&[]), Some(&mail));
    assert_says(refused, ErrorKind::PermissionDenied, &["mail_work", "belongs to", &login]);

    // An index of a role that the installer trusts, and an object that is no index.
    scratch.run("DROP TABLE readpast.hers");
    for taken in ["CREATE TABLE readpast.mail_work (a integer)", "CREATE INDEX mail_work ON readpast.job (attempt_num)"]
    {
        scratch.run(taken);
        let refused = install(&scratch.config(&[]), Some(&mail));
        assert_says(refused, ErrorKind::SchemaMismatch, &["the index mail_work is not made", "rename"]);
        assert_eq!(scratch.look("SELECT COUNT(*) FROM pg_class WHERE relname = 'mail'"), "0", "nothing is half there");
        let kind = if taken.contains("TABLE") { "TABLE" } else { "INDEX" };
        scratch.run(&format!("DROP {kind} readpast.mail_work"));
    }
    install(&scratch.config(&[]), Some(&mail)).unwrap();
    scratch.run(&format!("DROP OWNED BY {login}"));
}

/// A role that may make a trigger on a table need not own it, and its function runs with the rights of readpast's.
#[test]
fn a_trigger_of_somebody_else_is_named() {
    let mut scratch = Scratch::empty();
    scratch.run(DDL);
    let login = scratch.role();
    scratch.run(&format!("GRANT TRIGGER ON work TO {login}"));
    scratch.run(&format!("GRANT CREATE ON SCHEMA public TO {login}"));
    let connection = changed(&scratch.connection(), &[("Uid", &login), ("Pwd", "p")]);
    let mut eve = Session::open(&config(&connection, &[])).unwrap();
    eve.execute("CREATE FUNCTION hers() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'", &[]).unwrap();
    eve.execute("CREATE TRIGGER looks BEFORE UPDATE ON work FOR EACH ROW EXECUTE FUNCTION hers()", &[]).unwrap();
    let spec = QueueSpec::from_json(ORDERS).unwrap();
    let named = || {
        let report = readpast::adopt::plan(&scratch.config(&[]), &spec).unwrap();
        report.findings.iter().filter(|f| f.check == "trigger-owner").map(|f| f.what.clone()).collect::<Vec<_>>()
    };
    let found = named();
    assert!(found.len() == 1 && found[0].contains(&format!("looks (of {login})")), "{found:?}");
    scratch.run(&format!("ALTER FUNCTION hers() OWNER TO {}", "CURRENT_USER"));
    assert!(named().is_empty());
    scratch.run(&format!("DROP OWNED BY {login}"));
}

/// And of one on a table of others, whose schema is not readpast's.
#[test]
fn the_name_of_an_index_on_a_table_of_others_is_not_squatted() {
    let scratch = Scratch::empty();
    scratch.run(DDL);
    scratch.run("CREATE TABLE orders_due (a integer)");
    let spec = QueueSpec::from_json(ORDERS).unwrap();
    assert_says(install(&scratch.config(&[]), Some(&spec)), ErrorKind::SchemaMismatch, &["orders_due is not made"]);
    scratch.run("DROP TABLE orders_due");
    install(&scratch.config(&[]), Some(&spec)).unwrap();
}
