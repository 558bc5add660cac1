//! The same work again: the item that waits gets what the new one has.

use readpast::item::{Action, Answer, ItemState, NewItem, Receipt};
use serde_json::{Value, json};
use std::time::Duration;
use support::api::{Api, Taken};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("replacing::an_item_that_waits_gets_all_of_the_new_one", an_item_that_waits_gets_all_of_the_new_one),
    ("replacing::the_due_time_is_the_new_ones", the_due_time_is_the_new_ones),
    ("replacing::later_never_brings_an_item_forward", later_never_brings_an_item_forward),
    ("replacing::work_in_hand_and_finished_work_stay", work_in_hand_and_finished_work_stay),
    ("replacing::an_item_that_waits_again_keeps_its_attempts", an_item_that_waits_again_keeps_its_attempts),
    ("replacing::a_paused_item_stays_paused", a_paused_item_stays_paused),
    ("replacing::within_a_call_the_last_counts", within_a_call_the_last_counts),
    ("replacing::a_repeated_operation_changes_nothing", a_repeated_operation_changes_nothing),
    ("replacing::without_a_value_nothing_is_replaced", without_a_value_nothing_is_replaced),
    ("replacing::subtypes_are_the_new_ones", subtypes_are_the_new_ones),
    ("replacing::by_hand_too", by_hand_too),
    ("replacing::producers_and_workers_at_once_lose_no_value", producers_and_workers_at_once_lose_no_value),
];

fn described(given: &Given, on_duplicate: &str, more: &str) -> Box<dyn Api> {
    let spec = format!(
        r#"{{"queue": "{}", "types": ["A", "B"], "steps": ["first", "second"], "columns": [
            {{"name": "Work", "type": "text(40)"}}, {{"name": "Body", "type": "text"}},
            {{"name": "Number", "type": "integer", "default": 7}}, {{"name": "At", "type": "timestamp"}}],
            "dedup": {{"columns": ["Work"], "among": "unfinished", "on_duplicate": "{on_duplicate}"}}{more}}}"#,
        given.queue
    );
    given.queue_with(&spec, &[])
}

fn queue(given: &Given, on_duplicate: &str) -> Box<dyn Api> {
    described(given, on_duplicate, "")
}

fn with(columns: &Value) -> NewItem {
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

fn body(work: &str, body: &str) -> NewItem {
    with(&json!({"Work": work, "Body": body}))
}

fn delayed(work: &str, text: &str, delay_ms: i64) -> NewItem {
    NewItem { delay_ms: Some(delay_ms), ..body(work, text) }
}

fn text(taken: &Taken) -> &str {
    taken.column("Body").as_str().unwrap()
}

/// In how many whole minutes the item is due.
fn minutes(given: &Given, work: &str) -> String {
    let (minutes, queue) = if given.server.is_sql_server() {
        ("DATEDIFF(SECOND, SYSUTCDATETIME(), ScheduledFor) / 60", format!("\"Work\" = N'{work}'"))
    } else {
        ("FLOOR(EXTRACT(EPOCH FROM ScheduledFor - clock_timestamp()) / 60)::integer", format!("\"Work\" = '{work}'"))
    };
    given.look(minutes, &queue)
}

fn an_item_that_waits_gets_all_of_the_new_one(given: &Given) {
    let queue = queue(given, "replace");
    let old = with(&json!({"Work": "a", "Body": "old", "Number": 1, "At": "2026-11-21T08:30:00Z"}));
    let first = queue.put_item(NewItem { step: Some("second".to_owned()), ..old });
    let new = body("a", "new");
    let again = queue.put_item(NewItem { kind: Some("B".to_owned()), ..new });
    assert_eq!((again.duplicate, &again.key), (true, &first.key));
    assert!(!again.token.is_empty() && again.token != first.token, "the token of the version that it wrote");
    let taken = queue.take();
    assert_eq!((&taken.key, text(&taken)), (&first.key, "new"));
    assert_eq!(taken.column("Number"), &json!(7), "what the new one leaves out has its default");
    assert_eq!(taken.column("At"), &Value::Null, "or none");
    assert_eq!((taken.column("Type"), taken.column("Step")), (&json!("B"), &json!("first")));
    queue.end(taken.settle(Action::Complete));
    queue.expect_empty();
    assert!(!queue.put_item(body("a", "third")).duplicate, "finished work may come again");
}

fn the_due_time_is_the_new_ones(given: &Given) {
    let queue = queue(given, "replace");
    queue.put_item(delayed("a", "1", 90 * 60_000 + 30_000));
    queue.put_item(delayed("a", "2", 30 * 60_000 + 30_000));
    assert_eq!(minutes(given, "a"), "30");
    queue.put_item(delayed("a", "3", 60 * 60_000 + 30_000));
    assert_eq!(minutes(given, "a"), "60");
    queue.expect_empty();
    queue.put_item(body("a", "4"));
    let taken = queue.take();
    assert_eq!(text(&taken), "4", "without a due time it is due now");
    queue.end(taken.settle(Action::Complete));

    // One that is due keeps its place.
    let first = queue.put_item(body("b", "1"));
    queue.put_item(body("c", "1"));
    queue.put_item(body("b", "2"));
    let taken = queue.take();
    assert_eq!((&taken.key, text(&taken)), (&first.key, "2"));
}

fn later_never_brings_an_item_forward(given: &Given) {
    let queue = queue(given, "later");
    queue.put_item(delayed("a", "1", 30 * 60_000 + 30_000));
    queue.put_item(delayed("a", "2", 60 * 60_000 + 30_000));
    assert_eq!(minutes(given, "a"), "60");
    for item in [delayed("a", "3", 10 * 60_000), body("a", "4")] {
        assert!(!queue.put_item(item).token.is_empty(), "its values are written all the same");
        assert_eq!(minutes(given, "a"), "60");
    }
    assert_eq!(given.look("\"Body\"", "\"Work\" = 'a'"), "4");
    queue.put_item(body("b", "1"));
    queue.put_item(delayed("b", "2", 60 * 60_000));
    queue.expect_empty();
}

fn work_in_hand_and_finished_work_stay(given: &Given) {
    let of_all = given.sibling(1);
    let spec = format!(
        r#"{{"queue": "{}", "columns": [{{"name": "Work", "type": "text(40)"}}, {{"name": "Body", "type": "text"}}],
            "dedup": {{"columns": ["Work"], "on_duplicate": "replace"}}}}"#,
        of_all.queue
    );
    for queue in [queue(given, "replace"), of_all.queue_with(&spec, &[])] {
        let first = queue.put_item(body("a", "old"));
        let taken = queue.take();
        let again = queue.put_item(body("a", "new"));
        assert_eq!((again.duplicate, &again.key, again.token.as_str()), (true, &first.key, ""));
        assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok, "the worker's token still holds");
    }
    let again = of_all.open(&[]).put_item(body("a", "new"));
    assert_eq!((again.duplicate, again.token.as_str()), (true, ""), "finished items count there");
    assert_eq!(of_all.look("\"Body\"", "\"Work\" = 'a'"), "old");
}

fn an_item_that_waits_again_keeps_its_attempts(given: &Given) {
    let queue = described(given, "replace", r#", "backoff": {"first_ms": 3600000, "cap_ms": 3600000}"#);
    queue.put_item(body("a", "old"));
    let taken = queue.take();
    queue.end(taken.settle(Action::Retry));
    queue.expect_empty();
    assert!(!queue.put_item(body("a", "new")).token.is_empty());
    assert_eq!(given.look("Status", "\"Work\" = 'a'"), "Error");
    let taken = queue.take();
    assert_eq!((taken.attempt, text(&taken)), (2, "new"));
}

fn a_paused_item_stays_paused(given: &Given) {
    let queue = queue(given, "replace");
    let first = queue.put_item(body("a", "old"));
    let pause = readpast::item::Settlement::control(&first.key, Some(&first.token), Action::Pause);
    assert_eq!(queue.end(pause).answer, Answer::Ok);
    let again = queue.put_item(body("a", "new"));
    queue.expect_empty();
    let resume = readpast::item::Settlement::control(&first.key, Some(&again.token), Action::Resume);
    assert_eq!(queue.end(resume).answer, Answer::Ok, "by the token that the producer got");
    assert_eq!(text(&queue.take()), "new");
}

fn within_a_call_the_last_counts(given: &Given) {
    for (number, (on_duplicate, due)) in [("replace", "20"), ("later", "40")].into_iter().enumerate() {
        let given = given.sibling(number);
        let queue = queue(&given, on_duplicate);
        let old = queue.put_item(body("old", "0"));
        let late = |work: &str, text: &str, minutes: i64| delayed(work, text, minutes * 60_000 + 30_000);
        let items = [
            late("x", "1", 10),
            body("old", "1"),
            late("x", "2", 40),
            body("y", "1"),
            NewItem { kind: Some("B".to_owned()), ..late("x", "3", 20) },
            body("old", "2"),
        ];
        let added = queue.enqueue(&items, None).unwrap();
        let duplicates: Vec<_> = added.iter().map(|added| added.duplicate).collect();
        assert_eq!(duplicates, [false, true, true, false, true, true]);
        let keys: Vec<_> = added.iter().map(|added| added.key.as_str()).collect();
        let (x, y) = (keys[0], keys[3]);
        assert_eq!(keys, [x, &old.key, x, y, x, &old.key]);
        assert_eq!(added[2].token, added[0].token, "one version");
        assert_eq!(given.look("\"Body\"", "\"Work\" = 'x'"), "3");
        assert_eq!(given.look("Type", "\"Work\" = 'x'"), "B");
        assert_eq!(minutes(&given, "x"), due);
        assert_eq!(given.look("\"Body\"", "\"Work\" = 'old'"), "2");
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 3);
    }
}

fn a_repeated_operation_changes_nothing(given: &Given) {
    let queue = queue(given, "replace");
    queue.put_item(body("old", "0"));
    let items = [body("x", "1"), body("old", "1"), body("x", "2")];
    let layer = if given.queue.starts_with('r') { 1 } else { 2 };
    let operation = format!("00000004-0000-4000-801{layer}-000000000000");
    let first = queue.enqueue(&items, Some(&operation)).unwrap();
    assert_eq!(first.iter().filter(|added| added.token.is_empty()).count(), 0);
    queue.put_item(body("old", "2"));
    queue.put_item(body("x", "3"));
    assert_eq!(queue.enqueue(&items, Some(&operation)).unwrap(), first);
    let bodies: Vec<_> = (0..2)
        .map(|_| {
            let taken = queue.take();
            queue.end(taken.settle(Action::Complete));
            text(&taken).to_owned()
        })
        .collect();
    assert_eq!(bodies, ["2", "3"], "the repetition wrote nothing");
    assert_eq!(queue.enqueue(&items, Some(&operation)).unwrap(), first);
    queue.expect_empty();
}

fn without_a_value_nothing_is_replaced(given: &Given) {
    let queue = queue(given, "replace");
    let without = |text: &str| with(&json!({"Body": text}));
    let added = queue.enqueue(&[without("1"), without("2")], None).unwrap();
    assert!(added.iter().all(|added| !added.duplicate));
    assert!(!queue.put_item(without("3")).duplicate);
    let taken = queue.claim(3, Duration::ZERO).unwrap();
    assert_eq!(taken.iter().map(text).collect::<Vec<_>>(), ["1", "2", "3"]);
}

fn subtypes_are_the_new_ones(given: &Given) {
    let subtypes = r#", "subtypes": [
        {"name": "B", "exclusive": true, "columns": [{"name": "Code", "type": "text(10)", "nullable": false}]},
        {"name": "Mail", "columns": [{"name": "MailTo", "type": "text(99)"}]}]"#;
    let queue = described(given, "replace", subtypes);
    let of = |kind: &str, more: Value| {
        let mut columns = more;
        columns["Work"] = json!("a");
        NewItem { kind: Some(kind.to_owned()), ..with(&columns) }
    };
    queue.put_item(of("A", json!({"Mail": {"MailTo": "old"}})));
    let both = of("B", json!({"B": {"Code": "1"}, "Mail": {"MailTo": "new"}}));
    queue.enqueue(&[both], None).unwrap();
    assert_eq!(given.look("Type", "\"Work\" = 'a'"), "B");
    queue.enqueue(&[of("A", json!({})), of("B", json!({"B": {"Code": "2"}}))], None).unwrap();
    let taken = queue.take();
    assert_eq!((taken.column("B_Code"), taken.column("Mail_MailTo")), (&json!("2"), &Value::Null));
}

fn by_hand_too(given: &Given) {
    let queue = queue(given, "replace");
    let first = queue.put_item(body("a", "old"));
    for (transaction, text) in [("_trx", "new"), ("_utx", "newer")] {
        let procedure = crate::by_hand::procedure(given, "Add_", transaction);
        let mut session = given.session();
        let (call, column) = if given.server.is_sql_server() {
            (format!("EXECUTE {procedure} @Work = N'a', @Body = N'{text}'"), 3)
        } else {
            (format!("SELECT * FROM {procedure}(\"Work_\" => 'a', \"Body_\" => '{text}')"), 0)
        };
        if transaction == "_utx" {
            session.execute(if given.server.is_sql_server() { "BEGIN TRANSACTION" } else { "BEGIN" }, &[]).unwrap();
        }
        let rows = session.execute(&call, &[]).unwrap();
        assert_eq!(crate::by_hand::cell(&rows, 0, column), first.key);
        if transaction == "_utx" {
            session.execute("COMMIT", &[]).unwrap();
        }
        assert_eq!(given.look("\"Body\"", "\"Work\" = 'a'"), text);
    }
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 1);
}

/// The last value of each work is worked on, unless its item was in work when the value came.
fn producers_and_workers_at_once_lose_no_value(given: &Given) {
    let first = queue(given, "replace");
    let written: Vec<(String, String)> = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..3_usize)
            .map(|producer| {
                let queue = given.open(&[]);
                scope.spawn(move || {
                    let mut written = Vec::new();
                    for round in 0..12 {
                        // Each in another order.
                        let works: Vec<_> = (0..5).map(|i| ((i * (producer + 1)) % 5).to_string()).collect();
                        let text = format!("{producer}/{round}");
                        let items: Vec<_> = works.iter().map(|work| body(work, &text)).collect();
                        let added: Vec<Receipt> = queue.enqueue(&items, None).unwrap();
                        let kept = works.into_iter().zip(added).filter(|(_, added)| !added.token.is_empty());
                        written.extend(kept.map(|(work, added)| (work, format!("{}|{text}", added.key))));
                    }
                    written
                })
            })
            .collect();
        let worker = given.open(&[]);
        scope.spawn(move || {
            for _ in 0..20 {
                for taken in worker.claim(2, Duration::from_millis(20)).unwrap() {
                    worker.end(taken.settle(Action::Complete));
                }
            }
        });
        producers.into_iter().flat_map(|producer| producer.join().unwrap()).collect()
    });
    while let Some(taken) = first.claim(1, Duration::ZERO).unwrap().pop() {
        first.end(taken.settle(Action::Complete));
    }
    let rows = given.rows("\"Work\", \"Body\"", "Status = 'Completed'");
    assert!(rows.len() >= 5);
    let mut of_items = std::collections::BTreeMap::<String, Vec<String>>::new();
    for (work, value) in &written {
        let (key, text) = value.split_once('|').unwrap();
        of_items.entry(format!("{work} {key}")).or_default().push(text.to_owned());
    }
    assert_eq!(rows.len(), of_items.len(), "each item that was put in or replaced is one that was worked on");
    for row in 0..rows.len() {
        let (work, text) = (crate::by_hand::cell(&rows, row, 0), crate::by_hand::cell(&rows, row, 1));
        let wrote = of_items.iter().any(|(item, texts)| item.starts_with(&format!("{work} ")) && texts.contains(&text));
        assert!(wrote, "{work}: {text}");
    }
}
