//! The order in which due items are handed out, as the description says it.

use crate::by_hand;
use readpast::item::NewItem;
use serde_json::json;
use std::{collections::HashSet, time::Duration};
use support::api::Api;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("order::lifo_hands_out_the_newest", lifo_hands_out_the_newest),
    ("order::unordered_hands_out_everything_once", unordered_hands_out_everything_once),
    ("order::priority_goes_first_highest", priority_goes_first_highest),
    ("order::priority_goes_first_lowest_and_newest", priority_goes_first_lowest_and_newest),
    ("order::says_when_the_next_is_due", says_when_the_next_is_due),
];

const DIRECTIONS: [&str; 5] = [
    r#"{"direction": "fifo"}"#,
    r#"{"direction": "lifo"}"#,
    r#"{"direction": "unordered"}"#,
    r#"{"priority": {"column": "Rank"}}"#,
    r#"{"direction": "unordered", "priority": {"column": "Rank", "first": "lowest"}}"#,
];

fn spec(given: &Given, order: &str) -> String {
    format!(
        r#"{{"queue": "{}", "columns": [{{"name": "Payload", "type": "text"}},
            {{"name": "Rank", "type": "integer", "nullable": false}}], "order": {order}}}"#,
        given.queue
    )
}

fn ranked(payload: &str, rank: i32) -> NewItem {
    let columns = json!({"Payload": payload, "Rank": rank});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

fn payloads(queue: &dyn Api, max: u32) -> Vec<String> {
    let taken = queue.claim(max, Duration::ZERO).unwrap();
    taken.iter().map(|item| item.column("Payload").as_str().unwrap().to_owned()).collect()
}

fn lifo_hands_out_the_newest(given: &Given) {
    let queue = given.queue_with(&spec(given, DIRECTIONS[1]), &[]);
    let items: Vec<_> = (0..5).map(|i| ranked(&i.to_string(), 0)).collect();
    queue.enqueue(&items, None).unwrap();
    queue.put_item(NewItem { due: Some("2020-01-01T00:00:00Z".to_owned()), ..ranked("long due", 9) });
    queue.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked("later", 9) });

    assert_eq!(payloads(&*queue, 3), ["4", "3", "2"]);
    assert_eq!(payloads(&*queue, 3), ["1", "0", "long due"]);
    queue.expect_empty();
}

fn unordered_hands_out_everything_once(given: &Given) {
    let queue = given.queue_with(&spec(given, DIRECTIONS[2]), &[]);
    let items: Vec<_> = (0..50).map(|i| ranked(&i.to_string(), 0)).collect();
    queue.enqueue(&items, None).unwrap();
    queue.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked("later", 9) });
    let mut seen = HashSet::new();
    for _ in 0..5 {
        seen.extend(payloads(&*queue, 10));
    }
    assert_eq!(seen.len(), 50);
    queue.expect_empty();
}

fn priority_goes_first_highest(given: &Given) {
    let queue = given.queue_with(&spec(given, DIRECTIONS[3]), &[]);
    let items = [ranked("a1", 1), ranked("b5", 5), ranked("c1", 1), ranked("d5", 5), ranked("e-1", -1)];
    queue.enqueue(&items, None).unwrap();
    queue.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked("later", 9) });
    assert_eq!(payloads(&*queue, 3), ["b5", "d5", "a1"]);
    assert_eq!(payloads(&*queue, 3), ["c1", "e-1"]);
    queue.expect_empty();
}

fn priority_goes_first_lowest_and_newest(given: &Given) {
    let order = r#"{"direction": "lifo", "priority": {"column": "Rank", "first": "lowest"}}"#;
    let queue = given.queue_with(&spec(given, order), &[]);
    queue.enqueue(&[ranked("a2", 2), ranked("b1", 1), ranked("c1", 1), ranked("d2", 2)], None).unwrap();
    assert_eq!(payloads(&*queue, 10), ["c1", "b1", "d2", "a2"]);
}

fn says_when_the_next_is_due(given: &Given) {
    for (number, order) in DIRECTIONS.iter().enumerate() {
        let given = given.sibling(number);
        let queue = given.queue_with(&spec(&given, order), &[]);
        let none = by_hand::claim(&given, "w", 1, 0);
        assert_eq!([by_hand::cell(&none, 0, 0), by_hand::cell(&none, 0, 2)], ["EMPTY", "NULL"], "{order}");

        // The higher the rank, the later: what is due next is not what would go first.
        for (minutes, rank) in [(30, 3), (10, 1), (20, 2)] {
            queue.put_item(NewItem { delay_ms: Some(minutes * 60_000), ..ranked("later", rank) });
        }
        let rows = by_hand::claim(&given, "w", 1, 0);
        assert_eq!(by_hand::cell(&rows, 0, 0), "EMPTY", "{order}");
        let due: i64 = by_hand::cell(&rows, 0, 2).parse().unwrap();
        assert!((1..=600_001).contains(&due), "{order}: {due}");
    }
}
