//! The steps that a description lists.

use crate::kinds::{install, tables};
use readpast::item::{Action, Answer, ItemState, NewItem, Settlement};
use serde_json::{Value, json};
use std::time::Duration;
use support::api::{Api, Layer};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("steps::the_first_is_the_default", the_first_is_the_default),
    ("steps::a_step_that_is_not_listed_is_refused", a_step_that_is_not_listed_is_refused),
    ("steps::the_server_refuses_too", the_server_refuses_too),
    ("steps::the_list_may_change", the_list_may_change),
    ("steps::are_counted", are_counted),
];

/// The tables of the claims by kind, and one that has no column for the step.
fn on_each_table(given: &Given, body: impl Fn(&Given, &Value)) {
    let mut tables = tables();
    let mut bare = tables.last().unwrap().clone();
    bare["lifecycle"].as_object_mut().unwrap().remove("step");
    tables.push(bare);
    for (number, table) in tables.into_iter().enumerate() {
        body(&given.sibling(number), &table);
    }
}

fn item(payload: &str, step: Option<&str>) -> NewItem {
    let columns = json!({"Payload": payload, "Rank": 0});
    let step = step.map(str::to_owned);
    NewItem { step, columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// Payload and step of what is due.
fn taken(queue: &dyn Api) -> Vec<(String, String)> {
    let taken = queue.claim(10, Duration::ZERO).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let step = |item: &support::api::Taken| {
        let name = item.columns.iter().map(|(name, _)| name).find(|name| name.to_lowercase().ends_with("step"));
        text(item.column(name.unwrap()))
    };
    taken.iter().map(|item| (text(item.column("Payload")), step(item))).collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(payload, step)| ((*payload).to_owned(), (*step).to_owned())).collect()
}

fn the_first_is_the_default(given: &Given) {
    on_each_table(given, |given, table| {
        install(given, table.clone(), &json!({"steps": ["it's in", "out"], "claim_by": []}));
        let queue = given.open(&[]);
        for new in [item("a", None), item("b", Some("out")), item("c", Some("it's in"))] {
            queue.put_item(new);
        }
        assert_eq!(taken(&*queue), pairs(&[("a", "it's in"), ("b", "out"), ("c", "it's in")]));
    });
}

fn a_step_that_is_not_listed_is_refused(given: &Given) {
    install(given, Value::Null, &json!({"steps": ["in", "out"]}));
    let queue = given.open(&[]);
    let problem = queue.enqueue(&[item("a", None), item("b", Some("odd"))], None).unwrap_err();
    assert_eq!(problem.kind, "InvalidItem");
    for part in ["item 1", "\"odd\"", "[\"in\", \"out\"]"] {
        assert!(problem.message.contains(part), "{part}: {}", problem.message);
    }
    queue.expect_empty();
    queue.put_item(item("a", None));
    let taken = queue.take();
    let odd = Settlement { step: Some("odd"), ..taken.settle(Action::Complete) };
    let problem = queue.settle(&[odd], None).unwrap_err();
    assert_eq!(problem.kind, "InvalidArgument");
    assert!(problem.message.contains("the step \"odd\" is none of the queue's"), "{}", problem.message);
    let out = Settlement { step: Some("out"), ..taken.settle(Action::Complete) };
    assert_eq!(queue.end(out).answer, Answer::Ok);
}

/// A handle that was opened before the list became shorter lets the step pass.
fn the_server_refuses_too(given: &Given) {
    on_each_table(given, |given, table| {
        install(given, table.clone(), &json!({"steps": ["in", "odd"]}));
        let queue = given.open(&[]);
        queue.put_item(item("at it", Some("odd")));
        install(given, table.clone(), &json!({"steps": ["in", "out"]}));

        let problem = queue.enqueue(&[item("a", None), item("b", Some("odd"))], None).unwrap_err();
        assert_eq!(problem.kind, "InvalidItem");
        assert!(problem.message.contains("step"), "{}", problem.message);
        queue.put_item(item("late", None));
        let held = queue.claim(10, Duration::ZERO).unwrap();
        assert_eq!(held.len(), 2, "nothing of the call that was refused is there");

        // One by itself, and among others.
        let odd = |at: usize| Settlement { step: Some("odd"), ..held[at].settle(Action::Complete) };
        let refused = queue.end(odd(0));
        assert_eq!((refused.answer, refused.state), (Answer::IllegalTransition, Some(ItemState::Processing)));
        let outcomes = queue.settle(&[held[0].settle(Action::Complete), odd(1)], None).unwrap();
        let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer).collect();
        assert_eq!(answers, [Answer::Ok, Answer::IllegalTransition]);
        let out = Settlement { step: Some("in"), ..held[1].settle(Action::Retry) };
        assert_eq!(queue.end(out).answer, Answer::Ok);
    });
}

fn the_list_may_change(given: &Given) {
    on_each_table(given, |given, table| {
        install(given, table.clone(), &json!({}));
        given.open(&[]).put_item(item("free", Some("anywhere")));
        install(given, table.clone(), &json!({"steps": ["in"]}));
        given.open(&[]).put_item(item("first", None));
        install(given, table.clone(), &json!({"steps": ["before", "in"]}));
        // A taken item stays taken, however long the next install takes.
        let queue = given.open(&[("lease.ms", "3600000")]);
        queue.put_item(item("second", None));
        assert_eq!(taken(&*queue), pairs(&[("free", "anywhere"), ("first", "in"), ("second", "before")]));
        install(given, table.clone(), &json!({}));
        let queue = given.open(&[]);
        queue.put_item(item("none", None));
        assert_eq!(taken(&*queue), pairs(&[("none", "none")]));
    });
}

fn are_counted(given: &Given) {
    if given.layer == Layer::C {
        // Its struct of figures has numbers of a fixed kind only.
        return;
    }
    on_each_table(given, |given, table| {
        install(given, table.clone(), &json!({}));
        given.open(&[]).put_item(item("free", Some("anywhere")));
        install(given, table.clone(), &json!({"steps": ["in", "it's out", "never"]}));
        let queue = given.open(&[]);
        for (payload, step) in [("a", "in"), ("b", "in"), ("c", "it's out"), ("d", "it's out")] {
            queue.put_item(item(payload, Some(step)));
        }
        let held = queue.claim(5, Duration::ZERO).unwrap();
        let mut ends = vec![held[1].settle(Action::Complete), held[2].settle(Action::Fail)];
        ends[0].step = Some("it's out");
        assert!(queue.settle(&ends, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));

        let stats = queue.stats().unwrap();
        let states = [ItemState::Pending, ItemState::Processing, ItemState::Failed, ItemState::Completed];
        let counted: Vec<_> =
            stats.steps.iter().map(|step| (step.step.as_str(), states.map(|state| step.count(state)))).collect();
        assert_eq!(counted, [("in", [0, 0, 1, 0]), ("it's out", [0, 2, 0, 1]), ("never", [0; 4]), ("", [0, 1, 0, 0])]);
        assert_eq!(states.map(|state| stats.count(state)), [0, 3, 1, 1]);
    });
}
