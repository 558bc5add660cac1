//! The adapter of Rust, on the crate's public API. It is this test program, started again with [`MARK`] set.

mod answer;
mod child;
mod given;
mod verbs;
mod work;

use answer::{Failure, answer};
use readpast::{Batch, Queue, Renewal};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The environment variable that makes this program the adapter.
pub const MARK: &str = "READPAST_CONFORMANCE_ADAPTER";

/// The objects that the driver has given names to.
#[derive(Default)]
struct Adapter {
    queues: Table<Queue>,
    batches: Table<Arc<Batch>>,
    renewals: Table<Renewal>,
    calls: Table<JoinHandle<Value>>,
}

/// Named objects. Calls on other threads use them too.
struct Table<T>(Mutex<HashMap<String, T>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Table<T> {
    fn put(&self, name: &str, object: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), object);
    }

    fn take(&self, name: &str) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    fn with<R>(&self, name: &str, work: impl FnOnce(&T) -> R) -> Result<R, Failure> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(name).map(work).ok_or_else(|| Failure::gone(name))
    }
}

/// Reads requests until their end, which is the end of everything.
pub fn run() -> ExitCode {
    let adapter = Arc::new(Adapter::default());
    for line in io::stdin().lock().lines() {
        let line = line.expect("the driver writes UTF-8");
        let request: Value = serde_json::from_str(&line).expect("the driver writes JSON");
        let answered = respond(&adapter, request);
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{answered}").and_then(|()| stdout.flush()).expect("the driver reads");
    }
    ExitCode::SUCCESS
}

fn respond(adapter: &Arc<Adapter>, request: Value) -> Value {
    if let Some(name) = request["async"].as_str().map(str::to_owned) {
        let theirs = Arc::clone(adapter);
        adapter.calls.put(&name, thread::spawn(move || answer(verbs::run(&theirs, &request))));
        return json!({"status": "READPAST_OK", "started": name});
    }
    if request["do"] == "await" {
        let name = given::text(&request, "call");
        let call = adapter.calls.take(name).unwrap_or_else(|| panic!("no call {name:?} was started"));
        return call.join().expect("a call does not panic");
    }
    answer(verbs::run(adapter, &request))
}
