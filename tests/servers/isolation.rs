//! PostgreSQL under the levels that fail instead of waiting. A call there that meets what others have changed since the caller's
//! transaction began fails, as any statement does, and is to be begun again with it. It never takes or settles what it sees as it was.

use readpast::item::{Action, Settlement};
use readpast::{ErrorKind, Queue, QueueSpec, install::install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

/// A queue with two items, and a session whose transactions are of this level.
fn given(database: &Database, level: &str) -> (Queue, readpast::for_tests::Session) {
    let spec = json!({"queue": "Job", "columns": [{"name": "What", "type": "text(20)"}]});
    install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    let queue = Queue::open(&database.config(&[("worker", "other")]), "Job").unwrap();
    for what in ["a", "b"] {
        let columns = json!({"What": what}).as_object().unwrap().clone().into();
        queue.enqueue(&[readpast::NewItem { columns, ..Default::default() }], None).unwrap();
    }
    let mut session = database.session();
    session.execute(&format!("SET default_transaction_isolation = '{level}'"), &[]).unwrap();
    (queue, session)
}

#[test]
fn nothing_is_taken_or_settled_as_it_was_before() {
    for level in ["repeatable read", "serializable"] {
        for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
            let (queue, mut session) = given(&database, level);
            let mut taken = None;
            let error = session
                .transaction(|session| {
                    session.execute("SELECT COUNT(*) FROM readpast.job", &[])?;
                    taken = Some(queue.claim(1, Duration::ZERO)?);
                    session.execute("SELECT * FROM readpast.next_job_set_trx('me', 10)", &[]).map(drop)
                })
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Deadlock, "{error}");

            // Its items are another's now; the next transaction takes the rest.
            let taken = taken.expect("it was claimed");
            let item = taken.get(0).unwrap();
            let (key, token) = (item.key().to_owned(), item.token().to_owned());
            let rows = session.execute("SELECT * FROM readpast.next_job_set_trx('me', 10)", &[]).unwrap();
            assert_eq!(rows.len(), 1);

            let error = session
                .transaction(|session| {
                    session.execute("SELECT COUNT(*) FROM readpast.job", &[])?;
                    queue.settle(&[Settlement::new(&item, Action::Complete)], None)?;
                    let call = format!("SELECT * FROM readpast.modify_job_utx('{key}Z', '{token}Z', 'Cancelled')");
                    session.execute(&call, &[]).map(drop)
                })
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Deadlock, "{error}");
            assert_eq!(database.look("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'"), "1");
        }
    }
}

/// Counted as it was before, one more could begin than may be in work.
#[test]
fn a_claim_within_limits_is_refused_there() {
    let spec = json!({
        "queue": "Job", "columns": [{"name": "What", "type": "text(20)"}], "limit": [{"by": "What", "at_once": 1}, {"at_once": 2}]
    });
    for database in Database::each().into_iter().filter(|database| !database.is_sql_server()) {
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        let mut session = database.session();
        session.execute("SET default_transaction_isolation = 'repeatable read'", &[]).unwrap();
        let claim = |session: &mut readpast::for_tests::Session| {
            session.execute("SELECT * FROM readpast.next_job_set_trx('me', 10)", &[]).map(drop)
        };
        let error = claim(&mut session).unwrap_err();
        assert!(error.message().contains("READ COMMITTED"), "{error}");
        session.execute("SET default_transaction_isolation = 'read committed'", &[]).unwrap();
        claim(&mut session).unwrap();
    }
}
