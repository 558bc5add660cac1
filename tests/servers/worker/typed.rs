//! Handlers by the type of the item, which get its work as a type of Rust.

use readpast::worker::{Handlers, Job, from_column, from_columns};
use readpast::{Columns, Filter, ItemState, NewItem, Queue, QueueSpec, Verdict, Worker, install, item::Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::Mutex;
use support::both::Database;
use support::limit::HOLDS;

/// Work in a JSON column.
#[derive(Debug, Deserialize)]
struct SendMail {
    to: String,
    copies: u8,
    #[serde(default)]
    kind: Kind,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
enum Kind {
    #[default]
    Plain,
}

/// Work whose fields are columns.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
struct Resize {
    #[serde(alias = "File")]
    file: String,
    amount: Option<f64>,
    exact: String,
    when: String,
    raw: Vec<u8>,
    flag: bool,
    document: Nested,
    missing: Option<i32>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Nested(BTreeMap<String, Kind>);

/// The handlers' words, in their order.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Seen {
    fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn mail(&self) -> impl Fn(&Job<'_>) -> Verdict {
        from_column("Document", |mail: SendMail, _| {
            self.note(format!("mail {} {} {:?}", mail.to, mail.copies, mail.kind))
        })
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Given {
    queue: Queue,
    _database: Database,
}

impl Given {
    fn each() -> Vec<Self> {
        let columns = [
            ("Document", "json"),
            ("File", "text"),
            ("Amount", "decimal(9, 2)"),
            ("Exact", "decimal(9, 2)"),
            ("When", "timestamp"),
            ("Raw", "binary"),
            ("Flag", "boolean"),
        ];
        let columns: Vec<_> = columns.map(|(name, kind)| json!({"name": name, "type": kind})).into();
        let backoff = json!({"first_ms": 3_600_000, "cap_ms": 3_600_000});
        let spec = json!({"queue": "Job", "types": ["SendMail", "Resize"], "backoff": backoff, "columns": columns});
        let spec = QueueSpec::from_json(&spec.to_string()).unwrap();
        let made = Database::each().into_iter().map(|database| {
            let config = database.config(&[HOLDS, ("lease.ms", "3600000")]);
            install(&config, Some(&spec)).unwrap();
            Self { queue: Queue::open(&config, "Job").unwrap(), _database: database }
        });
        made.collect()
    }

    /// Puts in an item of each kind with its columns, and works until nothing is due.
    fn run(&self, handlers: &Handlers<'_>, items: &[(&str, Json)]) {
        let item = |(kind, columns): &(&str, Json)| NewItem {
            kind: Some((*kind).to_owned()),
            columns: Columns::from_iter(columns.as_object().unwrap().clone()),
            ..NewItem::default()
        };
        self.queue.enqueue(&items.iter().map(item).collect::<Vec<_>>(), None).unwrap();
        Worker::new(&self.queue).until_empty(true).run(|job| handlers.call(job)).unwrap();
    }

    /// State, attempt and error of each item, in the order of their keys.
    fn ended(&self) -> Vec<(ItemState, i32, String)> {
        let all = self.queue.find(&Filter::default(), None, 1000).unwrap();
        let error = |item: &readpast::Item<'_>| match item.value_of("Error").unwrap() {
            Value::Text(text) => text.to_owned(),
            _ => String::new(),
        };
        all.iter().map(|item| (item.state().unwrap(), item.attempt(), error(&item))).collect()
    }
}

fn mail(to: &str) -> (&'static str, Json) {
    ("SendMail", json!({"Document": {"to": to, "copies": 3, "more": 1}}))
}

/// An item of this kind, with one column changed.
fn resize_with(column: &str, value: Json) -> (&'static str, Json) {
    let mut columns = json!({"File": "x.png", "Amount": "12.50", "Exact": "12.50", "When": "2026-07-01T12:00:00Z", "Raw": "AAE=",
        "Flag": true});
    columns[column] = value;
    ("Resize", columns)
}

#[test]
fn work_goes_to_the_handler_of_its_type() {
    for given in Given::each() {
        let seen = Seen::default();
        let resize = |work: Resize, _: &Job<'_>| {
            seen.note(format!("{} {:?} {} {:?}", work.file, work.amount, work.exact, work.raw));
            seen.note(format!(
                "{} {} {:?} {:?}",
                &work.when[..19],
                work.when.ends_with('Z'),
                work.document,
                work.missing
            ));
            Ok::<_, String>(Verdict::complete().response(work.flag.to_string()))
        };
        let handlers = Handlers::new().handle("SendMail", seen.mail()).handle("Resize", from_columns(resize));
        given.run(&handlers, &[mail("a@example.org"), resize_with("Document", json!({"a": "Plain"}))]);
        let mut all = seen.all();
        all.sort();
        let nested = "Nested({\"a\": Plain})";
        let when = format!("2026-07-01T12:00:00 true {nested} None");
        assert_eq!(all, [&when, "mail a@example.org 3 Plain", "x.png Some(12.5) 12.50 [0, 1]"]);
        assert!(given.ended().iter().all(|(state, ..)| *state == ItemState::Completed), "{:?}", given.ended());
    }
}

#[test]
fn work_that_cannot_be_read_is_failed_at_once_with_the_place() {
    for given in Given::each() {
        let seen = Seen::default();
        let never = |work: Resize, _: &Job<'_>| seen.note(format!("{work:?}"));
        let handlers = Handlers::new().handle_all(seen.mail()).handle("Resize", from_columns(never));
        given.run(
            &handlers,
            &[
                ("SendMail", json!({"Document": {"to": "a", "copies": "secret"}})),
                ("SendMail", json!({"Document": {"to": "a", "copies": 300}})),
                ("SendMail", json!({"Document": {"to": "a", "copies": 3, "kind": "secret"}})),
                ("SendMail", json!({"Document": null})),
                resize_with("File", Json::Null),
                resize_with("Document", json!(["secret"])),
            ],
        );
        let ended = given.ended();
        let wanted = [
            "SendMail: invalid type: string, expected u8 at line 1 column ",
            "SendMail: invalid value: integer, expected u8 at line 1 column ",
            "SendMail: unknown variant, expected `Plain` at line 1 column ",
            "SendMail: it is null",
            "Resize: FILE: invalid type: null, expected a string",
            "Resize: DOCUMENT: invalid type: sequence, expected a map",
        ];
        for ((state, attempt, error), wanted) in ended.iter().zip(wanted) {
            assert_eq!((*state, *attempt), (ItemState::Failed, 1), "{error}");
            assert!(error.starts_with(&format!("the item carries no {wanted}")), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert_eq!(seen.all(), [""; 0]);
    }
}

#[test]
fn a_type_that_this_version_does_not_know_is_left_to_the_next_attempt() {
    for given in Given::each() {
        let seen = Seen::default();
        let handlers = Handlers::new().handle("SendMail", seen.mail()).handle("Zeroth", |_| ());
        given.run(&handlers, &[("Resize", json!({}))]);
        let error = "this worker has no handler for the type Resize; it has some for SendMail, Zeroth";
        assert_eq!(given.ended(), [(ItemState::Error, 1, error.to_owned())]);
        let nowhere = from_column("Nowhere", |_: SendMail, _| ());
        given.run(&Handlers::new().handle_all(nowhere), &[("Resize", json!({}))]);
        // A mistake of the program, not of the item.
        assert_eq!(given.ended()[1].0, ItemState::Error);
    }
}

#[test]
fn the_first_middleware_is_the_outermost_and_may_decide_alone() {
    for given in Given::each() {
        let seen = Seen::default();
        let around = |name: &'static str| {
            let seen = &seen;
            move |job: &Job<'_>, next: readpast::worker::Next<'_>| {
                seen.note(format!("{name} in"));
                let verdict = next(job);
                seen.note(format!("{name} out"));
                verdict
            }
        };
        let handlers = Handlers::new().handle("SendMail", seen.mail()).around(around("outer")).around(around("inner"));
        given.run(&handlers, &[mail("a")]);
        assert_eq!(seen.all(), ["outer in", "inner in", "mail a 3 Plain", "inner out", "outer out"]);
        let handlers = handlers.around(|_, _| Verdict::fail("not today"));
        given.run(&handlers, &[mail("b")]);
        assert_eq!(given.ended()[1], (ItemState::Failed, 1, "not today".to_owned()));
        assert!(!seen.all().contains(&"mail b 3 Plain".to_owned()));
    }
}

#[test]
fn a_table_without_types_has_items_of_its_only_one() {
    for database in Database::each() {
        let spec = json!({
            "queue": "Their", "columns": [{"name": "File", "type": "text"}],
            "table": {"name": "Theirs", "create": true, "key": ["Id"],
                "status": {"column": "State", "values": {"Pending": 1, "Processing": 2, "Completed": 3, "Failed": 4}}},
        });
        let config = database.config(&[HOLDS, ("lease.ms", "3600000")]);
        install(&config, Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
        let given = Given { queue: Queue::open(&config, "Their").unwrap(), _database: database };
        let seen = Seen::default();
        let note = |work: BTreeMap<String, Json>, _: &Job<'_>| {
            seen.note(work.values().map(Json::to_string).collect::<String>())
        };
        let item = NewItem { columns: Columns::from_iter([("File", "x.png")]), ..NewItem::default() };
        given.queue.enqueue(&[item], None).unwrap();
        let handlers = Handlers::new().handle("Resize", from_columns(note));
        Worker::new(&given.queue).until_empty(true).run(|job| handlers.call(job)).unwrap();
        assert!(seen.all()[0].contains("\"x.png\""), "{:?}", seen.all());
    }
}

#[test]
fn a_type_has_one_handler() {
    let twice = || drop(Handlers::new().handle("SendMail", |_| ()).handle("SendMail", |_| ()));
    let why = catch_unwind(twice).unwrap_err();
    assert_eq!(why.downcast_ref::<String>().unwrap(), "there is a handler for the type SendMail");
}
