//! The first document's tables, adopted as they are declared there. (Its own kind of queue, which readpast makes, is what
//! the capability suite and the contention test are about; its hand-written procedures have a suite of their own.)

use crate::Body;
use crate::drain::{Drain, item};
use crate::place::{self, Place, Server};
use readpast::description::QueueSpec;
use readpast::item::{Action, Answer, ItemState, NewItem, Settlement};
use serde_json::json;
use support::api::Api;

pub const BODIES: &[(&str, Body)] = &[
    ("made/the_tables_are_those_of_the_document", the_tables_are_those_of_the_document),
    ("adopted/killed_workers_lose_nothing", killed_workers_lose_nothing),
    ("adopted/the_columns_tell_the_life_of_an_item", the_columns_tell_the_life_of_an_item),
    ("adopted/one_sync_queue_serves_several_types", one_sync_queue_serves_several_types),
    ("adopted/subtypes_are_taken_over_as_they_are", subtypes_are_taken_over_as_they_are),
    ("adopted/what_is_over_goes_with_its_subtypes", what_is_over_goes_with_its_subtypes),
    ("adopted/a_subtype_that_is_not_there_is_told", a_subtype_that_is_not_there_is_told),
];

/// A description of one of the two tables: every column of the life cycle is there.
pub fn spec_of(table: &str, types: &str) -> String {
    format!(
        r#"
        queue = "{table}"
        types = {types}
        columns = []
        [table]
        name = "{table}"
        key = [{{ name = "EnqueuedAt", type = "timestamp", source = "producer" }}]
        time = "local"
        [table.lifecycle]
        type = "Type"
        due = "ScheduledFor"
        started = "StartedAt"
        duration = "Duration"
        attempts = "AttemptNum"
        step = "Step"
        response = "Response"
        error = "Error"
        token = "UpdatedAt"
        [table.status]
        column = "Status"
        [table.status.values]
        Pending = "Pending"
        Processing = "Processing"
        Error = "Error"
        Failed = "Failed"
        Completed = "Completed"
        Cancelled = "Cancelled"
        Paused = "Paused"
        Terminated = "Terminated"
        PartiallyCompleted = "PartiallyCompleted"
        "#
    )
}

fn notification(server: Server) -> (Place, QueueSpec) {
    let place = Place::with(server, &["relational"]);
    let spec = place.adopt_text(&spec_of("Notification", r#"["Email", "ResetPassword", "Sms"]"#));
    (place, spec)
}

/// The description of the document's Notification as it is.
fn described(completion: &str) -> String {
    let text = std::fs::read_to_string(place::root("sql/specs/notification_described.toml")).unwrap();
    text.replace("columns = []\n", &format!("columns = []\ncompletion = \"{completion}\"\n"))
}

fn open(place: &Place, spec: &QueueSpec) -> Box<dyn Api> {
    place.open(spec.queue.as_str(), &[])
}

fn time(number: u64) -> String {
    format!("2026-01-01T00:00:00.{number:06}")
}

fn insert(table: &str, number: u64, kind: &str) -> String {
    format!(
        "INSERT INTO {table} (EnqueuedAt, Type, Status, AttemptNum, ScheduledFor, UpdatedAt) \
         VALUES ('{}', '{kind}', 'Pending', 0, HOURS_AGO, HOURS_AGO)",
        time(number)
    )
}

fn killed_workers_lose_nothing(server: Server) {
    let (place, spec) = notification(server);
    let drain = Drain {
        place: &place,
        spec: &spec,
        table: "Notification",
        key: "EnqueuedAt",
        column: None,
        counts: true,
        insert: &|work| insert("Notification", work, "Email"),
        item: |work| json!({"EnqueuedAt": time(work)}),
        items: 160,
        kills: 4,
    };
    let drained = drain.run();
    let done = "SELECT COUNT(*) FROM Notification WHERE Status = 'Completed' AND Duration >= 0";
    assert_eq!(place.look(done), drained.completed.to_string());
    assert_eq!(place.look("SELECT COUNT(*) FROM Notification WHERE Status = 'Failed'"), drained.failed.to_string());
}

fn the_columns_tell_the_life_of_an_item(server: Server) {
    let (place, spec) = notification(server);
    place.run(&insert("Notification", 1, "Sms"));
    let queue = open(&place, &spec);
    let taken = queue.take();
    assert_eq!(
        place.look("SELECT Status FROM Notification WHERE AttemptNum = 1 AND StartedAt IS NOT NULL"),
        "Processing"
    );
    let step = Settlement { step: Some("Send"), response: Some("rendered"), ..taken.settle(Action::Step) };
    let stepped = queue.end(step);
    assert_eq!(stepped.answer, Answer::Ok);
    assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Conflict, "the token has moved on");
    let retry = Settlement { token: Some(&stepped.token), error: Some("timed out"), ..taken.settle(Action::Retry) };
    assert_eq!(queue.end(Settlement { delay_ms: Some(0), ..retry }).state, Some(ItemState::Error));
    let row = place.rows("SELECT Status, Step, Response, Error FROM Notification");
    assert_eq!(row, [["Error", "Send", "rendered", "timed out"]], "the step is preserved");
    let again = queue.take();
    assert_eq!((again.attempt, again.column(&place.column("ItemStep"))), (2, &json!("Send")));
    // Somebody changes the row by hand, and the worker hears of it.
    place.run("UPDATE Notification SET UpdatedAt = NOW, Status = 'Cancelled'");
    assert_ne!(queue.end(again.settle(Action::Complete)).answer, Answer::Ok);
    assert_eq!(place.look("SELECT Status FROM Notification"), "Cancelled");
}

fn one_sync_queue_serves_several_types(server: Server) {
    let place = Place::with(server, &["relational"]);
    let spec = place.adopt_text(&spec_of("SyncQueue", r#"["Customers", "Orders", "Prices"]"#));
    place.run(&insert("SyncQueue", 1, "Orders"));
    let queue = open(&place, &spec);
    let prices = NewItem { kind: Some("Prices".to_owned()), ..item(json!({"EnqueuedAt": time(2)})) };
    queue.enqueue(&[prices, item(json!({"EnqueuedAt": time(3)}))], None).unwrap();
    let kinds = place.rows("SELECT Type FROM SyncQueue ORDER BY EnqueuedAt");
    assert_eq!(kinds, [["Orders"], ["Prices"], ["Customers"]]);
    for _ in 0..3 {
        let taken = queue.take();
        assert_eq!(queue.end(taken.settle(Action::Complete)).answer, Answer::Ok);
    }
    assert_eq!(place.look("SELECT COUNT(*) FROM SyncQueue WHERE Status = 'Completed'"), "3");
    queue.expect_empty();
}

/// The shape of a table: its columns in their order, each with its type and its default, in letters that both servers' names have.
fn columns(place: &Place, schema: &str, table: &str) -> Vec<String> {
    let query = if place.is_sql_server() {
        "SELECT c.name, t.name, d.definition FROM sys.columns AS c INNER JOIN sys.types AS t ON t.user_type_id = c.user_type_id \
         LEFT JOIN sys.default_constraints AS d ON d.parent_object_id = c.object_id AND d.parent_column_id = c.column_id \
         WHERE c.object_id = OBJECT_ID('{schema}.{table}') ORDER BY c.column_id"
    } else {
        "SELECT c.column_name::text, COALESCE(c.domain_name, c.data_type)::text, c.column_default::text FROM \
         information_schema.columns AS c WHERE c.table_schema = '{schema}' AND c.table_name = '{table}' ORDER BY \
         c.ordinal_position"
    };
    let rows = place.query(&query.replace("{schema}", schema).replace("{table}", table));
    let text = |row, column| match rows.value(row, column) {
        readpast::item::Value::Text(text) => text.to_lowercase(),
        _ => String::new(),
    };
    // The server's form of a literal is between its quotes.
    let literal = |text: String| text.split('\'').nth(1).map_or("none".to_owned(), |value| format!("'{value}'"));
    let row = |row| format!("{} {} {}", text(row, 0).replace('_', ""), text(row, 1), literal(text(row, 2)));
    (0..rows.len()).map(row).collect()
}

/// The table that readpast makes of the example has the columns of the document's, in their order, in its types, with its
/// defaults; and what readpast needs besides. That they may be NULL, the document leaves to its types.
fn the_tables_are_those_of_the_document(server: Server) {
    let place = Place::with(server, &["relational"]);
    let schema = if place.is_sql_server() { "dbo" } else { "public" };
    if !place.is_sql_server() {
        // The document's alias types, which its tables have there.
        for (table, column, name, base) in [
            ("notification_resetpassword", "otp", "OtpCode", "varchar(16)"),
            ("notification_resetpassword", "userid", "DbUserID", "integer"),
            ("notification_resetpassword", "username", "DbUsername", "varchar(128)"),
            ("notification_email", "emailto", "Email", "varchar(254)"),
            ("notification_email", "preferredlanguage", "\"Name\"", "varchar(60)"),
            ("notification_email", "response", "WebResponse", "text"),
            ("notification_email", "error", "WebResponse", "text"),
        ] {
            if column != "error" {
                place.run(&format!("CREATE DOMAIN public.{name} AS {base}"));
            }
            place.run(&format!("ALTER TABLE public.{table} ALTER COLUMN {column} TYPE public.{name}"));
        }
    }
    let name = if place.is_sql_server() { "Name" } else { "\\\"Name\\\"" };
    place.adopt("notification", |text| {
        let typed = [
            ("OTP", "text(16)", "OtpCode"),
            ("UserID", "integer", "DbUserID"),
            ("Username", "text(128)", "DbUsername"),
            ("EmailTo", "text(254)", "Email"),
            ("PreferredLanguage", "text(60)", name),
            ("Response", "text", "WebResponse"),
            ("Error", "text", "WebResponse"),
        ];
        typed.iter().fold(text, |text, (column, kind, own)| {
            let plain = format!("    {{ name = \"{column}\", type = \"{kind}\"");
            assert!(text.contains(&plain), "{column} is in the example");
            text.replace(&plain, &format!("{plain}, sql_type = \"{schema}.{own}\""))
        })
    });
    let tables = if place.is_sql_server() {
        [["Notification"; 2], ["Notification_ResetPassword"; 2], ["Notification_Email"; 2]]
    } else {
        [["notification"; 2], ["notification_resetpassword", "notification_reset_password"], ["notification_email"; 2]]
    };
    for (number, [theirs, ours]) in tables.into_iter().enumerate() {
        let mut printed = columns(&place, schema, theirs);
        let mut made = columns(&place, "readpast", ours);
        assert!(printed.len() >= 4, "{printed:?}");
        if number == 0 {
            // The claim's owner, end and number stand at the end; and in PostgreSQL the types of the life cycle are readpast's own.
            assert_eq!(made.len(), printed.len() + 3, "{made:?}");
            made.truncate(printed.len());
            if !place.is_sql_server() {
                for column in made.iter_mut().chain(&mut printed) {
                    let mut words = column.split(' ');
                    *column = format!("{} {}", words.next().unwrap(), words.next_back().unwrap());
                }
            }
        }
        assert_eq!(made, printed);
    }
    let queue = place.open("Notification", &[]);
    let mail = item(json!({"Email": {"EmailTo": "ann@example.org"}}));
    queue.enqueue(&[NewItem { kind: Some("Email".to_owned()), ..mail }], None).unwrap();
    let taken = queue.claim(1, std::time::Duration::ZERO).unwrap();
    let shown = ["Email_PreferredLanguage", "Email_Response", "Email_Error"].map(|name| taken[0].column(name).clone());
    assert_eq!(json!(shown), json!(["en", "", ""]));
}

/// A new item of a type, with the columns of its subtypes.
fn of(kind: &str, number: u64, mut subtypes: serde_json::Value) -> NewItem {
    subtypes["EnqueuedAt"] = json!(time(number));
    NewItem { kind: Some(kind.to_owned()), ..item(subtypes) }
}

fn subtypes_are_taken_over_as_they_are(server: Server) {
    let place = Place::with(server, &["relational"]);
    let spec = place.adopt_text(&described("keep"));
    let queue = open(&place, &spec);
    // The item that the document's own code has put in.
    place.run(&insert("Notification", 1, "Email"));
    place.run(&format!(
        "INSERT INTO Notification_Email (EnqueuedAt, EmailTo) VALUES ('{}', 'ann@example.org')",
        time(1)
    ));
    let reset = of(
        "ResetPassword",
        2,
        json!({
            "ResetPassword": {"OTP": "123456", "UserID": 7, "Username": "ann"}, "Email": {"EmailTo": "bob@example.org"}
        }),
    );
    queue.enqueue(&[reset, of("Sms", 3, json!({}))], None).unwrap();
    let rows = place.rows("SELECT OTP, UserID, Username FROM Notification_ResetPassword");
    assert_eq!(rows, [["123456", "7", "ann"]]);
    let mails = "SELECT EmailTo, PreferredLanguage, Response FROM Notification_Email ORDER BY EnqueuedAt";
    assert_eq!(place.rows(mails), [["ann@example.org", "en", ""], ["bob@example.org", "en", ""]]);
    // The document's CHECK does the work of an exclusive subtype; every item of the type has a row.
    let wrong = of("Sms", 9, json!({"ResetPassword": {"OTP": "1"}}));
    assert_eq!(queue.enqueue(&[wrong], None).unwrap_err().kind, "InvalidItem");
    queue.enqueue(&[of("ResetPassword", 4, json!({"ResetPassword": {}}))], None).unwrap();
    assert_eq!(place.look("SELECT COUNT(*) FROM Notification_ResetPassword"), "2");

    let (first, second, third) = (queue.take(), queue.take(), queue.take());
    let shown = |name: &str| [&first, &second, &third].map(|item| item.column(name).clone());
    assert_eq!(json!(shown("Email_EmailTo")), json!(["ann@example.org", "bob@example.org", null]));
    assert_eq!(json!(shown("ResetPassword_UserID")), json!([null, 7, null]));
    let answer = r#"{"Email": {"Response": "250 OK"}}"#;
    for item in [&first, &second] {
        let done = Settlement { set: Some(answer), ..item.settle(Action::Complete) };
        assert_eq!(queue.end(done).answer, Answer::Ok);
    }
    assert_eq!(place.rows(mails).concat().iter().filter(|cell| **cell == "250 OK").count(), 2);
    // An item that was enqueued without it has no e-mail whose response that could be.
    let none = Settlement { set: Some(answer), ..third.settle(Action::Complete) };
    assert_eq!(queue.settle(&[none], None).unwrap_err().kind, "InvalidItem");
    assert_eq!(queue.end(third.settle(Action::Complete)).answer, Answer::Ok);
    let found = queue.find(r#"{"status": ["Completed"]}"#, None, 10).unwrap();
    let mailed: Vec<_> = found.iter().map(|item| item.column("Email_Response").clone()).collect();
    assert_eq!(json!(mailed), json!(["250 OK", "250 OK", null]));
}

/// The document's foreign keys say nothing of what becomes of a row there when its item goes.
fn what_is_over_goes_with_its_subtypes(server: Server) {
    for completion in ["keep", "delete"] {
        let place = Place::with(server, &["relational"]);
        let spec = place.adopt_text(&described(completion));
        let queue = open(&place, &spec);
        let mail = json!({"Email": {"EmailTo": "ann@example.org"}, "ResetPassword": {"OTP": "1"}});
        let items: Vec<_> = (1..=3).map(|number| of("ResetPassword", number, mail.clone())).collect();
        queue.enqueue(&items, None).unwrap();
        let (first, second) = (queue.take(), queue.take());
        assert_eq!(queue.end(first.settle(Action::Complete)).answer, Answer::Ok);
        assert_eq!(queue.end(second.settle(Action::Fail)).answer, Answer::Ok);
        let left = || {
            ["Notification", "Notification_Email", "Notification_ResetPassword"]
                .map(|table| place.look(&format!("SELECT COUNT(*) FROM {table}")))
        };
        if completion == "delete" {
            assert_eq!(left(), ["2", "2", "2"]);
        } else {
            assert_eq!(left(), ["3", "3", "3"]);
            assert_eq!(queue.purge(r#"{"status": ["Completed"]}"#, 10).unwrap(), 1);
        }
        assert_eq!(queue.purge(r#"{"status": ["Failed"]}"#, 10).unwrap(), 1);
        assert_eq!(left(), ["1", "1", "1"], "{completion}");
        assert_eq!(queue.take().column("Email_EmailTo"), &json!("ann@example.org"));
    }
}

fn a_subtype_that_is_not_there_is_told(server: Server) {
    let place = Place::with(server, &["relational"]);
    let text = described("keep");
    let found = |text: &str| {
        let plan = readpast::adopt::plan(&place.config(), &QueueSpec::from_text(text).unwrap()).unwrap();
        let told = plan.findings.iter().map(|finding| format!("{}: {}", finding.object, finding.what));
        (plan.is_possible(), told.collect::<Vec<_>>().join("\n").to_lowercase())
    };
    let (is_possible, told) = found(&text);
    assert!(is_possible, "{told}");
    for (from, to, words) in [
        ("name = \"Email\"\n", "name = \"Letter\"\n", "notification_letter: is not there"),
        ("\"EmailTo\"", "\"EmailFrom\"", "emailfrom: there is no such column, and subtypes[1].columns[0] names it"),
        ("\"UserID\", type = \"integer\"", "\"UserID\", type = \"date\"", "and subtypes[0].columns[1] says date"),
    ] {
        assert!(text.contains(from), "{from}");
        let (is_possible, told) = found(&text.replace(from, to));
        assert!(!is_possible && told.contains(words), "{to}: {told}");
    }
}
