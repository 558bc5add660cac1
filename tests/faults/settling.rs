//! A settle that goes wrong: its outcome is known in the end, and applied twice equals applied once.

use super::{all, put, take};
use readpast::error::{Error, ErrorKind};
use readpast::item::{Action, Answer, ItemState, Outcome, Verdict};
use readpast::queue::Queue;
use readpast::worker::{self, Job, Worker};
use std::sync::{Arc, Mutex};
use support::scripted::server::{Fault, Server};
use support::tds_peer::{Event, Reply, ServerMessage};

/// The result of a settle of one item that goes wrong like this once.
struct Story {
    server: Server,
    queue: Queue,
    result: Result<Vec<Outcome>, Error>,
}

fn settle_with(faults: Vec<Fault>, settings: &[(&str, &str)]) -> Story {
    let server = Server::start();
    let queue = server.open(settings);
    put(&queue, &["a"]);
    let batch = take(&queue, 1);
    faults.into_iter().for_each(|fault| server.fault("[Modify_Job", fault));
    let result = queue.settle(&all(&batch, Action::Complete), None);
    Story { server, queue, result }
}

impl Story {
    /// The settle is done, once, whatever happened; it took `calls` calls with one identity and the same items, and
    /// `logins` log-ins in all.
    fn assert_done_once(&self, calls: usize, logins: usize) {
        let outcomes = self.result.as_ref().unwrap();
        assert_eq!((outcomes[0].answer, outcomes[0].state), (Answer::Ok, Some(ItemState::Completed)));
        assert_eq!(self.server.ledger().settled.len(), 1, "it took effect once");
        let requests = self.server.requests("[Modify_Job");
        assert_eq!(requests.len(), calls);
        for request in &requests {
            assert_eq!(request.values(), requests[0].values(), "one identity, and nothing else changes either");
        }
        assert_eq!(self.server.peer.logins().len(), logins);
        assert!(take(&self.queue, 1).is_empty(), "the queue goes on");
    }
}

#[test]
fn a_deadlock_victim_tries_again_on_its_connection() {
    settle_with(vec![Fault::Instead(Reply::deadlock()), Fault::Instead(Reply::deadlock())], &[]).assert_done_once(3, 1);
}

#[test]
fn a_lock_that_was_not_granted_is_asked_for_again() {
    let timeout = ServerMessage::error(1222, "Lock request time out period exceeded.");
    settle_with(vec![Fault::Instead(support::tds_peer::Answer::new().abort(&timeout).into())], &[])
        .assert_done_once(2, 1);
}

#[test]
fn a_settle_that_got_no_memory_is_made_again_on_its_connection() {
    let message = ServerMessage::error(8645, "A timeout occurred while waiting for memory resources.").class(17);
    settle_with(vec![Fault::Instead(Reply::error(&message)), Fault::Instead(Reply::error(&message))], &[])
        .assert_done_once(3, 1);
}

#[test]
fn a_connection_cut_before_the_work_is_replaced_and_the_work_done() {
    settle_with(vec![Fault::Instead(Reply::cut_before())], &[]).assert_done_once(2, 2);
}

#[test]
fn a_connection_cut_after_the_work_and_before_the_answer_gives_the_answer_on_another() {
    settle_with(vec![Fault::Spoilt(|_| Reply::cut_before())], &[]).assert_done_once(2, 2);
}

#[test]
fn a_connection_cut_anywhere_inside_the_answer_gives_the_answer_on_another() {
    // Inside the header, the columns, the row, and one byte before the end.
    let cuts: [fn(_) -> Reply; 5] = [
        |answer| Reply::cut_inside(answer, 3),
        |answer| Reply::cut_inside(answer, 60),
        |answer| Reply::cut_inside(answer, 180),
        |answer| Reply::cut_inside(answer, 220),
        |answer| Reply::cut_inside(answer, usize::MAX),
    ];
    for cut in cuts {
        settle_with(vec![Fault::Spoilt(cut)], &[]).assert_done_once(2, 2);
    }
}

#[test]
fn a_connection_cut_after_the_answer_is_noticed_by_the_next_call_only() {
    let story = settle_with(vec![Fault::Spoilt(Reply::cut_after)], &[]);
    let closed = |events: &[Event]| events.iter().any(|event| matches!(event, Event::Closed { .. }));
    story.server.peer.wait_until("the cut", closed);
    story.assert_done_once(1, 1);
    assert_eq!(story.server.peer.logins().len(), 2);
}

#[test]
fn an_answer_that_never_comes_is_cancelled_and_asked_for_again() {
    let server = Server::start();
    // Only the settle is in such a hurry: a claim whose answer comes too late is lost.
    let (queue, patient) = (server.open(&[("query.timeout_ms", "1000")]), server.open(&[]));
    put(&patient, &["a"]);
    let batch = take(&patient, 1);
    let before = queue.connections();
    server.fault("[Modify_Job", Fault::Spoilt(|_| Reply::silence()));
    let outcomes = queue.settle(&all(&batch, Action::Complete), None).unwrap();
    assert_eq!((outcomes[0].answer, outcomes[0].state), (Answer::Ok, Some(ItemState::Completed)));
    assert_eq!(server.ledger().settled.len(), 1, "it took effect once");
    // A machine that stalls may cost more tries, and connections.
    let requests = server.requests("[Modify_Job");
    assert!(requests.len() >= 2 && requests.iter().all(|request| request.values() == requests[0].values()));
    let attention = |event: &Event| matches!(event, Event::Attention { .. });
    server.peer.wait_until("the attention", |events| events.iter().any(attention));
    let after = queue.connections();
    let given_up = after.given_up - before.given_up;
    assert!(after.opened - before.opened <= given_up, "its connection is kept: {before:?}, {after:?}");
    assert!(take(&queue, 1).is_empty(), "the queue goes on");
}

#[test]
fn a_session_killed_by_an_administrator_is_replaced() {
    let killed = ServerMessage::error(596, "Cannot continue the execution because the session is in the kill state.");
    let answer = support::tds_peer::Answer::new().abort(&killed.class(21));
    settle_with(vec![Fault::Instead(Reply::cut_after(answer))], &[]).assert_done_once(2, 2);
}

#[test]
fn several_faults_in_a_row_are_outlived_by_the_budget() {
    let faults = vec![
        Fault::Instead(Reply::deadlock()),
        Fault::Spoilt(|_| Reply::cut_before()),
        Fault::Instead(Reply::cut_before()),
        Fault::Instead(Reply::error(&ServerMessage::service_error())),
        Fault::Instead(Reply::error(&ServerMessage::resource_limit())),
    ];
    settle_with(faults, &[]).assert_done_once(6, 4);
}

#[test]
fn a_permanent_error_comes_at_once_with_number_and_text() {
    let refused = ServerMessage::error(229, "The EXECUTE permission was denied on the object 'Modify_Job_Set_trx'.");
    let story = settle_with(vec![Fault::Instead(Reply::error(&refused.class(14)))], &[]);
    let error = story.result.unwrap_err();
    assert_eq!((error.kind(), error.native_code()), (ErrorKind::PermissionDenied, 229));
    assert!(error.message().contains("'Modify_Job_Set_trx'"), "{error}");
    assert_eq!(story.server.requests("[Modify_Job").len(), 1);
}

#[test]
fn a_lost_answer_at_the_end_of_the_budget_can_be_learnt_later() {
    let story = settle_with(vec![Fault::Spoilt(|_| Reply::cut_before())], &[("retry.budget_ms", "0")]);
    let error = story.result.unwrap_err();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::OutcomeUnknown, Some("08S01")));
    let sent = story.server.requests("[Modify_Job")[0].values();
    assert_eq!(error.operation(), sent[0].as_str(), "the identity that was sent");
    assert!(error.is_retryable() && error.message().contains(error.operation().unwrap()), "{error}");

    let item = story.server.ledger().items[0].clone();
    // The claim that the worker held: the token before the settle, which took one tick.
    let held = "2026-11-21T08:30:00.1234569";
    assert_ne!(item.token, held);
    let settlement = readpast::item::Settlement {
        attempt: 1,
        ..readpast::item::Settlement::control(&item.key, Some(held), Action::Complete)
    };
    let outcomes = story.queue.settle(&[settlement], error.operation()).unwrap();
    assert_eq!((outcomes[0].answer, outcomes[0].token.as_str()), (Answer::Ok, item.token.as_str()));
    assert_eq!(story.server.ledger().settled.len(), 1);
}

#[test]
fn a_victim_at_the_end_of_the_budget_is_known_not_to_be_settled() {
    let timeout = ServerMessage::error(1222, "Lock request time out period exceeded.");
    for (message, kind) in [(ServerMessage::deadlock(), ErrorKind::Deadlock), (timeout, ErrorKind::TimedOut)] {
        let fault = Fault::Instead(support::tds_peer::Answer::new().abort(&message).into());
        let story = settle_with(vec![fault], &[("retry.budget_ms", "0")]);
        let error = story.result.unwrap_err();
        assert_eq!((error.kind(), error.operation()), (kind, None), "{error}");
        assert_eq!(error.native_code(), message.number);
    }
}

#[test]
fn a_repeated_settle_gets_what_its_first_try_claimed() {
    let server = Server::start();
    let queue = server.open(&[]);
    put(&queue, &["a", "b"]);
    let batch = take(&queue, 1);
    server.fault("[Modify_Job", Fault::Spoilt(|_| Reply::cut_before()));
    let (outcomes, next) = queue.settle_and_claim(&all(&batch, Action::Complete), None, 1).unwrap();
    let ledger = server.ledger();
    assert_eq!((outcomes[0].answer, next.len(), ledger.settled.len()), (Answer::Ok, 1, 1));
    assert_eq!((next.get(0).unwrap().key(), next.get(0).unwrap().attempt()), (ledger.items[1].key.as_str(), 1));
}

/// The answer of a handler is not to blame for what the server lacks, however often it says so.
#[test]
fn the_result_of_a_handler_outlives_every_error_of_the_server() {
    for (number, class) in [(8645, 17), (777_777, 16), (823, 19), (3906, 16)] {
        let server = Server::start();
        let queue = server.open(&[("retry.budget_ms", "0")]);
        put(&queue, &["a"]);
        let message = ServerMessage::error(number, "It is not to be had.").class(class);
        (0..2).for_each(|_| server.fail("[Modify_Job", &message));
        let worker = Worker::new(&queue);
        let stop = worker.stop_handle();
        let done = worker.observe(move |event| {
            if let worker::Event::Settled { .. } = event {
                stop.stop();
            }
        });
        done.run(|_: &Job<'_>| Verdict::complete().response("worth keeping")).unwrap();
        assert_eq!(server.ledger().settled.len(), 1, "{number}");
        let sent = server.requests("[Modify_Job").pop().unwrap().values();
        assert!(format!("{sent:?}").contains("worth keeping"), "{number}: {sent:?}");
    }
}

/// A worker whose settle goes wrong without a word, and which is refused for a reason of the server's own when it is made again: the
/// identities that it was sent with, each once.
fn identities_after(first: Fault) -> Vec<String> {
    let server = Server::start();
    let queue = server.open(&[("retry.budget_ms", "0")]);
    put(&queue, &["a"]);
    server.fault("[Modify_Job", first);
    // Once with a claim, and once without.
    let refusal = ServerMessage::error(777_777, "It is not to be had.").class(16);
    (0..2).for_each(|_| server.fail("[Modify_Job", &refusal));
    let worker = Worker::new(&queue);
    let stop = worker.stop_handle();
    let told = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::clone(&told);
    let done = worker.observe(move |event| {
        if let worker::Event::Settled { outcomes, .. } = event {
            answers.lock().unwrap().extend(outcomes.iter().map(|outcome| outcome.answer));
            stop.stop();
        }
    });
    done.run(|_: &Job<'_>| Verdict::complete()).unwrap();
    assert_eq!(*told.lock().unwrap(), [Answer::Ok]);
    assert_eq!(server.ledger().settled.len(), 1, "it took effect once");
    let mut identities: Vec<_> =
        server.requests("[Modify_Job").iter().map(|r| format!("{:?}", r.values()[0])).collect();
    identities.dedup();
    identities
}

/// A call that may be done is made again under the identity by which the server knows it: another would find the item settled, and take it
/// for lost.
#[test]
fn an_open_settle_keeps_its_identity_whatever_is_refused_meanwhile() {
    assert_eq!(identities_after(Fault::Spoilt(|_| Reply::cut_before())).len(), 1);
}

/// Once the server says that nothing was done, each item is settled by itself.
#[test]
fn a_settle_that_is_not_done_is_another_call_then() {
    assert_eq!(identities_after(Fault::Instead(Reply::cut_before())).len(), 2);
}
