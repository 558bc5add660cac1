//! The verbs: each is one call of the crate.

use super::answer::{self, Failure, Result};
use super::{Adapter, child, given, work};
use readpast::queue::Waited;
use readpast::{Batch, Queue, QueueSpec, Renewal};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub fn run(adapter: &Adapter, request: &Value) -> Result {
    // A clone is the same queue, and the table is free for other threads meanwhile.
    let queue = || adapter.queues.with(given::text(request, "queue"), Queue::clone);
    let operation = request["operation"].as_str();
    match given::text(request, "do") {
        "hello" => Ok(json!({
            "language": "rust", "version": env!("CARGO_PKG_VERSION"), "abi": readpast::ffi::READPAST_ABI,
        })),
        "describe" => Ok(json!({"name": child::status_name(request["status"].as_i64().expect("a status") as i32)})),
        "install" => install(request),
        "open" => open(adapter, request),
        "share" => {
            let queue = queue()?;
            let shared = request["place"].as_str().map_or_else(|| Ok(queue.share()), |place| queue.at(place))?;
            adapter.queues.put(given::text(request, "as"), shared);
            Ok(Value::Null)
        }
        "enqueue" => answer::receipts(&queue()?.enqueue(&given::new_items(request), operation)?),
        "claim" => {
            let batch = queue()?.claim(given::number(request, "max"), given::duration(request, "wait_ms"))?;
            let items = answer::items(&batch);
            keep(adapter, request, batch);
            items
        }
        "wait_for" => match queue()?.wait_for(given::text(request, "key"), given::duration(request, "wait_ms"))? {
            Waited::Ended(batch) => {
                let items = answer::items(&batch);
                keep(adapter, request, batch);
                items
            }
            Waited::Gone => Err(Failure::Outcome("READPAST_NOT_FOUND", Value::Null)),
            Waited::NotYet => Err(Failure::Outcome("READPAST_EMPTY", Value::Null)),
        },
        "settle" => answer::outcomes(
            &queue()?.settle(&given::settlements(request, &given::values(request)), operation)?,
            Map::new(),
        ),
        "settle_and_claim" => {
            let max = given::number(request, "max");
            let (outcomes, batch) =
                queue()?.settle_and_claim(&given::settlements(request, &given::values(request)), operation, max)?;
            let items = answer::item_fields(&batch);
            keep(adapter, request, batch);
            answer::outcomes(&outcomes, items)
        }
        "renew" => answer::outcomes(&queue()?.renew(&given::leases(request))?, Map::new()),
        "find" => {
            let (filter, max) = (given::filter(request)?, given::number(request, "max"));
            let batch = queue()?.find(&filter, request["after"].as_str(), max)?;
            let items = answer::items(&batch);
            keep(adapter, request, batch);
            items
        }
        "ask" => {
            let arguments = (!request["arguments"].is_null()).then(|| request["arguments"].to_string());
            let answer = queue()?.ask(given::text(request, "what"), arguments.as_deref())?;
            Ok(json!({"answer": serde_json::from_str::<Value>(&answer).expect("it is JSON")}))
        }
        "metrics" => Ok(json!({"text": readpast::metrics().to_string()})),
        "interrupt" => {
            queue()?.interrupt();
            Ok(Value::Null)
        }
        "resume" => {
            queue()?.resume();
            Ok(Value::Null)
        }
        "close" => {
            queue()?.close(given::duration(request, "timeout_ms"))?;
            Ok(Value::Null)
        }
        "free" => free(adapter, request),
        "renewal_start" => {
            let batch = adapter.batches.with(given::text(request, "batch"), Arc::clone)?;
            let renewal = Renewal::start(&queue()?, &batch, given::duration(request, "interval_ms"))?;
            adapter.renewals.put(given::text(request, "as"), renewal);
            Ok(Value::Null)
        }
        "renewal_release" => {
            let key = given::text(request, "key");
            let was_held = adapter.renewals.with(given::text(request, "renewal"), |renewal| renewal.release(key))?;
            if was_held { Ok(Value::Null) } else { Err(Failure::Outcome("READPAST_NOT_FOUND", Value::Null)) }
        }
        "renewal_lost" => {
            let keys = adapter.renewals.with(given::text(request, "renewal"), Renewal::lost)?;
            Ok(json!({"keys": keys}))
        }
        "value" => value(adapter, request),
        "work" => work::work(&queue()?, request),
        "claim_in_child" => child::claim(adapter, given::text(request, "queue")),
        _ => Err(Failure::UnknownVerb),
    }
}

fn install(request: &Value) -> Result {
    let spec = match &request["spec"] {
        Value::Null => None,
        spec => Some(QueueSpec::from_json(&spec.to_string())?),
    };
    readpast::install(&given::config(request)?, spec.as_ref())?;
    Ok(Value::Null)
}

fn open(adapter: &Adapter, request: &Value) -> Result {
    let queue = Queue::open(&given::config(request)?, given::text(request, "name"))?;
    let fields = json!({"worker": queue.worker(), "lease_ms": queue.lease().as_millis() as u64});
    adapter.queues.put(given::text(request, "queue"), queue);
    Ok(fields)
}

/// Keeps the batch, when the driver has a name for it.
fn keep(adapter: &Adapter, request: &Value, batch: Batch) {
    if let Some(name) = request["as"].as_str() {
        adapter.batches.put(name, Arc::new(batch));
    }
}

fn free(adapter: &Adapter, request: &Value) -> Result {
    // To free once more does nothing.
    if let Some(name) = request["queue"].as_str() {
        drop(adapter.queues.take(name));
    } else if let Some(name) = request["batch"].as_str() {
        drop(adapter.batches.take(name));
    } else {
        drop(adapter.renewals.take(given::text(request, "renewal")));
    }
    Ok(Value::Null)
}

fn value(adapter: &Adapter, request: &Value) -> Result {
    let batch = adapter.batches.with(given::text(request, "batch"), Arc::clone)?;
    let (index, name) = (given::number(request, "index") as usize, given::text(request, "column"));
    let not_found = || Failure::Outcome("READPAST_NOT_FOUND", Value::Null);
    let item = batch.get(index).ok_or_else(not_found)?;
    let value = item.value_of(name).ok_or_else(not_found)?;
    let place = batch.place_of(name).ok_or_else(not_found)?;
    Ok(answer::value(batch.columns()[place].kind, value))
}
