//! An event loop in place of threads: its descriptor shows items, losses and the end.

use super::given::Given;
use crate::places::{ANYWHERE, Three};
use readpast::engine::{Taken, WorkerTerms};
use readpast::{Action, Answer, Engine, ErrorKind, NewItem, Queue, Settlement};
use std::time::Duration;
use support::limit::NEVER;
use support::scratch::item;

/// Whether the descriptor can be read from within the time.
#[allow(unsafe_code, reason = "poll is a function of C")]
fn is_readable(descriptor: i32, wait: Duration) -> bool {
    let mut polled = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which is valid.
    let found = unsafe { libc::poll(&raw mut polled, 1, i32::try_from(wait.as_millis()).unwrap()) };
    assert!(found >= 0 && polled.revents & !libc::POLLIN == 0, "{found} {}", polled.revents);
    found == 1
}

/// The next item, as an event loop takes it; it wants so many beside it.
fn next(engine: &Engine, beside: u32) -> String {
    loop {
        let descriptor = engine.want(1).unwrap();
        assert!(is_readable(descriptor, NEVER));
        match engine.take(1, Duration::ZERO).unwrap() {
            Taken::Items(batch) => {
                assert_eq!(engine.want(beside).unwrap(), descriptor, "it stays the same");
                return batch.get(0).unwrap().key().to_owned();
            }
            Taken::Nothing => {}
            Taken::Stopping => panic!("nothing stops it"),
        }
    }
}

fn end(engine: &Engine, key: &str) -> Answer {
    let done = Settlement { attempt: 1, ..Settlement::control(key, None, Action::Complete) };
    engine.end(&[done])[0]
}

#[test]
fn an_event_loop_learns_of_items_losses_and_the_stop() {
    for given in Given::each(&[], &[("lease.ms", "15000"), ("worker.ahead", "0")]) {
        let engine = Engine::new(&given.queue, WorkerTerms::default());
        let descriptor = engine.want(1).unwrap();
        assert!(!is_readable(descriptor, Duration::from_millis(300)), "there is nothing to do");
        given.queue.enqueue(&[item("lost"), item("kept"), item("last")], None).unwrap();
        let (lost, kept) = (next(&engine, 0), next(&engine, 0));

        // It wants no more, and what comes is left for others.
        engine.want(0).unwrap();
        assert!(!is_readable(descriptor, Duration::from_millis(300)));
        let terminate = [Settlement::control(&lost, None, Action::Terminate)];
        assert_eq!(given.queue.settle(&terminate, None).unwrap()[0].answer, Answer::Ok);
        assert!(is_readable(descriptor, NEVER));
        assert!(engine.is_lost(&lost, 1) && !engine.is_lost(&kept, 1));
        assert_eq!((end(&engine, &kept), end(&engine, &lost)), (Answer::Ok, Answer::Ok));

        let last = next(&engine, 1);
        assert!(!is_readable(descriptor, Duration::from_millis(300)), "that was the last");
        engine.stop();
        assert!(is_readable(descriptor, NEVER));
        assert!(matches!(engine.take(1, Duration::ZERO), Ok(Taken::Stopping)));
        engine.want(0).unwrap();
        assert!(is_readable(descriptor, Duration::ZERO), "a loop that learns of it late");
        assert_eq!(end(&engine, &last), Answer::Ok);
        engine.close(NEVER).unwrap();
    }
}

#[test]
fn an_event_loop_learns_of_a_failure() {
    for given in Given::each(&[], &[]) {
        let engine = Engine::new(&given.queue, WorkerTerms::default());
        assert_eq!(engine.want(1001).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let descriptor = engine.want(1000).unwrap();
        given.queue.close(NEVER).unwrap();
        assert!(is_readable(descriptor, NEVER));
        assert_eq!(engine.take(1, Duration::ZERO).unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[test]
fn an_event_loop_learns_of_items_of_each_place() {
    for three in Three::each() {
        three.install(ANYWHERE);
        let queue = Queue::open(&three.config(&[("worker.ahead", "0")]), "Job").unwrap();
        let engine = Engine::new(&queue, WorkerTerms::default());
        let descriptor = engine.want(1).unwrap();
        assert!(!is_readable(descriptor, Duration::from_millis(300)), "there is nothing to do");
        // Each call takes the next place.
        (0..6).for_each(|_| assert!(queue.enqueue(&[NewItem::default()], None).is_ok()));
        let items: Vec<_> = (0..6).map(|_| next(&engine, 0)).collect();
        let mut places: Vec<_> = items.iter().map(|item| item.split('/').next().unwrap()).collect();
        places.sort_unstable();
        assert_eq!(places, ["a", "a", "b", "b", "c", "c"]);
        assert!(items.iter().all(|item| end(&engine, item) == Answer::Ok));
        engine.stop();
        assert!(is_readable(descriptor, NEVER));
        engine.close(NEVER).unwrap();
    }
}
