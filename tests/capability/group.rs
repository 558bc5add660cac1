//! Strict order within groups: an item is handed out only when all earlier ones of its group are finished.

use crate::by_hand;
use readpast::item::{Action, Answer, NewItem, Settlement};
use serde_json::json;
use std::sync::Mutex;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use support::api::Api;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("group::one_of_each_group_at_a_time", one_of_each_group_at_a_time),
    ("group::waits_for_what_is_retried_and_paused", waits_for_what_is_retried_and_paused),
    ("group::does_not_wait_for_what_failed", does_not_wait_for_what_failed),
    ("group::a_settle_lets_the_next_one_go", a_settle_lets_the_next_one_go),
    ("group::groups_that_wait_are_shown", groups_that_wait_are_shown),
    ("group::workers_at_once_keep_the_order", workers_at_once_keep_the_order),
    ("group::nobody_else_can_stop_the_claims", nobody_else_can_stop_the_claims),
];

fn queue(given: &Given) -> Box<dyn Api> {
    let spec = format!(
        r#"{{"queue": "{}", "columns": [{{"name": "Payload", "type": "text"}}, {{"name": "Customer", "type": "text(20)"}}],
            "order": {{"group": "Customer"}}}}"#,
        given.queue
    );
    given.queue_with(&spec, &[])
}

fn of(customer: Option<&str>, payload: &str) -> NewItem {
    let columns = json!({"Payload": payload, "Customer": customer});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

fn payloads(queue: &dyn Api, max: u32) -> Vec<String> {
    let taken = queue.claim(max, Duration::ZERO).unwrap();
    taken.iter().map(|item| item.column("Payload").as_str().unwrap().to_owned()).collect()
}

fn one_of_each_group_at_a_time(given: &Given) {
    let queue = queue(given);
    let items = [of(Some("x"), "x1"), of(Some("x"), "x2"), of(None, "free 1"), of(Some("y"), "y1"), of(None, "free 2")];
    queue.enqueue(&items, None).unwrap();
    let taken = queue.claim(10, Duration::ZERO).unwrap();
    let names: Vec<_> = taken.iter().map(|item| item.column("Payload").as_str().unwrap()).collect();
    assert_eq!(names, ["x1", "free 1", "y1", "free 2"]);
    queue.expect_empty();

    queue.end(taken[0].settle(Action::Complete));
    assert_eq!(payloads(&*queue, 10), ["x2"]);
}

fn waits_for_what_is_retried_and_paused(given: &Given) {
    let queue = queue(given);
    queue.enqueue(&[of(Some("x"), "x1"), of(Some("x"), "x2")], None).unwrap();
    let first = queue.take();
    queue.end(Settlement { delay_ms: Some(3_600_000), ..first.settle(Action::Retry) });
    queue.expect_empty();

    assert_eq!(queue.end(Settlement::control(&first.key, None, Action::Pause)).answer, Answer::Ok);
    queue.expect_empty();

    queue.end(Settlement { delay_ms: Some(0), ..Settlement::control(&first.key, None, Action::Resume) });
    assert_eq!(payloads(&*queue, 10), ["x1"]);
}

fn does_not_wait_for_what_failed(given: &Given) {
    let queue = queue(given);
    queue.enqueue(&[of(Some("x"), "x1"), of(Some("x"), "x2"), of(Some("x"), "x3")], None).unwrap();
    queue.end(queue.take().settle(Action::Fail));
    let second = queue.take();
    assert_eq!(second.column("Payload"), "x2");
    queue.end(Settlement::control(&second.key, None, Action::Terminate));
    assert_eq!(payloads(&*queue, 10), ["x3"]);
}

fn a_settle_lets_the_next_one_go(given: &Given) {
    let queue = queue(given);
    let items: Vec<_> = (0..4).map(|i| of(Some("x"), &i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    let mut taken = queue.take();
    for next in 1..4 {
        let (outcomes, batch) = queue.settle_and_claim(&[taken.settle(Action::Complete)], 10).unwrap();
        assert_eq!((outcomes[0].answer, batch.len()), (Answer::Ok, 1));
        taken = batch.into_iter().next().unwrap();
        assert_eq!(taken.column("Payload"), &json!(next.to_string()));
    }
}

fn groups_that_wait_are_shown(given: &Given) {
    let queue = queue(given);
    let view = by_hand::procedure(given, "", "_Blocked_V");
    let shown = || {
        let rows = given.session().execute(&format!("SELECT * FROM {view}"), &[]).unwrap();
        let columns = [0, 1, 2, 5];
        (0..rows.len()).map(|row| columns.map(|column| by_hand::cell(&rows, row, column))).collect::<Vec<_>>()
    };
    queue.enqueue(&[of(Some("x"), "x1"), of(Some("x"), "x2"), of(Some("x"), "x3"), of(Some("y"), "y1")], None).unwrap();
    assert_eq!(shown(), Vec::<[String; 4]>::new(), "x1 is due, and nobody waits behind y1");

    let taken = queue.claim(10, Duration::ZERO).unwrap();
    let key = taken[0].key.clone();
    let waits = |status: &str| vec![["x", key.as_str(), status, "2"].map(str::to_owned)];
    assert_eq!(shown(), waits("Processing"));
    queue.end(Settlement { delay_ms: Some(3_600_000), ..taken[0].settle(Action::Retry) });
    assert_eq!(shown(), waits("Error"));
    queue.end(Settlement::control(&key, None, Action::Cancel));
    assert_eq!(shown(), Vec::<[String; 4]>::new());
}

fn workers_at_once_keep_the_order(given: &Given) {
    let first = queue(given);
    let mut items = Vec::new();
    for number in 0..12 {
        items.extend(["a", "b", "c"].map(|customer| of(Some(customer), &number.to_string())));
    }
    first.enqueue(&items, None).unwrap();
    // The items taken of each group, and how many are in hand.
    let log: Mutex<HashMap<String, (Vec<i32>, i32)>> = Mutex::default();
    std::thread::scope(|scope| {
        for worker in 0..4_usize {
            let (queue, log) = (given.open(&[]), &log);
            scope.spawn(move || {
                let done = || log.lock().unwrap().values().map(|(taken, _)| taken.len()).sum::<usize>() == 36;
                let mut round = worker;
                let deadline = Instant::now() + Duration::from_secs(600);
                while !done() {
                    assert!(Instant::now() < deadline, "it does not end");
                    let batch = queue.claim(2, Duration::from_millis(20)).unwrap();
                    for item in &batch {
                        let customer = item.column("Customer").as_str().unwrap().to_owned();
                        let mut log = log.lock().unwrap();
                        let (taken, in_hand) = log.entry(customer).or_default();
                        taken.push(item.column("Payload").as_str().unwrap().parse().unwrap());
                        *in_hand += 1;
                        assert_eq!(*in_hand, 1, "two of one group in hand at once");
                    }
                    for item in &batch {
                        round += 1;
                        let again = round.is_multiple_of(5) && item.attempt == 1;
                        let customer = item.column("Customer").as_str().unwrap();
                        let mut log = log.lock().unwrap();
                        let (taken, in_hand) = log.get_mut(customer).unwrap();
                        if again {
                            taken.pop();
                        }
                        *in_hand -= 1;
                        drop(log);
                        let action = if again { Action::Retry } else { Action::Complete };
                        assert_eq!(queue.end(item.settle(action)).answer, Answer::Ok);
                    }
                }
            });
        }
    });
    let log = log.into_inner().unwrap();
    assert_eq!(log.len(), 3);
    for (customer, (taken, _)) in log {
        assert_eq!(taken, (0..12).collect::<Vec<_>>(), "group {customer}");
    }
}

/// Claims do not wait for locks that any login may take: here on the names that they went by once.
fn nobody_else_can_stop_the_claims(given: &Given) {
    let queue = queue(given);
    queue.put_item(of(Some("a"), "1"));
    let mut stranger = given.session();
    let (lock, turn) = if given.server.is_sql_server() {
        let name = format!("readpast/claim/[readpast].{}", given.queue);
        let lock =
            format!("EXECUTE sp_getapplock @Resource = N'{name}', @LockMode = 'Exclusive', @LockOwner = 'Session'");
        (lock, "[readpast].QueueTurn")
    } else {
        let stem = readpast::ident::QueueName::new(&given.queue).unwrap().snake_case();
        let name = format!("readpast/claim/\"readpast\".{stem}");
        (format!("SELECT pg_advisory_lock(hashtextextended('{name}', 0))"), "readpast.queue_turn")
    };
    stranger.execute(&lock, &[]).unwrap();
    assert_eq!(payloads(queue.as_ref(), 10), ["1"]);
    drop(stranger);

    // Without the row that is locked instead, the order could not be kept: nothing is handed out.
    let column = if given.server.is_sql_server() { "[Queue]" } else { "queue" };
    let stem = given.stem();
    given.session().execute(&format!("DELETE FROM {turn} WHERE {column} = '{stem}'"), &[]).unwrap();
    let problem = queue.claim(1, Duration::ZERO).unwrap_err();
    assert_eq!(problem.kind, "SchemaMismatch");
    assert!(problem.message.contains("install the queue again"), "{}", problem.message);
}
