//! The limit of a queue, by how it is used: `readpast stress` with few and many workers, small and large calls, and handlers that
//! take time.
//!
//! Why: a rate is of use with its limit beside it, since another machine has another one.
//!
//! How to read it: each line is one run on a copy of a queue; the shares are of the workers' time, and docs/dba.md says what they
//! are. `readpast stress` prints the same on any server.

/// The other benchmarks are the library's.
#[path = "../../benches/common/mod.rs"]
mod common;

use common::{Server, record};
use serde_json::{Map, Value, json};
use std::process::Command;

/// Workers, items a call, the time of a handler, items.
const CASES: [(u32, u32, &str, u32); 6] = [
    (1, 1, "0ms", 4_000),
    (1, 100, "0ms", 100_000),
    (8, 1, "0ms", 10_000),
    (32, 1, "0ms", 10_000),
    (8, 100, "0ms", 200_000),
    (8, 1, "20ms", 3_000),
];

fn main() {
    Server::each("limit", |server| {
        server.install("Bench");
        for (workers, batch, handler, items) in CASES {
            let report = run(server, workers, batch, handler, server.scaled(items));
            let limit = &report["limit"];
            let name = format!("{workers} workers, {batch} a call, handlers of {handler}");
            let rate = report["per_second"].as_f64().expect("a rate");
            println!("  {name:<46}{rate:>8.0} items/s   {}", limit["is"].as_str().expect("a limit"));
            record::row(
                "limits",
                json!({"": name, "items/s": rate, "limit": limit["is"], "would help": limit["would_help"]}),
            );
            record::row("percent of the workers' time", shares(&name, limit));
            let us = |name: &str| limit[name].as_f64();
            record::row(
                "microseconds before the run",
                json!({"": name, "a bare round trip": us("round_trip_us"), "a commit of one row": us("commit_us")}),
            );
        }
    });
}

/// The shares in percent, and the processors.
fn shares(name: &str, limit: &Value) -> Value {
    let percent = |share: &Value| json!(share.as_f64().map(|share| (100.0 * share).round()));
    let mut row = Map::from_iter([(String::new(), json!(name))]);
    for (part, share) in limit["shares"].as_object().expect("shares") {
        row.insert(part.replace('_', " "), percent(share));
    }
    row.insert("processors busy".to_owned(), percent(&limit["machine_busy"]));
    row.insert("by the workers".to_owned(), percent(&limit["own_busy"]));
    row.into()
}

fn run(server: &Server, workers: u32, batch: u32, handler: &str, items: u32) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_readpast"))
        .args(["stress", "Bench", "--json", "--for", "30s", "--handler", handler])
        .args(["--workers", &workers.to_string(), "--batch", &batch.to_string(), "--items", &items.to_string()])
        .env("READPAST_CONNECTION", server.scratch())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a report")
}
