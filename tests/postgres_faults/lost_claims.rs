//! Claims whose answers are lost: who tries again gets what was claimed, at once.

use super::claim_new;
use super::connections::open_through;
use readpast::description::QueueSpec;
use readpast::error::ErrorKind;
use readpast::install::install;
use readpast::item::{Action, Answer, Batch, Lease};
use readpast::queue::Queue;
use std::time::Duration;
use support::scratch::{Scratch, all, item};

/// The claims of this worker are the test's own: nothing is recovered in passing, and no lease is over by the clock.
const LASTING: [(&str, &str); 3] =
    [("lease.ms", "3600000"), ("recover.interval_ms", "3600000"), ("worker", "one name")];

const IN_FLIGHT: &str = "SELECT COUNT(*) FROM readpast.job WHERE status = 'Processing'";

fn held(batch: &Batch) -> Vec<(&str, &str, i32)> {
    batch.iter().map(|item| (item.key(), item.token(), item.attempt())).collect()
}

/// `batch` is the work of this worker: its leases can be renewed, and its items be completed.
fn is_in_hand(queue: &Queue, batch: &Batch) {
    let leases: Vec<_> = batch.iter().map(|item| Lease { key: item.key(), attempt: item.attempt() }).collect();
    assert!(queue.renew(&leases).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
    let outcomes = queue.settle(&all(batch, Action::Complete), None).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "{outcomes:?}");
}

#[test]
fn a_claim_gets_what_its_first_try_took() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &LASTING);
    // One that this process holds, and one of another process with the same worker's name.
    let mine = claim_new(&queue, 1);
    let theirs = claim_new(&scratch.open(&LASTING), 1);
    queue.enqueue(&[item("a"), item("b"), item("c")], None).unwrap();
    proxy.lose_next_answer();
    let batch = queue.claim(2, Duration::ZERO).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!(batch.len(), 2);
    assert!(!batch.is_quarantined() && batch.iter().all(|item| item.attempt() == 1));
    assert!(held(&batch).iter().all(|one| !held(&mine).contains(one) && !held(&theirs).contains(one)));
    assert!(batch.lease().is_some_and(|left| left <= Duration::from_secs(3600)));
    assert_eq!(scratch.look(IN_FLIGHT), "4", "none is claimed besides");
    is_in_hand(&queue, &batch);
    assert_eq!(queue.claim(2, Duration::ZERO).unwrap().len(), 1);
}

#[test]
fn a_settle_that_claims_gets_what_its_first_try_took() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &LASTING);
    let theirs = claim_new(&scratch.open(&LASTING), 1);
    let mut batch = claim_new(&queue, 1);
    queue.enqueue(&[item("a"), item("b"), item("c"), item("d")], None).unwrap();
    batch = queue.settle_and_claim(&all(&batch, Action::Complete), None, 1).unwrap().1;
    proxy.lose_next_answer();
    let (outcomes, next) = queue.settle_and_claim(&all(&batch, Action::Complete), None, 2).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!(outcomes[0].answer, Answer::Ok);
    assert_eq!(next.len(), 2);
    assert!(!next.is_quarantined() && next.iter().all(|item| item.attempt() == 1));
    assert!(held(&next).iter().all(|one| !held(&theirs).contains(one)));
    assert_eq!(scratch.look(IN_FLIGHT), "3", "none is claimed besides");
    is_in_hand(&queue, &next);
}

/// Known later than the library tried: by the operation that its error had.
#[test]
fn a_settle_that_is_repeated_by_its_caller_gets_what_it_claimed() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &[&LASTING[..], &[("retry.budget_ms", "0")]].concat());
    let mut batch = claim_new(&queue, 1);
    queue.enqueue(&[item("a"), item("b")], None).unwrap();
    batch = queue.settle_and_claim(&all(&batch, Action::Complete), None, 1).unwrap().1;
    let ended = all(&batch, Action::Complete);
    proxy.lose_next_answer();
    let error = queue.settle_and_claim(&ended, None, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    let (outcomes, next) = queue.settle_and_claim(&ended, error.operation(), 1).unwrap();
    assert_eq!((outcomes[0].answer, next.len(), next.get(0).unwrap().attempt()), (Answer::Ok, 1, 1));
    is_in_hand(&queue, &next);
    let (_, next) = queue.settle_and_claim(&ended, error.operation(), 1).unwrap();
    assert!(next.is_empty(), "what is settled since is in nobody's hands");
}

/// The item goes by itself as it would have, had the answer come: it may have been the death of a worker.
#[test]
fn a_suspect_stays_one_when_the_answer_to_its_claim_is_lost() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &LASTING);
    claim_new(&queue, 2);
    scratch.run("UPDATE readpast.job SET lease_until = clock_timestamp() - interval '1 second'");
    assert_eq!(queue.recover(10).unwrap(), 2);
    proxy.lose_next_answer();
    let batch = queue.claim(10, Duration::ZERO).unwrap();
    assert!(proxy.has_lost_it());
    assert!(batch.is_quarantined() && batch.len() == 1);
    is_in_hand(&queue, &batch);
}

/// An item that no try learns of is as it was: the lease gives it back, and then it goes by itself.
#[test]
fn a_claim_that_nobody_repeats_is_left_to_its_lease() {
    let scratch = Scratch::new();
    let (proxy, queue) = open_through(&scratch, &[&LASTING[..], &[("retry.budget_ms", "0")]].concat());
    claim_new(&queue, 1);
    queue.enqueue(&[item("a")], None).unwrap();
    proxy.lose_next_answer();
    assert_eq!(queue.claim(1, Duration::ZERO).unwrap_err().kind(), ErrorKind::ConnectionLost);
    assert!(queue.claim(1, Duration::ZERO).unwrap().is_empty(), "another call is another claim");
    scratch.run("UPDATE readpast.job SET lease_until = clock_timestamp() - interval '1 second'");
    assert_eq!(queue.recover(10).unwrap(), 2);
    for _ in 0..2 {
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        assert!(batch.is_quarantined() && batch.len() == 1);
    }
}

/// A worker that begins anew takes up what it left, and a claim whose answer was lost is nothing that it left.
#[test]
fn a_worker_that_begins_anew_spends_no_attempt_on_its_own_claim() {
    let scratch = Scratch::empty();
    let spec = r#"{"queue": "Job", "backoff": "none", "lease": {"resume_own": true}}"#;
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    let (proxy, queue) = open_through(&scratch, &LASTING);
    queue.enqueue(&[item("a"), item("b")], None).unwrap();
    // Not in the question for its columns, which comes first.
    proxy.lose_answer_to("VALUES (r.*)");
    let batch = queue.claim(2, Duration::ZERO).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!(batch.iter().map(|item| item.attempt()).collect::<Vec<_>>(), [1, 1]);
    assert!(!batch.is_quarantined());
    is_in_hand(&queue, &batch);
}

/// Beside a table that was there before: its own numbers, in the order of its own columns.
#[test]
fn a_claim_of_a_described_table_gets_what_its_first_try_took() {
    let scratch = Scratch::empty();
    scratch.run(
        "CREATE TABLE public.work (id integer PRIMARY KEY, rank integer NOT NULL, state integer NOT NULL DEFAULT 0)",
    );
    let spec = r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "rank", "type": "integer"}],
        "order": {"by": ["rank"]},
        "table": {"schema": "public", "name": "work", "key": [{"name": "id", "type": "integer", "source": "producer"}],
            "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}}"#;
    install(&scratch.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    let (proxy, queue) = open_through(&scratch, &LASTING);
    let add =
        |ids: &str| scratch.run(&format!("INSERT INTO public.work SELECT i, 10 - i FROM unnest(ARRAY[{ids}]) AS i"));
    add("1");
    queue.claim(1, Duration::ZERO).unwrap();
    add("2, 3, 4");
    proxy.lose_next_answer();
    let batch = queue.claim(2, Duration::ZERO).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!(batch.iter().map(|item| (item.key(), item.attempt())).collect::<Vec<_>>(), [("4", 1), ("3", 1)]);
    assert_eq!(scratch.look("SELECT COUNT(*) FROM public.work WHERE state = 1"), "3");
    let ended = all(&batch, Action::Complete);
    queue.settle_and_claim(&ended[..1], None, 1).unwrap();
    add("5, 6");
    proxy.lose_next_answer();
    let (outcomes, next) = queue.settle_and_claim(&ended[1..], None, 1).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!((outcomes[0].answer, next.len(), next.get(0).unwrap().key()), (Answer::Ok, 1, "6"));
    is_in_hand(&queue, &next);
}

/// The table refuses one: the claim goes around it, and what it took by that is found as well.
#[test]
fn a_claim_around_what_is_refused_gets_what_its_first_try_took() {
    let scratch = Scratch::new();
    scratch.run("ALTER TABLE readpast.job ADD CHECK (\"Payload\" <> 'bad' OR status <> 'Processing')");
    let (proxy, queue) = open_through(&scratch, &LASTING);
    queue.enqueue(&[item("bad"), item("a")], None).unwrap();
    assert_eq!(queue.claim(2, Duration::ZERO).unwrap().len(), 1);
    assert_eq!(scratch.look("SELECT COUNT(*) FROM readpast.queue_refused"), "1");
    queue.enqueue(&[item("b"), item("c")], None).unwrap();
    proxy.lose_next_answer();
    // It goes around by itself now.
    let batch = queue.claim(3, Duration::ZERO).unwrap();
    assert!(proxy.has_lost_it());
    assert_eq!((batch.len(), scratch.look(IN_FLIGHT).as_str()), (2, "3"));
    is_in_hand(&queue, &batch);
}
