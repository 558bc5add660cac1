//! Waiting items move to the places where they belong, and a cut at any moment loses none and doubles none.

use crate::places::{ANYWHERE, NAMES, SPREAD, Three, of, place, plain};
use readpast::{Config, ErrorKind, Filter, ItemState, NewItem, Queue};
use std::collections::{BTreeMap, BTreeSet};
use support::limit::patient_with;

const MOVABLE: &str = r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Customer", "type": "integer"}, {"name": "No", "type": "integer"}],
    "spread_by": ["Customer"]}"#;

fn open(config: &Config) -> Queue {
    Queue::open(config, "Job").unwrap()
}

/// The place of each item in this state, by its column.
fn places_of(queue: &Queue, state: ItemState, column: &str) -> BTreeMap<i64, Vec<String>> {
    let filter = Filter { states: vec![state], ..Filter::default() };
    let (mut after, mut found) = (None, BTreeMap::<i64, Vec<String>>::new());
    loop {
        let page = queue.find(&filter, after.as_deref(), 100).unwrap();
        let Some(last) = page.iter().last() else { return found };
        after = Some(last.key().to_owned());
        for item in page.iter() {
            let json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&item.to_json()).unwrap();
            let (_, value) = json.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).unwrap();
            let number = value.as_i64().unwrap();
            found.entry(number).or_default().push(item.key()[..1].to_owned());
        }
    }
}

#[test]
fn a_new_place_takes_its_share_and_a_removed_one_runs_empty() {
    for three in Three::each() {
        three.install(MOVABLE);
        let [a, b] = [0, 1].map(|number| three.0[number].connection());
        let queue = open(&patient_with(&[("places.a", &a), ("places.b", &b)]));
        let later = NewItem { due: Some("2099-01-02T03:04:05Z".to_owned()), ..of(40, 40) };
        let items: Vec<_> = (0..40).map(|n| of(n, n)).chain([later]).collect();
        queue.enqueue(&items, None).unwrap();
        let queue = open(&three.config(&[]));
        let belong_elsewhere = (0..=40).filter(|customer| place(*customer) == "c").count();
        let moved = queue.rebalance(&[]).unwrap();
        assert_eq!((moved.moved, moved.kept, moved.reason), (belong_elsewhere as u64, 0, None));
        let found = places_of(&queue, ItemState::Pending, "Customer");
        let wanted = (0..=40).map(|customer| (customer, vec![place(customer).to_owned()])).collect();
        assert_eq!(found, wanted);
        assert_eq!(places_of(&queue, ItemState::Cancelled, "Customer").len(), belong_elsewhere);
        let due = queue.stats().unwrap();
        assert_eq!((due.count(ItemState::Pending), due.due), (41, 40), "its due time goes with an item");
        assert_eq!(queue.rebalance(&[]).unwrap().moved, 0);
        // Each place has the record, without the items.
        let records = queue.at("c").unwrap().actions(false, None, 10).unwrap();
        assert!(records.iter().all(|action| action.verb == "rebalance" && action.state == "Done"), "{records:?}");
        assert_eq!(records.iter().map(|action| action.done).sum::<i64>(), belong_elsewhere as i64);
        let left = queue.at("a").unwrap().actions(false, None, 10).unwrap();
        assert!(left.iter().all(|action| action.filter.is_none() && action.state == "Done"), "{left:?}");

        let at_b = found.values().filter(|places| places[0] == "b").count();
        let answer = queue.ask("rebalance", Some(r#"{"without": ["b"]}"#)).unwrap();
        assert_eq!(answer, format!(r#"{{"moved":{at_b},"refused":0,"reason":null}}"#));
        let found = places_of(&queue, ItemState::Pending, "Customer");
        assert!(found.len() == 41 && found.values().all(|places| places.len() == 1 && places[0] != "b"), "{found:?}");

        for (without, part) in [(&["a", "b", "c"][..], "one place"), (&["d"], "no place")] {
            let error = queue.rebalance(without).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(part), "{error}");
        }
        let error = queue.at("a").unwrap().rebalance(&[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn items_of_any_place_leave_one_only_that_is_removed() {
    let three = Three::each().next().unwrap();
    three.install(ANYWHERE);
    let queue = open(&three.config(&[]));
    for customer in 0..30 {
        queue.enqueue(&[plain(customer)], None).unwrap();
    }
    assert_eq!(queue.rebalance(&[]).unwrap().moved, 0);
    let before = places_of(&queue, ItemState::Pending, "Customer");
    let at_a = before.values().filter(|places| places[0] == "a").count();
    assert!(at_a > 0);
    assert_eq!(queue.rebalance(&["a"]).unwrap().moved, at_a as u64);
    let after = places_of(&queue, ItemState::Pending, "Customer");
    assert!(after.len() == 30 && after.values().all(|places| places.len() == 1 && places[0] != "a"), "{after:?}");
    // A queue with groups stays as it is.
    let grouped = Three::each().next().unwrap();
    grouped.install(SPREAD);
    let error = open(&grouped.config(&[])).rebalance(&["a"]).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("run empty"), "{error}");
}

#[test]
fn the_columns_of_subtypes_go_with_an_item() {
    const SPEC: &str = r#"{"queue": "Job", "types": ["Mail", "Reset"], "columns": [], "subtypes": [
        {"name": "Reset", "exclusive": true, "columns": [{"name": "Code", "type": "integer", "nullable": false}]},
        {"name": "Letter", "columns": [{"name": "Subject", "type": "text(20)"}, {"name": "Pages", "type": "decimal(9, 2)"}]}]}"#;
    for three in Three::each() {
        three.install(SPEC);
        let queue = open(&three.config(&[]));
        let item = |kind: &str, columns: &str| NewItem {
            kind: Some(kind.to_owned()),
            columns: readpast::Columns::from_json(columns).unwrap(),
            ..NewItem::default()
        };
        let items = [
            item("Reset", r#"{"Reset": {"Code": 7}}"#),
            item("Mail", r#"{"Letter": {"Subject": "\u00fcber", "Pages": "12.50"}}"#),
            item("Mail", "{}"),
        ];
        let key = queue.enqueue(&items, None).unwrap().remove(0).key;
        let shown = |queue: &Queue| {
            let pending = Filter { states: vec![ItemState::Pending], ..Filter::default() };
            let own = |item: readpast::Item<'_>| {
                let json: serde_json::Map<_, _> = serde_json::from_str(&item.to_json()).unwrap();
                let is_own = |name: &str| ["reset_", "letter_"].iter().any(|of| name.to_lowercase().starts_with(of));
                let own = json.into_iter().filter(|(name, _): &(String, serde_json::Value)| is_own(name));
                (item.kind().unwrap().to_owned(), serde_json::Value::Object(own.collect()).to_string())
            };
            let pages = NAMES.map(|name| queue.at(name).unwrap().find(&pending, None, 10).unwrap());
            pages.iter().flat_map(|page| page.iter().map(own)).collect::<BTreeSet<_>>()
        };
        let before = shown(&queue);
        assert!(before.iter().any(|(kind, own)| kind == "Reset" && own.contains('7')), "{before:?}");
        let moved = queue.rebalance(&[&key[..1]]).unwrap();
        assert_eq!((moved.moved, moved.reason), (3, None));
        assert_eq!(shown(&queue), before);
    }
}

#[test]
fn nothing_leaves_for_a_place_that_refuses_it() {
    for three in Three::each() {
        three.install(ANYWHERE);
        let queue = open(&three.config(&[]));
        for customer in 0..6 {
            queue.enqueue(&[plain(customer)], None).unwrap();
        }
        let before = places_of(&queue, ItemState::Pending, "Customer");
        let broken = &three.0[2];
        broken
            .run(broken.pick("DROP PROCEDURE [readpast].[Add_Job_Set_utx]", "DROP FUNCTION readpast.add_job_set_utx"));
        let error = queue.rebalance(&["a"]).unwrap_err();
        assert!(error.message().contains("place c"), "{error}");
        assert_eq!(places_of(&queue, ItemState::Pending, "Customer"), before);
    }
}

#[test]
fn items_on_their_way_are_held_by_nobody_and_are_brought_by_the_next() {
    for three in Three::each() {
        three.install(ANYWHERE);
        let queue = open(&three.config(&[]));
        queue.enqueue(&[plain(1), plain(2), plain(3)], None).unwrap();
        let before = places_of(&queue, ItemState::Pending, "Customer");
        let from = before[&1][0].clone();
        let others: Vec<_> = three.0.iter().zip(NAMES).filter(|(_, name)| *name != from).map(|(of, _)| of).collect();
        let rename = |to: &str, as_: &str| {
            others.iter().for_each(|of| {
                let (sql_server, postgres) = (
                    format!("EXECUTE sp_rename N'readpast.{to}', N'{as_}', N'OBJECT'"),
                    format!("ALTER FUNCTION readpast.{to} RENAME TO {as_}"),
                );
                of.run(of.pick(&sql_server, &postgres));
            });
        };
        let (own, other) =
            if others[0].is_sql_server() { ("QueueActionNote", "Gone") } else { ("queue_action_note", "gone") };
        rename(own, other);
        queue.rebalance(&[&from]).unwrap_err();
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending) + left(&queue, &from), 3);
        assert!(left(&queue, &from) > 0);
        let place = queue.at(&from).unwrap();
        let record = place.actions(false, None, 1).unwrap().remove(0);
        let shown = record.filter.unwrap();
        assert!(record.state == "Running" && shown.contains("\"count\"") && !shown.contains("items"), "{shown}");
        for refused in
            [place.cancel_action(record.number).map(drop), place.run_action(record.number, |_| true).map(drop)]
        {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert!(place.open_actions().unwrap().is_empty(), "nobody takes it for an action on items");
        rename(other, own);
        // At once, whatever the process before held.
        assert_eq!(queue.rebalance(&[&from]).unwrap().moved, 3);
        assert_eq!((left(&queue, &from), places_of(&queue, ItemState::Pending, "Customer").len()), (0, 3));
    }
}

fn left(queue: &Queue, place: &str) -> i64 {
    queue.at(place).unwrap().on_their_way().unwrap() as i64
}

#[test]
fn a_cut_at_any_moment_loses_none_and_doubles_none() {
    for three in Three::each() {
        three.install(MOVABLE);
        let whole = open(&three.config(&[]));
        // Items that leave the place behind the relay, and items that come to it.
        let (proxy, relayed) = three.behind_a_relay();
        let connections = [three.0[0].connection(), relayed, three.0[2].connection()];
        let fragile = three.config_at(&connections, &[("retry.budget_ms", "0")]);
        let at_b: Vec<_> = (0..).filter(|customer| place(*customer) == "b").take(3).collect();
        let (mut count, mut cuts) = (0, 0);
        for leaves in [true, false] {
            for cut in 0.. {
                let without: &[&str] = if leaves { &["b"] } else { &[] };
                if leaves {
                    let items: Vec<_> = (count..).zip(&at_b).map(|(no, customer)| of(*customer, no)).collect();
                    whole.enqueue(&items, None).unwrap();
                    count += items.len() as i64;
                } else {
                    // From there back to where they belong.
                    whole.rebalance(&["b"]).unwrap();
                }
                let queue = open(&fragile);
                until_open(&queue);
                proxy.lose_answer_after(cut);
                let ended = queue.rebalance(without);
                let is_cut = proxy.has_lost_it();
                proxy.lose_nothing();
                // Identities go after an hour.
                for database in &three.0 {
                    let all = ["DELETE FROM [readpast].[QueueOperation]", "DELETE FROM readpast.queue_operation"];
                    database.run(database.pick(all[0], all[1]));
                }
                let again = whole.rebalance(without).unwrap();
                assert_eq!(again.kept, 0, "{ended:?}");
                let found = places_of(&whole, ItemState::Pending, "No");
                let all: Vec<_> = (0..count).collect();
                assert_eq!(found.keys().copied().collect::<Vec<_>>(), all, "cut {cut}: {ended:?}");
                for places in found.values() {
                    assert_eq!((places.len(), places[0] == "b"), (1, !leaves), "cut {cut}: {ended:?}, {places:?}");
                }
                if !is_cut {
                    break;
                }
                cuts += 1;
            }
        }
        assert!(cuts > 10, "{cuts}");
    }
}

/// A place that opens later would be cut at another moment.
fn until_open(queue: &Queue) {
    assert!(NAMES.iter().all(|name| queue.at(name).is_ok()));
}
