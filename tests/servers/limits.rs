//! Limits by key and of a whole queue, decided by the claim. On both servers.

use super::limited::{Table, everywhere};
use readpast::error::ErrorKind;
use readpast::item::{Action, Columns, LimitChange, NewItem, PauseEnd, Settlement};
use readpast::{Dialect, Queue, QueueSpec, Value, install};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};
use support::both::Database;
use support::dice::Dice;
use support::limit::until;
use support::scratch::{Scratch, administer, changed, config};

fn open(database: &Database, table: Table, limits: &serde_json::Value) -> Queue {
    open_with(database, table, limits, &json!({}))
}

fn open_with(database: &Database, table: Table, limits: &serde_json::Value, more: &serde_json::Value) -> Queue {
    let mut spec = table.described(json!({
        "queue": "Job",
        "columns": [
            {"name": "Customer", "type": "integer"}, {"name": "key", "type": "text(50)"}, {"name": "at_once", "type": "integer"}
        ],
        "limit": limits,
        "attempts": {"limit": 1000}, "backoff": "none",
    }));
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    install(&database.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    Queue::open(&database.config(&[]), "Job").unwrap()
}

fn item(customer: Option<i32>, host: Option<&str>) -> NewItem {
    let columns = json!({"Customer": customer, "key": host, "at_once": 7});
    NewItem { columns: Columns::from_json(&columns.to_string()).unwrap(), ..NewItem::default() }
}

fn put(queue: &Queue, customer: Option<i32>, host: Option<&str>, count: usize) {
    queue.enqueue(&vec![item(customer, host); count], None).unwrap();
}

/// Claims, and counts what came by customer and host.
fn taken(queue: &Queue, most: u32) -> BTreeMap<String, usize> {
    let mut by = BTreeMap::new();
    for item in queue.claim(most, Duration::ZERO).unwrap().iter() {
        let text = |name| match item.value_of(name) {
            Some(Value::Integer(n)) => n.to_string(),
            Some(Value::Text(text)) => text.to_string(),
            _ => "-".to_owned(),
        };
        *by.entry(format!("{} {}", text("Customer"), text("key"))).or_default() += 1;
    }
    by
}

fn counts<const N: usize>(these: [(&str, usize); N]) -> BTreeMap<String, usize> {
    these.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

#[test]
fn no_more_of_a_key_begin_than_may_be_in_work() {
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"by": "Customer", "at_once": 2}]));
        for customer in [1, 2, -3] {
            put(&queue, Some(customer), None, 5);
        }
        put(&queue, None, None, 4);
        let items = queue.claim(100, Duration::ZERO).unwrap();
        assert_eq!(items.len(), 10);
        assert_eq!(taken(&queue, 100), counts([]));
        let mine = items.iter().find(|item| item.value_of("Customer") == Some(Value::Integer(-3))).unwrap();
        queue.settle(&[Settlement::new(&mine, Action::Complete)], None).unwrap();
        assert_eq!(taken(&queue, 100), counts([("-3 -", 1)]));
        // A retry waits for room as well.
        let mine = items.iter().find(|item| item.value_of("Customer") == Some(Value::Integer(1))).unwrap();
        queue.settle(&[Settlement::new(&mine, Action::Retry)], None).unwrap();
        assert_eq!(taken(&queue, 100), counts([("1 -", 1)]));
        assert_eq!(taken(&queue, 100), counts([]));
    }
}

#[test]
fn a_settlement_claims_what_it_made_room_for() {
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"by": "Customer", "at_once": 1}]));
        put(&queue, Some(1), None, 3);
        let mut items = queue.claim(10, Duration::ZERO).unwrap();
        for _ in 0..2 {
            assert_eq!(items.len(), 1);
            let done = [Settlement::new(&items.iter().next().unwrap(), Action::Complete)];
            items = queue.settle_and_claim(&done, None, 10).unwrap().1;
        }
        assert_eq!(items.len(), 1);
    }
}

#[test]
fn the_plan_of_a_key_gives_its_number() {
    for (database, table) in everywhere() {
        // The plan stands in a column of the items; here it is the number of "at_once", or the host.
        let tiers = json!({"from": "at_once", "7": 3, "8": 1});
        let queue = open(&database, table, &json!([{"at_once": 100}, {"by": "Customer", "at_once": tiers}]));
        put(&queue, Some(1), None, 5);
        let other = |plan: Option<i32>| NewItem {
            columns: Columns::from_json(&json!({"Customer": plan.unwrap_or(9), "at_once": plan}).to_string()).unwrap(),
            ..NewItem::default()
        };
        queue.enqueue(&vec![other(Some(8)); 3], None).unwrap();
        // A value without a number has the smallest.
        queue.enqueue(&vec![other(None); 3], None).unwrap();
        assert_eq!(taken(&queue, 100), counts([("1 -", 3), ("8 -", 1), ("9 -", 1)]));
        assert_eq!(taken(&queue, 100), counts([]));
        change(&database, "Customer", "9", "2, NULL, NULL, NULL").unwrap();
        assert_eq!(taken(&queue, 100), counts([("9 -", 1)]));
        let limits = queue.limits().unwrap();
        let of = |key: &str| limits.iter().find(|limit| limit.key.as_deref() == Some(key)).unwrap().to_string();
        assert_eq!(of("1"), "waits: 3 of 3 of Customer 1 are in work");
        assert_eq!(of("8"), "waits: 1 of 1 of Customer 8 are in work");
    }
}

/// Somebody's own SQL, which asks for no room.
fn begin_by_hand(database: &Database, table: Table, receipt: &readpast::item::Receipt) {
    let (key, token) = (&receipt.key, &receipt.token);
    let begin = match database.dialect {
        Dialect::SqlServer => format!("EXECUTE [readpast].Modify_Job_trx '{key}', '{token}', 'Processing'"),
        _ => format!("SELECT * FROM readpast.modify_job_trx('{key}', '{token}Z', 'Processing')"),
    };
    database.session().execute(&begin, &[]).unwrap_or_else(|error| panic!("{table:?}: {error}"));
}

#[test]
fn an_item_that_begins_by_hand_counts() {
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"by": "Customer", "at_once": 3, "weight": "at_once"}]));
        let weighing = |customer: i32, weight: i32| {
            let columns = json!({"Customer": customer, "at_once": weight}).to_string();
            NewItem { columns: Columns::from_json(&columns).unwrap(), ..NewItem::default() }
        };
        let added = queue.enqueue(&[weighing(1, 2), weighing(1, 1), weighing(1, 1)], None).unwrap();
        begin_by_hand(&database, table, &added[0]);
        assert_eq!(taken(&queue, 100), counts([("1 -", 1)]), "{table:?}");
        assert_eq!(taken(&queue, 100), counts([]), "{table:?}");
    }
}

#[test]
fn work_in_hand_counts_from_the_install_of_a_limit_on() {
    for (database, table) in everywhere().filter(|(database, _)| database.heeds_lock_hints()) {
        let queue = open(&database, table, &json!([{"by": "key", "at_once": 100}]));
        put(&queue, Some(1), Some("a"), 4);
        assert_eq!(taken(&queue, 2), counts([("1 a", 2)]));
        // The first limit is another one now.
        let queue = open(&database, table, &json!([{"by": "Customer", "at_once": 3}, {"by": "key", "at_once": 100}]));
        assert_eq!(taken(&queue, 100), counts([("1 a", 1)]), "{table:?}");
    }
}

#[test]
fn heavy_items_count_as_many() {
    for (database, table) in everywhere() {
        let limits = json!([{"by": "Customer", "at_once": 10, "weight": "at_once"}, {"by": "key", "at_once": 4, "weight": "at_once"}]);
        let queue = open(&database, table, &limits);
        let add = |customer: Option<i32>, key: Option<&str>, weights: &[Option<i32>]| {
            let of = |weight: &Option<i32>| {
                let columns = json!({"Customer": customer, "key": key, "at_once": weight}).to_string();
                NewItem { columns: Columns::from_json(&columns).unwrap(), ..NewItem::default() }
            };
            queue.enqueue(&weights.iter().map(of).collect::<Vec<_>>(), None).unwrap()
        };
        // 4 and 4 fit; 3 does not, and what is behind it waits, too: within a key the order holds.
        add(Some(1), None, &[Some(4), Some(4), Some(3), Some(1), None]);
        // More than the limit counts as all of it; less than 1, and nothing, as one.
        add(Some(2), None, &[Some(99), Some(1)]);
        add(Some(3), None, &[Some(0), None, Some(-5), Some(7), Some(1)]);
        assert_eq!(taken(&queue, 100), counts([("1 -", 2), ("2 -", 1), ("3 -", 4)]));
        assert_eq!(taken(&queue, 100), counts([]));
        let listed = |key: &str| {
            let limits = queue.limits().unwrap();
            let of = |limit: &&readpast::item::Limit| limit.key.as_deref() == Some(key);
            limits.iter().find(of).map(|limit| (limit.in_work, limit.room()))
        };
        assert_eq!(
            [listed("1"), listed("2"), listed("3")],
            [Some((8, Some(2))), Some((10, Some(0))), Some((10, Some(0)))]
        );
        // The other limit, tried on what is found.
        add(None, Some("x"), &[Some(3), Some(2), Some(1)]);
        let first = queue.claim(100, Duration::ZERO).unwrap();
        assert_eq!(first.len(), 1, "{table:?}");
        assert_eq!(listed("x"), Some((3, Some(1))));
        let done = [Settlement::new(&first.iter().next().unwrap(), Action::Complete)];
        assert_eq!(queue.settle_and_claim(&done, None, 100).unwrap().1.len(), 2);
    }
}

#[test]
fn keys_take_turns() {
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"by": "key", "at_once": 1000}]));
        put(&queue, None, Some("a"), 50);
        for host in [Some("b"), Some("c"), None, Some("")] {
            put(&queue, None, host, 4);
        }
        let mut last = BTreeMap::new();
        for _ in 0..20 {
            let one = taken(&queue, 1);
            assert_eq!(one.len(), 1);
            *last.entry(one.into_keys().next().unwrap()).or_insert(0) += 1;
        }
        // Each of them had as many turns as the others; '' is no key on PostgreSQL, and one turn with NULL there.
        assert_eq!(last["- b"], 4, "{last:?}");
        assert_eq!(last["- c"], 4, "{last:?}");
        assert!(last["- a"] <= 8, "{last:?}");
        // One claim of many shares itself among them.
        put(&queue, None, Some("b"), 50);
        let many = taken(&queue, 20);
        assert!(many["- a"] >= 5 && many["- b"] >= 5, "{many:?}");
    }
}

#[test]
fn the_whole_queue_has_a_limit() {
    for (database, table) in everywhere() {
        let alone = open(&database, table, &json!([{"at_once": 4}]));
        put(&alone, Some(1), None, 5);
        assert_eq!(taken(&alone, 100).values().sum::<usize>(), 4);
        assert_eq!(taken(&alone, 100).values().sum::<usize>(), 0);
    }
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"at_once": 3}, {"by": "Customer", "at_once": 2}]));
        put(&queue, Some(1), None, 5);
        put(&queue, Some(2), None, 5);
        let items = queue.claim(100, Duration::ZERO).unwrap();
        assert_eq!(items.len(), 3);
        assert_eq!(taken(&queue, 1), counts([]));
        let all: Vec<_> = items.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        assert_eq!(queue.settle_and_claim(&all, None, 100).unwrap().1.len(), 3);
    }
}

#[test]
fn a_limit_of_all_stands_beside_groups_and_kinds() {
    for claim_by in [json!([]), json!(["type"]), json!(["step"]), json!(["type", "step"])] {
        // The others show no step, and no type.
        for (database, table) in everywhere().filter(|(_, table)| claim_by == json!([]) || table.shows_kinds()) {
            let more = json!({"claim_by": claim_by, "order": {"group": "Customer"}});
            let queue = open_with(&database, table, &json!([{"at_once": 3}]), &more);
            (1..=4).for_each(|customer| put(&queue, Some(customer), None, 2));
            let items = queue.claim(100, Duration::ZERO).unwrap();
            assert_eq!(items.len(), 3, "{table:?} {claim_by}");
            let customers: BTreeSet<_> = items.iter().map(|item| format!("{:?}", item.value_of("Customer"))).collect();
            assert_eq!(customers.len(), 3, "{customers:?}");
            assert_eq!(taken(&queue, 100), counts([]));
            let done = [Settlement::new(&items.iter().next().unwrap(), Action::Complete)];
            assert_eq!(queue.settle_and_claim(&done, None, 100).unwrap().1.len(), 1, "{table:?} {claim_by}");
            assert_eq!(taken(&queue, 100), counts([]));
        }
    }
}

#[test]
fn two_columns_are_limited_together() {
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"by": "Customer", "at_once": 4}, {"by": "key", "at_once": 3}]));
        for customer in 1..=3 {
            put(&queue, Some(customer), Some("x"), 6);
        }
        put(&queue, Some(1), Some("y"), 6);
        put(&queue, Some(2), None, 6);
        let mut all = BTreeMap::new();
        // The next claim takes what one leaves of a key.
        for _ in 0..6 {
            for (of, count) in taken(&queue, 100) {
                *all.entry(of).or_insert(0) += count;
            }
        }
        let sum = |part: &str| -> usize { all.iter().filter(|(of, _)| of.contains(part)).map(|(_, n)| n).sum() };
        assert_eq!(sum(" x"), 3, "{all:?}");
        assert!(sum(" y") <= 3 && sum("1 ") <= 4 && sum("2 ") <= 4, "{all:?}");
        assert_eq!(sum("2 "), 4, "{all:?}");
        assert_eq!(sum("1 "), 4.min(3 + all.get("1 x").copied().unwrap_or(0)), "{all:?}");
    }
}

/// Lets time go on for the rates of a queue.
fn later(database: &Database, minutes: u32) {
    let text = database.pick(
        &format!("UPDATE [readpast].QueueLimit SET [TokensAt] = DATEADD(MINUTE, -{minutes}, [TokensAt]), [FullAt] = DATEADD(MINUTE, -{minutes}, [FullAt]), [Until] = DATEADD(MINUTE, -{minutes}, [Until])"),
        &format!(
            "UPDATE readpast.queue_limit
             SET tokens_at = tokens_at - interval '{minutes} minutes', full_at = full_at - interval '{minutes} minutes',
                 until = until - interval '{minutes} minutes'"
        ),
    ).to_owned();
    database.session().execute(&text, &[]).unwrap();
}

#[test]
fn a_rate_counts_starts() {
    for (by, whole) in
        [(json!({"by": "key", "rate": "6/1h", "burst": 3}), false), (json!({"rate": "6/1h", "burst": 3}), true)]
    {
        for (database, table) in everywhere() {
            let queue = open(&database, table, &json!([by]));
            put(&queue, None, Some("a"), 8);
            let items = queue.claim(100, Duration::ZERO).unwrap();
            assert_eq!(items.len(), 3, "whole: {whole}");
            let all: Vec<_> = items.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            assert_eq!(queue.settle_and_claim(&all, None, 100).unwrap().1.len(), 0);
            assert_eq!(taken(&queue, 100), counts([]));
            later(&database, 9);
            assert_eq!(taken(&queue, 100), counts([]));
            later(&database, 12);
            assert_eq!(taken(&queue, 100), counts([("- a", 2)]));
            later(&database, 600);
            assert_eq!(taken(&queue, 100), counts([("- a", 3)]));
        }
    }
}

/// When a claim that finds nothing is to come again.
fn due_ms(database: &Database) -> Option<i64> {
    let rows = database.rows(database.pick(
        "EXECUTE [readpast].Next_Job_Set_trx @Worker = N'w', @Max = 10",
        "SELECT answer, answer_ordinal, answer_due_ms FROM readpast.next_job_set_trx('w', 10)",
    ));
    (0..rows.columns().len()).find_map(|at| match rows.value(0, at) {
        Value::Integer(ms) if ms > 1000 => Some(ms),
        _ => None,
    })
}

#[test]
fn a_claim_reports_when_the_rate_lets_the_next_one_begin() {
    for limits in [
        json!([{"by": "key", "rate": "1/1h"}]),
        json!([{"rate": "1/1h"}]),
        json!([{"by": "Customer", "at_once": 100}, {"by": "key", "rate": "1/1h"}]),
    ] {
        for (database, table) in everywhere() {
            let queue = open(&database, table, &limits);
            put(&queue, Some(1), Some("a"), 2);
            assert_eq!(taken(&queue, 100).len(), 1, "{limits}");
            let due = due_ms(&database);
            assert!(due.is_some_and(|due| (3_000_000..=3_600_001).contains(&due)), "{limits}: {due:?}");
        }
    }
}

fn change(database: &Database, by: &str, key: &str, more: &str) -> Result<(), readpast::error::Error> {
    let text = match database.dialect {
        Dialect::SqlServer => {
            format!("EXECUTE [readpast].Limit_Job_trx N'{by}', N'{key}', {more}, NULL, NULL, N'me', N'test'")
        }
        _ => format!("SELECT readpast.limit_job_trx('{by}', '{key}', {more}, NULL, NULL, 'me', 'test')::text"),
    };
    database.session().execute(&text, &[]).map(drop)
}

#[test]
fn a_limit_changes_for_all_keys_and_for_one() {
    for (database, table) in everywhere() {
        let limits = json!([{"by": "Customer", "at_once": 1}, {"by": "key", "rate": "1/1h"}]);
        let queue = open(&database, table, &limits);
        for customer in 1..=3 {
            put(&queue, Some(customer), None, 9);
        }
        change(&database, "Customer", "", "2, NULL, NULL, NULL").unwrap();
        change(&database, "Customer", "2", "4, NULL, NULL, NULL").unwrap();
        change(&database, "Customer", "3", "0, NULL, NULL, NULL").unwrap();
        assert_eq!(taken(&queue, 100), counts([("1 -", 2), ("2 -", 4)]));
        // An install leaves changes as they are; not each server that speaks T-SQL installs twice.
        if database.heeds_lock_hints() {
            open(&database, table, &limits);
        }
        change(&database, "Customer", "3", "NULL, NULL, NULL, NULL").unwrap();
        assert_eq!(taken(&queue, 100), counts([("3 -", 2)]));
        change(&database, "Customer", "", "NULL, NULL, NULL, NULL").unwrap();
        change(&database, "key", "h", "NULL, 5, 60000, NULL").unwrap();
        put(&queue, None, Some("h"), 9);
        put(&queue, None, Some("i"), 9);
        assert_eq!(taken(&queue, 100), counts([("- h", 5), ("- i", 1)]));
        for (by, key, more) in [
            ("Nothing", "", "1, NULL, NULL, NULL"),
            ("Customer", "", "-1, NULL, NULL, NULL"),
            ("Customer", "", "NULL, 1, 1000, NULL"),
            ("key", "", "NULL, 1, NULL, NULL"),
            ("key", "", "NULL, NULL, NULL, 5"),
            ("key", "", "NULL, 0, 1000, NULL"),
        ] {
            let error = change(&database, by, key, more).unwrap_err();
            assert!(error.message().contains("imit_"), "{by} {more}: {error}");
        }
        let listed = database.pick("EXECUTE [readpast].Limits_Job", "SELECT * FROM readpast.limits_job()");
        let rows = database.rows(listed);
        let texts: Vec<_> = (0..rows.len())
            .map(|row| format!("{:?} {:?} {:?}", rows.value(row, 0), rows.value(row, 1), rows.value(row, 3)))
            .collect();
        assert!(
            texts.iter().any(|row| row.contains("Customer") && row.contains("\"2\"") && row.contains('4')),
            "{texts:?}"
        );
        assert!(texts.iter().any(|row| row.contains("\"h\"") && row.contains('5')), "{texts:?}");
    }
}

#[test]
fn a_change_ends_by_itself() {
    for (database, table) in everywhere() {
        let limits = json!([{"by": "Customer", "at_once": 2}, {"by": "key", "rate": "1000/1s", "at_once": 9}]);
        let queue = open(&database, table, &limits);
        let end = PauseEnd::After(Duration::from_secs(3600));
        let pause =
            LimitChange { by: Some("Customer"), key: Some("1"), at_once: Some(0), end, ..LimitChange::default() };
        let paused = queue.set_limit(&pause).unwrap();
        assert!(paused.is_paused() && paused.until > paused.set_at, "{paused:?}");
        queue.set_limit(&LimitChange { by: Some("key"), key: Some("x"), ..pause }).unwrap();
        put(&queue, Some(1), None, 3);
        put(&queue, None, Some("x"), 3);
        assert_eq!(taken(&queue, 100), counts([]));
        let due = due_ms(&database);
        assert!(due.is_some_and(|due| (3_000_000..=3_600_001).contains(&due)), "{table:?}: {due:?}");
        later(&database, 61);
        assert_eq!(taken(&queue, 100), counts([("1 -", 2), ("- x", 3)]), "{table:?}");
        let of = |key: &str| queue.limits().unwrap().into_iter().find(|of| of.key.as_deref() == Some(key)).unwrap();
        assert_eq!((of("1").at_once, of("1").who, of("1").until), (Some(2), None, None));
        assert_eq!((of("x").at_once, of("x").until), (Some(9), None));
        let past = LimitChange { end: PauseEnd::At(SystemTime::UNIX_EPOCH), ..pause };
        let refused = queue.set_limit(&past).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert!(refused.message().contains("must end in the future"), "{refused}");
    }
}

#[test]
fn no_more_are_in_work_at_any_instant() {
    for (database, table) in everywhere() {
        // The turn of the queue is a lock.
        if !database.heeds_lock_hints() {
            continue;
        }
        let limits = json!([{"by": "Customer", "at_once": 3}, {"by": "key", "at_once": 5}, {"at_once": 11}]);
        let queue = open(&database, table, &limits);
        let mut dice = Dice::new(1);
        let items: Vec<_> = (0..300)
            .map(|_| {
                let customer = (dice.below(5) > 0).then(|| i32::try_from(dice.below(6)).unwrap());
                let host = ["x", "y", "z"][usize::try_from(dice.below(3)).unwrap()];
                item(customer, (dice.below(4) > 0).then_some(host))
            })
            .collect();
        queue.enqueue(&items, None).unwrap();
        let (done, over) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for nth in 0..8 {
                let (database, done, over) = (&database, &done, &over);
                let mut dice = Dice::new(100 + nth);
                scope.spawn(move || {
                    let open = || {
                        let settings = [
                            ("worker", format!("w{nth}")),
                            ("lease.ms", "1000".to_owned()),
                            ("recover.interval_ms", "500".to_owned()),
                        ];
                        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
                        Queue::open(&database.config(&settings), "Job").unwrap()
                    };
                    let mut queue = open();
                    let mut items = queue.claim(4, Duration::ZERO).unwrap();
                    while !over.load(Ordering::Relaxed) {
                        if dice.one_in(100) {
                            // It dies with what it holds.
                            queue = open();
                            items = queue.claim(4, Duration::from_millis(50)).unwrap();
                            continue;
                        }
                        let ends: Vec<_> = items
                            .iter()
                            .map(|item| {
                                Settlement::new(&item, if dice.one_in(5) { Action::Retry } else { Action::Complete })
                            })
                            .collect();
                        if ends.is_empty() {
                            items = queue
                                .claim(1 + u32::try_from(dice.below(6)).unwrap(), Duration::from_millis(50))
                                .unwrap();
                            continue;
                        }
                        let most = 1 + u32::try_from(dice.below(6)).unwrap();
                        let (_, batch) = queue.settle_and_claim(&ends, None, most).unwrap();
                        done.fetch_add(
                            ends.iter().filter(|end| end.action == Action::Complete).count(),
                            Ordering::Relaxed,
                        );
                        items = batch;
                    }
                });
            }
            let too_many = [(Some("Customer"), 3), (Some("key"), 5), (None, 11)]
                .map(|(by, most)| table.more_in_work(&database, by, most));
            let left = table.left(&database);
            until("all items are done", || {
                for text in &too_many {
                    let rows = database.rows(text);
                    if !rows.is_empty() {
                        over.store(true, Ordering::Relaxed);
                        panic!("{text}: {rows:?}");
                    }
                }
                database.look(&left) == "0"
            });
            over.store(true, Ordering::Relaxed);
        });
        assert!(done.load(Ordering::Relaxed) > 0);
    }
}

#[test]
fn a_key_that_has_all_of_its_starts_again_leaves_nothing() {
    for (database, table) in everywhere() {
        let queue = open(&database, table, &json!([{"by": "key", "rate": "10/1h"}]));
        for host in ["a", "b", "c"] {
            put(&queue, None, Some(host), 1);
        }
        put(&queue, None, Some("A"), 1);
        assert_eq!(taken(&queue, 100).len(), 4);
        later(&database, 600);
        change(&database, "key", "c", "NULL, 20, 3600000, NULL").unwrap();
        let count = database.pick(
            "SELECT COUNT(*) FROM [readpast].QueueLimit WHERE [Key] <> ''",
            "SELECT COUNT(*) FROM readpast.queue_limit WHERE key <> ''",
        );
        let before = database.look(count);
        put(&queue, None, Some("A"), 1);
        assert_eq!(taken(&queue, 100).len(), 1);
        // Those of "a" and "b" go; "c" was changed, and "A" has begun something.
        let after = database.look(count);
        assert_eq!((before.as_str(), after.as_str()), if before == "3" { ("3", "2") } else { ("4", "2") });
    }
}

#[test]
fn an_operator_changes_limits_a_monitor_lists_them_and_a_worker_does_neither() {
    let mut scratch = Scratch::empty();
    let roles = ["worker", "monitor", "operator"].map(|role| format!("{}_{role}", scratch.name));
    let spec = json!({"queue": "Job", "columns": [{"name": "Customer", "type": "integer"}], "limit": [{"by": "Customer", "at_once": 1}],
        "roles": {"worker": roles[0], "monitor": roles[1], "operator": roles[2]}});
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    let [worker, monitor, operator] = roles.each_ref().map(|role| {
        let login = scratch.role();
        administer(&format!("GRANT \"{role}\" TO {login}"));
        let connection = changed(&scratch.connection(), &[("Uid", &login), ("Pwd", "p")]);
        Queue::open(&config(&connection, &[]), "Job").unwrap()
    });
    let more = LimitChange { key: Some("1"), at_once: Some(3), ..LimitChange::default() };
    let columns = json!({"Customer": 1}).as_object().unwrap().clone().into();
    operator.enqueue(&vec![NewItem { columns, ..NewItem::default() }; 5], None).unwrap();
    assert_eq!(worker.claim(10, Duration::ZERO).unwrap().len(), 1);
    for refused in [worker.set_limit(&more).map(drop), monitor.set_limit(&more).map(drop), worker.limits().map(drop)] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
    operator.set_limit(&more).unwrap();
    assert!(!monitor.limits().unwrap().is_empty());
    assert_eq!(worker.claim(10, Duration::ZERO).unwrap().len(), 2);
    for role in &roles {
        scratch.run(&format!("DROP OWNED BY \"{role}\""));
        administer(&format!("DROP ROLE \"{role}\""));
    }
}

/// Without a wait it would count what is in work as it is without the claim under way.
#[test]
fn a_claim_waits_for_the_turn_of_another() {
    for limits in [json!([{"by": "Customer", "at_once": 1}]), json!([{"at_once": 1}])] {
        for (database, table) in everywhere().filter(|(database, _)| !database.is_sql_server()) {
            let queue = open(&database, table, &limits);
            put(&queue, Some(1), None, 3);
            let claim = "SELECT answer FROM readpast.next_job_set_trx('other', 10)";
            let mut first = database.session();
            let answer = first.transaction(|session| {
                assert_eq!(session.execute(claim, &[])?.len(), 1);
                let second = thread::scope(|scope| {
                    let second = scope.spawn(|| taken(&queue, 10));
                    let waits = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted";
                    until("it waits, or is done", || second.is_finished() || database.look(waits) != "0");
                    let waits = !second.is_finished();
                    session.execute("COMMIT", &[]).unwrap();
                    (waits, second.join().unwrap())
                });
                Ok(second)
            });
            let (waits, second) = answer.unwrap();
            assert!(waits, "{limits}");
            assert_eq!(second, counts([]), "{limits}");
        }
    }
}
