//! The core on SQL Server, over the real Microsoft driver and against a scripted server: exactly what it sends, what it
//! makes of answers, and what it does when things go wrong.

mod calls;
mod connecting;
mod decoding;
mod failover;
mod installing;
mod interrupts;
mod memory;
mod results;
mod secrets;
mod settling;
mod silence;
mod starting;
mod taking;

use readpast::item::{Action, Batch, NewItem, Settlement};
use readpast::queue::Queue;
use std::time::Duration;

/// An item with a payload.
fn item(payload: &str) -> NewItem {
    let columns = serde_json::json!({"Payload": payload});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// Enqueues an item for each payload.
fn put(queue: &Queue, payloads: &[&str]) {
    let items: Vec<_> = payloads.iter().map(|payload| item(payload)).collect();
    queue.enqueue(&items, None).unwrap();
}

/// Claims up to `max` items without waiting.
fn take(queue: &Queue, max: u32) -> Batch {
    queue.claim(max, Duration::ZERO).unwrap()
}

/// `action` for every item of a batch.
fn all(batch: &Batch, action: Action) -> Vec<Settlement<'_>> {
    batch.iter().map(|item| Settlement::new(&item, action)).collect()
}
