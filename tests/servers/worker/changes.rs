//! Threads that wait for news of handlers: woken by a loss, a stop and a close, and by nothing else.

use super::given::Given;
use readpast::engine::{Taken, WorkerTerms};
use readpast::{Action, Answer, Engine, Queue, Settlement};
use std::time::Duration;
use support::limit::NEVER;

fn begin(queue: &Queue) -> (Engine, String) {
    let engine = Engine::new(queue, WorkerTerms::default());
    let Taken::Items(batch) = engine.take(1, NEVER).unwrap() else { panic!("there are items") };
    let key = batch.get(0).unwrap().key().to_owned();
    (engine, key)
}

#[test]
fn a_loss_a_stop_and_a_close_are_reported() {
    for given in Given::each(&["taken", "kept"], &[("lease.ms", "1500"), ("worker.ahead", "0")]) {
        let (engine, taken) = begin(&given.queue);
        let Taken::Items(kept) = engine.take(1, NEVER).unwrap() else { panic!("there are items") };
        let kept = kept.get(0).unwrap();
        assert_eq!(engine.changes(0, Duration::ZERO), Some(0), "to take items is none");

        let terminate = [Settlement::control(&taken, None, Action::Terminate)];
        assert_eq!(given.queue.settle(&terminate, None).unwrap()[0].answer, Answer::Ok);
        let told = engine.changes(0, NEVER).unwrap();
        assert!(told == 1 && engine.is_lost(&taken, 1) && !engine.is_lost(kept.key(), 1) && !engine.is_stopping());
        let late = Settlement { attempt: 1, ..Settlement::control(&taken, None, Action::Complete) };
        engine.end(&[late, Settlement::new(&kept, Action::Complete)]);
        assert_eq!(engine.changes(told, Duration::from_millis(600)), Some(told), "renewals and ends are none");

        // An interrupt of the queue stops the worker.
        given.queue.interrupt();
        assert_eq!(engine.changes(told, NEVER), Some(told + 1));
        assert!(engine.is_stopping());
        engine.close(NEVER).unwrap();
        assert_eq!(engine.changes(told, NEVER), Some(told + 1), "whoever comes late has missed nothing");
        assert_eq!(engine.changes(told + 1, NEVER), None);
    }
}

#[test]
fn a_failure_is_reported_as_a_stop_is() {
    for given in Given::each(&["a"], &[]) {
        let (engine, _) = begin(&given.queue);
        given.queue.close(NEVER).unwrap();
        assert_eq!(engine.changes(0, NEVER), Some(1));
        assert!(engine.is_stopping() && engine.close(Duration::ZERO).is_err());
        assert_eq!(engine.changes(1, NEVER), None, "also after a close that gave up");
    }
}
