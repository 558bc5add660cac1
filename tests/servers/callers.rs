//! The caller's own transaction: `Next_Q_utx`, `Modify_Q_utx`, `Modify_Q_Set_utx`, `Add_Q_utx` and `Add_Q_Set_utx` beside somebody's own
//! work, on both kinds of table. A refusal has an answer, and leaves the transaction as it is; a rollback undoes the rest.

use readpast::for_tests::Session;
use readpast::item::{Rows, Value};
use readpast::{Error, Item, ItemState, NewItem, Queue, QueueSpec, Result, install::install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

/// A queue in a database of its own, and a table of accounts beside it.
struct Given {
    database: Database,
    queue: Queue,
    described: bool,
}

impl Given {
    /// On each server at hand, each kind of table.
    fn each() -> Vec<Self> {
        [false, true]
            .into_iter()
            .flat_map(|described| Database::each().into_iter().map(move |d| Self::new(d, described)))
            .collect()
    }

    fn new(database: Database, described: bool) -> Self {
        let mut spec = json!({
            "queue": "Transfer",
            "columns": [{"name": "Amount", "type": "integer"}, {"name": "Work", "type": "text(40)"}],
            "backoff": "none",
            "dedup": {"columns": ["Work"], "answer": "existing", "among": "unfinished"},
        });
        if described {
            spec["table"] = json!({
                "schema": "readpast", "name": "Transfers", "create": true, "key": ["Id"],
                "lifecycle": {"error": "Wrong", "attempts": "Tries"},
                "status": {"column": "State", "values": {"Pending": 1, "Processing": 2, "Completed": 3, "Failed": 4}}
            });
        }
        install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        database.run("CREATE TABLE account (id integer NOT NULL PRIMARY KEY, balance integer NOT NULL)");
        database.run("INSERT INTO account (id, balance) VALUES (1, 100)");
        let queue = Queue::open(&database.config(&[("worker", "me")]), "Transfer").unwrap();
        Self { database, queue, described }
    }

    fn put(&self, work: &str) {
        let columns = json!({"Amount": 1, "Work": work}).as_object().unwrap().clone().into();
        self.queue.enqueue(&[NewItem { columns, ..NewItem::default() }], None).unwrap();
    }

    /// The key, token and attempt of a claimed item.
    fn take(&self) -> Taken {
        let batch = self.queue.claim(1, Duration::ZERO).unwrap();
        let item: Item<'_> = batch.iter().next().expect("an item is due");
        Taken { key: item.key().to_owned(), token: item.token().to_owned(), attempt: item.attempt() }
    }

    fn name(&self, sql_server: &str, postgres: &str) -> String {
        if self.database.is_sql_server() {
            format!("EXECUTE [readpast].[{sql_server}]")
        } else {
            format!("SELECT * FROM readpast.{postgres}")
        }
    }

    /// `Modify_Q_Set_utx`: the answers, and what was claimed.
    fn settle(
        &self,
        session: &mut Session,
        items: &serde_json::Value,
        operation: Option<&str>,
        max: i32,
    ) -> Result<Vec<String>> {
        let operation = operation.map_or("NULL".to_owned(), |operation| format!("'{operation}'"));
        let call = self.name("Modify_Transfer_Set_utx", "modify_transfer_set_utx");
        let arguments = format!("{operation}, 'me', '{items}', {max}");
        // On SQL Server what is claimed is a result of its own.
        let results = session.results(&self.called(&call, &arguments), &[])?;
        Ok(results.iter().flat_map(|rows| (0..rows.len()).map(|row| cell(rows, row, 0))).collect())
    }

    /// `Add_Q_Set_utx`.
    fn add(&self, session: &mut Session, works: &[&str], operation: Option<&str>) -> Result<Rows> {
        let items: Vec<_> = works.iter().map(|work| json!({"columns": {"Amount": 1, "Work": work}})).collect();
        let operation = operation.map_or("NULL".to_owned(), |operation| format!("'{operation}'"));
        let call = self.name("Add_Transfer_Set_utx", "add_transfer_set_utx");
        session.execute(&self.called(&call, &format!("'{}', {operation}", json!(items))), &[])
    }

    fn called(&self, call: &str, arguments: &str) -> String {
        if self.database.is_sql_server() { format!("{call} {arguments}") } else { format!("{call}({arguments})") }
    }

    /// `Next_Q_utx`: the key and the token of what it has claimed.
    fn next(&self, session: &mut Session) -> Result<Option<(String, String)>> {
        let rows = session.execute(&self.called(&self.name("Next_Transfer_utx", "next_transfer_utx"), "'me'"), &[])?;
        Ok((!rows.is_empty()).then(|| (cell(&rows, 0, 0), cell(&rows, 0, 1))))
    }

    /// `Modify_Q_utx` with the key and the token of `next`: the answer, and what the item is then.
    fn modify(&self, session: &mut Session, claimed: &(String, String), status: &str) -> Result<(String, String)> {
        let (key, token) = claimed;
        let arguments = format!("'{key}', '{token}', '{status}'");
        let call = self.name("Modify_Transfer_utx", "modify_transfer_utx");
        let rows = session.execute(&self.called(&call, &arguments), &[])?;
        Ok((cell(&rows, 0, 0), cell(&rows, 0, 6)))
    }

    fn pay(&self, session: &mut Session, amount: i32) -> Result<()> {
        session.execute(&format!("UPDATE account SET balance = balance - {amount} WHERE id = 1"), &[]).map(drop)
    }

    fn balance(&self) -> String {
        self.database.look("SELECT balance FROM account")
    }

    /// How many items are in this state.
    fn count(&self, state: ItemState) -> i64 {
        self.queue.stats().unwrap().count(state)
    }
}

struct Taken {
    key: String,
    token: String,
    attempt: i32,
}

impl Taken {
    fn done(&self) -> serde_json::Value {
        json!({"key": self.key, "token": self.token, "attempt": self.attempt, "status": "Completed"})
    }
}

fn cell(rows: &Rows, row: usize, column: usize) -> String {
    match rows.value(row, column) {
        Value::Text(text) => text.to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Null => "NULL".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The error that a caller gives up with.
fn changed_my_mind() -> Error {
    Error::new(readpast::ErrorKind::Interrupted, "changed my mind")
}

#[test]
fn all_of_it_is_done_or_nothing() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let taken = given.take();
        for commits in [false, true] {
            let result = session.transaction(|session| {
                given.pay(session, 10)?;
                assert_eq!(given.settle(session, &json!([taken.done()]), None, 0)?, ["OK"]);
                assert_eq!(cell(&given.add(session, &["b"], None)?, 0, 0), "OK");
                if commits { Ok(()) } else { Err(changed_my_mind()) }
            });
            assert_eq!(result.is_ok(), commits, "{result:?}");
            let (balance, done, waiting) = if commits { ("90", 1, 1) } else { ("100", 0, 0) };
            assert_eq!(given.balance(), balance, "described: {}", given.described);
            assert_eq!((given.count(ItemState::Completed), given.count(ItemState::Pending)), (done, waiting));
        }
    }
}

#[test]
fn a_refusal_has_an_answer_and_ends_nothing() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let taken = given.take();
        let with = |key: &str, value: serde_json::Value| {
            let mut item = taken.done();
            item[key] = value;
            item
        };
        let absent = if given.described { json!("4711") } else { json!("2020-01-01T00:00:00.0000000") };
        session
            .transaction(|session| {
                given.pay(session, 10)?;
                for (item, answer) in [
                    (with("attempt", json!(7)), "LEASE_LOST"),
                    (with("token", json!("2020-01-01T00:00:00.0000000")), "CONFLICT"),
                    (with("status", json!("Unheard")), "ILLEGAL_TRANSITION"),
                    (json!({"key": absent, "attempt": 0, "status": "Cancelled"}), "NOT_FOUND"),
                ] {
                    assert_eq!(given.settle(session, &json!([item]), None, 0)?, [answer], "{item}");
                }
                let added = given.add(session, &["a", "b", "b"], None)?;
                let answers: Vec<_> = (0..3).map(|row| cell(&added, row, 0)).collect();
                assert_eq!(answers, ["DUPLICATE", "OK", "DUPLICATE"]);
                assert_eq!(given.settle(session, &json!([taken.done()]), None, 0)?, ["OK"]);
                Ok(())
            })
            .unwrap();
        assert_eq!(
            (given.balance().as_str(), given.count(ItemState::Completed), given.count(ItemState::Pending)),
            ("90", 1, 1)
        );
    }
}

/// With `Modify_Q_utx` and `Add_Q_utx`, as people call them.
#[test]
fn one_item_by_hand() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let taken = given.take();
        let (key, token) = (&taken.key, &taken.token);
        let settle = |token: &str| {
            if given.database.is_sql_server() {
                let (of_key, of_token) =
                    if given.described { ("@Key", "@Token") } else { ("@EnqueuedAt", "@UpdatedAt") };
                format!(
                    "EXECUTE [readpast].[Modify_Transfer_utx] {of_key} = '{key}', {of_token} = '{token}', \
                     @Status = 'Completed', @Worker = N'me', @AttemptNum = 1"
                )
            } else {
                let key = if given.described { format!("'{key}'") } else { format!("'{key}Z'") };
                format!(
                    "SELECT * FROM readpast.modify_transfer_utx({key}, '{token}Z', 'Completed', worker_ => 'me', attempt_num_ => 1)"
                )
            }
        };
        let add = if given.database.is_sql_server() {
            "EXECUTE [readpast].[Add_Transfer_utx] @Amount = 1, @Work = N'b'".to_owned()
        } else {
            "SELECT * FROM readpast.add_transfer_utx(\"Amount_\" => 1, \"Work_\" => 'b')".to_owned()
        };
        session
            .transaction(|session| {
                // The driver begins its transaction with the first statement, which is this call.
                let refused = session.execute(&settle("2020-01-01T00:00:00.000000"), &[])?;
                assert_eq!(cell(&refused, 0, 0), "CONFLICT");
                let settled = session.execute(&settle(token), &[])?;
                assert_eq!((cell(&settled, 0, 0), cell(&settled, 0, 6)), ("OK".to_owned(), "Completed".to_owned()));
                assert!(cell(&settled, 0, 4) > *token);
                session.execute(&add, &[]).map(drop)
            })
            .unwrap();
        assert_eq!((given.count(ItemState::Completed), given.count(ItemState::Pending)), (1, 1));
    }
}

#[test]
fn an_operation_counts_when_its_transaction_does() {
    const SETTLES: &str = "0000000a-0000-4000-8000-000000000001";
    const ADDS: &str = "0000000a-0000-4000-8000-000000000002";
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let taken = given.take();
        let items = json!([taken.done()]);
        let mut keys = Vec::new();
        for round in 0..3 {
            // Undone with the transaction at first; then done, twice in one; then known from another.
            let result = session.transaction(|session| {
                for _ in 0..2 {
                    given.pay(session, 10)?;
                    assert_eq!(given.settle(session, &items, Some(SETTLES), 0)?, ["OK"], "{round}");
                    let added = given.add(session, &["b"], Some(ADDS))?;
                    assert_eq!(cell(&added, 0, 0), "OK", "{round}");
                    if round > 0 {
                        keys.push(cell(&added, 0, 3));
                    }
                }
                if round > 0 { Ok(()) } else { Err(changed_my_mind()) }
            });
            assert_eq!(result.is_ok(), round > 0, "{result:?}");
        }
        assert!(keys.len() == 4 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        // His own work is repeated: it has no identity.
        assert_eq!(
            (given.balance().as_str(), given.count(ItemState::Completed), given.count(ItemState::Pending)),
            ("60", 1, 1)
        );
    }
}

#[test]
fn a_savepoint_undoes_what_came_after_it() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let taken = given.take();
        let (save, back) = (
            given.database.pick("SAVE TRANSACTION here", "SAVEPOINT here"),
            given.database.pick("ROLLBACK TRANSACTION here", "ROLLBACK TO SAVEPOINT here"),
        );
        session
            .transaction(|session| {
                given.pay(session, 10)?;
                session.execute(save, &[])?;
                assert_eq!(given.settle(session, &json!([taken.done()]), None, 0)?, ["OK"]);
                given.add(session, &["b"], None)?;
                session.execute(back, &[])?;
                let retried =
                    json!({"key": taken.key, "token": taken.token, "attempt": 1, "status": "Error", "error": "later"});
                assert_eq!(given.settle(session, &json!([retried]), None, 0)?, ["OK"], "as it was at the savepoint");
                Ok(())
            })
            .unwrap();
        assert_eq!(
            (given.balance().as_str(), given.count(ItemState::Completed), given.count(ItemState::Error)),
            ("90", 0, 1)
        );
    }
}

/// `Next_Q_Set_utx`, which SQL Server has: many at once, with their columns, each of a name of its own.
#[test]
fn many_are_claimed_as_a_part_of_it() {
    for given in Given::each().into_iter().filter(|given| given.database.is_sql_server()) {
        let mut session = given.database.session();
        ["a", "b"].iter().for_each(|work| given.put(work));
        let _ = session
            .transaction(|session| -> Result<()> {
                let rows = session.execute("EXECUTE [readpast].[Next_Transfer_Set_utx] 'me', 9", &[]).unwrap();
                assert_eq!((0..rows.len()).map(|row| cell(&rows, row, 0)).collect::<Vec<_>>(), ["CLAIMED"; 2]);
                let names: std::collections::BTreeSet<_> =
                    rows.columns().iter().map(|column| column.name.to_lowercase()).collect();
                assert_eq!(names.len(), rows.columns().len(), "{names:?}");
                assert!(names.contains("amount") && names.contains("answerstatus"), "{names:?}");
                let none =
                    session.execute("EXECUTE [readpast].[Next_Transfer_Set_utx] 'me', 9, NULL, 3000", &[]).unwrap();
                assert_eq!(cell(&none, 0, 0), "EMPTY");
                Err(changed_my_mind())
            })
            .unwrap_err();
        assert_eq!(given.take().attempt, 1, "the attempts were undone as well");
    }
}

#[test]
fn a_claim_is_a_part_of_it_too() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let _ = session
            .transaction(|session| -> Result<()> {
                assert_eq!(given.settle(session, &json!([]), None, 1).unwrap(), ["CLAIMED"]);
                if given.database.heeds_lock_hints() {
                    let others = given.queue.claim(1, Duration::ZERO).unwrap();
                    assert!(others.is_empty(), "it is passed over meanwhile");
                }
                Err(changed_my_mind())
            })
            .unwrap_err();
        assert_eq!(given.take().attempt, 1, "the attempt was undone as well");
    }
}

/// Claimed, worked on and settled in one transaction: either all of it, or the item is as it was, its attempt not spent.
#[test]
fn a_claim_and_its_settlement_are_one() {
    for given in Given::each() {
        let (mut session, mut other) = (given.database.session(), given.database.session());
        given.put("a");
        for commits in [false, true] {
            let result = session.transaction(|session| {
                let claimed = given.next(session)?.expect("an item is due");
                given.pay(session, 10)?;
                assert_eq!(given.next(session)?, None, "one's own is not claimed again");
                assert_eq!(
                    given.modify(session, &claimed, "Completed")?,
                    ("OK".to_owned(), "Completed".to_owned()),
                    "described: {}",
                    given.described
                );
                if commits { Ok(()) } else { Err(changed_my_mind()) }
            });
            assert_eq!(result.is_ok(), commits, "{result:?}");
            assert_eq!(given.balance(), if commits { "90" } else { "100" });
            assert_eq!(given.count(ItemState::Completed), i64::from(commits));
        }
        // A caller that only looks has nothing to commit.
        other.transaction(|other| given.next(other).map(|claimed| assert_eq!(claimed, None))).unwrap();

        // A failure in between undoes the claim as well: an item that was never begun.
        given.put("b");
        let failed = session.transaction(|session| {
            given.next(session)?.expect("an item is due");
            session.execute("UPDATE account SET balance = 1 / (balance - balance)", &[]).map(drop)
        });
        assert!(failed.is_err());
        let taken = given.take();
        assert_eq!(taken.attempt, 1, "nobody had it before");
        assert_eq!(given.queue.stats().unwrap().count(ItemState::Processing), 1);
    }
}

/// A savepoint behind the claim undoes the work and not the claim: the failure then counts as an attempt.
#[test]
fn work_is_undone_and_its_claim_is_settled() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let (save, back) = (
            given.database.pick("SAVE TRANSACTION here", "SAVEPOINT here"),
            given.database.pick("ROLLBACK TRANSACTION here", "ROLLBACK TO SAVEPOINT here"),
        );
        session
            .transaction(|session| {
                let claimed = given.next(session)?.expect("an item is due");
                session.execute(save, &[])?;
                given.pay(session, 10)?;
                session.execute(back, &[])?;
                assert_eq!(given.modify(session, &claimed, "Error")?, ("OK".to_owned(), "Error".to_owned()));
                Ok(())
            })
            .unwrap();
        assert_eq!((given.balance().as_str(), given.count(ItemState::Error)), ("100", 1));
        assert_eq!(given.take().attempt, 2, "the failed attempt counts");

        // A savepoint before the claim undoes that.
        given.put("b");
        session
            .transaction(|session| {
                given.pay(session, 10)?;
                session.execute(save, &[])?;
                given.next(session)?.expect("an item is due");
                session.execute(back, &[]).map(drop)
            })
            .unwrap();
        assert_eq!((given.balance().as_str(), given.count(ItemState::Pending)), ("90", 1));
        assert_eq!(given.take().attempt, 1);
    }
}

/// A claim that is committed without a settlement is one as any other: its lease holds it, and the worker settles it elsewhere.
#[test]
fn a_claim_that_is_committed_alone_is_a_claim() {
    for given in Given::each() {
        let mut session = given.database.session();
        given.put("a");
        let mut claimed = None;
        session
            .transaction(|session| {
                claimed = given.next(session)?;
                Ok(())
            })
            .unwrap();
        assert!(given.queue.claim(1, Duration::ZERO).unwrap().is_empty(), "its lease holds it");
        let (key, token) = claimed.expect("an item is due");
        let items = json!([{"key": key, "token": token, "attempt": 1, "status": "Completed"}]);
        session
            .transaction(|session| {
                assert_eq!(given.settle(session, &items, None, 0)?, ["OK"]);
                Ok(())
            })
            .unwrap();
        assert_eq!(given.count(ItemState::Completed), 1);
    }
}

/// Each of two that claim at once has its own items, and neither waits, where hints for locks are heeded.
#[test]
fn two_transactions_claim_two_items() {
    for given in Given::each().into_iter().filter(|given| given.database.heeds_lock_hints()) {
        let (mut session, mut other) = (given.database.session(), given.database.session());
        given.put("a");
        given.put("b");
        session
            .transaction(|session| {
                let first = given.next(session)?.expect("an item is due");
                other.transaction(|other| {
                    let second = given.next(other)?.expect("another item is due");
                    assert_ne!(first.0, second.0);
                    assert_eq!(given.next(other)?, None, "both are taken");
                    assert_eq!(given.modify(other, &second, "Completed")?.0, "OK");
                    Ok(())
                })?;
                assert_eq!(given.modify(session, &first, "Completed")?.0, "OK");
                Ok(())
            })
            .unwrap();
        assert_eq!(given.count(ItemState::Completed), 2);
    }
}

/// PostgreSQL has no such thing: there every call is in a transaction.
#[test]
fn without_a_transaction_nothing_is_done() {
    for given in Given::each().into_iter().filter(|given| given.database.is_sql_server()) {
        let mut session = given.database.session();
        given.put("a");
        let taken = given.take();
        let settled = given.settle(&mut session, &json!([taken.done()]), None, 0).unwrap_err();
        let added = given.add(&mut session, &["b"], None).unwrap_err();
        let claimed = given.next(&mut session).unwrap_err();
        for error in [settled, added, claimed] {
            assert_eq!(error.native_code(), 50012, "{error}");
        }
        assert_eq!((given.count(ItemState::Completed), given.count(ItemState::Pending)), (0, 0));
    }
}
