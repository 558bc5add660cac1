//! Connections that end: while idle, in the middle of a call, and after it with its answer.

use super::{claim_new, completions, watch_completions, while_locked};
use readpast::engine::{Engine, Taken, WorkerTerms};
use readpast::error::ErrorKind;
use readpast::item::{Action, Answer, Settlement};
use readpast::queue::Queue;
use std::time::Duration;
use support::limit::NEVER;
use support::scratch::{Proxy, Scratch, all, changed, config, item};

/// A proxy to the server, and the connection string that leads there by way of it.
pub fn proxy_to(scratch: &Scratch) -> (Proxy, String) {
    let connection = scratch.connection();
    let port = connection.split(';').find_map(|part| part.strip_prefix("Port=")).unwrap().parse().unwrap();
    let proxy = Proxy::to(port);
    let through = changed(&connection, &[("Port", &proxy.port.to_string())]);
    (proxy, through)
}

/// Opens the queue by way of a proxy.
pub fn open_through(scratch: &Scratch, settings: &[(&str, &str)]) -> (Proxy, Queue) {
    let (proxy, through) = proxy_to(scratch);
    (proxy, Queue::open(&config(&through, settings), "Job").unwrap())
}

/// How many connections of the library the server has. One that was ended may stand there a while longer.
const OPEN: &str = "SELECT COUNT(*) FROM pg_stat_activity \
                    WHERE datname = current_database() AND application_name = 'readpast'";

#[test]
fn connections_ended_while_idle_do_not_fail_a_call() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    let batch = claim_new(&queue, 1);
    scratch.wait_for(OPEN, "1");
    assert_eq!(scratch.terminate_connections(), "1");
    assert_eq!(queue.settle(&all(&batch, Action::Complete), None).unwrap()[0].answer, Answer::Ok);
    for _ in 0..3 {
        scratch.wait_for(OPEN, "1");
        assert_eq!(scratch.terminate_connections(), "1");
        queue.enqueue(&[item("a")], None).unwrap();
    }
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job"), "4");
}

#[test]
fn a_settle_whose_connection_is_ended_before_its_commit_is_done_once() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let queue = scratch.open(&[]);
    let batch = claim_new(&queue, 2);
    let settle = || queue.settle(&all(&batch, Action::Complete), None).unwrap();
    let outcomes = while_locked(&scratch, settle, || {
        scratch.wait_for(OPEN, "1");
        assert_eq!(scratch.terminate_connections(), "1");
    });
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
    assert_eq!(completions(&scratch), "2");
}

#[test]
fn a_settle_whose_answer_is_lost_after_its_commit_is_done_once() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let (proxy, queue) = open_through(&scratch, &[]);
    let batch = claim_new(&queue, 2);
    // The first settle of a connection also prepares, which has an answer of its own.
    queue.settle(&all(&batch, Action::Step)[..1], None).unwrap();
    let batch = {
        queue.settle(&all(&batch, Action::Release)[1..], None).unwrap();
        queue.claim(1, Duration::ZERO).unwrap()
    };
    proxy.lose_next_answer();
    let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!(outcomes[0].answer, Answer::Ok);
    assert_eq!(completions(&scratch), "1");
}

/// An item that a worker gave back may be Completed before its answer comes.
/// Whatever answer of the transaction is lost: that of its begin, the settle, the enqueue, or the commit.
#[test]
fn items_that_follow_are_put_in_once_whichever_answer_is_lost() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let (proxy, queue) = open_through(&scratch, &[]);
    const ANSWERS: i64 = 6;
    let batch = claim_new(&queue, u32::try_from(ANSWERS + 1).unwrap());
    let mut lost = 0;
    for (at, item) in batch.iter().enumerate() {
        let then = Settlement { then: Some(r#"[{}, {"queue": "Job"}]"#), ..Settlement::new(&item, Action::Complete) };
        // The first prepares what others only execute.
        if at > 0 {
            proxy.lose_answer_after(at - 1);
        }
        let outcomes = queue.settle(&[then], None).unwrap();
        assert_eq!(outcomes[0].answer, Answer::Ok);
        lost += i64::from(at > 0 && proxy.has_lost_it());
    }
    assert!(lost >= 4, "{lost} answers were lost");
    let done = (ANSWERS + 1).to_string();
    assert_eq!(completions(&scratch), done);
    let pending = "SELECT COUNT(*) FROM readpast.job WHERE status = 'Pending'";
    assert_eq!(scratch.look(pending), (2 * (ANSWERS + 1)).to_string());
}

#[test]
fn a_worker_may_hear_late_that_somebody_has_completed_what_it_gave_back() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &[]);
    queue.enqueue(&[item("a"), item("b")], None).unwrap();
    // Somebody else, as soon as the call has committed.
    scratch.run(
        "CREATE FUNCTION public.complete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ \
         BEGIN UPDATE readpast.job SET status = 'Completed' WHERE enqueued_at = new.enqueued_at; RETURN NULL; END $$",
    );
    scratch.run(
        "CREATE CONSTRAINT TRIGGER completes AFTER UPDATE ON readpast.job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \
         WHEN (new.status = 'Error') EXECUTE FUNCTION public.complete()",
    );
    proxy.lose_answer_to("\"Error\"");
    let engine = Engine::new(&queue, WorkerTerms { until_empty: true, ..WorkerTerms::default() });
    let Taken::Items(batch) = engine.take(2, NEVER).unwrap() else { panic!("two items are due") };
    let mut ended = all(&batch, Action::Complete);
    assert_eq!(ended.len(), 2);
    ended[1] = Settlement { delay_ms: Some(0), ..Settlement::new(&batch.get(1).unwrap(), Action::Retry) };
    engine.end(&ended);
    assert!(matches!(engine.take(1, NEVER).unwrap(), Taken::Stopping));
    engine.close(NEVER).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!((engine.figures().settled, engine.figures().lost), (2, 0));
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job WHERE status = 'Completed'"), "2");
}

#[test]
fn an_outcome_that_was_not_learnt_in_time_can_be_learnt_later() {
    let scratch = Scratch::new();
    watch_completions(&scratch);
    let (proxy, queue) = open_through(&scratch, &[("retry.budget_ms", "0")]);
    let first = claim_new(&queue, 1);
    queue.settle(&all(&first, Action::Complete), None).unwrap();
    let batch = claim_new(&queue, 1);
    proxy.lose_next_answer();
    let error = queue.settle(&all(&batch, Action::Complete), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    let known = || {
        scratch.look(&format!(
            "SELECT COUNT(*) FROM readpast.queue_operation WHERE operation_id = '{}'",
            error.operation().unwrap()
        ))
    };
    assert_eq!(known(), "1", "the server remembers");
    let outcomes = queue.settle(&all(&batch, Action::Complete), error.operation()).unwrap();
    assert_eq!(outcomes[0].answer, Answer::Ok);
    assert_eq!(completions(&scratch), "2");
}

#[test]
fn an_enqueue_whose_answer_is_lost_adds_nothing_twice() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &[]);
    queue.enqueue(&[item("a")], None).unwrap();
    proxy.lose_next_answer();
    let enqueued = queue.enqueue(&[item("b"), item("c")], None).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.job"), "3");
    let query = format!("SELECT \"Payload\" FROM readpast.job WHERE enqueued_at = '{}Z'", enqueued[1].key);
    assert_eq!(scratch.look(&query), "c", "the keys are those of the first call");
}

#[test]
fn connections_to_a_server_that_failed_are_not_used_again() {
    let scratch = Scratch::new();
    let queue = scratch.open(&[]);
    std::thread::scope(|scope| {
        // Each of these holds a connection of its own while the items are locked.
        let batch = claim_new(&queue, 3);
        let mut holder = scratch.session();
        let settling = holder.transaction(|session| {
            session.execute("SELECT 1 FROM readpast.job FOR UPDATE", &[])?;
            let settling: Vec<_> = (0..3)
                .map(|i| {
                    let (queue, batch) = (queue.clone(), batch.clone());
                    scope.spawn(move || queue.settle(&all(&batch, Action::Complete)[i..=i], None).unwrap())
                })
                .collect();
            let blocked = "SELECT COUNT(*) FROM pg_stat_activity \
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
            scratch.wait_for(blocked, "3");
            Ok(settling)
        });
        settling.unwrap().into_iter().for_each(|thread| drop(thread.join().unwrap()));
    });
    scratch.wait_for(OPEN, "3");
    assert_eq!(scratch.terminate_connections(), "3");
    queue.stats().unwrap();
    // One new connection, and it was enough.
    scratch.wait_for(OPEN, "1");
}
