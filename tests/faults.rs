//! The core on SQL Server, over the real Microsoft driver and against a scripted server: exactly what it sends, what it
//! makes of answers, and what it does when things go wrong.

#[path = "faults/calls.rs"]
mod calls;
#[path = "faults/connecting.rs"]
mod connecting;
#[path = "faults/decoding.rs"]
mod decoding;
#[path = "faults/failover.rs"]
mod failover;
#[path = "faults/installing.rs"]
mod installing;
#[path = "faults/interrupts.rs"]
mod interrupts;
#[path = "faults/ledger.rs"]
mod ledger;
mod limit;
#[path = "faults/memory.rs"]
mod memory;
#[path = "faults/results.rs"]
mod results;
#[path = "faults/secrets.rs"]
mod secrets;
#[path = "faults/server.rs"]
mod server;
#[path = "faults/settling.rs"]
mod settling;
#[path = "faults/silence.rs"]
mod silence;
#[path = "faults/starting.rs"]
mod starting;
#[path = "faults/taking.rs"]
mod taking;
#[path = "tds_peer/mod.rs"]
mod tds_peer;

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
