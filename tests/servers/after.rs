//! Items that wait for others, on both servers.

use readpast::install::{drop_queue, install};
use readpast::item::{Action, After, Columns, Edit, NewItem, OnFailed, Settlement};
use readpast::worker::Job;
use readpast::{Answer, Filter, Item, ItemRef, ItemState, Queue, QueueSpec, Worker};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;
use support::both::Database;

fn open(database: &Database, more: &Value) -> Queue {
    let mut spec =
        json!({"queue": "Step", "backoff": "none", "after": true, "columns": [{"name": "N", "type": "integer"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec = QueueSpec::from_json(&spec.to_string()).unwrap_or_else(|error| panic!("{more}: {error}"));
    install(&database.config(&[]), Some(&spec)).unwrap_or_else(|error| panic!("{more}: {error}"));
    Queue::open(&database.config(&[]), "Step").unwrap()
}

fn item(n: usize, after: &[After], on_failed: OnFailed) -> NewItem {
    NewItem { columns: Columns::from_iter([("N", json!(n))]), after: after.to_vec(), on_failed, ..NewItem::default() }
}

fn put(queue: &Queue, n: usize, after: &[&str], on_failed: OnFailed) -> String {
    let after: Vec<_> = after.iter().map(|key| After::Key((*key).to_owned())).collect();
    queue.enqueue(&[item(n, &after, on_failed)], None).unwrap().remove(0).key
}

fn state(queue: &Queue, key: &str) -> ItemState {
    queue.get(key).unwrap().get(0).unwrap().state().unwrap()
}

fn text(queue: &Queue, key: &str) -> String {
    queue.get(key).unwrap().get(0).unwrap().to_json()
}

/// The numbers of the items that are due, which stay so.
fn due(queue: &Queue) -> Vec<i64> {
    let batch = queue.claim(100, Duration::ZERO).unwrap();
    let back: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Release)).collect();
    if !back.is_empty() {
        queue.settle(&back, None).unwrap();
    }
    let mut numbers: Vec<_> = batch.iter().map(|item| number(&item)).collect();
    numbers.sort_unstable();
    numbers
}

/// Ends the item of this number, which is due, in the given way.
fn end(queue: &Queue, n: i64, action: Action) {
    let batch = queue.claim(100, Duration::ZERO).unwrap();
    let way = |item: &Item<'_>| if number(item) == n { action } else { Action::Release };
    let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, way(&item))).collect();
    assert!(batch.iter().any(|item| number(&item) == n), "{n} is not due");
    assert!(queue.settle(&settlements, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
}

fn number(item: &Item<'_>) -> i64 {
    match item.value_of("N") {
        Some(readpast::item::Value::Integer(number)) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_item_is_due_when_all_are_over_that_it_waits_for() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        // Fan-out and fan-in in one call: 3 waits for 1 and 2, which wait for 0; 4 waits for nothing.
        let items = [
            item(0, &[], OnFailed::Fail),
            item(1, &[After::Item(0)], OnFailed::Fail),
            item(2, &[After::Item(0), After::Item(0)], OnFailed::Fail),
            item(3, &[After::Item(1), After::Item(2)], OnFailed::Fail),
            NewItem { after: Vec::new(), ..item(4, &[], OnFailed::Wait) },
        ];
        let operation = "d6513312-4dcc-4c44-b044-08b98257037c";
        let receipts = queue.enqueue(&items, Some(operation)).unwrap();
        assert_eq!(queue.enqueue(&items, Some(operation)).unwrap(), receipts);
        let keys: Vec<_> = receipts.into_iter().map(|receipt| receipt.key).collect();
        assert_eq!(due(&queue), [0, 4]);
        end(&queue, 0, Action::Complete);
        assert_eq!(due(&queue), [1, 2, 4]);
        let batch = queue.claim(3, Duration::ZERO).unwrap();
        for item in batch.iter().filter(|item| number(item) != 2) {
            queue.settle(&[Settlement::new(&item, Action::Complete)], None).unwrap();
        }
        assert_eq!(state(&queue, &keys[3]), ItemState::Pending);
        assert!(queue.claim(5, Duration::ZERO).unwrap().is_empty());
        let waits = queue.waits(&keys[3]).unwrap();
        let shown: Vec<_> = waits.iter().map(|wait| (wait.is_parent, wait.is_over, wait.state, wait.outcome)).collect();
        let (done, busy) = (Some(ItemState::Completed), Some(ItemState::Processing));
        assert_eq!(shown, [(true, true, done, done), (true, false, busy, None)]);
        assert_eq!(waits.iter().map(|wait| wait.key.clone()).collect::<Vec<_>>(), keys[1..3]);
        let second = batch.iter().find(|item| number(item) == 2).unwrap();
        // With the settlement comes what it lets go.
        let (_, next) = queue.settle_and_claim(&[Settlement::new(&second, Action::Complete)], None, 5).unwrap();
        assert_eq!(next.iter().map(|item| number(&item)).collect::<Vec<_>>(), [3]);
        assert!(queue.waits(&keys[4]).unwrap().is_empty());
        // Another install makes the trigger anew, and a drop takes all of it.
        let queue = open(&database, &json!({"attempts": {"limit": 7}}));
        put(&queue, 5, &[&keys[3]], OnFailed::Fail);
        assert!(due(&queue).is_empty());
        queue.close(Duration::from_secs(10)).unwrap();
        drop_queue(&database.config(&[]), "Step").unwrap();
        open(&database, &json!({}));
    }
}

#[test]
fn a_failed_item_fails_lets_run_or_holds_up_those_that_wait_for_it() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let first = put(&queue, 0, &[], OnFailed::Fail);
        let fails = put(&queue, 1, &[&first], OnFailed::Fail);
        let next = put(&queue, 2, &[&fails], OnFailed::Fail);
        put(&queue, 3, &[&fails, &next], OnFailed::Run);
        let waits = put(&queue, 4, &[&first], OnFailed::Wait);
        end(&queue, 0, Action::Fail);
        for key in [&fails, &next] {
            assert_eq!(state(&queue, key), ItemState::Failed);
        }
        assert!(
            text(&queue, &fails).contains(&format!("It waited for {first}, which is Failed.")),
            "{}",
            text(&queue, &fails)
        );
        assert_eq!(due(&queue), [3]);
        // One that comes later meets the same fate.
        let late = put(&queue, 5, &[&first], OnFailed::Fail);
        assert_eq!(state(&queue, &late), ItemState::Failed);
        put(&queue, 6, &[&first], OnFailed::Run);
        put(&queue, 7, &[&first], OnFailed::Wait);
        assert_eq!(due(&queue), [3, 6]);
        assert_eq!(state(&queue, &waits), ItemState::Pending);
        // The parent stays as long as one waits for it.
        let failed = Filter::of_states([ItemState::Failed]);
        assert_eq!(queue.purge(&failed, 100).unwrap(), 3);
        assert_eq!(state(&queue, &first), ItemState::Failed);
        queue.redrive(&[ItemRef { key: &first, token: None }], None).unwrap();
        end(&queue, 0, Action::Complete);
        assert_eq!(due(&queue), [3, 4, 6, 7]);
        // One that is gone is never started again.
        let second = put(&queue, 8, &[], OnFailed::Fail);
        let held = put(&queue, 9, &[&second], OnFailed::Wait);
        put(&queue, 10, &[&second], OnFailed::Run);
        end(&queue, 8, Action::Fail);
        assert_eq!(state(&queue, &held), ItemState::Pending);
        let table = database.pick("[readpast].[Step] WHERE [N] = 8", "readpast.step WHERE \"N\" = 8");
        database.run(&format!("DELETE FROM {table}"));
        assert_eq!(state(&queue, &held), ItemState::Failed);
        assert_eq!(due(&queue), [3, 4, 6, 7, 10]);
        assert_eq!(queue.purge(&Filter::of_states([ItemState::Completed]), 100).unwrap(), 1);
    }
}

#[test]
fn all_kinds_of_queues_know_it() {
    let kinds = [
        json!({"completion": "delete"}),
        json!({"completion": {"history": "Step_Done"}}),
        json!({"order": {"direction": "lifo"}}),
        json!({"order": {"group": "N"}}),
        json!({"limit": [{"by": "N", "at_once": 5}]}),
        json!({"types": ["A", "B"], "claim_by": ["type"]}),
        json!({"shards": 3}),
        json!({"dedup": {"columns": ["N"], "answer": "existing", "among": "unfinished"}}),
        json!({"attempts": {"history": true}, "schedule": [], "lease": {"durable": false}}),
    ];
    for kind in kinds {
        for database in Database::each() {
            let queue = open(&database, &kind);
            let first = put(&queue, 0, &[], OnFailed::Fail);
            let after = |place| [After::Key(first.clone()), After::Item(place)];
            let items = [item(1, &after(0)[..1], OnFailed::Fail), item(2, &after(0), OnFailed::Fail)];
            let keys: Vec<_> = queue.enqueue(&items, None).unwrap().into_iter().map(|receipt| receipt.key).collect();
            let begun = Mutex::new(Vec::new());
            let handle = |job: &Job<'_>| begun.lock().unwrap().push(number(&job.item()));
            Worker::new(&queue).until_empty(true).run(handle).unwrap();
            assert_eq!(begun.into_inner().unwrap(), [0, 1, 2], "{kind}");
            // An item that has left the table has been completed.
            let gone = queue.get(&keys[0]).unwrap().is_empty();
            assert_eq!(gone, kind.get("completion").is_some(), "{kind}");
            let at = queue.enqueue(&[item(3, &[After::Key(keys[0].clone())], OnFailed::Fail)], None).unwrap();
            assert_eq!(due(&queue), [3], "{kind}");
            assert_eq!(queue.waits(&at[0].key).unwrap()[0].outcome, Some(ItemState::Completed), "{kind}");
        }
    }
}

#[test]
fn a_duplicate_stands_for_the_item_that_is_there() {
    for database in Database::each() {
        let queue = open(&database, &json!({"dedup": {"columns": ["N"], "answer": "existing", "among": "unfinished"}}));
        let first = put(&queue, 0, &[], OnFailed::Fail);
        let items = [item(0, &[], OnFailed::Fail), item(1, &[After::Item(0)], OnFailed::Fail)];
        let receipts = queue.enqueue(&items, None).unwrap();
        assert_eq!((receipts[0].duplicate, &receipts[0].key), (true, &first));
        // The waits of a duplicate are not those of the item that is there.
        let receipts = queue.enqueue(&[item(0, &[After::Key(receipts[1].key.clone())], OnFailed::Fail)], None).unwrap();
        assert!(receipts[0].duplicate);
        assert_eq!(due(&queue), [0]);
        end(&queue, 0, Action::Complete);
        assert_eq!(due(&queue), [1]);
    }
}

#[test]
fn mistakes_are_named_and_nothing_is_put_in() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let first = put(&queue, 0, &[], OnFailed::Fail);
        let key = |key: &str| After::Key(key.to_owned());
        let cases = [
            (vec![After::Item(1)], "item 1: it can wait for earlier items of the call only, not for item 1"),
            (vec![After::Item(0), After::Item(7)], "not for item 7"),
            (vec![key("x")], "item 1: \"x\" is no key of an item to wait for"),
            (vec![key(&first), key("2020-01-01T00:00:00.0000010")], "wait for 2020-01-01T00:00:00.000001"),
        ];
        for (after, part) in cases {
            let error =
                queue.enqueue(&[item(1, &[], OnFailed::Run), item(2, &after, OnFailed::Run)], None).unwrap_err();
            assert!(error.message().contains(part), "{part}: {error}");
        }
        let many: Vec<_> =
            (0..1001).map(|n| item(n, if n == 1000 { &[After::Item(999)] } else { &[] }, OnFailed::Run)).collect();
        let error = queue.enqueue(&many, None).unwrap_err();
        assert!(
            error.message().contains("item 1000: it cannot wait for item 999, which is enqueued before"),
            "{error}"
        );
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 1);
        // Another queue of the schema has no items that wait.
        let plain = QueueSpec::from_json(r#"{"queue": "Plain", "columns": []}"#).unwrap();
        install(&database.config(&[]), Some(&plain)).unwrap();
        let plain = Queue::open(&database.config(&[]), "Plain").unwrap();
        let one = NewItem { after: vec![key(&first)], ..NewItem::default() };
        let error = plain.enqueue(&[one], None).unwrap_err();
        assert!(error.message().contains("lacks \"after = true\""), "{error}");
        let plain =
            QueueSpec::from_json(r#"{"queue": "Step", "columns": [{"name": "N", "type": "integer"}]}"#).unwrap();
        let error = install(&database.config(&[]), Some(&plain)).unwrap_err();
        assert!(error.message().contains("after: items that wait for others"), "{error}");
    }
}

#[test]
fn items_that_follow_a_settlement_wait_as_others_do() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let (first, second) = (put(&queue, 0, &[], OnFailed::Fail), put(&queue, 1, &[], OnFailed::Fail));
        let batch = queue.claim(2, Duration::ZERO).unwrap();
        let settle = |n: i64, then: &Value| {
            let item = batch.iter().find(|item| number(item) == n).unwrap();
            let then = then.to_string();
            let settlement = Settlement { then: Some(&then), ..Settlement::new(&item, Action::Complete) };
            queue.settle(&[settlement], None)
        };
        let error = settle(0, &json!([{"columns": {"N": 2}}, {"columns": {"N": 3}, "after": [0]}])).unwrap_err();
        assert!(
            error.message().contains("then[1]: items that follow a settlement wait for others by their keys"),
            "{error}"
        );
        settle(0, &json!([{"columns": {"N": 2}, "after": [first, second]}])).unwrap();
        assert!(due(&queue).is_empty());
        settle(1, &json!([])).unwrap();
        assert_eq!(due(&queue), [2]);
    }
}

#[test]
fn an_operator_may_cancel_hold_or_run_what_waits() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let first = put(&queue, 0, &[], OnFailed::Fail);
        let [run, paused, cancelled, moved] = [1, 2, 3, 4].map(|n| put(&queue, n, &[&first], OnFailed::Fail));
        let last = put(&queue, 5, &[&cancelled], OnFailed::Fail);
        let act = |key, action| queue.settle(&[Settlement::control(key, None, action)], None).unwrap()[0].answer;
        assert_eq!(act(&paused, Action::Pause), Answer::Ok);
        assert_eq!(act(&cancelled, Action::Cancel), Answer::Ok);
        assert_eq!(state(&queue, &last), ItemState::Failed);
        let now = Edit { due: Some("2026-01-01T00:00:00Z"), ..Edit::default() };
        assert_eq!(queue.edit(&[ItemRef { key: &run, token: None }], &now, None).unwrap()[0].answer, Answer::Ok);
        assert_eq!(due(&queue), [0, 1]);
        let plain =
            QueueSpec::from_json(r#"{"queue": "Plain", "columns": [{"name": "N", "type": "integer"}]}"#).unwrap();
        install(&database.config(&[]), Some(&plain)).unwrap();
        let error = queue.move_item(&ItemRef { key: &moved, token: None }, "Plain", None).unwrap_err();
        assert!(error.message().contains("waits for other items"), "{error}");
        end(&queue, 0, Action::Complete);
        assert_eq!(due(&queue), [1, 4]);
        assert_eq!(act(&paused, Action::Resume), Answer::Ok);
        assert_eq!(due(&queue), [1, 2, 4]);
        // One that has ended while it waited, started again, waits for nothing.
        queue.redrive(&[ItemRef { key: &cancelled, token: None }, ItemRef { key: &last, token: None }], None).unwrap();
        assert_eq!(due(&queue), [1, 2, 3, 4, 5]);
    }
}

/// Items that end by a claim or a recovery, not by a settlement, let go as well; and a long chain fails as a whole.
#[test]
fn a_chain_fails_to_its_end() {
    for database in Database::each() {
        let queue = open(&database, &json!({"attempts": {"limit": 1}, "lease": {"ms": 10}}));
        let length = if !database.is_sql_server() { 500 } else { 40 };
        let chain: Vec<_> = (0..length)
            .map(|n| item(n, &n.checked_sub(1).map(After::Item).into_iter().collect::<Vec<_>>(), OnFailed::Fail))
            .collect();
        let keys: Vec<_> = queue.enqueue(&chain, None).unwrap().into_iter().map(|receipt| receipt.key).collect();
        let free = put(&queue, length, &[&keys[length - 1]], OnFailed::Run);
        assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1);
        // Its worker is silent, and its attempts are spent.
        while state(&queue, &keys[0]) == ItemState::Processing {
            queue.recover(10).unwrap();
        }
        assert!(keys.iter().all(|key| state(&queue, key) == ItemState::Failed));
        assert_eq!(due(&queue), [length as i64]);
        assert_eq!(state(&queue, &free), ItemState::Pending);
    }
}

/// Parents end while children are added and other parents of theirs end: none is lost, and none begins too early.
#[test]
fn no_wait_is_lost_while_its_parents_end() {
    for database in Database::each() {
        let queue = open(&database, &json!({"lease": {"ms": 60_000}}));
        let rounds = if !database.is_sql_server() { 60 } else { 4 };
        let over = Mutex::new(BTreeSet::new());
        let children = Mutex::new(BTreeMap::new());
        std::thread::scope(|threads| {
            for _ in 0..3 {
                let (queue, children) = (queue.share(), &children);
                threads.spawn(move || {
                    for _ in 0..rounds {
                        let parents: Vec<_> = (0..3).map(|n| item(n, &[], OnFailed::Fail)).collect();
                        let keys: Vec<_> =
                            queue.enqueue(&parents, None).unwrap().into_iter().map(|receipt| receipt.key).collect();
                        for (n, of) in [(10, 0..2), (11, 1..3), (12, 0..3)] {
                            let parents: Vec<_> = keys[of].iter().map(String::as_str).collect();
                            let key = put(&queue, n, &parents, OnFailed::Fail);
                            children
                                .lock()
                                .unwrap()
                                .insert(key, parents.into_iter().map(str::to_owned).collect::<Vec<_>>());
                        }
                    }
                });
            }
            for _ in 0..3 {
                let (queue, over, children) = (queue.share(), &over, &children);
                threads.spawn(move || {
                    // An item that is lost leaves them nothing for long.
                    let mut looks = 0;
                    while over.lock().unwrap().len() < 3 * rounds * 6 && looks < 500 {
                        let batch = queue.claim(5, Duration::from_millis(20)).unwrap();
                        looks = if batch.is_empty() { looks + 1 } else { 0 };
                        let settlements: Vec<_> =
                            batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
                        for item in batch.iter().filter(|item| number(item) >= 10) {
                            let Some(parents) = children.lock().unwrap().get(item.key()).cloned() else { continue };
                            for parent in &parents {
                                assert_eq!(state(&queue, parent), ItemState::Completed, "begun too early");
                            }
                        }
                        if !settlements.is_empty() {
                            queue.settle(&settlements, None).unwrap();
                            over.lock().unwrap().extend(batch.iter().map(|item| item.key().to_owned()));
                        }
                    }
                });
            }
        });
        assert_eq!(queue.stats().unwrap().count(ItemState::Completed), (3 * rounds * 6) as i64);
    }
}

/// An enqueue waits for a transaction that ends the item which it names, and sees that end.
#[test]
fn an_item_that_ends_at_the_moment_is_waited_for() {
    for database in Database::each() {
        let queue = open(&database, &json!({}));
        let first = put(&queue, 0, &[], OnFailed::Fail);
        let mut holder = database.session();
        holder.execute(database.pick("BEGIN TRANSACTION", "BEGIN"), &[]).unwrap();
        let table = database.pick("[readpast].[Step] SET [Status]", "readpast.step SET status");
        holder.execute(&format!("UPDATE {table} = 'Completed'"), &[]).unwrap();
        let key = std::thread::scope(|threads| {
            let child = threads.spawn(|| put(&queue, 1, &[&first], OnFailed::Fail));
            // Long enough to meet the lock; an enqueue that comes later sees the same.
            std::thread::sleep(Duration::from_millis(300));
            holder.execute(database.pick("COMMIT TRANSACTION", "COMMIT"), &[]).unwrap();
            child.join().unwrap()
        });
        assert_eq!(queue.waits(&key).unwrap()[0].outcome, Some(ItemState::Completed));
        assert_eq!(due(&queue), [1]);
    }
}
