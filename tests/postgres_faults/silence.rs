//! Connections that fall silent: open, all that is sent taken and acknowledged, and nothing comes back. psqlODBC waits for
//! ever then. Every call comes to an end, and on another connection to its outcome.

use super::connections::{open_through, proxy_to};
use super::{claim_new, completions, watch_completions};
use readpast::error::{Error, ErrorKind};
use readpast::for_tests::Session;
use readpast::item::{Action, Answer, Lease, Settlement};
use readpast::queue::Queue;
use readpast::{Engine, engine::Taken, engine::WorkerTerms};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::limit::{SOON, in_time, open_at_last};
use support::scratch::{Scratch, Silence, all, config, item};

const WORKER: (&str, &str) = ("worker", "w");

/// Calls are given up after this and a few seconds; a log-in, which a busy machine may take long for, is not.
const SHORT: &[(&str, &str)] = &[WORKER, ("query.timeout_ms", "2000")];

/// The same where it is a log-in that falls silent.
const SHORT_LOG_IN: &[(&str, &str)] = &[WORKER, ("query.timeout_ms", "2000"), ("login.timeout_ms", "5000")];

/// A handle of the same worker with time for what is not to fall silent: a claim whose answer comes too late is lost.
fn patient(scratch: &Scratch) -> Queue {
    scratch.open(&[WORKER])
}

/// Opens the queue when the first connection falls silent there: without a second try, and then with one.
fn open_beside(silence: &Silence, settings: &[(&str, &str)]) -> Error {
    let scratch = Scratch::new();
    let (proxy, through) = proxy_to(&scratch);
    proxy.fall_silent(silence.clone());
    let once = [settings, &[("retry.budget_ms", "0")]].concat();
    let error = in_time(|| {
        loop {
            match Queue::open(&config(&through, &once), "Job") {
                Err(error) if proxy.has_fallen_silent() => break error,
                // A busy machine may take too long before it comes to that, and what was given up then come to it later.
                _ => proxy.fall_silent(silence.clone()),
            }
        }
    });
    proxy.fall_silent(silence.clone());
    let queue = in_time(|| Queue::open(&config(&through, settings), "Job").unwrap());
    assert!(proxy.has_fallen_silent(), "{silence:?}");
    in_time(|| queue.enqueue(&[item("a")], None).unwrap());
    error
}

#[test]
fn at_the_start_of_a_connection() {
    let error = open_beside(&Silence::AtItsStart, SHORT_LOG_IN);
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

/// After the password: libpq's time-out is over, and the driver asks for more.
#[test]
fn in_the_middle_of_a_log_in() {
    let error = open_beside(&Silence::Before("DateStyle".to_owned()), SHORT_LOG_IN);
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.message().contains("given up") && error.message().contains("check that the server runs"), "{error}");
}

#[test]
fn in_the_settings_of_a_session() {
    for silence in [Silence::Before("lock_timeout".to_owned()), Silence::After("lock_timeout".to_owned())] {
        let error = open_beside(&silence, SHORT);
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    }
}

#[test]
fn in_the_look_up_of_a_queue() {
    let error = open_beside(&Silence::Before("queue_catalog".to_owned()), SHORT);
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(error.message().contains("given up"), "{error}");
}

#[test]
fn in_a_claim() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, SHORT);
    queue.enqueue(&[item("a")], None).unwrap();
    // Not in the question for its columns, which comes first.
    proxy.fall_silent(Silence::Before("VALUES (r.*)".to_owned()));
    let batch = in_time(|| queue.claim(1, Duration::ZERO).unwrap());
    assert!(proxy.has_fallen_silent());
    let connections = queue.connections();
    assert!(connections.given_up >= 1 && connections.hanging >= 1 && connections.open == 1, "{connections:?}");
    // On a machine that stalls another try may have been given up, and the item be lost with it.
    if connections.given_up == 1 {
        assert_eq!((batch.len(), batch.get(0).unwrap().attempt()), (1, 1));
    }
}

/// Settles an item with an answer by which its request is known.
fn settle_beside(silence: fn(String) -> Silence) {
    const TOLD: &str = "told by this";
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let (proxy, queue) = open_through(&scratch, SHORT);
    let batch = claim_new(&patient(&scratch), 2);
    let settlements: Vec<_> =
        all(&batch, Action::Complete).into_iter().map(|one| Settlement { response: Some(TOLD), ..one }).collect();
    proxy.fall_silent(silence(TOLD.to_owned()));
    let outcomes = in_time(|| queue.settle(&settlements, None).unwrap());
    assert!(proxy.has_fallen_silent());
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "{outcomes:?}");
    assert_eq!(completions(&scratch), "2");
    assert!(queue.connections().given_up >= 1);
}

#[test]
fn in_a_settle_before_the_server_has_it() {
    settle_beside(Silence::Before);
}

#[test]
fn in_a_settle_after_its_commit() {
    settle_beside(Silence::After);
}

#[test]
fn at_the_end_of_the_budget_an_outcome_is_unknown_and_can_be_learnt() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let (proxy, through) = proxy_to(&scratch);
    let queue = open_at_last(&config(&through, &[SHORT, &[("retry.budget_ms", "0")]].concat()));
    let later = patient(&scratch);
    let batch = claim_new(&later, 1);
    let settlements = [Settlement { response: Some("told by this"), ..all(&batch, Action::Complete).remove(0) }];
    proxy.fall_silent(Silence::After("told by this".to_owned()));
    let error = in_time(|| {
        loop {
            let error = queue.settle(&settlements, None).unwrap_err();
            // A busy machine may take too long before it comes to that.
            if proxy.has_fallen_silent() {
                break error;
            }
        }
    });
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    let outcomes = in_time(|| later.settle(&settlements, error.operation()).unwrap());
    assert_eq!((outcomes[0].answer, completions(&scratch).as_str()), (Answer::Ok, "1"));
}

#[test]
fn in_an_enqueue() {
    for silence in [Silence::Before, Silence::After] {
        let scratch = Scratch::new();
        let (proxy, queue) = open_through(&scratch, SHORT);
        proxy.fall_silent(silence("told by this".to_owned()));
        in_time(|| queue.enqueue(&[item("told by this"), item("b")], None).unwrap());
        assert!(proxy.has_fallen_silent());
        assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job"), "2");
    }
}

#[test]
fn in_a_renewal() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, SHORT);
    let batch = claim_new(&patient(&scratch), 1);
    let kept = batch.get(0).unwrap();
    proxy.fall_silent(Silence::Before("renew_job".to_owned()));
    let lease = Lease { key: kept.key(), attempt: kept.attempt() };
    let outcomes = in_time(|| queue.renew(&[lease]).unwrap());
    assert!(proxy.has_fallen_silent());
    assert_eq!(outcomes[0].answer, Answer::Ok);
}

/// All connections of the pool at once, as when a firewall forgets them: one call waits for one of them. The others are
/// closed, which hangs too, since psqlODBC frees its statements with a round trip; that is not waited for.
#[test]
fn while_connections_are_idle() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, SHORT);
    let opened = Arc::new(std::sync::Barrier::new(4));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (queue, opened) = (queue.clone(), Arc::clone(&opened));
            scope.spawn(move || {
                opened.wait();
                (0..50).for_each(|_| drop(queue.enqueue(&[item("a")], None).unwrap()));
            });
        }
    });
    let before = queue.connections();
    assert!(before.open >= 1, "{before:?}");
    proxy.hush();
    in_time(|| queue.enqueue(&[item("a")], None).unwrap());
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job"), "201");
    let after = queue.connections();
    assert!(after.given_up > before.given_up && after.open == 1, "{before:?}, {after:?}");
}

#[test]
fn while_a_queue_is_closed_and_freed() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, SHORT);
    queue.enqueue(&[item("a")], None).unwrap();
    proxy.hush();
    in_time(|| queue.close(SOON).unwrap());
    in_time(|| drop(queue));
    let (proxy, queue) = open_through(&scratch, SHORT);
    proxy.hush();
    in_time(|| drop(queue));
}

/// A transaction of an installation or another caller: neither its statements nor its roll back wait for ever.
#[test]
fn in_a_transaction() {
    let scratch = Scratch::new();
    let (proxy, through) = proxy_to(&scratch);
    let (session, error) = in_time(|| {
        loop {
            // Nothing here is tried again, and a busy machine may take too long before it comes to that.
            let Ok(mut session) = Session::open(&config(&through, SHORT)) else { continue };
            let mut is_silent = false;
            let result: Result<(), Error> = session.transaction(|session| {
                session.execute("SELECT 1", &[])?;
                proxy.hush();
                is_silent = true;
                session.execute("SELECT 2", &[])?;
                Ok(())
            });
            if is_silent {
                break (session, result.unwrap_err());
            }
        }
    });
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(session.is_broken());
    in_time(|| drop(session));
}

/// A call left hanging ends when the connection does, and is not counted any more.
#[test]
fn a_call_that_hangs_ends_with_its_connection() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, SHORT);
    proxy.hush();
    in_time(|| queue.stats().unwrap());
    assert!(queue.connections().given_up >= 1 && queue.connections().hanging >= 1);
    scratch.terminate_connections();
    let begun = Instant::now();
    while queue.connections().hanging > 0 {
        assert!(begun.elapsed() < SOON, "{:?}", queue.connections());
        std::thread::sleep(Duration::from_millis(5));
    }
    in_time(|| queue.stats().unwrap());
}

/// A worker goes on with another connection; nothing is done twice.
#[test]
fn under_a_worker_that_goes_on() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    // Items of a claim that commits when nobody asks for it any more are left to their lease: so, while all is well, a claim is
    // made only for a caller that waits for it.
    let (proxy, queue) = open_through(&scratch, &[SHORT, &[("worker.ahead", "0")]].concat());
    let items: Vec<_> = (0..50).map(|number| item(&number.to_string())).collect();
    scratch.open(&[]).enqueue(&items, None).unwrap();
    let engine = Engine::new(&queue, WorkerTerms { until_empty: true, ..WorkerTerms::default() });
    let mut done = 0;
    in_time(|| {
        loop {
            match engine.take(1, Duration::from_secs(3600)).unwrap() {
                Taken::Items(batch) => {
                    engine.end(&all(&batch, Action::Complete));
                    done += 1;
                    if done == 10 || done == 30 {
                        proxy.hush();
                    }
                }
                Taken::Nothing => {}
                Taken::Stopping => break,
            }
        }
        engine.close(SOON).unwrap();
    });
    assert_eq!(done, 50);
    assert_eq!(completions(&scratch), "50");
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job WHERE attempt_num <> 1"), "0");
    assert!(queue.connections().given_up >= 1);
}

/// A worker that is stopped while its call hangs ends at its deadline, however long the call could still take: after a lease
/// where no other was set.
#[test]
fn under_a_worker_that_is_stopped() {
    let scratch = Scratch::new();
    // So short a lease may run out on a busy machine; nobody is to take the item then.
    let settings = [("query.timeout_ms", "3600000"), ("lease.ms", "100"), ("recover.interval_ms", "3600000")];
    let (proxy, queue) = open_through(&scratch, &settings);
    scratch.open(&[]).enqueue(&[item("told by this")], None).unwrap();
    let engine = Engine::new(&queue, WorkerTerms::default());
    let Taken::Items(batch) = engine.take(1, SOON).unwrap() else { panic!("an item is due") };
    proxy.fall_silent(Silence::After("told by this".to_owned()));
    let settlement = Settlement { response: Some("told by this"), ..all(&batch, Action::Complete).remove(0) };
    engine.end(&[settlement]);
    scratch.wait_for("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'", "1");
    in_time(|| {
        let error = engine.close(None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.message().contains("given up after 100 ms"), "{error}");
        assert_eq!(queue.close(Duration::from_millis(100)).unwrap_err().kind(), ErrorKind::TimedOut);
        drop((engine, queue));
    });
}

/// Nothing is in its hand then, and yet the call may have taken something: so it says.
#[test]
fn under_a_worker_that_is_stopped_while_it_looks_for_work() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &[("query.timeout_ms", "3600000")]);
    let engine = Engine::new(&queue, WorkerTerms::default());
    proxy.fall_silent(Silence::Before("next_job".to_owned()));
    in_time(|| {
        while !proxy.has_fallen_silent() {
            assert!(matches!(engine.take(1, Duration::from_millis(5)).unwrap(), Taken::Nothing));
        }
        let error = engine.close(Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.to_string().contains("in the middle of a call"), "{error}");
        drop((engine, queue));
    });
}
