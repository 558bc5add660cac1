//! No work twice.

use readpast::item::{Action, Answer, ItemRef, ItemState, NewItem, Receipt};
use serde_json::json;
use std::collections::HashMap;
use support::api::{Api, item};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("dedup::the_same_work_is_reported_and_left_out", the_same_work_is_reported_and_left_out),
    ("dedup::the_existing_item_is_named", the_existing_item_is_named),
    ("dedup::finished_work_may_come_again", finished_work_may_come_again),
    ("dedup::work_that_came_again_is_not_redriven", work_that_came_again_is_not_redriven),
    ("dedup::within_a_call_the_first_counts", within_a_call_the_first_counts),
    ("dedup::a_repeated_operation_answers_the_same", a_repeated_operation_answers_the_same),
    ("dedup::without_a_value_nothing_is_the_same", without_a_value_nothing_is_the_same),
    ("dedup::two_columns_make_one_work", two_columns_make_one_work),
    ("dedup::producers_at_once_add_each_work_once", producers_at_once_add_each_work_once),
    ("dedup::by_hand_too", by_hand_too),
    ("dedup::work_that_is_there_again_is_not_redriven", work_that_is_there_again_is_not_redriven),
];

fn queue(given: &Given, dedup: &str) -> Box<dyn Api> {
    let spec = format!(
        r#"{{"queue": "{}", "columns": [{{"name": "Payload", "type": "text(100)"}}, {{"name": "Number", "type": "integer"}}],
            "dedup": {dedup}}}"#,
        given.queue
    );
    given.queue_with(&spec, &[])
}

const IGNORE: &str = r#"{"columns": ["Payload"]}"#;
const EXISTING: &str = r#"{"columns": ["Payload"], "answer": "existing"}"#;
const UNFINISHED: &str = r#"{"columns": ["Payload"], "answer": "existing", "among": "unfinished"}"#;

/// Several items may have ended of work that is wanted once among the unfinished: only one comes back.
fn work_that_came_again_is_not_redriven(given: &Given) {
    let queue = queue(given, UNFINISHED);
    let mut ended = Vec::new();
    for payload in ["a", "a", "b", "b"] {
        ended.push(queue.put(payload).key);
        queue.end(queue.take().settle(Action::Fail));
    }
    let waiting = queue.put("a");
    let items: Vec<_> = ended.iter().map(|key| ItemRef { key, token: None }).collect();
    let answers = |outcomes: Vec<readpast::item::Outcome>| outcomes.iter().map(|o| o.answer).collect::<Vec<_>>();
    let (ok, duplicate) = (Answer::Ok, Answer::Duplicate);
    assert_eq!(answers(queue.redrive(&items, None).unwrap()), [duplicate, duplicate, ok, duplicate]);
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 3, "what is refused is untouched");
    let taken = queue.take();
    assert_eq!(taken.key, waiting.key);
    queue.end(taken.settle(Action::Complete));
    assert_eq!(answers(queue.redrive(&items[..1], None).unwrap()), [ok]);

    // NULL is the same as nothing.
    let without = [queue.put_item(NewItem::default()), queue.put_item(NewItem::default())];
    for _ in 0..4 {
        let Ok([taken]) = <[_; 1]>::try_from(queue.claim(1, std::time::Duration::ZERO).unwrap()) else { break };
        queue.end(taken.settle(Action::Fail));
    }
    let items = without.each_ref().map(|added| ItemRef { key: &added.key, token: None });
    assert_eq!(answers(queue.redrive(&items, None).unwrap()), [ok, ok]);
}

fn duplicates(added: &[Receipt]) -> Vec<bool> {
    added.iter().map(|added| added.duplicate).collect()
}

fn the_same_work_is_reported_and_left_out(given: &Given) {
    let queue = queue(given, IGNORE);
    assert!(!queue.put("a").duplicate);
    let added = queue.enqueue(&[item("b"), item("a"), item("c")], None).unwrap();
    assert_eq!(duplicates(&added), [false, true, false]);
    assert_eq!((added[1].key.as_str(), added[1].token.as_str()), ("", ""));
    assert!(!added[2].key.is_empty() && !added[2].token.is_empty());
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 3);

    for _ in 0..3 {
        queue.end(queue.take().settle(Action::Complete));
    }
    assert!(queue.put("a").duplicate, "its row is still there");
    queue.expect_empty();
}

fn the_existing_item_is_named(given: &Given) {
    let queue = queue(given, EXISTING);
    let first = queue.put("a");
    let again = queue.put("a");
    assert_eq!((again.duplicate, &again.key, again.token.as_str()), (true, &first.key, ""));
    queue.end(queue.take().settle(Action::Complete));
    assert_eq!(queue.put("a").key, first.key);
}

fn finished_work_may_come_again(given: &Given) {
    let queue = queue(given, UNFINISHED);
    let first = queue.put("a");
    let taken = queue.take();
    assert_eq!(queue.put("a").key, first.key, "it is in flight");
    queue.end(taken.settle(Action::Retry));
    assert_eq!(queue.put("a").key, first.key, "it waits for its next attempt");
    queue.end(queue.take().settle(Action::Complete));

    let second = queue.put("a");
    assert!(!second.duplicate);
    assert_ne!(second.key, first.key);
    assert_eq!(queue.put("a").key, second.key);
}

fn within_a_call_the_first_counts(given: &Given) {
    let queue = queue(given, EXISTING);
    let old = queue.put("old");
    let items = ["x", "old", "x", "y", "x", "old"].map(item);
    let added = queue.enqueue(&items, None).unwrap();
    assert_eq!(duplicates(&added), [false, true, true, false, true, true]);
    let keys: Vec<_> = added.iter().map(|added| added.key.as_str()).collect();
    let (x, y) = (added[0].key.as_str(), added[3].key.as_str());
    assert_eq!(keys, [x, &old.key, x, y, x, &old.key]);
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 3);
}

fn a_repeated_operation_answers_the_same(given: &Given) {
    for (number, dedup) in [IGNORE, EXISTING, UNFINISHED].iter().enumerate() {
        let given = given.sibling(number);
        let queue = queue(&given, dedup);
        queue.put("old");
        let items = ["x", "old", "x", "y"].map(item);
        let layer = if given.queue.starts_with('r') { 1 } else { 2 };
        let operation = format!("00000004-0000-4000-800{layer}-00000000000{number}");
        let first = queue.enqueue(&items, Some(&operation)).unwrap();
        assert_eq!(duplicates(&first), [false, true, true, false]);
        // Whatever has become of them since.
        while let Some(taken) = queue.claim(1, std::time::Duration::ZERO).unwrap().pop() {
            assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
        }
        let again = queue.enqueue(&items, Some(&operation)).unwrap();
        assert_eq!(again, first, "{dedup}");
        queue.expect_empty();
    }
}

fn without_a_value_nothing_is_the_same(given: &Given) {
    let queue = queue(given, IGNORE);
    let added = queue.enqueue(&[NewItem::default(), NewItem::default(), item("a")], None).unwrap();
    assert_eq!(duplicates(&added), [false, false, false]);
    assert!(!queue.put_item(NewItem::default()).duplicate);
}

fn two_columns_make_one_work(given: &Given) {
    let queue = queue(given, r#"{"columns": ["Payload", "Number"], "answer": "existing", "among": "unfinished"}"#);
    let numbered = |payload: &str, number: i32| {
        let columns = json!({"Payload": payload, "Number": number});
        NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
    };
    let items = [numbered("a", 1), numbered("a", 2), numbered("b", 1), numbered("a", 1)];
    let added = queue.enqueue(&items, None).unwrap();
    assert_eq!(duplicates(&added), [false, false, false, true]);
    assert_eq!(added[3].key, added[0].key);
    assert_eq!(queue.put_item(numbered("b", 1)).key, added[2].key);
    assert!(!queue.put("a").duplicate, "without a number it is nobody's like");
}

fn producers_at_once_add_each_work_once(given: &Given) {
    let first = queue(given, EXISTING);
    let answers: Vec<(String, Receipt)> = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..4_usize)
            .map(|producer| {
                let queue = given.open(&[]);
                scope.spawn(move || {
                    let mut answers = Vec::new();
                    for round in 0..10 {
                        // Each in another order.
                        let names: Vec<_> = (0..7).map(|i| format!("{round}/{}", (i * (producer + 1)) % 7)).collect();
                        let items: Vec<_> = names.iter().map(|name| item(name)).collect();
                        answers.extend(names.into_iter().zip(queue.enqueue(&items, None).unwrap()));
                    }
                    answers
                })
            })
            .collect();
        producers.into_iter().flat_map(|producer| producer.join().unwrap()).collect()
    });
    assert_eq!(first.stats().unwrap().count(ItemState::Pending), 70);
    assert_eq!(answers.iter().filter(|(_, added)| !added.duplicate).count(), 70);
    let mut keys: HashMap<&str, &str> = HashMap::new();
    for (name, added) in &answers {
        assert_eq!(*keys.entry(name).or_insert(&added.key), added.key, "{name}");
    }
}

fn by_hand_too(given: &Given) {
    let queue = queue(given, EXISTING);
    let first = queue.put("a");
    let procedure = crate::by_hand::procedure(given, "Add_", "_trx");
    let (call, column) = if given.server.is_sql_server() {
        (format!("EXECUTE {procedure} @Payload = N'a'"), 3)
    } else {
        (format!("SELECT * FROM {procedure}(\"Payload_\" => 'a')"), 0)
    };
    let rows = given.session().execute(&call, &[]).unwrap();
    assert_eq!(crate::by_hand::cell(&rows, 0, column), first.key);
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 1);
}

fn work_that_is_there_again_is_not_redriven(given: &Given) {
    let queue = queue(given, UNFINISHED);
    // All failed: the same work twice, another, and one without a value.
    for item in [item("a"), item("a"), item("b"), NewItem::default()] {
        queue.put_item(item);
        queue.end(queue.take().settle(Action::Fail));
    }
    let keys: Vec<_> = {
        let rows = given.rows("EnqueuedAt", "Status = 'Failed' ORDER BY EnqueuedAt");
        (0..rows.len()).map(|row| crate::by_hand::cell(&rows, row, 0)).collect()
    };
    let redrive = || {
        let items: Vec<_> = keys.iter().map(|key| ItemRef { key, token: None }).collect();
        let outcomes = queue.redrive(&items, None).unwrap();
        outcomes.iter().map(|outcome| outcome.answer).collect::<Vec<_>>()
    };
    assert_eq!(redrive(), [Answer::Ok, Answer::Duplicate, Answer::Ok, Answer::Ok]);
    for _ in 0..3 {
        queue.end(queue.take().settle(Action::Fail));
    }
    queue.put("a");
    assert_eq!(redrive(), [Answer::Duplicate, Answer::Duplicate, Answer::Ok, Answer::Ok]);
    assert_eq!(given.look("COUNT(*)", "Status = 'Failed' AND Payload = 'a'"), "2");
}
