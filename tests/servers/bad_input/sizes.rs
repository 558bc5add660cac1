//! Items that are larger than `item.max_bytes`: none is put in, and one that is there ends by itself and nothing else.

use super::assert_says;
use readpast::error::ErrorKind;
use readpast::item::{Action, Batch, ItemState, Settlement, Value};
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::{Scratch, item};

const MOST: usize = 100_000;

fn put(queue: &Queue, payloads: &[&str]) -> Vec<String> {
    let items: Vec<_> = payloads.iter().map(|payload| item(payload)).collect();
    queue.enqueue(&items, None).unwrap().into_iter().map(|enqueued| enqueued.key).collect()
}

fn payloads(batch: &Batch) -> Vec<String> {
    let text = |value| if let Some(Value::Text(text)) = value { text.to_owned() } else { String::new() };
    batch.iter().map(|item| text(item.value_of("Payload"))).collect()
}

/// The item has ended with the reason; a person who looks at it sees all of it.
#[track_caller]
fn assert_ended(queue: &Queue, key: &str, length: usize) {
    let found = queue.get(key).unwrap();
    let item = found.get(0).unwrap();
    assert_eq!(item.state(), Some(ItemState::Failed));
    let Some(Value::Text(error)) = item.value_of("error") else { panic!("no error: {}", item.to_json()) };
    assert!(error.contains("more than 100000 bytes") && error.contains("item.max_bytes"), "{error}");
    assert!(matches!(item.value_of("Payload"), Some(Value::Text(text)) if text.len() == length));
}

#[test]
fn an_item_too_large_is_not_put_in() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("item.max_bytes", "100000")]);
    let large = "x".repeat(MOST);
    let refused = queue.enqueue(&[item("small"), item(&large)], None);
    assert_says(refused, ErrorKind::InvalidItem, &["item 1", "100002 bytes", "100000 are the most", "item.max_bytes"]);
    assert_eq!(queue.stats().unwrap().counts, [0; 9], "none was enqueued");
    // Together they are larger than one may be.
    put(&queue, &[&large[..MOST - 2], &large[..MOST - 2]]);
}

#[test]
fn values_that_may_be_put_in_are_handed_out() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[("item.max_bytes", "100000")]);
    // Characters of one, two and four bytes, and such that JSON writes longer.
    for filling in ["x", "\u{e9}", "\u{1f642}", "\\\"\n"] {
        let json = serde_json::json!(filling).to_string().len() - 2;
        let payload = filling.repeat((MOST - 2) / json);
        put(&queue, &[&payload]);
        assert_eq!(payloads(&queue.claim(1, Duration::ZERO).unwrap()), [payload], "{filling:?}");
    }
}

#[test]
fn an_item_too_large_for_a_worker_fails_alone() {
    let scratch = Scratch::new();
    let producer = scratch.open(&[("item.max_bytes", "0")]);
    let worker = scratch.open(&[("item.max_bytes", "100000")]);
    let large = "\u{e9}".repeat(MOST);
    let keys = put(&producer, &["first", &large, "last"]);
    assert_eq!(payloads(&worker.claim(10, Duration::ZERO).unwrap()), ["first", "last"]);
    assert_ended(&worker, &keys[1], 2 * MOST);
    assert!(worker.claim(10, Duration::ZERO).unwrap().is_empty(), "it is not claimed again");
}

#[test]
fn an_item_too_large_does_not_spoil_a_settle() {
    let scratch = Scratch::new();
    let producer = scratch.open(&[("item.max_bytes", "0")]);
    let worker = scratch.open(&[("item.max_bytes", "100000")]);
    put(&producer, &["first"]);
    let batch = worker.claim(1, Duration::ZERO).unwrap();
    let keys = put(&producer, &[&"x".repeat(MOST + 1)]);
    let done = [Settlement::new(&batch.get(0).unwrap(), Action::Complete)];
    let (outcomes, next) = worker.settle_and_claim(&done, None, 10).unwrap();
    assert_eq!(outcomes[0].state, Some(ItemState::Completed));
    assert!(next.is_empty());
    assert_ended(&worker, &keys[0], MOST + 1);
}
