//! Arguments out of range: refused before anything is sent.

use super::assert_says;
use readpast::config::Config;
use readpast::description::QueueSpec;
use readpast::error::{Error, ErrorKind};
use readpast::item::{Action, Filter, Lease, NewItem, Settlement};
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::{Scratch, item};

#[test]
fn names_of_queues_and_schemas() {
    let mut config = Config::new();
    config.set("connection", "Driver={None};Server=none.invalid").unwrap();
    for name in ["Job's", "Job\"", "[Job]", "Job;DROP TABLE x", "1Job", "J\u{f6}b", "Job Two", "../Job", "Job--"] {
        assert_says(
            Queue::open(&config, name),
            ErrorKind::InvalidArgument,
            &[&format!("{name:?}"), "use a letter first"],
        );
    }
    assert_says(Queue::open(&config, ""), ErrorKind::InvalidArgument, &["queue's name is empty"]);
    assert_says(Queue::open(&config, &"q".repeat(41)), ErrorKind::InvalidArgument, &["41", "40", "shorten"]);
    assert_says(Queue::open(&config, &"q".repeat(129)), ErrorKind::InvalidArgument, &["129", "shorten"]);
    for (name, word) in [("", "empty"), (&*"s".repeat(129), "128"), ("a\0b", "U+0000")] {
        assert_says(config.set("schema", name), ErrorKind::InvalidArgument, &["\"schema\"", word]);
    }
}

#[test]
fn numbers_of_settings() {
    for (key, value, range) in [
        ("lease.ms", "0", "10 to 86400000"),
        ("lease.ms", "-60000", "10 to 86400000"),
        ("lease.ms", "99999999999999999999", "10 to 86400000"),
        ("query.timeout_ms", "999", "1000 to 3600000"),
        ("retry.budget_ms", "1.5", "0 to 3600000"),
        ("pool.size", "1e9", "1 to 1000"),
        ("poll.interval_ms", "0x10", "10 to 3600000"),
        ("dialect", "oracle", "auto, sqlserver, postgres"),
    ] {
        assert_says(Config::new().set(key, value), ErrorKind::InvalidConfig, &[key, value, range]);
    }
}

/// A caller's text comes back in a message as far as a person needs it. (And a name of such a length is not compared with
/// those that there are.)
#[test]
fn text_of_any_length() {
    let long = "x".repeat(10_000_000);
    let errors = [
        Config::new().set(&long, "1").unwrap_err(),
        Config::new().set("pool.size", &long).unwrap_err(),
        Config::new().set("schema", &long).unwrap_err(),
        Queue::open(&Config::new(), &long).unwrap_err(),
        Filter::from_json(&format!("{{\"status\": [\"{long}\"]}}")).unwrap_err(),
        QueueSpec::from_json(&format!("{{\"queue\": \"Q\", \"{long}\": 1}}")).unwrap_err(),
        QueueSpec::from_json(&format!("{{\"queue\": \"{long}\"}}")).unwrap_err(),
        Error::new(ErrorKind::Database, "a").in_context(&long),
    ];
    for error in errors {
        assert!(error.message().len() < 10_000, "{} bytes: {:.200}", error.message().len(), error.message());
    }
    let error = Config::new().set(&long, "1").unwrap_err();
    assert!(error.message().contains("xxx\"... (10000000 characters); there are connection"), "{error}");
}

#[test]
fn counts_waits_and_empty_lists() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let invalid = ErrorKind::InvalidArgument;
    for max in [0, 1001, u32::MAX] {
        assert_says(queue.claim(max, Duration::ZERO), invalid, &["claim", &max.to_string(), "1 to 1000"]);
        assert_says(queue.recover(max), invalid, &["recover", &max.to_string(), "1 to 1000"]);
    }
    for wait in [Duration::from_secs(86_401), Duration::MAX] {
        assert_says(queue.claim(1, wait), invalid, &["wait", "a day"]);
    }
    assert_eq!((queue.enqueue(&[], None).unwrap().len(), queue.settle(&[], None).unwrap().len()), (0, 0));
    assert_eq!(queue.renew(&[]).unwrap().len(), 0);
    let settlement = Settlement::control("2026-11-21T08:30:00", None, Action::Cancel);
    assert_says(queue.settle_and_claim(std::slice::from_ref(&settlement), None, 0), invalid, &["claim is 0"]);
    assert_says(queue.settle(&[settlement], Some("42")), invalid, &["\"42\" is not a GUID", "leave it out"]);
    assert_says(queue.enqueue(&[item("a")], Some("")), invalid, &["not a GUID"]);
    assert_eq!(queue.stats().unwrap().counts, [0; 9]);
}

#[test]
fn times_and_delays() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    for (delay, due, word) in [
        (Some(-1), None, "-1"),
        (Some(i64::MAX), None, "9223372036854775807"),
        (None, Some("tomorrow"), "tomorrow"),
        (None, Some("2026-02-30"), "2026-02-30"),
        (Some(1), Some("2026-11-21"), "not both"),
    ] {
        let new = NewItem { delay_ms: delay, due: due.map(str::to_owned), ..item("a") };
        assert_says(queue.enqueue(&[item("b"), new], None), ErrorKind::InvalidItem, &["item 1", word]);
    }
    assert_eq!(queue.stats().unwrap().counts, [0; 9], "none was enqueued");
}

/// Keys and tokens are text, and who makes them up hears that they are none.
#[test]
fn keys_and_tokens_that_are_none() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    queue.enqueue(&[item("a")], None).unwrap();
    let batch = queue.claim(1, Duration::ZERO).unwrap();
    let good = Settlement::new(&batch.get(0).unwrap(), Action::Complete);
    for (settlement, word) in [
        (Settlement { key: "17", ..good.clone() }, "17"),
        (Settlement { key: "'; DROP TABLE readpast.job; --", ..good.clone() }, "drop table"),
        (Settlement { token: Some("soonish"), ..good.clone() }, "soonish"),
    ] {
        assert_says(queue.settle(&[settlement], None), ErrorKind::InvalidItem, &[word]);
    }
    assert_says(queue.renew(&[Lease { key: "x", attempt: 1 }]), ErrorKind::InvalidItem, &["\"x\""]);
    assert_eq!(queue.settle(&[good], None).unwrap()[0].answer, readpast::item::Answer::Ok);
}
