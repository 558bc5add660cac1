//! Subtypes: what only some items have, in tables of their own. The shapes are those of the document on relational queues.

use crate::by_hand;
use readpast::item::{Action, Answer, NewItem, Settlement};
use serde_json::{Value, json};
use std::time::Duration;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("subtypes::all_are_enqueued_in_one_call", all_are_enqueued_in_one_call),
    ("subtypes::many_items_keep_their_own", many_items_keep_their_own),
    ("subtypes::all_or_nothing", all_or_nothing),
    ("subtypes::exclusive_ones_are_checked_by_the_table", exclusive_ones_are_checked_by_the_table),
    ("subtypes::they_go_with_their_item", they_go_with_their_item),
    ("subtypes::duplicates_leave_nothing_behind", duplicates_leave_nothing_behind),
    ("subtypes::by_hand_too", by_hand_too),
    ("subtypes::a_queue_without_columns", a_queue_without_columns),
];

/// `Notification`: one exclusive subtype and two inclusive ones.
fn spec(given: &Given, more: &str) -> String {
    format!(
        r#"{{"queue": "{}", "types": ["ResetPassword", "Welcome"], "columns": [{{"name": "Reference", "type": "integer"}}],
            "subtypes": [
                {{"name": "ResetPassword", "exclusive": true, "columns": [
                    {{"name": "OTP", "type": "text(10)", "nullable": false}}, {{"name": "UserID", "type": "bigint"}},
                    {{"name": "Username", "type": "text(60)"}}]}},
                {{"name": "Email", "columns": [
                    {{"name": "EmailTo", "type": "text(254)", "nullable": false}},
                    {{"name": "PreferredLanguage", "type": "text(10)"}}, {{"name": "Extra", "type": "json"}}]}},
                {{"name": "Sms", "columns": [{{"name": "Phone", "type": "text(20)", "nullable": false}}]}}]{more}}}"#,
        given.queue
    )
}

fn of(kind: &str, columns: Value) -> NewItem {
    NewItem { kind: Some(kind.to_owned()), columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
}

/// How many rows a subtype's table has.
fn rows(given: &Given, subtype: &str) -> String {
    let snake = readpast::ident::QueueName::new(subtype).unwrap().snake_case();
    let name =
        by_hand::procedure(given, "", &format!("_{}", if given.server.is_sql_server() { subtype } else { &snake }));
    let rows = given.session().execute(&format!("SELECT COUNT(*) FROM {name}"), &[]).unwrap();
    by_hand::cell(&rows, 0, 0)
}

fn all_are_enqueued_in_one_call(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    let reset = json!({
        "Reference": 7, "ResetPassword": {"OTP": "123456", "UserID": 42, "Username": "ann"},
        "Email": {"EmailTo": "ann@example.org", "PreferredLanguage": "en", "Extra": {"a": [1]}}, "Sms": {"Phone": "+1 555"}
    });
    let welcome = json!({"Email": {"EmailTo": "bob@example.org"}});
    let added = queue.enqueue(&[of("ResetPassword", reset), of("Welcome", welcome)], None).unwrap();

    let taken = queue.claim(2, Duration::ZERO).unwrap();
    assert_eq!(taken[0].key, added[0].key);
    for (column, value) in [
        ("Reference", json!(7)),
        ("ResetPassword_OTP", json!("123456")),
        ("ResetPassword_UserID", json!(42)),
        ("ResetPassword_Username", json!("ann")),
        ("Email_EmailTo", json!("ann@example.org")),
        ("Email_PreferredLanguage", json!("en")),
        ("Sms_Phone", json!("+1 555")),
    ] {
        assert_eq!(taken[0].column(column), &value, "{column}");
    }
    let extra = taken[0].column("Email_Extra");
    assert_eq!(extra, &json!({"a": [1]}));
    assert_eq!(taken[1].column("Email_EmailTo"), "bob@example.org");
    for column in ["Reference", "ResetPassword_OTP", "Email_PreferredLanguage", "Email_Extra", "Sms_Phone"] {
        assert!(taken[1].column(column).is_null(), "{column}");
    }
    let outcomes = queue.settle(&[taken[0].settle(Action::Retry), taken[1].settle(Action::Complete)], None).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok));
    let again = queue.take();
    assert_eq!((again.column("Sms_Phone"), again.attempt), (&json!("+1 555"), 2));
    let (_, none) = queue.settle_and_claim(&[again.settle(Action::Complete)], 1).unwrap();
    assert_eq!(none, []);
}

fn many_items_keep_their_own(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    let items: Vec<_> = (0..300)
        .map(|i| match i % 3 {
            0 => of("ResetPassword", json!({"Reference": i, "ResetPassword": {"OTP": i.to_string()}})),
            1 => of("Welcome", json!({"Reference": i, "Sms": {"Phone": i.to_string()}})),
            _ => of("Welcome", json!({"Reference": i})),
        })
        .collect();
    queue.enqueue(&items, None).unwrap();
    let taken = queue.claim(1000, Duration::ZERO).unwrap();
    assert_eq!(taken.len(), 300);
    for item in &taken {
        let own = |of: i64| {
            let number = item.column("Reference").as_i64().unwrap();
            if number % 3 == of { json!(number.to_string()) } else { Value::Null }
        };
        assert_eq!([item.column("ResetPassword_OTP"), item.column("Sms_Phone")], [&own(0), &own(1)]);
    }
}

fn all_or_nothing(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    let good = of("Welcome", json!({"Sms": {"Phone": "1"}}));
    for (bad, part) in [
        (of("ResetPassword", json!({})), "ResetPassword"),
        (of("Welcome", json!({"ResetPassword": {"OTP": "1"}})), "ResetPassword"),
        (of("Welcome", json!({"Email": {}})), "Email.EmailTo"),
    ] {
        let problem = queue.enqueue(&[good.clone(), bad], None).unwrap_err();
        assert_eq!(problem.kind, "InvalidItem");
        assert!(problem.message.contains("item 1") && problem.message.contains(part), "{}", problem.message);
    }
    assert_eq!(rows(given, "Sms"), "0");
    queue.expect_empty();
}

/// Calls Add by hand, past the library's own checks.
fn add(given: &Given, items: &Value) -> Result<readpast::item::Rows, readpast::error::Error> {
    let procedure = by_hand::procedure(given, "Add_", "_Set_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Operation = NULL, @Items = N'{items}'")
    } else {
        format!("SELECT * FROM {procedure}(NULL, '{items}')")
    };
    given.session().execute(&call, &[])
}

fn exclusive_ones_are_checked_by_the_table(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    for wrong in [
        json!([{"type": "Welcome", "columns": {"ResetPassword": {"OTP": "1"}}}]),
        json!([{"type": "ResetPassword", "columns": {}}]),
        json!([{"type": "Welcome"}, {"type": "Welcome", "columns": {"Email": {}}}]),
    ] {
        let error = add(given, &wrong).unwrap_err();
        assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{wrong}: {error}");
    }
    assert_eq!(given.look("COUNT(*)", "1 = 1"), "0");
    add(given, &json!([{"type": "ResetPassword", "columns": {"ResetPassword": {"OTP": "1"}}}, {"type": "Welcome"}]))
        .unwrap();
    assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 2);
}

fn they_go_with_their_item(given: &Given) {
    let queue = given.queue_with(&spec(given, r#", "completion": "delete""#), &[]);
    let full = json!({"ResetPassword": {"OTP": "1"}, "Email": {"EmailTo": "a"}, "Sms": {"Phone": "1"}});
    queue.enqueue(&[of("ResetPassword", full.clone()), of("ResetPassword", full)], None).unwrap();
    queue.end(queue.take().settle(Action::Complete));
    for subtype in ["ResetPassword", "Email", "Sms"] {
        assert_eq!(rows(given, subtype), "1", "{subtype}");
    }
    assert_eq!(queue.take().column("Sms_Phone"), "1");
}

fn duplicates_leave_nothing_behind(given: &Given) {
    let queue = given.queue_with(&spec(given, r#", "dedup": {"columns": ["Reference"], "answer": "existing"}"#), &[]);
    let item = |number: i32| of("Welcome", json!({"Reference": number, "Sms": {"Phone": number.to_string()}}));
    let added = queue.enqueue(&[item(1), item(1), item(2)], None).unwrap();
    assert_eq!((added[1].duplicate, &added[1].key), (true, &added[0].key));
    assert!(queue.put_item(item(2)).duplicate);
    assert_eq!(rows(given, "Sms"), "2");
    assert_eq!(queue.claim(10, Duration::ZERO).unwrap().len(), 2);
}

fn by_hand_too(given: &Given) {
    let queue = given.queue_with(&spec(given, ""), &[]);
    let procedure = by_hand::procedure(given, "Add_", "_trx");
    let call = if given.server.is_sql_server() {
        format!("EXECUTE {procedure} @Type = N'Welcome', @Reference = 3, @Sms = N'{{\"Phone\": \"1\"}}'")
    } else {
        format!("SELECT * FROM {procedure}('Welcome', \"Reference_\" => 3, \"Sms_\" => '{{\"Phone\": \"1\"}}')")
    };
    given.session().execute(&call, &[]).unwrap();
    let taken = queue.take();
    assert_eq!([taken.column("Reference"), taken.column("Sms_Phone")], [&json!(3), &json!("1")]);
    assert!(taken.column("Email_EmailTo").is_null());
}

/// `SyncQueue`: the life cycle alone, and steps.
fn a_queue_without_columns(given: &Given) {
    let spec = format!(r#"{{"queue": "{}", "types": ["Orders", "Stock"], "columns": []}}"#, given.queue);
    let queue = given.queue_with(&spec, &[]);
    let item = NewItem { step: Some("Validate".to_owned()), ..of("Stock", json!({})) };
    queue.enqueue(&[item, of("Orders", json!({}))], None).unwrap();
    let taken = queue.claim(5, Duration::ZERO).unwrap();
    assert_eq!(taken.len(), 2);
    assert_eq!([taken[0].column("Type"), taken[0].column("Step")], [&json!("Stock"), &json!("Validate")]);

    let sent = Settlement { step: Some("Send"), ..taken[0].settle(Action::Retry) };
    assert_eq!(queue.end(sent).answer, Answer::Ok);
    assert_eq!(queue.take().column("Step"), "Send");
}
