//! Columns of bytes: base64 in JSON, whichever way they come and go.

use crate::by_hand;
use crate::columns::{add_set, item, on_each_table, values};
use readpast::item::{Action, Answer, Settlement};
use serde_json::{Value, json};
use support::api::base64;
use support::fixture::{Body, Given};

pub const BODIES: &[(&str, Body)] = &[
    ("bytes::travel_as_base64", travel_as_base64),
    ("bytes::bytes_of_subtypes", bytes_of_subtypes),
    ("bytes::bytes_that_are_no_base64_or_too_long_are_refused", bytes_that_are_no_base64_or_too_long_are_refused),
];

/// Whether the server reads base64 from JSON, as SQL Server does. One that is only like it may take the letters.
fn reads_base64(given: &Given) -> bool {
    let probe = "SELECT DATALENGTH(b.v) FROM OPENJSON(N'{\"v\":\"AP8=\"}') WITH (v varbinary(max) '$.v') AS b";
    !given.server.is_sql_server() || by_hand::cell(&given.session().execute(probe, &[]).unwrap(), 0, 0) == "2"
}

fn bytes() -> Value {
    json!({"columns": [
        {"name": "Payload", "type": "text(100)"},
        {"name": "Hash", "type": "binary(4)", "nullable": false, "default": "AAECAw=="},
        {"name": "Raw", "type": "binary"}, {"name": "Small", "type": "binary(8000)", "default": ""},
    ], "dedup": {"columns": ["Hash"], "answer": "existing"}})
}

fn travel_as_base64(given: &Given) {
    if !reads_base64(given) {
        return;
    }
    let more = bytes();
    on_each_table(given, &more, |given, queue| {
        // More than the servers and drivers give in one piece, and more than a line of base64.
        let long: Vec<u8> = (0..30_000_u32).map(|i| (i * 7 % 251) as u8).collect();
        let long = base64(&long);
        let items = [
            json!({"Payload": "all", "Hash": "/////w==", "Raw": long, "Small": "AA=="}),
            json!({"Payload": "none"}),
            json!({"Payload": "again", "Hash": "/////w=="}),
            json!({"Payload": "default again"}),
        ];
        let told = queue.enqueue(&items.map(item), None).unwrap();
        assert_eq!(told.iter().map(|told| told.duplicate).collect::<Vec<_>>(), [false, false, true, true]);
        let names = ["Hash", "Raw", "Small"];
        assert_eq!(values(queue, "all", &names), json!(["/////w==", long, "AA=="]));
        let taken = queue.take();
        assert_eq!(json!(names.map(|name| taken.column(name))), json!(["/////w==", long, "AA=="]));
        let none = queue.take();
        assert_eq!(json!(names.map(|name| none.column(name))), json!(["AAECAw==", null, ""]));

        let sets = Settlement { set: Some(r#"{"Raw": "AAH/", "Small": null}"#), ..none.settle(Action::Retry) };
        assert_eq!(queue.end(sets).answer, Answer::Ok);
        assert_eq!(values(queue, "none", &names), json!(["AAECAw==", "AAH/", null]));

        // One by hand, in the server's own words.
        let add = by_hand::procedure(given, "Add_", "_trx");
        let call = if given.server.is_sql_server() {
            format!("EXECUTE {add} @Payload = N'hand', @Hash = 0x01020304, @Raw = 0x00FF")
        } else {
            format!("SELECT * FROM {add}(\"Payload_\" => 'hand', \"Hash_\" => '\\x01020304', \"Raw_\" => '\\x00ff')")
        };
        given.session().execute(&call, &[]).unwrap_or_else(|error| panic!("{call}: {error}"));
        assert_eq!(values(queue, "hand", &names), json!(["AQIDBA==", "AP8=", ""]));
    });
}

fn bytes_of_subtypes(given: &Given) {
    if !reads_base64(given) {
        return;
    }
    let queue = given.described(
        r#""columns": [], "subtypes": [{"name": "Mail", "columns": [
            {"name": "Body", "type": "binary(3)", "default": "AQ=="}, {"name": "More", "type": "binary"}]}]"#,
    );
    queue.put_item(item(json!({"Mail": {"More": "AP8="}})));
    let taken = queue.take();
    assert_eq!([taken.column("Mail_Body"), taken.column("Mail_More")], ["AQ==", "AP8="]);
    let sets = Settlement { set: Some(r#"{"Mail": {"Body": "AAAA"}}"#), ..taken.settle(Action::Retry) };
    queue.end(sets);
    assert_eq!(queue.take().column("Mail_Body"), "AAAA");
    for wrong in [r#"{"Mail": {"Body": "!"}}"#, r#"{"Mail": {"Body": "AAAAAA=="}}"#] {
        let error = given.session().execute(&add_set(given, wrong), &[]).unwrap_err();
        assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{wrong}: {error}");
    }
}

fn bytes_that_are_no_base64_or_too_long_are_refused(given: &Given) {
    let more = bytes();
    on_each_table(given, &more, |given, queue| {
        for (value, part) in [
            (json!("AAECAwQ="), "is 5 bytes long; 4 are the most"),
            (json!("AAEC AwQ="), "takes bytes as base64, not \"AAEC AwQ=\""),
            (json!("ff"), "takes bytes as base64"),
            (json!(1), "does not take 1"),
        ] {
            let problem = queue.enqueue(&[item(json!({"Hash": value}))], None).unwrap_err();
            assert_eq!(problem.kind, "InvalidItem");
            assert!(problem.message.contains(part), "{}", problem.message);
        }
        if !reads_base64(given) {
            return;
        }
        for wrong in ["{\"Hash\": \"no base64!\"}", "{\"Raw\": \"A\"}", "{\"Hash\": \"AAECAwQ=\"}"] {
            let error = given.session().execute(&add_set(given, wrong), &[]).unwrap_err();
            assert_eq!(error.kind(), readpast::error::ErrorKind::InvalidItem, "{wrong}: {error}");
        }
        queue.expect_empty();
    });
}
