//! Settlements that set values: the results of work in the item's own columns and those of its subtypes, in the same commit.

use crate::by_hand;
use crate::kinds::{install, tables};
use readpast::for_tests::Session;
use readpast::item::{Action, Answer, ItemState, NewItem, Settlement};
use serde_json::{Value, json};
use std::time::Duration;
use support::api::{Api, Taken};
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("set::values_of_every_kind_arrive", values_of_every_kind_arrive),
    ("set::subtypes_keep_their_own_results", subtypes_keep_their_own_results),
    ("set::many_items_get_their_own", many_items_get_their_own),
    ("set::attempts_that_do_not_count_are_not_written", attempts_that_do_not_count_are_not_written),
    ("set::a_repeated_operation_writes_once", a_repeated_operation_writes_once),
    ("set::mistakes_are_refused_before_they_are_sent", mistakes_are_refused_before_they_are_sent),
    ("set::the_server_refuses_too", the_server_refuses_too),
    ("set::a_subtype_that_the_item_lacks_is_refused", a_subtype_that_the_item_lacks_is_refused),
    ("set::a_completed_item_takes_them_along", a_completed_item_takes_them_along),
    ("set::a_deleted_item_takes_none", a_deleted_item_takes_none),
    ("set::by_hand_too", by_hand_too),
    ("set::within_another_transaction", within_another_transaction),
    ("set::an_item_that_waits_is_edited_in_its_state", an_item_that_waits_is_edited_in_its_state),
    ("set::a_column_of_either_json_type", a_column_of_either_json_type),
];

/// A queue that is open.
type Open = dyn Api;

/// A column of every kind, one that must have a value, and one that is left alone.
fn columns() -> Value {
    json!([
        {"name": "Payload", "type": "text(100)"}, {"name": "PaidAt", "type": "timestamp"},
        {"name": "Note", "type": "text(5)"}, {"name": "Letter", "type": "text"},
        {"name": "Count", "type": "integer", "nullable": false}, {"name": "Big", "type": "bigint"},
        {"name": "Good", "type": "boolean"}, {"name": "Score", "type": "float"},
        {"name": "Amount", "type": "decimal(10, 2)"}, {"name": "Day", "type": "date"}, {"name": "Ref", "type": "guid"},
        {"name": "Extra", "type": "json"}
    ])
}

/// readpast's own table, one that has it all, and two beside which another stands.
fn on_each_table(given: &Given, more: &Value, body: impl Fn(&Given, &Open)) {
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        let mut more = more.clone();
        more["columns"] = columns();
        install(&given, table, &more);
        body(&given, &*given.open(&[]));
    }
}

fn item(payload: &str) -> NewItem {
    let columns = json!({"Payload": payload, "Count": 1, "Note": "old"});
    NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

fn set<'a>(item: &'a Taken, action: Action, values: &'a str) -> Settlement<'a> {
    Settlement { set: Some(values), ..item.settle(action) }
}

/// The values of these columns, by the payload of the item that has them, whatever its state.
fn values(queue: &Open, payload: &str, names: &[&str]) -> Vec<Value> {
    let found = queue.find("{}", None, 1000).unwrap();
    let item = found.iter().find(|item| item.column("Payload") == payload).unwrap();
    names.iter().map(|name| item.column(name).clone()).collect()
}

fn values_of_every_kind_arrive(given: &Given) {
    on_each_table(given, &json!({}), |_, queue| {
        queue.put_item(item("x"));
        let taken = queue.take();
        let given = r#"{"paidat": "2026-11-21T08:30:00.25Z", "Note": "paid", "Letter": "été", "Count": -7,
            "Big": 9007199254740993, "Good": true, "Score": 0.1, "Amount": "12345678.90", "Day": "2026-02-28",
            "Ref": "d6513312-4dcc-4c44-b044-08b98257037c", "Extra": {"a": [1.5, null]}}"#;
        let step = queue.end(set(&taken, Action::Step, given));
        assert_eq!((step.answer, step.state), (Answer::Ok, Some(ItemState::Processing)));
        let names = ["Payload", "Note", "Letter", "Count", "Big", "Good", "Score", "Day", "Extra"];
        let expected = json!([
            "x", "paid", "été", -7, 9007199254740993_i64, true, 0.1, "2026-02-28", {"a": [1.5, null]}
        ]);
        assert_eq!(json!(values(queue, "x", &names)), expected);
        let text = |name| values(queue, "x", &[name])[0].as_str().unwrap().to_lowercase();
        assert!(text("PaidAt").starts_with("2026-11-21T08:30:00.25".to_lowercase().as_str()), "{}", text("PaidAt"));
        assert_eq!(
            (text("Amount").as_str(), text("Ref").as_str()),
            ("12345678.90", "d6513312-4dcc-4c44-b044-08b98257037c")
        );

        // A column that is left out stays; a null becomes NULL.
        let stepped =
            Settlement { token: Some(&step.token), ..set(&taken, Action::Retry, r#"{"Note": null, "Day": null}"#) };
        assert_eq!(queue.end(stepped).answer, Answer::Ok);
        let again = queue.take();
        assert_eq!((again.attempt, again.column("Note"), again.column("Day")), (2, &Value::Null, &Value::Null));
        assert_eq!([again.column("Letter"), again.column("Count")], [&json!("été"), &json!(-7)]);
    });
}

/// The document on relational queues: each channel has a response and an error of its own.
fn notification(given: &Given) -> Box<dyn Api> {
    given.described(
        r#""types": ["ResetPassword", "Welcome"], "columns": [{"name": "Payload", "type": "text(100)"}], "subtypes": [
            {"name": "ResetPassword", "exclusive": true, "columns": [{"name": "OTP", "type": "text(10)", "nullable": false},
                {"name": "UsedAt", "type": "timestamp"}]},
            {"name": "Email", "columns": [{"name": "EmailTo", "type": "text(254)", "nullable": false},
                {"name": "Response", "type": "text"}, {"name": "Error", "type": "text(20)"}]},
            {"name": "Sms", "columns": [{"name": "Phone", "type": "text(20)"}, {"name": "Response", "type": "text"},
                {"name": "Parts", "type": "json"}]}]"#,
    )
}

fn notice(payload: &str, kind: &str, mut columns: Value) -> NewItem {
    columns["Payload"] = json!(payload);
    NewItem { kind: Some(kind.to_owned()), columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

fn subtypes_keep_their_own_results(given: &Given) {
    let queue = notification(given);
    queue.put_item(notice(
        "x",
        "ResetPassword",
        json!({"ResetPassword": {"OTP": "1"}, "Email": {"EmailTo": "a"}, "Sms": {"Phone": "5"}}),
    ));
    let first = queue.take();
    let sent = r#"{"Payload": "y", "email": {"response": "250 OK"}, "Sms": {"Parts": [1, 2]},
        "ResetPassword": {"UsedAt": "2026-11-21T08:30:00Z"}}"#;
    let retry = Settlement { response: Some("sent by mail"), ..set(&first, Action::Retry, sent) };
    assert_eq!(queue.end(retry).answer, Answer::Ok);
    let second = queue.take();
    let shown = |item: &Taken, names: &[&str]| json!(names.iter().map(|name| item.column(name)).collect::<Vec<_>>());
    let names =
        ["Payload", "Email_EmailTo", "Email_Response", "Email_Error", "Sms_Phone", "Sms_Parts", "ResetPassword_OTP"];
    assert_eq!(shown(&second, &names), json!(["y", "a", "250 OK", null, "5", [1, 2], "1"]));
    assert!(second.column("ResetPassword_UsedAt").as_str().unwrap().starts_with("2026-11-21T08:30:00"));

    let done = r#"{"Sms": {"Response": "queued", "Phone": null}, "Email": {"Error": "bounced"}}"#;
    let (outcomes, none) = queue.settle_and_claim(&[set(&second, Action::CompletePartially, done)], 1).unwrap();
    assert_eq!((outcomes[0].answer, none), (Answer::Ok, vec![]));
    let found = queue.find("{}", None, 10).unwrap();
    let names = ["Email_Response", "Email_Error", "Sms_Response", "Sms_Phone", "Sms_Parts"];
    assert_eq!(shown(&found[0], &names), json!(["250 OK", "bounced", "queued", null, [1, 2]]));
}

fn many_items_get_their_own(given: &Given) {
    on_each_table(given, &json!({}), |_, queue| {
        let items: Vec<_> = (0..20).map(|i| item(&i.to_string())).collect();
        queue.enqueue(&items, None).unwrap();
        let taken = queue.claim(20, Duration::ZERO).unwrap();
        // Each third sets nothing.
        let texts: Vec<_> = (0..20).map(|i| format!(r#"{{"Note": "n{i}", "Big": {i}}}"#)).collect();
        let settlements: Vec<_> = taken
            .iter()
            .zip(&texts)
            .enumerate()
            .map(|(i, (item, text))| Settlement {
                set: (i % 3 > 0).then_some(text.as_str()),
                ..item.settle(Action::Complete)
            })
            .collect();
        assert!(queue.settle(&settlements, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
        for (i, item) in taken.iter().enumerate() {
            let (note, big) = if i % 3 > 0 { (json!(format!("n{i}")), json!(i)) } else { (json!("old"), Value::Null) };
            let payload = item.column("Payload").as_str().unwrap();
            assert_eq!(values(queue, payload, &["Note", "Big", "Count"]), [note, big, json!(1)]);
        }
    });
}

fn attempts_that_do_not_count_are_not_written(given: &Given) {
    on_each_table(given, &json!({}), |_, queue| {
        queue.enqueue(&["lost", "changed", "good", "paused"].map(item), None).unwrap();
        let taken = queue.claim(4, Duration::ZERO).unwrap();
        let find = |payload: &str| taken.iter().find(|item| item.column("Payload") == payload).unwrap();
        assert_eq!(queue.end(find("changed").settle(Action::Step)).answer, Answer::Ok);
        assert_eq!(queue.end(find("paused").settle(Action::Pause)).answer, Answer::Ok);
        let note = r#"{"Note": "new"}"#;
        let lost = Settlement { attempt: 7, ..set(find("lost"), Action::Complete, note) };
        // A paused item is closed, also to a login that may resume it.
        let closed = Settlement { attempt: 0, token: None, ..set(find("paused"), Action::Resume, note) };
        let outcomes = queue
            .settle(
                &[
                    lost,
                    set(find("changed"), Action::Complete, note),
                    set(find("good"), Action::Complete, note),
                    closed.clone(),
                ],
                None,
            )
            .unwrap();
        let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer).collect();
        assert_eq!(answers, [Answer::LeaseLost, Answer::Conflict, Answer::Ok, Answer::IllegalTransition]);
        assert_eq!(
            queue.end(Settlement { set: None, ..closed }).answer,
            Answer::Ok,
            "it is its values that are refused"
        );
        for (payload, note) in [("lost", "old"), ("changed", "old"), ("good", "new"), ("paused", "old")] {
            assert_eq!(values(queue, payload, &["Note"]), [note], "{payload}");
        }
        // Alone as well, where a settlement without values is one update.
        let alone = queue.end(set(find("changed"), Action::Complete, note));
        assert_eq!((alone.answer, values(queue, "changed", &["Note"])), (Answer::Conflict, vec![json!("old")]));
    });
}

/// Pending, Paused and Error stay what they are; values and due time are new, and what was not given is as before.
fn an_item_that_waits_is_edited_in_its_state(given: &Given) {
    on_each_table(given, &json!({"backoff": {"first_ms": 3_600_000, "cap_ms": 3_600_000}}), |_, queue| {
        queue.enqueue(&["fails", "paused", "held", "pending"].map(item), None).unwrap();
        let taken = queue.claim(4, Duration::ZERO).unwrap();
        let find = |payload: &str| taken.iter().find(|item| item.column("Payload") == payload).unwrap();
        queue.end(Settlement { error: Some("no route"), ..find("fails").settle(Action::Retry) });
        queue.end(find("paused").settle(Action::Pause));
        queue.end(find("pending").settle(Action::Release));
        let edit = |payload: &str, more: Value| {
            let mut arguments = more;
            arguments["key"] = json!(find(payload).key);
            let answer = queue.ask("edit", &arguments.to_string()).unwrap();
            let outcome = &answer["outcomes"][0];
            (outcome["answer"].as_str().unwrap().to_owned(), outcome["state"].as_str().unwrap().to_owned())
        };
        let is = |answer: &str, state: &str| (answer.to_owned(), state.to_owned());
        let new = json!({"set": {"Note": "new", "Count": 9}});
        assert_eq!(edit("fails", new.clone()), is("OK", "Error"));
        assert_eq!(edit("paused", new.clone()), is("OK", "Paused"));
        assert_eq!(edit("pending", new.clone()), is("OK", "Pending"));
        assert_eq!(edit("held", new), is("ILLEGAL_TRANSITION", "Processing"));
        for (payload, note) in [("fails", "new"), ("paused", "new"), ("pending", "new"), ("held", "old")] {
            let count = if note == "new" { 9 } else { 1 };
            assert_eq!(values(queue, payload, &["Note", "Count"]), [json!(note), json!(count)], "{payload}");
        }
        let why = |payload: &str| {
            queue.ask("why", &json!({"key": find(payload).key}).to_string()).unwrap()["why"]["reason"].clone()
        };
        assert_eq!(why("fails"), "due_later", "its due time is that of the backoff still");
        assert_eq!(edit("fails", json!({"delay_ms": 0})).0, "OK");
        assert_eq!(edit("pending", json!({"delay_ms": 3_600_000})).0, "OK");
        assert_eq!(why("pending"), "due_later");
        let again = queue.claim(4, Duration::ZERO).unwrap();
        let payloads: Vec<_> = again.iter().map(|item| (item.column("Payload").clone(), item.attempt)).collect();
        assert_eq!(payloads, [(json!("fails"), 2)], "the pending one is due later");
        assert_eq!(edit("pending", json!({"due": "2026-01-01T00:00:00Z", "set": {"Letter": "l"}})).0, "OK");
        assert_eq!((queue.take().attempt, values(queue, "pending", &["Letter"])), (1, vec![json!("l")]));
        queue.end(find("held").settle(Action::Complete));
        assert_eq!(edit("held", json!({"delay_ms": 0})), is("ILLEGAL_TRANSITION", "Completed"));
    });
}

fn a_repeated_operation_writes_once(given: &Given) {
    on_each_table(given, &json!({}), |given, queue| {
        queue.put_item(item("x"));
        let taken = queue.take();
        let layer = u32::from(given.queue.starts_with('r'));
        let number: u32 = given.queue.bytes().map(u32::from).sum();
        let operation = format!("0000000{layer}-0000-4000-8000-{number:06}{:06}", given.queue.len());
        let settlement = set(&taken, Action::Retry, r#"{"Note": "once"}"#);
        assert_eq!(queue.settle(std::slice::from_ref(&settlement), Some(&operation)).unwrap()[0].answer, Answer::Ok);
        let second = queue.take();
        assert_eq!(queue.end(set(&second, Action::Pause, r#"{"Note": "later"}"#)).answer, Answer::Ok);
        assert_eq!(
            queue.settle(&[settlement], Some(&operation)).unwrap()[0].answer,
            Answer::Ok,
            "the first time's answer"
        );
        assert_eq!(values(queue, "x", &["Note"]), ["later"]);
    });
}

fn mistakes_are_refused_before_they_are_sent(given: &Given) {
    on_each_table(given, &json!({}), |_, queue| {
        queue.enqueue(&["a", "b"].map(item), None).unwrap();
        let taken = queue.claim(2, Duration::ZERO).unwrap();
        for (values, part) in [
            (r#"{"Nope": 1}"#, "no column \"Nope\""),
            (r#"{"Note": "longer"}"#, "\"Note\" (text(5)) is 6 characters long"),
            (r#"{"Count": null}"#, "\"Count\" must have a value"),
            (r#"{"Count": "1"}"#, "\"Count\" (integer) does not take \"1\""),
            (r#"{"Nope": {"Response": "ok"}}"#, "no column \"Nope\""),
            ("7", "takes an object"),
        ] {
            let settlements = [taken[0].settle(Action::Complete), set(&taken[1], Action::Complete, values)];
            let problem = queue.settle(&settlements, None).unwrap_err();
            assert_eq!(problem.kind, "InvalidItem", "{}", problem.message);
            assert!(problem.message.starts_with("item 1: ") && problem.message.contains(part), "{}", problem.message);
        }
        let outcomes =
            queue.settle(&[taken[0].settle(Action::Complete), taken[1].settle(Action::Complete)], None).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "nothing was settled before");
    });
}

/// Settles by hand, past the library's own checks.
fn modify(given: &Given, queue: &Open, elements: &Value) -> Result<(), readpast::error::Error> {
    let procedure = by_hand::procedure(given, "Modify_", "_Set_trx");
    let (worker, items) = (queue.worker(), elements.to_string().replace('\'', "''"));
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Operation = NULL, @Worker = N'{worker}', @Items = N'{items}'")
    } else {
        format!("SELECT * FROM {procedure}(NULL, '{worker}', '{items}')")
    };
    given.session().execute(&call, &[]).map(drop)
}

fn element(item: &Taken, values: Value) -> Value {
    let key = serde_json::from_str(&item.key).ok().filter(Value::is_array).unwrap_or_else(|| json!(item.key));
    json!({"key": key, "token": item.token, "attempt": item.attempt, "status": "Failed", "set": values})
}

fn the_server_refuses_too(given: &Given) {
    on_each_table(given, &json!({}), |given, queue| {
        queue.enqueue(&["a", "b"].map(item), None).unwrap();
        let taken = queue.claim(2, Duration::ZERO).unwrap();
        let mut refused = vec![
            (json!({"Nope": 1}), "Nope"),
            (json!({"Note ": "x"}), "Note"),
            (json!({"Status": "Completed"}), "Status"),
            (json!({"Note": "longer"}), ""),
            (json!({"Note": {"a": 1}}), ""),
            (json!({"Count": null}), ""),
        ];
        // Where OPENJSON would make NULL of it.
        if given.server.is_sql_server() {
            refused.push((json!({"Extra": 5}), "Extra"));
        }
        for (values, part) in refused {
            let good = element(&taken[0], json!({"Note": "good"}));
            let error = modify(given, queue, &json!([good, element(&taken[1], values)])).unwrap_err();
            assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{error}");
            assert!(error.message().contains(part), "{error}");
        }
        assert!(modify(given, queue, &json!([element(&taken[1], json!({"Count": "one"}))])).is_err());
        assert_eq!(values(queue, "a", &["Note"]), ["old"], "all or nothing");
        modify(given, queue, &json!([element(&taken[0], json!({"Note": "good"}))])).unwrap();
        assert_eq!(values(queue, "a", &["Note"]), ["good"]);
    });
}

fn a_subtype_that_the_item_lacks_is_refused(given: &Given) {
    let queue = notification(given);
    queue.put_item(notice("both", "Welcome", json!({"Email": {"EmailTo": "a"}, "Sms": {}})));
    queue.put_item(notice("mail", "Welcome", json!({"Email": {"EmailTo": "b"}})));
    let taken = queue.claim(2, Duration::ZERO).unwrap();
    let sms = r#"{"Sms": {"Response": "ok"}}"#;
    let settlements = [set(&taken[0], Action::Complete, sms), set(&taken[1], Action::Complete, sms)];
    let problem = queue.settle(&settlements, None).unwrap_err();
    assert_eq!(problem.kind, "InvalidItem");
    assert!(problem.message.contains("without") && problem.message.contains("Sms"), "{}", problem.message);
    assert_eq!(values(&*queue, "both", &["Sms_Response"]), [Value::Null], "all or nothing");
    assert_eq!(queue.end(settlements[0].clone()).answer, Answer::Ok);
    for bad in
        [json!({"Email": {"Nope": 1}}), json!({"Email": {"EmailTo": null}}), json!({"Email": {"EnqueuedAt": null}})]
    {
        let error = modify(given, &*queue, &json!([element(&taken[1], bad)])).unwrap_err();
        assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{error}");
    }
    let lost = Settlement { attempt: 7, ..set(&taken[1], Action::Complete, r#"{"Email": {"Response": "lost"}}"#) };
    assert_eq!(queue.end(lost).answer, Answer::LeaseLost);
    assert_eq!(values(&*queue, "mail", &["Email_Response"]), [Value::Null]);
    let gone = Settlement { key: "2020-01-01T00:00:00.0000000", ..settlements[1].clone() };
    assert_eq!(queue.end(gone).answer, Answer::NotFound);
    // An item that is not the worker's any more is judged as that, and holds up nothing of the call, whatever its values are for.
    queue.put_item(notice("other", "Welcome", json!({"Sms": {}})));
    let other = queue.take();
    let lost = Settlement { attempt: 7, ..settlements[1].clone() };
    let old = Settlement { token: Some("2020-01-01T00:00:00.0000000"), ..settlements[1].clone() };
    for (bad, answer) in [(lost, Answer::LeaseLost), (old, Answer::Conflict)] {
        let step = Settlement { set: Some(sms), ..other.settle(Action::Step) };
        let step = Settlement { token: None, attempt: 0, ..step };
        let outcomes = queue.settle(&[bad, step], None).unwrap();
        assert_eq!([outcomes[0].answer, outcomes[1].answer], [answer, Answer::Ok]);
    }
    assert_eq!(values(&*queue, "other", &["Sms_Response"]), ["ok"]);
}

fn a_completed_item_takes_them_along(given: &Given) {
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        let is_own = table.is_null();
        let more =
            json!({"columns": columns(), "completion": {"history": format!("{}_done", given.queue.to_lowercase())}});
        install(&given, table, &more);
        let queue = given.open(&[]);
        queue.enqueue(&["a", "b"].map(item), None).unwrap();
        let taken = queue.claim(2, Duration::ZERO).unwrap();
        let texts = ["a", "b"].map(|note| format!(r#"{{"Note": "{note}", "Count": 5}}"#));
        let settlements: Vec<_> =
            taken.iter().zip(&texts).map(|(item, text)| set(item, Action::Complete, text)).collect();
        let outcomes = queue.settle(&settlements, None).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
        let schema = if is_own { "readpast" } else { given.theirs() };
        let table =
            format!("{}.{}", given.quoted(schema), given.quoted(&format!("{}_done", given.queue.to_lowercase())));
        let [note, count, payload] = ["Note", "Count", "Payload"].map(|name| column(&given, is_own, name));
        let query = format!("SELECT {note}, {count} FROM {table} ORDER BY {payload}");
        let rows = given.session().execute(&query, &[]).unwrap();
        let cells: Vec<_> =
            (0..rows.len()).map(|row| [by_hand::cell(&rows, row, 0), by_hand::cell(&rows, row, 1)]).collect();
        assert_eq!(cells, [["a", "5"], ["b", "5"]].map(|row| row.map(str::to_owned)));
    }
}

/// A column's name: in a table of others it stands unquoted in PostgreSQL.
fn column(given: &Given, is_own: bool, name: &str) -> String {
    if is_own || given.server.is_sql_server() { given.quoted(name) } else { name.to_lowercase() }
}

fn a_deleted_item_takes_none(given: &Given) {
    on_each_table(given, &json!({"completion": "delete"}), |given, queue| {
        queue.enqueue(&["a", "b"].map(item), None).unwrap();
        let taken = queue.claim(2, Duration::ZERO).unwrap();
        let note = r#"{"Note": "new"}"#;
        let problem = queue.settle(&[set(&taken[0], Action::Complete, note)], None).unwrap_err();
        assert_eq!(problem.kind, "InvalidItem");
        assert!(problem.message.contains("deletes completed items"), "{}", problem.message);
        let mut completed = element(&taken[0], json!({"Note": "new"}));
        completed["status"] = json!("Completed");
        let error = modify(given, queue, &json!([completed])).unwrap_err();
        assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{error}");
        // An item that is not completed stays, and so do its values.
        let outcomes =
            queue.settle(&[set(&taken[0], Action::Fail, note), taken[1].settle(Action::Complete)], None).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
        assert_eq!(values(queue, "a", &["Note"]), ["new"]);
    });
}

/// The call of `Modify_Q_trx` or `_utx` for one item.
fn modify_one(given: &Given, is_own: bool, transaction: &str, item: &Taken, values: &str) -> String {
    let procedure = by_hand::procedure(given, "Modify_", &format!("_{transaction}"));
    let Taken { key, token, .. } = item;
    if given.server.is_sql_server() {
        let names = if is_own { ["EnqueuedAt", "UpdatedAt"] } else { ["Key", "Token"] };
        return format!(
            "EXECUTE {procedure} @{} = '{key}', @{} = '{token}', @Status = 'Error', @Set = N'{values}'",
            names[0], names[1]
        );
    }
    let key = if is_own { format!("'{key}Z'") } else { format!("'{key}'") };
    format!("SELECT * FROM {procedure}({key}, '{token}Z', 'Error', set_ => '{values}')")
}

fn by_hand_too(given: &Given) {
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        let is_own = table.is_null();
        install(&given, table, &json!({"columns": columns()}));
        let queue = given.open(&[]);
        queue.put_item(item("x"));
        let taken = queue.take();
        let call = modify_one(&given, is_own, "trx", &taken, r#"{"Note": "new", "Amount": "1.25"}"#);
        given.session().execute(&call, &[]).unwrap();
        assert_eq!(values(&*queue, "x", &["Note", "Count"]), [json!("new"), json!(1)]);
        let taken = queue.take();
        let call = modify_one(&given, is_own, "trx", &taken, r#"{"Nope": 1}"#);
        let error = given.session().execute(&call, &[]).unwrap_err();
        assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{error}");
    }
}

fn within_another_transaction(given: &Given) {
    let in_transaction = |session: &mut Session, call: &str, ends: bool| {
        let done = session.transaction(|session| {
            session.execute(call, &[])?;
            if ends {
                return Ok(());
            }
            Err(readpast::error::Error::new(readpast::error::ErrorKind::Closed, "undone"))
        });
        assert_eq!(done.is_ok(), ends);
    };
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        let is_own = table.is_null();
        install(&given, table, &json!({"columns": columns()}));
        let queue = given.open(&[]);
        queue.put_item(item("x"));
        let taken = queue.take();
        let call = modify_one(&given, is_own, "utx", &taken, r#"{"Note": "new"}"#);
        let mut session = given.session();
        in_transaction(&mut session, &call, false);
        assert_eq!(values(&*queue, "x", &["Note"]), ["old"]);
        in_transaction(&mut session, &call, true);
        assert_eq!(values(&*queue, "x", &["Note"]), ["new"]);
        assert_eq!(queue.take().attempt, 2);
    }
}

fn a_column_of_either_json_type(given: &Given) {
    if given.server.is_sql_server() {
        return;
    }
    for (number, kind) in ["json", "jsonb"].into_iter().enumerate() {
        let given = given.sibling(number);
        let table = format!("{}_docs", given.queue).to_lowercase();
        let create = format!(
            "CREATE TABLE {}.{table} (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, state int NOT NULL, \
             payload text, doc {kind}, at timestamp)",
            given.theirs()
        );
        given.session().execute(&create, &[]).unwrap();
        let queue = given.described(&format!(
            r#""columns": [{{"name": "payload", "type": "text"}}, {{"name": "doc", "type": "json"}},
                {{"name": "at", "type": "timestamp"}}],
               "table": {{"name": "{table}", "key": ["id"], "status": {{"column": "state",
               "values": {{"Pending": 0, "Processing": 1, "Completed": 2}}}}}}"#
        ));
        queue.put_item(NewItem { columns: [("payload", "x")].into_iter().collect(), ..NewItem::default() });
        let taken = queue.take();
        let set = set(&taken, Action::Complete, r#"{"doc": {"a": [1]}, "at": "2026-11-21T08:30:00Z"}"#);
        assert_eq!(queue.end(set).answer, Answer::Ok);
        let found = queue.find("{}", None, 10).unwrap();
        assert_eq!(found[0].column("doc"), &json!({"a": [1]}));
        assert!(found[0].column("at").as_str().unwrap().starts_with("2026-11-21T08:30:00"));
    }
}
