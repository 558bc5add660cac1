//! Claims that name the types and the steps that they take.

use crate::by_hand;
use readpast::item::{Action, Answer, NewItem, Settlement};
use serde_json::{Value, json};
use std::time::Duration;
use support::api::{Api, Taken};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("kinds::a_claim_takes_the_types_that_it_names", a_claim_takes_the_types_that_it_names),
    ("kinds::a_claim_takes_the_steps_that_it_names", a_claim_takes_the_steps_that_it_names),
    ("kinds::types_and_steps_are_named_together", types_and_steps_are_named_together),
    ("kinds::many_kinds_come_in_the_order_of_all", many_kinds_come_in_the_order_of_all),
    ("kinds::no_kind_starves_without_an_order", no_kind_starves_without_an_order),
    ("kinds::groups_hold_between_kinds", groups_hold_between_kinds),
    ("kinds::a_settle_claims_of_the_same_kinds", a_settle_claims_of_the_same_kinds),
    ("kinds::an_item_that_came_back_goes_alone", an_item_that_came_back_goes_alone),
    ("kinds::items_that_others_hold_are_made_up_for", items_that_others_hold_are_made_up_for),
    ("kinds::an_empty_answer_is_about_the_kinds", an_empty_answer_is_about_the_kinds),
    ("kinds::a_claim_without_an_index_is_refused", a_claim_without_an_index_is_refused),
    ("kinds::procedures_check_what_they_are_given", procedures_check_what_they_are_given),
    ("kinds::an_index_comes_and_goes_with_the_description", an_index_comes_and_goes_with_the_description),
];

/// Tables of every shape: readpast's own; one that has it all; one with a due time, and one with next to nothing, beside
/// which stands another.
pub fn tables() -> Vec<Value> {
    let states = ["Pending", "Processing", "Error", "Failed", "Completed", "Cancelled", "Paused", "Terminated"];
    let mut values: serde_json::Map<_, _> = states.iter().map(|state| ((*state).to_owned(), json!(state))).collect();
    values.insert("PartiallyCompleted".to_owned(), json!("part"));
    let key = json!([{"name": "id", "type": "bigint"}]);
    let few = json!({"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}});
    vec![
        Value::Null,
        json!({"create": true, "key": key, "lifecycle": {"type": "kind", "enqueued": "came", "due": "due_at",
            "started": "began", "finished": "ended", "duration": "ms", "attempts": "tries", "owner": "held_by",
            "lease_until": "held_until", "step": "step_at", "response": "answered", "error": "trouble",
            "token": "version"}, "status": {"column": "state", "values": values}}),
        json!({"create": true, "key": key, "lifecycle": {"type": "kind", "step": "step_at", "due": "due_at"},
            "status": few}),
        json!({"create": true, "key": key, "lifecycle": {"type": "kind", "step": "step_at"}, "status": few}),
    ]
}

/// A queue of its own for each shape of table, with `more` in its description.
fn on_each_table(given: &Given, more: &Value, body: impl Fn(&Given, bool)) {
    on_each_table_from(given, 0, more, body);
}

/// The same, with queues of a body that needs more than one for each: each has its number.
fn on_each_table_from(given: &Given, first: usize, more: &Value, body: impl Fn(&Given, bool)) {
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(first + number);
        let has_due = table.is_null() || table["lifecycle"]["due"].is_string();
        install(&given, table, more);
        body(&given, has_due);
    }
}

pub fn install(given: &Given, mut table: Value, more: &Value) {
    let mut spec = json!({"queue": given.queue, "types": ["A", "B", "C"], "columns": [
        {"name": "Payload", "type": "text(100)"}, {"name": "Rank", "type": "integer", "nullable": false},
        {"name": "Customer", "type": "text(20)"}]});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    if !table.is_null() {
        table["name"] = json!(format!("t_{}", given.queue.to_ascii_lowercase()));
        spec["table"] = table;
    }
    given.install(&spec.to_string());
}

/// An item whose payload begins with its type, and whose step is what follows a slash.
fn item(payload: &str) -> NewItem {
    let columns = json!({"Payload": payload, "Rank": 0});
    NewItem {
        kind: Some(payload[..1].to_owned()),
        step: payload.split_once('/').map(|(_, step)| step.to_owned()),
        columns: columns.as_object().unwrap().clone().into(),
        ..NewItem::default()
    }
}

fn items(payloads: &[&str]) -> Vec<NewItem> {
    payloads.iter().map(|payload| item(payload)).collect()
}

/// Each in a call of its own, so that their times differ.
fn put(queue: &dyn Api, payloads: &[&str]) {
    for payload in payloads {
        queue.enqueue(&[item(payload)], None).unwrap();
    }
}

fn of(given: &Given, types: &[&str], steps: Option<&[&str]>) -> Box<dyn Api> {
    let (types, steps) = (json!(types).to_string(), steps.map(|steps| json!(steps).to_string()));
    let types = (types != "[]").then_some(("worker.types", types.as_str()));
    let steps = steps.as_deref().map(|steps| ("worker.steps", steps));
    given.open(&types.into_iter().chain(steps).collect::<Vec<_>>())
}

fn payloads(taken: &[Taken]) -> Vec<&str> {
    taken.iter().map(|item| item.column("Payload").as_str().unwrap()).collect()
}

fn takes(queue: &dyn Api, max: u32, expected: &[&str]) {
    let taken = queue.claim(max, Duration::ZERO).unwrap();
    assert_eq!(payloads(&taken), expected);
}

fn a_claim_takes_the_types_that_it_names(given: &Given) {
    on_each_table(given, &json!({"claim_by": ["type"]}), |given, has_due| {
        let all = given.open(&[]);
        put(&*all, &["C0", "A1", "B1", "A2", "C1", "B2", "B3", "A3"]);
        if has_due {
            all.put_item(NewItem { delay_ms: Some(3_600_000), ..item("A later") });
        }
        let (a, both) = (of(given, &["A"], None), of(given, &["C", "B", "C"], None));
        takes(&*a, 2, &["A1", "A2"]);
        takes(&*both, 4, &["C0", "B1", "C1", "B2"]);
        takes(&*a, 10, &["A3"]);
        a.expect_empty();
        put(&*all, &["A4", "C2"]);
        takes(&*all, 10, &["B3", "A4", "C2"]);
        both.expect_empty();
    });
}

fn a_claim_takes_the_steps_that_it_names(given: &Given) {
    on_each_table(given, &json!({"claim_by": ["step"]}), |given, _| {
        let all = given.open(&[]);
        put(&*all, &["A/pack", "A new", "B/send", "B new", "B/pack"]);
        let (new, pack, both) =
            (of(given, &[], Some(&[""])), of(given, &[], Some(&["pack"])), of(given, &[], Some(&["", "pack"])));
        let first = new.claim(1, Duration::ZERO).unwrap();
        assert_eq!(payloads(&first), ["A new"]);
        takes(&*both, 10, &["A/pack", "B new", "B/pack"]);
        new.expect_empty();
        // It is at another step now.
        let on = Settlement { step: Some("pack"), delay_ms: Some(0), ..first[0].settle(Action::Retry) };
        assert_eq!(new.end(on).answer, Answer::Ok);
        new.expect_empty();
        takes(&*pack, 10, &["A new"]);
        takes(&*all, 10, &["B/send"]);
    });
}

fn types_and_steps_are_named_together(given: &Given) {
    on_each_table(given, &json!({"claim_by": ["type", "step"]}), |given, _| {
        let all = given.open(&[]);
        put(&*all, &["A/pack", "A new", "B/pack", "B new", "A/send", "C/pack", "B/send"]);
        takes(&*of(given, &["A", "C"], Some(&["pack"])), 10, &["A/pack", "C/pack"]);
        takes(&*of(given, &["A", "B"], Some(&["", "send"])), 10, &["A new", "B new", "A/send", "B/send"]);
        takes(&*all, 10, &["B/pack"]);
    });
}

fn many_kinds_come_in_the_order_of_all(given: &Given) {
    let ranked = |payload: &str, rank: i32| {
        let columns = json!({"Payload": payload, "Rank": rank});
        NewItem { columns: columns.as_object().unwrap().clone().into(), ..item(payload) }
    };
    for (number, (order, first, rest)) in [
        (json!({"direction": "fifo"}), ["A1", "A2", "B5"], ["A9", "B3", "B0"]),
        (json!({"direction": "lifo"}), ["B0", "B3", "A9"], ["B5", "A2", "A1"]),
        (json!({"priority": {"column": "Rank"}}), ["A9", "B5", "B3"], ["A2", "A1", "B0"]),
        (
            json!({"direction": "lifo", "priority": {"column": "Rank", "first": "lowest"}}),
            ["B0", "A1", "A2"],
            ["B3", "B5", "A9"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let first_queue = number * tables().len();
        on_each_table_from(given, first_queue, &json!({"claim_by": ["type"], "order": order}), |given, has_due| {
            let all = given.open(&[]);
            for payload in ["C7", "A1", "A2", "B5", "A9", "B3", "B0"] {
                all.put_item(ranked(payload, payload[1..].parse().unwrap()));
            }
            if has_due {
                all.put_item(NewItem { delay_ms: Some(3_600_000), ..ranked("A later", 99) });
            }
            let both = of(given, &["A", "B"], None);
            takes(&*both, 3, &first);
            takes(&*both, 10, &rest);
            both.expect_empty();
        });
    }
}

fn no_kind_starves_without_an_order(given: &Given) {
    let more = json!({"claim_by": ["type"], "order": {"direction": "unordered"}});
    on_each_table(given, &more, |given, _| {
        let all = given.open(&[]);
        put(&*all, &["B0"]);
        all.enqueue(&items(&["A"; 20]), None).unwrap();
        let taken = of(given, &["A", "B"], None).claim(2, Duration::ZERO).unwrap();
        assert!(payloads(&taken).contains(&"B0"), "it has waited longest: {:?}", payloads(&taken));
    });
}

fn groups_hold_between_kinds(given: &Given) {
    let of_customer = |payload: &str, customer: &str| {
        let columns = json!({"Payload": payload, "Rank": 0, "Customer": customer});
        NewItem { columns: columns.as_object().unwrap().clone().into(), ..item(payload) }
    };
    let more = json!({"claim_by": ["type"], "order": {"group": "Customer"}});
    on_each_table(given, &more, |given, _| {
        let all = given.open(&[]);
        for (payload, customer) in [("B1", "x"), ("A1", "x"), ("A2", "y"), ("A3", "y"), ("B2", "z"), ("A4", "z")] {
            all.put_item(of_customer(payload, customer));
        }
        let (a, both) = (of(given, &["A"], None), of(given, &["A", "B"], None));
        let first = a.claim(10, Duration::ZERO).unwrap();
        assert_eq!(payloads(&first), ["A2"], "the others come after items of another type");
        takes(&*both, 10, &["B1", "B2"]);
        a.expect_empty();
        let (_, next) = a.settle_and_claim(&[first[0].settle(Action::Complete)], 10).unwrap();
        assert_eq!(payloads(&next), ["A3"]);
    });
}

fn a_settle_claims_of_the_same_kinds(given: &Given) {
    on_each_table(given, &json!({"claim_by": ["type"]}), |given, _| {
        let all = given.open(&[]);
        put(&*all, &["B0", "A1", "B1", "A2", "A3"]);
        let a = of(given, &["A"], None);
        let first = a.take();
        let (outcomes, next) = a.settle_and_claim(&[first.settle(Action::Complete)], 1).unwrap();
        assert_eq!((outcomes[0].answer, payloads(&next)), (Answer::Ok, vec!["A2"]));
        let (_, next) = a.settle_and_claim(&[next[0].settle(Action::Complete)], 10).unwrap();
        assert_eq!(payloads(&next), ["A3"]);
        let (_, next) = a.settle_and_claim(&[next[0].settle(Action::Complete)], 10).unwrap();
        assert_eq!(payloads(&next), Vec::<&str>::new());
        takes(&*all, 10, &["B0", "B1"]);
    });
}

/// Two rows of the answer each: what, and which.
fn by_types(given: &Given, worker: &str, types: &str, recover: i32) -> Vec<(String, String)> {
    let procedure = by_hand::procedure(given, "Next_", "_Set_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Worker = N'{worker}', @Max = 10, @Recover = {recover}, @Types = N'{types}'")
    } else {
        format!("SELECT * FROM {procedure}('{worker}', 10, recover_ => {recover}, types_ => '{types}')")
    };
    let rows = given.session().execute(&call, &[]).unwrap_or_else(|error| panic!("{call}: {error}"));
    (0..rows.len()).map(|row| (by_hand::cell(&rows, row, 0), by_hand::cell(&rows, row, 2))).collect()
}

fn an_item_that_came_back_goes_alone(given: &Given) {
    on_each_table(given, &json!({"claim_by": ["type"]}), |given, _| {
        let all = given.open(&[]);
        put(&*all, &["A1", "B1"]);
        let dead = given.open(&[("lease.ms", "10")]);
        assert_eq!(dead.claim(10, Duration::ZERO).unwrap().len(), 2);
        put(&*all, &["A2", "B2"]);
        // A look gives back an item that is anybody's.
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(given.open(&[]).recover(10).unwrap(), 2);
        let answers = |types: &str| -> Vec<String> {
            by_types(given, "w", types, 0).into_iter().map(|(answer, _)| answer).collect()
        };
        assert_eq!(answers(r#"["A"]"#), ["CLAIMED_ALONE"]);
        assert_eq!(answers(r#"["A"]"#), ["CLAIMED"]);
        assert_eq!(answers(r#"["A", "B"]"#), ["CLAIMED_ALONE"]);
        assert_eq!(answers(r#"["A", "B"]"#), ["CLAIMED"]);
        assert_eq!(answers(r#"["A", "B"]"#), ["EMPTY"]);
    });
}

/// An item that the first look counted may be in others' hands by the time that it is to be locked.
fn items_that_others_hold_are_made_up_for(given: &Given) {
    // The stand-in for SQL Server has no hints of locks.
    if given.server.is_sql_server() {
        return;
    }
    on_each_table(given, &json!({"claim_by": ["type"]}), |given, _| {
        let all = given.open(&[]);
        put(&*all, &["A1", "B1", "A2", "C1"]);
        let both = of(given, &["A", "B"], None);
        let is_own = given.session().execute(&format!("SELECT 1 FROM {} LIMIT 0", given.table()), &[]).is_ok();
        let theirs = format!("{}.t_{}", given.theirs(), given.queue.to_ascii_lowercase());
        let (table, payload) = if is_own { (given.table(), "\"Payload\"") } else { (theirs, "payload") };
        let mut other = given.session();
        other
            .transaction(|session| {
                let lock = format!("SELECT 1 FROM {table} WHERE {payload} = 'A1' FOR UPDATE");
                assert_eq!(session.execute(&lock, &[])?.len(), 1);
                takes(&*both, 1, &["A2"]);
                takes(&*both, 1, &["B1"]);
                both.expect_empty();
                Ok(())
            })
            .unwrap();
        takes(&*both, 2, &["A1"]);
    });
}

fn an_empty_answer_is_about_the_kinds(given: &Given) {
    on_each_table(given, &json!({"claim_by": ["type"]}), |given, has_due| {
        let all = given.open(&[]);
        put(&*all, &["C now"]);
        if has_due {
            for (payload, minutes) in [("A", 30), ("B", 10), ("C", 1)] {
                all.put_item(NewItem { delay_ms: Some(minutes * 60_000), ..item(payload) });
            }
        }
        for (types, minutes) in [(r#"["A"]"#, 30), (r#"["A", "B"]"#, 10)] {
            let answer = by_types(given, "w", types, 0);
            assert_eq!((answer.len(), answer[0].0.as_str()), (1, "EMPTY"));
            if has_due {
                let due: i64 = answer[0].1.parse().unwrap();
                assert!((minutes - 5) * 60_000 < due && due <= minutes * 60_000 + 1, "{types}: {due}");
            } else {
                assert_eq!(answer[0].1, "NULL");
            }
        }
        takes(&*all, 10, &["C now"]);
    });
}

fn a_claim_without_an_index_is_refused(given: &Given) {
    let refused = |given: &Given, types: &str, steps: &str, kind: &str, parts: &[&str]| {
        let set = [("worker.types", types), ("worker.steps", steps)];
        let set: Vec<_> = set.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let Err(problem) = given.layer.open(&given.settings(&set), &given.queue) else { panic!("{set:?} is taken") };
        // As C calls it.
        let named = if problem.kind == "NotProvided" { "Unsupported" } else { &problem.kind };
        assert_eq!(named, kind, "{}", problem.message);
        for part in parts {
            assert!(problem.message.contains(part), "{part}: {}", problem.message);
        }
    };
    install(given, Value::Null, &json!({}));
    refused(given, r#"["A"]"#, "", "Unsupported", &["worker.types", r#"claim_by = ["type"]"#]);
    refused(given, "", r#"["s"]"#, "Unsupported", &["worker.steps", r#"claim_by = ["step"]"#]);
    refused(given, r#"["A"]"#, r#"["s"]"#, "Unsupported", &[r#"claim_by = ["type", "step"]"#]);
    refused(given, r#"["D"]"#, "", "InvalidConfig", &["worker.types", "\"D\"", "[\"A\", \"B\", \"C\"]"]);

    let both = given.sibling(1);
    install(&both, Value::Null, &json!({"claim_by": ["type", "step"]}));
    refused(&both, r#"["A"]"#, "", "Unsupported", &["both or neither", r#"claim_by = ["type"]"#]);
    let many: Vec<_> = (0..51).map(|n| n.to_string()).collect();
    refused(&both, r#"["A", "B"]"#, &json!(many).to_string(), "InvalidConfig", &["102 kinds", "100"]);
}

fn procedures_check_what_they_are_given(given: &Given) {
    install(given, Value::Null, &json!({"claim_by": ["type"]}));
    given.open(&[]).put_item(item("A1"));
    let procedure = by_hand::procedure(given, "Next_", "_trx");
    let long = json!(vec!["A"; 101]).to_string();
    for types in ["[]", "{}", long.as_str()] {
        let call = if given.server.is_sql_server() {
            format!("EXECUTE {procedure} @Worker = N'w', @Types = N'{types}'")
        } else {
            format!("SELECT * FROM {procedure}('w', types_ => '{types}')")
        };
        let error = given.session().execute(&call, &[]).unwrap_err();
        assert_eq!(error.kind(), readpast::ErrorKind::InvalidItem, "{types}: {error}");
    }
    let call = |types: &str| {
        let call = if given.server.is_sql_server() {
            format!("EXECUTE {procedure} @Worker = N'w', @Types = N'{types}'")
        } else {
            format!("SELECT * FROM {procedure}('w', types_ => '{types}')")
        };
        given.session().execute(&call, &[]).unwrap().len()
    };
    assert_eq!((call(r#"["B", "none"]"#), call(r#"["B", "A"]"#)), (0, 1));
}

fn an_index_comes_and_goes_with_the_description(given: &Given) {
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        install(&given, table.clone(), &json!({}));
        let all = given.open(&[]);
        put(&*all, &["A1", "B/s"]);
        for claim_by in [json!(["type"]), json!(["step"]), json!(["type", "step"]), json!([])] {
            install(&given, table.clone(), &json!({"claim_by": claim_by}));
            let (types, steps): (&[&str], Option<&[&str]>) = match claim_by.to_string().as_str() {
                r#"["type"]"# => (&["B"], None),
                r#"["step"]"# => (&[], Some(&["s"])),
                r#"["type","step"]"# => (&["B"], Some(&["s"])),
                _ => (&[], None),
            };
            let queue = of(&given, types, steps);
            let expected: &[&str] = if claim_by == json!([]) { &["A1", "B/s"] } else { &["B/s"] };
            let taken = queue.claim(10, Duration::ZERO).unwrap();
            assert_eq!(payloads(&taken), expected, "{claim_by}");
            let back: Vec<_> = taken.iter().map(|item| item.settle(Action::Release)).collect();
            assert!(queue.settle(&back, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
        }
    }
}
