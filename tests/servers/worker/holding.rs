//! Claims while handlers run: kept, recorded in steps, lost.

use super::given::{Given, payload};
use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::item::{ItemRef, Value};
use readpast::{Action, Answer, ItemState, Settlement, Verdict, Worker};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;
use support::limit::until;

#[test]
fn threads_work_at_once_and_share_the_items() {
    let payloads: Vec<_> = (0..30).map(|i| i.to_string()).collect();
    let payloads: Vec<_> = payloads.iter().map(String::as_str).collect();
    for given in Given::each(&payloads, &[]) {
        let seen = Mutex::new(BTreeMap::new());
        let all_at_once = Barrier::new(3);
        let worker = Worker::new(&given.queue).threads(3);
        given.run_until(30, worker, |job| {
            if payload(job) < "3" && payload(job).len() == 1 {
                // None of the first three ends before all of them have begun.
                all_at_once.wait();
            }
            *seen.lock().unwrap().entry(payload(job).to_owned()).or_insert(0) += 1;
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() == 30 && seen.values().all(|times| *times == 1), "{seen:?}");
    }
}

#[test]
fn a_lease_is_kept_for_as_long_as_the_handler_takes() {
    // So short a lease may run out on a busy machine: nothing is to be recovered.
    for given in Given::each(&["slow"], &[("lease.ms", "3000"), ("recover.interval_ms", "3600000")]) {
        given.run_until(1, Worker::new(&given.queue), |job| {
            let mut renewed = BTreeSet::from([lease_until(&given)]);
            until("the lease is renewed again and again", || {
                thread::sleep(Duration::from_millis(100));
                renewed.insert(lease_until(&given));
                renewed.len() > 4
            });
            assert!(!job.is_lost());
        });
        let slow = given.find("slow");
        assert_eq!((slow.state, slow.attempt, slow.error), (ItemState::Completed, 1, None));
    }
}

#[test]
fn an_item_taken_away_is_found_lost_and_the_worker_goes_on() {
    // Leases so short may run out on a busy machine: nothing is to be recovered.
    for given in Given::each(&["taken", "next"], &[("lease.ms", "1500"), ("recover.interval_ms", "3600000")]) {
        given.run_until(2, Worker::new(&given.queue), |job| {
            if payload(job) == "taken" {
                assert!(!job.is_lost());
                terminate(&given, job.key());
                until("lost", || job.is_lost());
            }
            Verdict::complete().response("late")
        });
        let taken = given.find("taken");
        assert_eq!((taken.state, taken.response), (ItemState::Terminated, None));
        assert_eq!(given.find("next").state, ItemState::Completed);
    }
}

/// A handler that gives up has spent its attempt, a result while the lease lasts counts, and a handler that goes on for longer has the
/// item beside another.
#[test]
fn a_handler_that_runs_too_long_is_cancelled_and_its_lease_runs_out() {
    let settings = [
        ("worker.max_run_ms", "100"),
        ("lease.ms", "5000"),
        ("recover.interval_ms", "100"),
        ("poll.interval_ms", "100"),
    ];
    for given in Given::each(&["gives up", "late", "hangs"], &settings) {
        let begun = AtomicUsize::new(0);
        let hangs_twice = Barrier::new(2);
        given.run_until(5, Worker::new(&given.queue).threads(4), |job| match (payload(job), job.attempt()) {
            ("gives up", 1) => {
                until("it is cancelled", || job.is_lost());
                Verdict::release()
            }
            ("late", _) => {
                until("it is cancelled", || job.is_lost());
                Verdict::complete().response("in time")
            }
            ("hangs", _) if begun.fetch_add(1, Ordering::Relaxed) < 2 => {
                hangs_twice.wait();
                Verdict::complete().response(job.attempt().to_string())
            }
            _ => Verdict::complete(),
        });
        let gave_up = given.find("gives up");
        assert_eq!((gave_up.state, gave_up.attempt), (ItemState::Completed, 2), "the attempt counts");
        let late = given.find("late");
        assert_eq!((late.state, late.attempt, late.response.as_deref()), (ItemState::Completed, 1, Some("in time")));
        let hung = given.find("hangs");
        assert_eq!((hung.state, hung.attempt, hung.response.as_deref()), (ItemState::Completed, 2, Some("2")));
    }
}

/// An operator takes an item from its handler and has it done anew. The same worker claims it, with the same attempt.
#[test]
fn an_item_done_anew_is_begun_when_its_handler_knows_and_has_ended() {
    // By the claim, not by a renewal.
    for given in Given::each(&["a"], &[("lease.ms", "3600000"), ("poll.interval_ms", "20")]) {
        let (runs, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
        given.run_until(2, Worker::new(&given.queue).threads(2), |job| {
            assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0, "two handlers have it");
            let run = runs.fetch_add(1, Ordering::SeqCst);
            assert_eq!(job.attempt(), 1);
            if run == 0 {
                terminate(&given, job.key());
                let outcomes = given.queue.redrive(&[ItemRef { key: job.key(), token: None }], None).unwrap();
                assert_eq!(outcomes[0].answer, Answer::Ok);
                until("lost", || job.is_lost());
            }
            at_once.fetch_sub(1, Ordering::SeqCst);
            Verdict::complete().response(if run == 0 { "of the first" } else { "of the second" })
        });
        let a = given.find("a");
        assert_eq!((a.state, a.attempt, a.response.as_deref()), (ItemState::Completed, 1, Some("of the second")));
        assert_eq!(runs.into_inner(), 2);
    }
}

#[test]
fn steps_are_recorded_and_the_end_fits_the_last_of_them() {
    for given in Given::each(&["a"], &[]) {
        given.run_until(2, Worker::new(&given.queue), |job| -> Result<Verdict, readpast::Error> {
            if job.attempt() == 1 {
                assert_eq!(job.step("drawn")?, Answer::Ok);
                assert_eq!(job.step("sent")?, Answer::Ok);
                assert_eq!(given.find("a").step.as_deref(), Some("sent"), "told while the item is in hand");
                return Ok(Verdict::retry("not confirmed"));
            }
            assert_eq!(job.text("Step"), Some("sent"), "another attempt knows how far it got");
            Ok(Verdict::complete())
        });
        let a = given.find("a");
        assert_eq!((a.state, a.attempt, a.step.as_deref()), (ItemState::Completed, 2, Some("sent")));
    }
}

#[test]
fn a_step_of_a_lost_item_says_so() {
    for given in Given::each(&["a"], &[]) {
        given.run_until(1, Worker::new(&given.queue), |job| {
            terminate(&given, job.key());
            let answer = job.step("sent").unwrap();
            assert_ne!(answer, Answer::Ok);
            assert!(job.is_lost());
        });
        let a = given.find("a");
        assert_eq!((a.state, a.step, a.error), (ItemState::Terminated, None, None));
    }
}

/// A worker gets no news of an item that is Completed as it wished, but gets this loss.
#[test]
fn an_item_that_somebody_else_has_completed_is_reported_as_lost() {
    for given in Given::each(&["a", "b", "c"], &[]) {
        let engine = Engine::new(&given.queue, WorkerTerms::default());
        let Taken::Items(batch) = engine.take(3, Duration::from_secs(600)).unwrap() else { panic!("three are due") };
        let taken: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
        assert_eq!(taken.len(), 3);
        let others = Settlement::control(taken[1].key, None, Action::Complete);
        assert_eq!(given.queue.settle(&[others], None).unwrap()[0].answer, Answer::Ok);
        engine.end(&taken);
        engine.stop();
        engine.close(Duration::from_secs(600)).unwrap();
        assert_eq!((engine.figures().settled, engine.figures().lost), (2, 1));
    }
}

/// Until when the one item is leased.
fn lease_until(given: &Given) -> String {
    let all = given.queue.find(&readpast::Filter::default(), None, 10).unwrap();
    let item = all.get(0).unwrap();
    let until = ["LeaseUntil", "lease_until"].iter().find_map(|name| item.value_of(name));
    let Some(Value::Text(until)) = until else { panic!("it is leased until {until:?}") };
    until.to_owned()
}

fn terminate(given: &Given, key: &str) {
    let outcomes = given.queue.settle(&[Settlement::control(key, None, Action::Terminate)], None).unwrap();
    assert_eq!(outcomes[0].answer, Answer::Ok);
}
