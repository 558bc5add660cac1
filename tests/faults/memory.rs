//! Items that a worker has not the memory for.

use super::starting::again;
use super::take;
use readpast::config::Config;
use readpast::item::Value;
use readpast::queue::Queue;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{env, fs};
use support::scripted::server::Server;

/// Characters of the large item: as UTF-8 alone more than the process may add to what it has.
const LARGE: usize = 48 * 1024 * 1024;
const MAY_ADD: u64 = 16 * 1024 * 1024;

/// Lets this process have so many bytes more than it has.
fn limit_memory(more: u64) {
    let pages: u64 = fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let most = pages * rustix::param::page_size() as u64 + more;
    setrlimit(Resource::As, Rlimit { current: Some(most), ..getrlimit(Resource::As) }).unwrap();
}

/// It neither ends the process nor spoils the others of its claim: it is given back with a reason, for an attempt elsewhere.
#[test]
#[cfg(target_os = "linux")]
fn an_item_without_the_memory_for_it_is_given_back_alone() {
    const TEST: &str = "memory::an_item_without_the_memory_for_it_is_given_back_alone";
    if let Ok(connection) = env::var(super::starting::CONNECTION) {
        let mut config = Config::new();
        config.set("connection", &connection).unwrap().set("item.max_bytes", "0").unwrap();
        // The peer takes its time for so much.
        config.set("query.timeout_ms", "600000").unwrap();
        let queue = Queue::open(&config, "Job").unwrap();
        assert_eq!(take(&queue, 1).len(), 1, "driver and library have what they need");
        limit_memory(MAY_ADD);
        let batch = take(&queue, 10);
        let payloads: Vec<_> = batch.iter().map(|item| item.value_of("Payload")).collect();
        assert_eq!(payloads, [Some(Value::Text("before")), Some(Value::Text("behind"))]);
        assert!(batch.get(0).unwrap().try_to_json().unwrap().contains("before"));
        return;
    }
    let server = Server::start();
    super::put(&server.open(&[]), &["first", "before", "large", "behind"]);
    server.ledger().items[2].payload = "x".repeat(LARGE);
    let worker = again(TEST, &server.peer.connection_string(), r#"exec "$@""#).output().unwrap();
    assert!(worker.status.success(), "{:?} {}", worker.status, String::from_utf8_lossy(&worker.stderr));
    let states: Vec<_> = server.ledger().items.iter().map(|item| item.status.clone()).collect();
    assert_eq!(states, ["Processing", "Processing", "Error", "Processing"]);
    let requests = server.requests("[Modify_Job");
    assert_eq!(requests.len(), 1);
}
