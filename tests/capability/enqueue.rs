//! Putting items in.

use readpast::item::{Action, Answer, ColumnType, Columns, ItemRef, ItemState, Lease, NewItem, Receipt, Settlement};
use std::{collections::HashSet, time::Duration};
use support::api::item;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("enqueue::keys_come_back_in_order_and_differ", keys_come_back_in_order_and_differ),
    ("enqueue::a_repeated_operation_adds_nothing", a_repeated_operation_adds_nothing),
    ("enqueue::an_operation_is_one_call_of_one_queue", an_operation_is_one_call_of_one_queue),
    ("enqueue::all_or_nothing", all_or_nothing),
    ("enqueue::producers_at_once_get_keys_of_their_own", producers_at_once_get_keys_of_their_own),
    ("enqueue::more_than_a_call_takes_goes_in_parts", more_than_a_call_takes_goes_in_parts),
    ("enqueue::lists_of_nothing_ask_nobody", lists_of_nothing_ask_nobody),
    ("enqueue::json_stays_as_it_is_written", json_stays_as_it_is_written),
    ("enqueue::a_value_that_is_no_json_is_text", a_value_that_is_no_json_is_text),
    ("enqueue::columns_go_by_name_whatever_its_case", columns_go_by_name_whatever_its_case),
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
    // The queues of a schema have one ledger, so each layer takes one of its own.
    let operation = OPERATION.replace("d6513312", if given.queue.starts_with('r') { "00000001" } else { "00000002" });
    let first = queue.enqueue(&items, Some(&operation)).unwrap();
    let again = queue.enqueue(&items, Some(&operation)).unwrap();
    let keys = |added: &[Receipt]| added.iter().map(|a| a.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&first), keys(&again));
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 2);
}

fn an_operation_is_one_call_of_one_queue(given: &Given) {
    let (queue, other) = (given.queue(&[]), given.sibling(1).queue(&[]));
    let operation = OPERATION.replace("d6513312", if given.queue.starts_with('r') { "00000005" } else { "00000006" });
    let added = queue.enqueue(&[item("a")], Some(&operation)).unwrap();
    let cancel = [Settlement::control(&added[0].key, None, Action::Cancel)];
    let again = [ItemRef { key: &added[0].key, token: None }];
    let refused = [
        other.enqueue(&[item("b")], Some(&operation)).map(drop),
        other.settle(&cancel, Some(&operation)).map(drop),
        queue.settle(&cancel, Some(&operation)).map(drop),
        queue.redrive(&again, Some(&operation)).map(drop),
    ];
    for refused in refused {
        let problem = refused.unwrap_err();
        assert_eq!(problem.kind, "InvalidItem", "{}", problem.message);
        assert!(problem.message.contains("was another call"), "{}", problem.message);
    }
    assert_eq!(
        (queue.stats().unwrap().count(ItemState::Pending), other.stats().unwrap().count(ItemState::Pending)),
        (1, 0)
    );
    assert_eq!(queue.enqueue(&[item("a")], Some(&operation)).unwrap()[0].key, added[0].key, "the first call again");
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

fn more_than_a_call_takes_goes_in_parts(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..2300).map(|i| item(&i.to_string())).collect();
    let operation = OPERATION.replace("d6513312", if given.queue.starts_with('r') { "00000003" } else { "00000004" });
    let added = queue.enqueue(&items, Some(&operation)).unwrap();
    let keys = |added: &[Receipt]| added.iter().map(|a| a.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&added).into_iter().collect::<HashSet<_>>().len(), 2300);
    assert_eq!(keys(&queue.enqueue(&items, Some(&operation)).unwrap()), keys(&added), "a repetition adds nothing");
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 2300);

    let cancel: Vec<_> = added.iter().map(|a| Settlement::control(&a.key, Some(&a.token), Action::Cancel)).collect();
    let outcomes = queue.settle(&cancel, None).unwrap();
    assert!(outcomes.len() == 2300 && outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
    let refs: Vec<_> = added.iter().map(|a| ItemRef { key: &a.key, token: None }).collect();
    assert_eq!(queue.redrive(&refs, None).unwrap().len(), 2300);
    let leases: Vec<_> = added.iter().map(|a| Lease { key: &a.key, attempt: 1 }).collect();
    let renewed = queue.renew(&leases).unwrap();
    assert!(renewed.len() == 2300 && renewed.iter().all(|outcome| outcome.answer == Answer::LeaseLost));

    // One that does not fit is found before the first is sent.
    let mut wrong = items;
    wrong[2200].kind = Some("NoSuchType".to_owned());
    let problem = queue.enqueue(&wrong, None).unwrap_err();
    assert!(problem.message.contains("item 2200"), "{}", problem.message);
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 2300);
}

fn lists_of_nothing_ask_nobody(given: &Given) {
    let queue = given.queue(&[]);
    assert!(queue.enqueue(&[], None).unwrap().is_empty() && queue.settle(&[], None).unwrap().is_empty());
    assert!(queue.renew(&[]).unwrap().is_empty() && queue.redrive(&[], None).unwrap().is_empty());
    queue.put("x");
    let (outcomes, taken) = queue.settle_and_claim(&[], 1).unwrap();
    assert_eq!((outcomes.len(), taken.len()), (0, 1), "to settle nothing and claim is to claim");
    let problem = queue.enqueue(&[item("x")], Some("not a guid")).unwrap_err();
    assert_eq!(problem.kind, "InvalidArgument");
}

const LETTERS: &str = r#""columns": [{"name": "Body", "type": "json"}, {"name": "Note", "type": "text"}],
    "subtypes": [{"name": "Mail", "columns": [{"name": "Head", "type": "json"}]}]"#;

fn json_stays_as_it_is_written(given: &Given) {
    let queue = given.described(LETTERS);
    let document =
        r#"{"b": [1.10, 123456789012345678901234567890, -0.0, 1e-7], "a": {"x": null, "é": "\u0041\ud83d\ude00"}}"#;
    let columns = format!(r#"{{"Body": {document}, "Mail": {{"Head": [{document}]}}, "Note": "{{}}"}}"#);
    queue.put_item(NewItem { columns: Columns::from_json(&columns).unwrap(), ..NewItem::default() });
    let taken = queue.take();
    let kind = |name: &str| taken.columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).unwrap().1;
    assert_eq!((kind("Body"), kind("Mail_Head"), kind("Note")), (ColumnType::Json, ColumnType::Json, ColumnType::Text));
    assert!(taken.text.contains(&format!(":{document}")), "{}", taken.text);
    assert!(taken.text.contains(&format!(":[{document}]")), "{}", taken.text);
    assert_eq!(taken.column("Note"), "{}", "text stays text, whatever stands there");
}

fn a_value_that_is_no_json_is_text(given: &Given) {
    let queue = given.described(LETTERS);
    queue.put_item(NewItem { columns: Columns::from_json(r#"{"Body": [1]}"#).unwrap(), ..NewItem::default() });
    // SQL Server keeps JSON as text, which others may write what they like to; PostgreSQL's type takes any scalar.
    let scalar = if given.server.is_sql_server() { "no JSON" } else { "\"no object\"" };
    given.meddle(&format!("{} = '{scalar}'", given.quoted("Body")), "1 = 1");
    let taken = queue.take();
    assert_eq!(taken.column("Body"), scalar.trim_matches('"'));
}

fn columns_go_by_name_whatever_its_case(given: &Given) {
    let queue = given.described(LETTERS);
    let columns = r#"{"note": "n", "MAIL": {"head": []}, "bODY": {}}"#;
    queue.put_item(NewItem { columns: Columns::from_json(columns).unwrap(), ..NewItem::default() });
    let taken = queue.take();
    assert_eq!((taken.column("Note").as_str(), taken.column("Mail_Head").to_string()), (Some("n"), "[]".to_owned()));
    let columns = r#"{"note": "n", "Note": "n"}"#;
    let twice = NewItem { columns: Columns::from_json(columns).unwrap(), ..NewItem::default() };
    let problem = queue.enqueue(&[twice], None).unwrap_err();
    assert!(problem.message.contains("given twice"), "{}", problem.message);
}

fn token_steers_the_new_item(given: &Given) {
    let queue = given.queue(&[]);
    let added = queue.put("x");
    let outcome = queue.end(Settlement::control(&added.key, Some(&added.token), Action::Cancel));
    assert_eq!((outcome.answer, outcome.state), (Answer::Ok, Some(ItemState::Cancelled)));
    queue.expect_empty();
}
