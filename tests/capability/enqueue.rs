//! Putting items in.

use crate::api::item;
use crate::fixture::{Body, Given};
use readpast::item::{Action, Answer, ItemState, NewItem, Settlement};
use std::{collections::HashSet, time::Duration};

pub const BODIES: &[(&str, Body)] = &[
    ("enqueue::keys_come_back_in_order_and_differ", keys_come_back_in_order_and_differ),
    ("enqueue::a_repeated_operation_adds_nothing", a_repeated_operation_adds_nothing),
    ("enqueue::all_or_nothing", all_or_nothing),
    ("enqueue::producers_at_once_get_keys_of_their_own", producers_at_once_get_keys_of_their_own),
    ("enqueue::counts_out_of_range_are_refused", counts_out_of_range_are_refused),
    ("enqueue::token_steers_the_new_item", token_steers_the_new_item),
];

const OPERATION: &str = "d6513312-4dcc-4c44-b044-08b98257037c";

fn keys_come_back_in_order_and_differ(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..1000).map(|i| item(&i.to_string())).collect();
    let added = queue.enqueue(&items, None).unwrap();
    assert_eq!(added.iter().map(|added| &added.key).collect::<HashSet<_>>().len(), 1000);

    let taken = queue.claim(1000, Duration::ZERO).unwrap();
    for taken in &taken {
        let place: usize = taken.column("Payload").as_str().unwrap().parse().unwrap();
        assert_eq!(taken.key, added[place].key);
    }
    assert_eq!(taken.len(), 1000);
}

fn a_repeated_operation_adds_nothing(given: &Given) {
    let queue = given.queue(&[]);
    let items = [item("a"), item("b")];
    // Identities are shared by the queues of a schema, so each layer takes one of its own.
    let operation = OPERATION.replace("d6513312", if given.queue.starts_with('r') { "00000001" } else { "00000002" });
    let first = queue.enqueue(&items, Some(&operation)).unwrap();
    let again = queue.enqueue(&items, Some(&operation)).unwrap();
    let keys = |added: &[readpast::item::Enqueued]| added.iter().map(|a| a.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&first), keys(&again));
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 2);
}

fn all_or_nothing(given: &Given) {
    let queue = given.queue(&[]);
    let wrong = NewItem { kind: Some("NoSuchType".to_owned()), ..item("x") };
    let problem = queue.enqueue(&[item("a"), wrong], None).unwrap_err();
    assert_eq!(problem.kind, "InvalidItem");
    assert!(problem.message.contains("item 1") && problem.message.contains("NoSuchType"), "{}", problem.message);
    queue.expect_empty();
}

fn producers_at_once_get_keys_of_their_own(given: &Given) {
    let queue = given.queue(&[]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| drop(queue.put("x"))));
        }
    });
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 100);
}

fn counts_out_of_range_are_refused(given: &Given) {
    let queue = given.queue(&[]);
    for count in [0, 1001] {
        let problem = queue.enqueue(&vec![item("x"); count], None).unwrap_err();
        assert_eq!(problem.kind, "InvalidArgument");
        assert!(problem.message.contains(&count.to_string()), "{}", problem.message);
    }
    let problem = queue.enqueue(&[item("x")], Some("not a guid")).unwrap_err();
    assert_eq!(problem.kind, "InvalidArgument");
}

fn token_steers_the_new_item(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("x");
    let outcome = queue.end(Settlement::control(&added.key, Some(&added.token), Action::Cancel));
    assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Cancelled)));
    queue.expect_empty();
}
