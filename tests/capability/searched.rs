//! Filters by values: in the item's own columns, and in members of the JSON that a column holds.

use crate::kinds::{install, tables};
use readpast::for_tests::{Param, Session};
use readpast::item::{Action, NewItem};
use serde_json::{Value, json};
use std::time::Duration;
use support::api::Api;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("searched::each_kind_of_column_is_compared_in_its_type", each_kind_of_column_is_compared_in_its_type),
    (
        "searched::members_of_json_are_found_and_other_text_never_fails",
        members_of_json_are_found_and_other_text_never_fails,
    ),
    ("searched::actions_take_the_same_filter", actions_take_the_same_filter),
    ("searched::the_server_refuses_what_it_does_not_know", the_server_refuses_what_it_does_not_know),
];

/// A queue that is open.
type Open = dyn Api;

/// A queue for each shape of table.
fn on_each_table(given: &Given, body: impl Fn(&Given, &Open)) {
    let columns = json!([
        {"name": "Payload", "type": "text"}, {"name": "N", "type": "integer", "nullable": false},
        {"name": "Big", "type": "bigint"}, {"name": "Good", "type": "boolean"}, {"name": "Score", "type": "float"},
        {"name": "Amount", "type": "decimal(10, 2)"}, {"name": "Day", "type": "date"}, {"name": "Ref", "type": "guid"},
        {"name": "PaidAt", "type": "timestamp"}, {"name": "Extra", "type": "json"},
        {"name": "Pin", "type": "text(20)", "secret": true}
    ]);
    for (number, table) in tables().into_iter().enumerate() {
        let given = given.sibling(number);
        install(&given, table, &json!({"columns": columns}));
        body(&given, &*given.open(&[]));
    }
}

fn put(queue: &Open, n: i32, mut columns: Value) {
    columns["N"] = json!(n);
    queue.put_item(NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() });
}

/// The numbers of the items that have these values, in their order.
fn found(queue: &Open, columns: Value) -> Vec<i64> {
    let filter = json!({"columns": columns}).to_string();
    let found = queue.find(&filter, None, 100).unwrap_or_else(|problem| panic!("{filter}: {problem:?}"));
    let mut found: Vec<_> = found.iter().map(|item| item.column("N").as_i64().unwrap()).collect();
    found.sort_unstable();
    found
}

fn each_kind_of_column_is_compared_in_its_type(given: &Given) {
    on_each_table(given, |_, queue| {
        let paid = json!({"Payload": "It's 100%_[x] \"é\"", "Big": 9_007_199_254_740_993_i64, "Good": true, "Score": 0.1,
            "Amount": "12.50", "Day": "2026-02-28", "Ref": "d6513312-4dcc-4c44-b044-08b98257037c",
            "PaidAt": "2026-11-21T08:30:00.25Z", "Pin": "1234"});
        put(queue, 1, paid);
        put(queue, 2, json!({"Payload": "it's 100%_[x] \"é\"", "Amount": "12.51", "Good": false}));
        put(queue, 3, json!({"Payload": "a"}));
        put(queue, 4, json!({"Payload": ""}));
        for (columns, numbers) in [
            (json!({"N": 3}), &[3][..]),
            (json!({"n": "3"}), &[3]),
            (json!({"Payload": "It's 100%_[x] \"é\""}), &[1]),
            (json!({"Payload": "a "}), &[]),
            (json!({"Payload": "A"}), &[]),
            (json!({"Payload": ""}), &[4]),
            (json!({"Payload": "' OR 1 = 1 --"}), &[]),
            (json!({"Big": 9_007_199_254_740_993_i64}), &[1]),
            (json!({"Big": 9_007_199_254_740_992_i64}), &[]),
            (json!({"Good": true}), &[1]),
            (json!({"Good": "false"}), &[2]),
            (json!({"Score": 0.1}), &[1]),
            (json!({"Amount": 12.5}), &[1]),
            (json!({"Amount": "12.51"}), &[2]),
            (json!({"Day": "2026-02-28"}), &[1]),
            (json!({"Ref": "D6513312-4DCC-4C44-B044-08B98257037C"}), &[1]),
            (json!({"PaidAt": "2026-11-21T08:30:00.25Z"}), &[1]),
            (json!({"PaidAt": "2026-11-21T08:30:00Z"}), &[]),
            (json!({"Amount": 12.5, "Good": true, "N": 1}), &[1]),
            (json!({"Amount": 12.5, "Good": false}), &[]),
        ] {
            assert_eq!(found(queue, columns.clone()), numbers, "{columns}");
        }
        for (columns, says) in [
            (json!({"Nope": 1}), "has no column \"Nope\" to look in; it has Payload, N, Big"),
            (json!({"Pin": "1234"}), "has no column \"Pin\""),
            (json!({"N": "x"}), "column \"N\" (integer) does not take"),
            (json!({"N.a": 1}), "holds no JSON"),
            (json!({"N": null}), "can be found"),
        ] {
            let problem = queue.find(&json!({"columns": columns}).to_string(), None, 10).unwrap_err();
            assert!(problem.kind == "InvalidArgument" && problem.message.contains(says), "{columns}: {problem:?}");
        }
    });
}

fn members_of_json_are_found_and_other_text_never_fails(given: &Given) {
    on_each_table(given, |_, queue| {
        put(queue, 1, json!({"Payload": r#"{"customer": 42, "to": {"id": "7", "a b": true}, "q\"'": "x"}"#}));
        put(queue, 2, json!({"Payload": r#"{"customer": "42"}"#, "Extra": {"customer": 42, "parts": [1]}}));
        for (n, text) in
            (3..).zip(["42", "{\"customer\": 42", "no JSON", "", "[42]", "{\"customer\": {\"id\": 42}}", "null"])
        {
            put(queue, n, json!({"Payload": text}));
        }
        for (columns, numbers) in [
            (json!({"Payload.customer": 42}), &[1, 2][..]),
            (json!({"payload.customer": "42"}), &[1, 2]),
            (json!({"Payload.customer": "42 "}), &[]),
            (json!({"Payload.customer": "4"}), &[]),
            (json!({"Payload.Customer": "42"}), &[]),
            (json!({"Payload.customer.id": 42}), &[8]),
            (json!({"Payload.to.id": "7"}), &[1]),
            (json!({"Payload.to.a b": true}), &[1]),
            (json!({"Payload.q\"'": "x"}), &[1]),
            (json!({"Payload.') OR 1 = 1 --": "x"}), &[]),
            (json!({"Extra.customer": 42}), &[2]),
            (json!({"Extra.customer": 42, "Payload.customer": 42}), &[2]),
            (json!({"Extra.parts": "[1]"}), &[]),
            (json!({"Extra.parts.0": 1}), &[2]),
            (json!({"Payload.customer.id.x": 42}), &[]),
            (json!({"Payload.customer": 42, "N": 1}), &[1]),
        ] {
            assert_eq!(found(queue, columns.clone()), numbers, "{columns}");
        }
        // A sample goes on behind what it has read.
        let page =
            queue.ask("find", &json!({"filter": {"columns": {"Payload.customer": 42}}, "max": 1}).to_string()).unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 1);
        let more = json!({"filter": {"columns": {"Payload.customer": 42}}, "max": 1, "after": page["after"]});
        assert_eq!(queue.ask("find", &more.to_string()).unwrap()["items"][0]["columns"]["N"], 2);
    });
}

fn actions_take_the_same_filter(given: &Given) {
    on_each_table(given, |_, queue| {
        for n in 1..=4 {
            put(queue, n, json!({"Payload": json!({"customer": n % 2}).to_string(), "Amount": n}));
        }
        let filter = json!({"filter": {"columns": {"Payload.customer": 1}}});
        assert_eq!(queue.ask("cancel", &filter.to_string()).unwrap()["cancelled"], 2);
        let taken = queue.claim(4, Duration::ZERO).unwrap();
        let numbers: Vec<_> = taken.iter().map(|item| item.column("N").as_i64().unwrap()).collect();
        assert_eq!(numbers, [2, 4]);
        taken.iter().for_each(|item| drop(queue.end(item.settle(Action::Complete))));
        let one = json!({"filter": {"columns": {"Amount": "3.00"}}}).to_string();
        assert_eq!(queue.ask("purge", &one).unwrap()["purged"], 1);
        assert_eq!(found(queue, json!({})), [1, 2, 4]);
        assert_eq!(queue.ask("purge", &filter.to_string()).unwrap()["purged"], 1);
        assert_eq!(found(queue, json!({})), [2, 4]);
    });
}

/// A condition with a slip, sent by hand, is not passed over.
fn the_server_refuses_what_it_does_not_know(given: &Given) {
    on_each_table(given, |given, queue| {
        put(queue, 1, json!({"Payload": "{\"a\": 1}"}));
        let mut session = given.session();
        let name = given.procedure("Find_", "");
        let statement = if given.server.is_sql_server() {
            format!("{{CALL {name} (?)}}")
        } else {
            format!("SELECT * FROM {name}(?::json)")
        };
        let ask = |session: &mut Session, filter: &Value| {
            session.execute(&statement, &[Param::Text(&filter.to_string())]).map(|rows| rows.len())
        };
        let by_path = |path: Value| json!({"members": [{"column": "Payload", "path": path, "value": "1"}]});
        assert_eq!(ask(&mut session, &json!({"columns": {"N": 1}})).unwrap(), 1);
        assert_eq!(ask(&mut session, &by_path(json!(["a"]))).unwrap(), 1);
        for filter in [
            json!({"columns": {"Nope": 1}}),
            json!({"columns": {"Pin": "1"}}),
            json!({"columns": {"N": null}}),
            json!({"columns": []}),
            json!({"members": {}}),
            json!({"members": [{"column": "Pin", "path": ["a"], "value": "1"}]}),
            json!({"members": [{"column": "Payload", "value": "1"}]}),
            by_path(json!([])),
            by_path(json!(["a", "b", "c", "d"])),
            json!({"members": [{"column": "Payload", "path": ["a"]}]}),
        ] {
            let error = ask(&mut session, &filter).unwrap_err();
            assert!(error.native_code() == 50021 || error.sqlstate() == Some("RP021"), "{filter}: {error:?}");
        }
    });
}
