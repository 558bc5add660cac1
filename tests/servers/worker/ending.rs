//! How workers end.

use super::given::Given;
use readpast::worker::{Event, Job};
use readpast::{ErrorKind, ItemState, NewItem, Worker};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;
use support::limit::until;
use support::scratch::item;

#[test]
fn a_stop_waits_for_the_handler() {
    for given in Given::each(&["a"], &[]) {
        let worker = Worker::new(&given.queue);
        let stop = worker.stop_handle();
        let (begun, begins) = mpsc::sync_channel(0);
        let go_on = AtomicBool::new(false);
        thread::scope(|scope| {
            let run = scope.spawn(|| {
                worker.run(|job| {
                    begun.send(()).unwrap();
                    until("told to go on", || go_on.load(Ordering::SeqCst));
                    assert!(job.is_stopping());
                })
            });
            begins.recv().unwrap();
            assert!(!stop.is_stopped());
            stop.stop();
            stop.stop();
            assert!(!run.is_finished(), "what has begun is waited for");
            go_on.store(true, Ordering::SeqCst);
            run.join().unwrap().unwrap();
        });
        assert_eq!(given.find("a").state, ItemState::Completed);
    }
}

#[test]
fn a_stop_ends_the_wait_for_items_and_nobody_elses() {
    for given in Given::each(&[], &[]) {
        let worker = Worker::new(&given.queue).threads(2);
        let stop = worker.stop_handle();
        thread::scope(|scope| {
            let run = scope.spawn(|| worker.run(|_| {}));
            let other = scope.spawn(|| given.queue.claim(1, Duration::from_secs(3600)));
            thread::sleep(Duration::from_millis(300));
            stop.stop();
            run.join().unwrap().unwrap();
            assert!(!other.is_finished());
            given.queue.enqueue(&[item("a")], None).unwrap();
            assert_eq!(other.join().unwrap().unwrap().len(), 1, "waits on");
        });
        worker.run(never).unwrap();
    }
}

#[test]
fn an_interrupt_of_the_queue_stops_its_workers() {
    for given in Given::each(&[], &[]) {
        let worker = Worker::new(&given.queue).threads(2);
        thread::scope(|scope| {
            let run = scope.spawn(|| worker.run(|_| {}));
            thread::sleep(Duration::from_millis(100));
            given.queue.interrupt();
            run.join().unwrap().unwrap();
        });
        assert!(worker.stop_handle().is_stopped());
    }
}

fn never(job: &Job<'_>) {
    panic!("{job:?} should not have been handled");
}

#[test]
fn a_closed_queue_ends_the_worker_with_an_error() {
    for given in Given::each(&[], &[]) {
        let worker = Worker::new(&given.queue).threads(2);
        thread::scope(|scope| {
            let run = scope.spawn(|| worker.run(|_| {}));
            thread::sleep(Duration::from_millis(100));
            given.queue.close(Duration::from_secs(600)).unwrap();
            assert_eq!(run.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
        });
        assert!(worker.stop_handle().is_stopped());
    }
}

#[test]
fn numbers_out_of_range_are_refused_before_anything_begins() {
    for given in Given::each(&["a"], &[]) {
        let worker = || Worker::new(&given.queue);
        for worker in [worker().threads(0), worker().threads(1001), worker().batch_size(0), worker().batch_size(1001)] {
            let error = worker.run(never).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{worker:?}");
        }
    }
}

#[test]
fn observers_get_claims_before_their_work_and_settlements_after_it() {
    for given in Given::each(&["a", "b"], &[]) {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let tell = |what: String| TOLD.lock().unwrap().push(what);
        TOLD.lock().unwrap().clear();
        let worker = Worker::new(&given.queue);
        let stop = worker.stop_handle();
        let worker = worker.observe(move |event| match event {
            Event::Claimed { batch, .. } => tell(format!("claimed {}", batch.len())),
            Event::Settled { outcomes, claimed, took, .. } => {
                assert!(*took > Duration::ZERO);
                tell(format!("settled {} as {}, claimed {claimed}", outcomes.len(), outcomes[0].state.unwrap()));
                if *claimed == 0 {
                    stop.stop();
                }
            }
            other => panic!("{other:?}"),
        });
        worker.run(|_| tell("worked".to_owned())).unwrap();
        assert_eq!(
            *TOLD.lock().unwrap(),
            [
                "claimed 1",
                "worked",
                "settled 1 as Completed, claimed 1",
                "claimed 1",
                "worked",
                "settled 1 as Completed, claimed 0"
            ],
            "the next item comes with the settle of the one before"
        );
    }
}

#[test]
fn an_observers_panic_ends_the_worker() {
    for given in Given::each(&["a"], &[]) {
        let worker = Worker::new(&given.queue).threads(2).observe(|_| panic!("seen enough"));
        let ended = thread::scope(|scope| scope.spawn(|| worker.run(|_| {})).join());
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"seen enough"));
    }
}

/// Items that are due later are left, and so are those that others hold.
#[test]
fn a_worker_stops_by_itself_when_nothing_is_due() {
    for given in Given::each(&["a", "b"], &[]) {
        given.queue.enqueue(&[NewItem { delay_ms: Some(3_600_000), ..item("later") }], None).unwrap();
        let worker = Worker::new(&given.queue).threads(2).until_empty(true).settle_timeout(Duration::from_secs(600));
        worker.run(|_| ()).unwrap();
        assert_eq!(given.find("a").state, ItemState::Completed);
        assert_eq!(given.find("b").state, ItemState::Completed);
        assert_eq!(given.find("later").state, ItemState::Pending);
    }
}
