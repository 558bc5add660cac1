//! Taking items.

use crate::by_hand;
use readpast::item::{Action, Answer, ColumnType, ItemState, NewItem, Rows, Settlement};
use std::{collections::HashSet, time::Duration};
use support::api::{Taken, item};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("claim::takes_in_the_order_they_are_due", takes_in_the_order_they_are_due),
    ("claim::hands_out_columns_by_name_and_type", hands_out_columns_by_name_and_type),
    ("claim::a_claimed_item_is_as_it_is_found", a_claimed_item_is_as_it_is_found),
    ("claim::a_claim_is_found_by_its_number", a_claim_is_found_by_its_number),
    ("claim::a_suspect_is_found_as_one", a_suspect_is_found_as_one),
    ("claim::counts_attempts", counts_attempts),
    ("claim::an_item_in_flight_is_not_taken_again", an_item_in_flight_is_not_taken_again),
    ("claim::an_item_that_is_not_due_waits", an_item_that_is_not_due_waits),
    ("claim::spent_items_end_failed", spent_items_end_failed),
    ("claim::claimers_at_once_take_each_item_once", claimers_at_once_take_each_item_once),
    ("claim::counts_out_of_range_are_refused", counts_out_of_range_are_refused),
];

fn takes_in_the_order_they_are_due(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..5).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();
    queue.put_item(NewItem { due: Some("2020-01-01T00:00:00Z".to_owned()), ..item("first") });

    let taken = queue.claim(4, Duration::ZERO).unwrap();
    let payloads: Vec<_> = taken.iter().map(|item| item.column("Payload").as_str().unwrap()).collect();
    assert_eq!(payloads, ["first", "0", "1", "2"]);
    assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 2);
    queue.expect_empty();
}

fn hands_out_columns_by_name_and_type(given: &Given) {
    let spec = format!(
        r#"{{"queue": "{}", "types": ["A", "B"], "columns": [
            {{"name": "Title", "type": "text(20)"}}, {{"name": "Body", "type": "text"}},
            {{"name": "Small", "type": "integer"}}, {{"name": "Big", "type": "bigint"}},
            {{"name": "Flag", "type": "boolean"}}, {{"name": "Ratio", "type": "float"}},
            {{"name": "Price", "type": "decimal(12, 2)"}}, {{"name": "SeenAt", "type": "timestamp"}},
            {{"name": "Day", "type": "date"}}, {{"name": "Tag", "type": "guid"}}, {{"name": "Extra", "type": "json"}}]}}"#,
        given.queue
    );
    let queue = given.queue_with(&spec, &[]);
    let columns = serde_json::json!({
        "Title": "t", "Body": "b", "Small": -2147483648, "Big": 9007199254740993_i64, "Flag": true, "Ratio": 0.5,
        "Price": "1234567890.12", "SeenAt": "2026-11-21T08:30:00.123456Z", "Day": "2026-11-21",
        "Tag": "d6513312-4dcc-4c44-b044-08b98257037c", "Extra": {"a": [1, "\u{1f600}"]}
    });
    let full = NewItem {
        kind: Some("B".to_owned()),
        step: Some("Render".to_owned()),
        columns: columns.as_object().unwrap().clone().into(),
        ..NewItem::default()
    };
    queue.enqueue(&[full, NewItem::default()], None).unwrap();

    let taken = queue.claim(2, Duration::ZERO).unwrap();
    let (first, second) = (&taken[0], &taken[1]);
    for (name, kind, value) in [
        ("Type", ColumnType::Text, serde_json::json!("B")),
        ("Status", ColumnType::Text, serde_json::json!("Processing")),
        ("Step", ColumnType::Text, serde_json::json!("Render")),
        ("Title", ColumnType::Text, serde_json::json!("t")),
        ("Body", ColumnType::Text, serde_json::json!("b")),
        ("Small", ColumnType::Integer, serde_json::json!(-2147483648)),
        ("Big", ColumnType::Integer, serde_json::json!(9007199254740993_i64)),
        ("Flag", ColumnType::Boolean, serde_json::json!(true)),
        ("Ratio", ColumnType::Float, serde_json::json!(0.5)),
        ("Price", ColumnType::Decimal, serde_json::json!("1234567890.12")),
        ("SeenAt", ColumnType::Timestamp, serde_json::json!("2026-11-21T08:30:00.1234560")),
        ("Day", ColumnType::Date, serde_json::json!("2026-11-21")),
    ] {
        assert_eq!(first.column(name), &value, "{name}");
        let found = first.columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(name)).unwrap();
        assert_eq!(found.1, kind, "{name}");
    }
    let tag = first.column("Tag").as_str().unwrap();
    assert!(tag.eq_ignore_ascii_case("d6513312-4dcc-4c44-b044-08b98257037c"), "{tag}");
    assert_eq!(first.column("Extra"), &serde_json::json!({"a": [1, "\u{1f600}"]}));

    assert_eq!(second.column("Type"), "A", "the first type is the default");
    for name in ["Title", "Small", "Big", "Flag", "Ratio", "Price", "SeenAt", "Day", "Tag", "Extra", "Step"] {
        assert!(second.column(name).is_null(), "{name}");
    }
}

/// A claim does not read again what a column repeats of the answer. A look at the queue reads all of it.
fn a_claimed_item_is_as_it_is_found(given: &Given) {
    let queue = given.queue(&[]);
    queue.enqueue(&[item("1"), item("2"), item("3")], None).unwrap();
    let first = queue.take();
    let taken = queue.settle_and_claim(&[first.settle(Action::Release)], 3).unwrap().1;
    assert_eq!(taken.len(), 3);
    let found = queue.find("{}", None, 10).unwrap();
    for claimed in &taken {
        let found = found.iter().find(|found| found.key == claimed.key).unwrap();
        assert_eq!(claimed, &Taken { text: claimed.text.clone(), ..found.clone() });
    }
}

fn counts_attempts(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    for attempt in 1..=2 {
        let taken = queue.take();
        assert_eq!(taken.attempt, attempt);
        assert_eq!(queue.end(taken.settle(Action::Retry)).answer, Answer::Ok);
    }
    assert_eq!(queue.take().attempt, 3);
}

fn an_item_in_flight_is_not_taken_again(given: &Given) {
    let queue = given.queue(&[]);
    queue.put("x");
    let _held = queue.take();
    queue.expect_empty();
    given.open(&[]).expect_empty();
}

fn an_item_that_is_not_due_waits(given: &Given) {
    let queue = given.queue(&[]);
    queue.put_item(NewItem { delay_ms: Some(3_600_000), ..item("later") });
    queue.put_item(NewItem { due: Some("2999-01-01".to_owned()), ..item("much later") });
    queue.expect_empty();
    given.meddle("ScheduledFor = SYSUTCDATETIME()", "Payload = 'later'");
    assert_eq!(queue.take().column("Payload"), "later");
}

fn spent_items_end_failed(given: &Given) {
    let queue = given.queue(&[]);
    given.set_max_attempts(2);
    queue.put("spent");
    queue.put("fresh");
    given.meddle("AttemptNum = 2", "Payload = 'spent'");

    let taken = queue.claim(10, Duration::ZERO).unwrap();
    assert_eq!(taken.len(), 1, "what is spent is not handed out");
    assert_eq!(taken[0].column("Payload"), "fresh");
    assert_eq!(given.look("Status", "Payload = 'spent'"), "Failed");
    assert!(given.look("Error", "Payload = 'spent'").contains("2 of 2"));
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 1);
}

fn claimers_at_once_take_each_item_once(given: &Given) {
    let queue = given.queue(&[]);
    let items: Vec<_> = (0..200).map(|i| item(&i.to_string())).collect();
    queue.enqueue(&items, None).unwrap();

    let taken: Vec<String> = std::thread::scope(|scope| {
        let claimers: Vec<_> = (0..4)
            .map(|_| {
                let queue = given.open(&[]);
                scope.spawn(move || {
                    let mut keys = Vec::new();
                    loop {
                        let batch = queue.claim(7, Duration::ZERO).unwrap();
                        if batch.is_empty() {
                            return keys;
                        }
                        let settlements: Vec<_> = batch.iter().map(|item| item.settle(Action::Complete)).collect();
                        let outcomes = queue.settle(&settlements, None).unwrap();
                        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
                        keys.extend(batch.into_iter().map(|item| item.key));
                    }
                })
            })
            .collect();
        claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect()
    });
    assert_eq!(taken.len(), 200);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 200);
    assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 200);
}

fn counts_out_of_range_are_refused(given: &Given) {
    let queue = given.queue(&[]);
    for max in [0, 1001, u32::MAX] {
        let problem = queue.claim(max, Duration::ZERO).unwrap_err();
        assert_eq!(problem.kind, "InvalidArgument");
        assert!(problem.message.contains("1 to 1000"), "{}", problem.message);
    }
    let problem = queue.claim(1, Duration::from_secs(86_401)).unwrap_err();
    assert_eq!(problem.kind, "InvalidArgument");
}

/// The column of an answer with the milliseconds that a lease lasts.
const DUE_MS: usize = 2;

/// The leases of all items in flight are over, in the table of a queue described so, and beside it.
fn age_leases(given: &Given, described: &str) {
    if !described.contains("\"table\"") {
        return given.meddle("LeaseUntil = StartedAt", "Status = 'Processing'");
    }
    let lease = if given.server.is_sql_server() {
        format!("[readpast].[{}_Lease]", given.queue)
    } else {
        format!("readpast.\"{}_lease\"", given.stem())
    };
    given.session().execute(&given.spell(&format!("UPDATE {lease} SET LeaseUntil = StartedAt")), &[]).unwrap();
    if described.contains("\"Until\"") {
        let schema = if given.server.is_sql_server() { "[readpast]" } else { "readpast" };
        let table = format!("{schema}.{}_items", given.queue);
        given.session().execute(&format!("UPDATE {table} SET Until = Began WHERE State = 1"), &[]).unwrap();
    }
}

/// A caller that lost the answer: in every kind of table that has a place for the number, the claim answers as before, and
/// nobody gets what another claim took, or what is not held any more.
fn a_claim_is_found_by_its_number(given: &Given) {
    let described = r#""table": {"schema": "readpast", "name": "TABLE", "create": true, "key": ["Id"],
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3}}}"#;
    let whole = r#""table": {"schema": "readpast", "name": "TABLE", "create": true, "time": "local", "key": ["Id"],
        "status": {"column": "State", "values": {"Pending": 0, "Processing": 1, "Error": 4, "Completed": 2, "Failed": 3}},
        "lifecycle": {"owner": "By", "lease_until": "Until", "attempts": "Tries", "started": "Began", "due": "Due"}}"#;
    for (number, more) in [
        r#""trace": true"#,
        r#""order": {"group": "Payload"}"#,
        r#""types": ["A", "B"], "claim_by": ["type", "step"]"#,
        r#""completion": "delete", "lease": {"durable": false, "resume_own": true}"#,
        r#""subtypes": [{"name": "Mail", "columns": [{"name": "MailTo", "type": "text"}]}]"#,
        described,
        whole,
        r#""shards": 4"#,
    ]
    .into_iter()
    .enumerate()
    {
        let given = given.sibling(number);
        let more = more.replace("TABLE", &format!("{}_items", given.queue));
        let columns = r#""columns": [{"name": "Payload", "type": "text(20)"}]"#;
        given.install(&format!(r#"{{"queue": "{}", {columns}, {more}}}"#, given.queue));
        let queue = given.open(&[("worker", "w")]);
        let items: Vec<_> = (0..5).map(|i| item(&i.to_string())).collect();
        queue.enqueue(&items, None).unwrap();

        let told = by_hand::claim_numbered(&given, "w", 2, 7);
        by_hand::claim_numbered(&given, "w", 1, 8);
        by_hand::claim_numbered(&given, "x", 1, 7);
        let cells = |rows: &Rows| -> Vec<Vec<String>> {
            let columns = (0..rows.columns().len()).filter(|column| *column != DUE_MS);
            let row = |row| columns.clone().map(|column| by_hand::cell(rows, row, column)).collect();
            let mut items: Vec<Vec<String>> = (0..rows.len()).map(row).collect();
            // A claim goes through the shards in turn.
            if more.contains("shards") {
                items.sort();
            }
            items
        };
        let found = |worker, number| cells(&by_hand::claimed(&given, worker, number));
        assert_eq!(told.len(), 2, "{more}");
        assert_eq!(found("w", 7), cells(&told), "{more}");
        assert_eq!(found("w", 7), cells(&told), "as often as it is asked");
        assert_eq!((found("w", 8).len(), found("x", 7).len(), found("w", 9).len()), (1, 1, 0), "{more}");
        let left = by_hand::cell(&by_hand::claimed(&given, "w", 7), 0, DUE_MS).parse::<i64>().unwrap();
        assert!((1..=3_600_000).contains(&left), "{left}");

        // Behind answer and ordinal.
        let [_, _, key, token, ..] = &cells(&told)[0][..] else { panic!("an answer has more columns") };
        let ended = Settlement { attempt: 1, ..Settlement::control(key, Some(token), Action::Complete) };
        assert_eq!(queue.settle(&[ended], None).unwrap()[0].answer, Answer::Ok, "{more}");
        assert_eq!(found("w", 7), cells(&told)[1..], "what is settled is not held: {more}");

        // It may be another's any moment.
        let aged = by_hand::claimed(&given, "w", 8);
        assert_eq!(aged.len(), 1);
        age_leases(&given, &more);
        assert_eq!((found("w", 7).len(), found("w", 8).len()), (0, 0), "{more}");
        // Claimed again: by the number of that.
        assert_eq!(queue.recover(10).unwrap(), 3, "{more}");
        let again = by_hand::claim_numbered(&given, "w", 5, 10);
        assert_eq!((found("w", 7).len(), found("w", 8).len()), (0, 0), "{more}");
        assert_eq!(found("w", 10), cells(&again), "{more}");
    }
}

/// An item back from a dead worker goes by itself when it is found, as it did when it was claimed; the next claim does not.
fn a_suspect_is_found_as_one(given: &Given) {
    let queue = given.queue(&[("worker", "w")]);
    queue.put("a");
    by_hand::claim_numbered(given, "w", 1, 1);
    age_leases(given, "");
    assert_eq!(queue.recover(1).unwrap(), 1);
    by_hand::claim_numbered(given, "w", 1, 2);
    let found = by_hand::claimed(given, "w", 2);
    assert_eq!((found.len(), by_hand::cell(&found, 0, 0).as_str()), (1, "CLAIMED_ALONE"));
    queue.put("b");
    by_hand::claim_numbered(given, "w", 1, 3);
    assert_eq!(by_hand::cell(&by_hand::claimed(given, "w", 3), 0, 0), "CLAIMED");
}
