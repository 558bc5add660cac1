//! The log of a worker. The tests of this program share its one logger: each looks for texts of its own.

use super::given::{Given, payload};
use log::kv::Key;
use log::{Level, LevelFilter, Log, Metadata, Record};
use readpast::{Filter, Settlement, Verdict, Worker, item::Action};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Keeps all that is logged.
struct Kept(Mutex<Vec<(Level, String)>>, Mutex<Vec<String>>);

static KEPT: Kept = Kept(Mutex::new(Vec::new()), Mutex::new(Vec::new()));

impl Log for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("readpast")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.lines().push((record.level(), record.args().to_string()));
            let field = |name: &str| record.key_values().get(Key::from_str(name)).map(|value| value.to_string());
            let fields = ["queue", "worker", "key", "attempt", "action", "status"].map(field);
            self.fields().push(fields.map(|value| value.unwrap_or_else(|| "missing".to_owned())).join(" "));
        }
    }

    fn flush(&self) {}
}

impl Kept {
    fn lines(&self) -> std::sync::MutexGuard<'_, Vec<(Level, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fields(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log's lines with this text in them.
    fn with(&self, text: &str) -> Vec<(Level, String)> {
        self.lines().iter().filter(|(_, line)| line.contains(text)).cloned().collect()
    }
}

fn keep() {
    // Only a second one is refused, and it would be the same.
    let _ = log::set_logger(&KEPT);
    log::set_max_level(LevelFilter::Info);
}

fn key_of(given: &Given, wanted: &str) -> String {
    let all = given.queue.find(&Filter::default(), None, 1000).unwrap();
    let item = all.iter().find(|item| item.value_of("Payload") == Some(readpast::item::Value::Text(wanted))).unwrap();
    item.key().to_owned()
}

#[test]
fn each_failed_attempt_is_logged_and_no_payload() {
    keep();
    let payloads = ["errs s3cret", "panics s3cret", "retries s3cret", "fails s3cret", "long s3cret", "good s3cret"];
    for given in Given::each(&payloads, &[]) {
        let keys = payloads.map(|payload| key_of(&given, payload));
        let worker = Worker::new(&given.queue).batch_size(2);
        let name = given.queue.worker().to_owned();
        // Three attempts of the first two, and one of each other.
        given.run_until(3 * 2 + 4, worker, |job| match payload(job).split(' ').next().unwrap() {
            "errs" => Err("451 greylisted"),
            "panics" => panic!("550 no such user"),
            "retries" => {
                Ok(Verdict::retry(format!("452 full {}", "x".repeat(15_000))).after(Duration::from_secs(3600)))
            }
            "fails" => Ok(Verdict::fail("553 no such address")),
            "long" => Ok(Verdict::complete().response("s3crets3crets3cret").step("s3cret".repeat(100))),
            _ => Ok(Verdict::complete()),
        });

        let told = KEPT.with(&format!("worker {name} "));
        assert!(
            told.contains(&(Level::Info, format!("worker {name} started: threads: 1, items a batch: 2"))),
            "{told:?}"
        );
        assert!(told.contains(&(Level::Info, format!("worker {name} stopped"))), "{told:?}");
        for attempt in 1..=3 {
            for (key, text) in [(&keys[0], "451 greylisted"), (&keys[1], "panicked: 550 no such user")] {
                let [(level, line)] = &KEPT.with(&format!("item {key}, attempt {attempt} failed (Retry): {text}"))[..]
                else {
                    panic!("attempt {attempt} of {key} is not logged once: {:?}", KEPT.with(key));
                };
                assert_eq!(*level, Level::Warn, "{line}");
            }
        }
        let [(Level::Warn, line)] = &KEPT.with(&format!("item {}, attempt 1 failed (Retry): 452 full", keys[2]))[..]
        else {
            panic!("the long error is not logged once: {:?}", KEPT.with(&keys[2]));
        };
        assert!(line.contains(" … (14509 characters left out) … ") && line.chars().count() < 700, "{line}");
        assert_eq!(KEPT.with(&format!("item {}, attempt 1 failed (Fail): 553 no such address", keys[3])).len(), 1);
        let refused = "attempt 1: a part of the result (step of 600 characters) was refused";
        let [(Level::Warn, line)] = &KEPT.with(&format!("item {}, {refused}", keys[4]))[..] else {
            panic!("the refusal is not logged once: {:?}", KEPT.with(&keys[4]));
        };
        assert!(line.contains("left out of its Complete") && line.contains("widen its column"), "{line}");
        assert_eq!(KEPT.with(&format!("item {},", keys[5])), []);
        assert_eq!(KEPT.with("s3cret"), []);
        let fields: Vec<_> = KEPT.fields().iter().filter(|fields| fields.contains(&name)).cloned().collect();
        let told = |rest: &str| {
            let wanted = format!("{} {name} {rest}", given.queue.name());
            fields.iter().filter(|fields| **fields == wanted).count()
        };
        assert_eq!(told("None None None None"), 2, "start and stop: {fields:?}");
        for attempt in 1..=3 {
            assert_eq!(told(&format!("{} {attempt} Retry None", keys[0])), 1, "{fields:?}");
        }
        assert_eq!(told(&format!("{} 1 Fail None", keys[3])), 1, "{fields:?}");
        assert_eq!(told(&format!("{} 1 Complete InvalidArgument", keys[4])), 1, "{fields:?}");
    }
}

#[test]
fn a_loss_is_logged_with_key_and_attempt() {
    keep();
    for given in Given::each(&["lost"], &[]) {
        given.run_until(1, Worker::new(&given.queue), |job| {
            let steered = Settlement::control(job.key(), None, Action::Terminate);
            given.queue.settle(&[steered], None).unwrap();
        });
        let key = key_of(&given, "lost");
        let line = format!(
            "item {key}, attempt 1 was lost: it could not be settled as Complete (LeaseLost), is Terminated now"
        );
        assert_eq!(KEPT.with(&line).len(), 1, "{:?}", KEPT.with(&key));
        let fields = format!("{} {} {key} 1 Complete LeaseLost", given.queue.name(), given.queue.worker());
        assert!(KEPT.fields().contains(&fields), "{:?}", KEPT.fields());
    }
}
