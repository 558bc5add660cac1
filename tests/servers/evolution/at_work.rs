//! A worker is at work while its queue gets other columns: each value that it is handed is the column's own.

use super::database::{Database, item, on_each};
use readpast::Worker;
use readpast::worker::Job;
use serde_json::{Map, Value, json};
use std::{sync::Mutex, thread};
use support::limit::until;

/// The columns of a description: names and types.
type Columns = &'static [(&'static str, &'static str)];

/// How many items are put in before and after each change.
const EACH: usize = 40;

/// The column's value in the item with this number: no two columns have the same.
fn value(name: &str, kind: &str, number: usize) -> Value {
    let salt = name.bytes().map(usize::from).sum::<usize>();
    let day = format!("2026-{:02}-{:02}", salt % 12 + 1, number % 28 + 1);
    match kind {
        "integer" | "bigint" => json!(salt * 100_000 + number),
        "timestamp" => json!(format!("{day}T08:30:00.{number:04}000")),
        "date" => json!(day),
        _ => json!(format!("{name} {number}")),
    }
}

fn columns(of: Columns, number: usize) -> Map<String, Value> {
    let own = of.iter().map(|(name, kind)| ((*name).to_owned(), value(name, kind, number)));
    own.chain([("Number".to_owned(), json!(number))]).collect()
}

/// Has a worker of one handle do items of each of `versions`, while one follows the other.
fn changes(database: &Database, versions: &[Columns], install: impl Fn(usize)) {
    install(0);
    let seen = Mutex::new(Vec::new());
    let queue = database.open("Work");
    let worker = Worker::new(&queue).threads(2).batch_size(4);
    let stop = worker.stop_handle();
    // The versions between which an item may have been claimed.
    let mut of_item = Vec::new();
    thread::scope(|scope| {
        let running = scope.spawn(|| worker.run(|job: &Job<'_>| seen.lock().unwrap().push(job.item().to_json())));
        let seen_all = |of_item: &[_]| {
            until("the items are done", || running.is_finished() || seen.lock().unwrap().len() >= of_item.len());
            assert!(!running.is_finished());
        };
        for (version, of) in versions.iter().enumerate() {
            let queue = database.open("Work");
            let mut put = |to: usize| {
                let items: Vec<_> =
                    (0..EACH).map(|place| item(Value::Object(columns(of, of_item.len() + place)))).collect();
                queue.enqueue(&items, None).unwrap();
                of_item.extend([(version, to); EACH]);
            };
            put(version);
            if version + 1 < versions.len() {
                put(version + 1);
                install(version + 1);
            }
            seen_all(&of_item);
        }
        stop.stop();
        running.join().unwrap().unwrap();
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), of_item.len(), "each is done once");
    for found in seen {
        let Ok(Value::Object(found)) = serde_json::from_str(&found) else { panic!("{found}") };
        // PostgreSQL has the names of somebody's table in lower case.
        let of = |name: &str| found.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let number = usize::try_from(of("Number").unwrap().as_u64().unwrap()).unwrap();
        let (first, last) = of_item[number];
        for (name, kind) in versions[first] {
            let stays = versions[last].iter().any(|(other, holds)| other == name && alike(holds, kind));
            match of(name) {
                Some(found) if stays => assert_eq!(*found, value(name, kind, number), "{name} of {number}"),
                // Meanwhile it has become something else.
                Some(_) => {}
                None => assert!(!stays, "{name} of {number} is missing"),
            }
        }
    }
}

/// Whether a column that becomes the other keeps what it holds.
fn alike(one: &str, other: &str) -> bool {
    let family = |kind: &str| kind.split('(').next().unwrap().replace("bigint", "integer");
    family(one) == family(other)
}

fn described(columns: &[(&str, &str)]) -> String {
    columns.iter().map(|(name, kind)| format!("{{ name = \"{name}\", type = \"{kind}\" }}, ")).collect()
}

const NUMBER: &str = "{ name = \"Number\", type = \"integer\", nullable = false }";

/// Columns of an own table stay, and become no narrower.
const GROWING: &[Columns] = &[
    &[("First", "text(20)"), ("Last", "text(20)")],
    &[("Before", "text(20)"), ("First", "text(20)"), ("Last", "text(20)")],
    &[("Before", "text(20)"), ("First", "text(20)"), ("Day", "date"), ("At", "timestamp"), ("Last", "text(20)")],
    &[
        ("Last", "text(20)"),
        ("At", "timestamp"),
        ("Rank", "integer"),
        ("Day", "date"),
        ("Before", "text(20)"),
        ("First", "text(20)"),
        ("After", "text"),
    ],
    &[
        ("Last", "text(30)"),
        ("At", "timestamp"),
        ("Rank", "bigint"),
        ("Day", "date"),
        ("Before", "text(20)"),
        ("First", "text"),
        ("After", "text"),
    ],
];

#[test]
fn a_queues_own_table_gets_columns() {
    on_each(|database| {
        let last = if database.alters_columns() { GROWING.len() } else { GROWING.len() - 1 };
        let install = |version: usize| {
            let columns = format!("{}{NUMBER}", described(GROWING[version]));
            let history = "completion = { history = \"Work_History\" }";
            database.install(&format!("queue = \"Work\"\n{history}\ncolumns = [{columns}]")).unwrap();
        };
        changes(database, &GROWING[..last], install);
        let kept = database.table("COUNT(*)", database.pick("Work_History", "\"Work_History\""));
        assert_eq!(kept, [format!("Integer({})", (2 * last - 1) * EACH)]);
    });
}

#[test]
fn a_subtype_gets_columns_beside_those_of_the_queue() {
    on_each(|database| {
        let install = |version: usize| {
            let subtype = "[[subtypes]]\nname = \"Mail\"\ncolumns = [{ name = \"Subject\", type = \"text\" }]";
            let columns = format!("{}{NUMBER}", described(GROWING[version]));
            database.install(&format!("queue = \"Work\"\ncolumns = [{columns}]\n{subtype}")).unwrap();
        };
        changes(database, &GROWING[..3], install);
    });
}

/// A described table may have any column, and its owner may give it another type.
#[test]
fn a_described_table_has_other_columns() {
    const OTHERS: &[Columns] = &[
        &[("First", "text(40)"), ("At", "timestamp"), ("Last", "text(40)")],
        &[("Last", "text(40)"), ("First", "text(40)"), ("Day", "date")],
        &[("At", "integer"), ("Day", "text(40)"), ("First", "text(40)")],
        &[("Day", "timestamp"), ("At", "date"), ("Last", "text(40)")],
        &[("Day", "date"), ("At", "timestamp"), ("Last", "text(40)"), ("First", "text(40)")],
    ];
    on_each(|database| {
        let (text, time) = database.pick("varchar(40)|datetime2", "varchar(40)|timestamptz").split_once('|').unwrap();
        let sql = |kind: &str| {
            if kind.starts_with("text") {
                text
            } else if kind == "timestamp" {
                time
            } else if kind == "integer" {
                "int"
            } else {
                "date"
            }
        };
        let key = database.pick("Id bigint IDENTITY PRIMARY KEY", "Id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY");
        database.run(&format!(
            "CREATE TABLE Jobs ({key}, State int NOT NULL DEFAULT 0, Number int NOT NULL, First {text}, At {time}, Last {text}, Day date)"
        ));
        let describe = |columns: String| {
            let table = r#"{ name = "Jobs", key = [{ name = "Id", type = "bigint" }], status = { column = "State", values = { Pending = 0, Processing = 1, Completed = 2, Failed = 3 } } }"#;
            database.install(&format!("queue = \"Work\"\ncolumns = [{columns}]\ntable = {table}")).unwrap();
        };
        let install = |version: usize| {
            let before = || OTHERS[..version].iter().rev();
            let was = |name: &str| before().find_map(|of| of.iter().find(|(other, _)| *other == name));
            let (kept, other): (Vec<_>, Vec<_>) =
                OTHERS[version].iter().partition(|(name, kind)| was(name).is_none_or(|(_, was)| alike(was, kind)));
            // The owner takes a column away, and puts it back as another.
            if !other.is_empty() {
                describe(format!("{}{NUMBER}", described(&kept)));
            }
            for (name, kind) in other {
                database.run(&format!("ALTER TABLE Jobs DROP COLUMN {name}"));
                database.run(&format!("ALTER TABLE Jobs ADD {name} {}", sql(kind)));
            }
            describe(format!("{}{NUMBER}", described(OTHERS[version])));
        };
        changes(database, OTHERS, install);
    });
}
