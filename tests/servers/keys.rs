//! Items whose keys are of each kind, and of many columns, go the whole way: in tables that have a column for everything and
//! in tables that have next to none, on both servers.

use readpast::item::{Action, Answer, Batch, Filter, ItemRef, Lease, NewItem, Outcome, Settlement};
use readpast::{ItemState, Queue, QueueSpec, install};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use support::both::Database;

/// Keys that must come through JSON and SQL unharmed.
const TEXTS: [&str; 6] = ["plain", "a\"b\\c", "[1,'2']", "\u{e9}\u{1f600}", "{\"a\": \"b\"}", " , "];

/// The same in a code page.
const PLAIN: [&str; 6] = ["plain", "a\"b\\c", "[1,'2']", "x y", "{\"a\": 1}", " , "];
/// Bytes, as JSON has them.
const BYTES: [&str; 6] = ["AA==", "AP8=", "AP8A", "/w==", "aGV4", "AQI="];

/// The columns of a key, and the values of the item with this number.
type Kind = (&'static str, Value, fn(usize) -> Value);

fn kinds() -> Vec<Kind> {
    let key = |name: &str, kind: &str, source: &str| json!({"name": name, "type": kind, "source": source});
    let stored = |mut key: Value, stored: &str, collation: Option<&str>| {
        key["stored"] = json!(stored);
        collation.iter().for_each(|name| key["collation"] = json!(name));
        key
    };
    vec![
        ("Numbers", json!([key("Id", "bigint", "table")]), |_| json!({})),
        ("Guids", json!([key("Id", "guid", "producer")]), |_| json!({})),
        ("Texts", json!([key("Id", "text(40)", "producer")]), |i| json!({"Id": TEXTS[i]})),
        (
            "Times",
            json!([key("Id", "timestamp", "producer")]),
            |i| json!({"Id": format!("2026-11-2{i}T08:30:00.12345")}),
        ),
        (
            "Pairs",
            json!([key("Region", "text(40)", "producer"), key("Number", "bigint", "producer")]),
            |i| json!({"Region": TEXTS[i], "Number": 9_007_199_254_740_993_i64 + i as i64}),
        ),
        (
            "Triples",
            json!([
                key("At", "timestamp", "producer"),
                key("Mark", "guid", "producer"),
                key("Name", "text(9)", "producer")
            ]),
            |i| json!({"At": "2026-11-22T08:30:00", "Name": i.to_string()}),
        ),
        (
            "Amounts",
            json!([key("Id", "decimal(38, 2)", "producer")]),
            |i| json!({"Id": format!("-{i}12345678901234567890123456789012345.{i}")}),
        ),
        ("Bytes", json!([key("Id", "binary(16)", "producer")]), |i| json!({"Id": BYTES[i]})),
        ("Chars", json!([stored(key("Id", "text(12)", "producer"), "char", None)]), |i| json!({"Id": PLAIN[i]})),
        ("Varchars", json!([stored(key("Id", "text(12)", "producer"), "varchar", None)]), |i| json!({"Id": PLAIN[i]})),
        (
            "Collated",
            json!([stored(key("Id", "text(40)", "producer"), "usual", Some("Latin1_General_BIN2"))]),
            |i| json!({"Id": TEXTS[i]}),
        ),
        (
            "Fours",
            json!([
                stored(key("Region", "text(12)", "producer"), "char", Some("Latin1_General_BIN2")),
                key("Amount", "decimal(9, 3)", "producer"),
                key("Hash", "binary(4)", "producer"),
                key("Number", "bigint", "table"),
            ]),
            |i| json!({"Region": PLAIN[i], "Amount": format!("{i}.5"), "Hash": BYTES[i]}),
        ),
    ]
}

/// The table of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// A status alone.
    Bare,
    /// A column for each role, and a value for each state.
    Whole,
    /// The same, with names in double quotes, as EF Core makes them in PostgreSQL.
    Quoted,
}

/// The same table with all its names in double quotes.
fn quoted(table: &mut Value) {
    let quote = |name: &mut Value| *name = json!(format!("\"{}\"", name.as_str().unwrap()));
    quote(&mut table["name"]);
    table["key"].as_array_mut().unwrap().iter_mut().for_each(|column| quote(&mut column["name"]));
    table["lifecycle"].as_object_mut().unwrap().values_mut().for_each(quote);
    quote(&mut table["status"]["column"]);
}

fn description(queue: &str, key: &Value, shape: Shape) -> QueueSpec {
    let whole = shape != Shape::Bare;
    let mut values = json!({"Pending": 0, "Processing": 1, "Completed": 2, "Failed": 3});
    let mut life = json!({});
    if whole {
        for (i, state) in ["Error", "Cancelled", "Paused", "Terminated", "PartiallyCompleted"].iter().enumerate() {
            values[*state] = json!(4 + i);
        }
        life = json!({"due": "Due", "started": "Started", "duration": "Ms", "attempts": "Tries", "owner": "Who",
            "lease_until": "Until", "step": "Step", "response": "Answer", "error": "Trouble", "token": "Version"});
    }
    let what = if shape == Shape::Quoted { "\"What\"" } else { "What" };
    let mut text = json!({"queue": queue, "columns": [{"name": what, "type": "text(20)"}], "backoff": "none",
        "table": {"name": format!("{queue}Items"), "create": true, "key": key, "lifecycle": life,
                  "status": {"column": "State", "values": values}}});
    if shape == Shape::Quoted {
        quoted(&mut text["table"]);
    }
    QueueSpec::from_json(&text.to_string()).unwrap()
}

fn all_ok(outcomes: &[Outcome], what: &str) {
    assert!(outcomes.iter().all(|outcome| outcome.answer == Answer::Ok), "{what}: {outcomes:?}");
}

fn settle(queue: &Queue, batch: &Batch, action: Action, what: &str) {
    let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, action)).collect();
    all_ok(&queue.settle(&settlements, None).unwrap(), what);
}

fn keys(batch: &Batch) -> BTreeSet<String> {
    batch.iter().map(|item| item.key().to_owned()).collect()
}

#[test]
fn items_with_keys_of_every_kind_go_the_whole_way() {
    for database in Database::each() {
        for shape in [Shape::Whole, Shape::Quoted, Shape::Bare] {
            for (kind, key, columns) in kinds() {
                if key.to_string().contains("binary") && !database.shows_bytes() {
                    continue;
                }
                let name = format!("{kind}{shape:?}");
                install(&database.config(&[]), Some(&description(&name, &key, shape))).unwrap();
                drain(&database, &name, columns);
            }
        }
    }
}

fn drain(database: &Database, name: &str, columns: fn(usize) -> Value) {
    let open = |lease: &str| {
        Queue::open(&database.config(&[("worker", "w"), ("lease.ms", lease), ("recover.interval_ms", "3600000")]), name)
            .unwrap()
    };
    let queue = open("600000");
    let items: Vec<_> = (0..TEXTS.len())
        .map(|i| {
            let mut columns = columns(i);
            columns["What"] = json!(i.to_string());
            NewItem { columns: columns.as_object().unwrap().clone().into(), ..NewItem::default() }
        })
        .collect();
    let receipts = queue.enqueue(&items, None).unwrap();
    let added: BTreeSet<_> = receipts.iter().map(|receipt| receipt.key.clone()).collect();
    assert_eq!(added.len(), items.len(), "{name}");

    // Claimed, kept, and tried again.
    let first = queue.claim(3, Duration::ZERO).unwrap();
    assert_eq!(first.len(), 3, "{name}");
    let leases: Vec<_> = first.iter().map(|item| Lease { key: item.key(), attempt: item.attempt() }).collect();
    all_ok(&queue.renew(&leases).unwrap(), name);
    settle(&queue, &first, Action::Retry, name);

    // Taken by one that dies, and given back: alone each.
    let dies = open("10");
    let lost = dies.claim(2, Duration::ZERO).unwrap();
    let recovered = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        queue.recover(100).unwrap() as usize == lost.len()
    });
    assert!(lost.len() == 2 && recovered, "{name}");
    let refused =
        dies.settle(&lost.iter().map(|item| Settlement::new(&item, Action::Complete)).collect::<Vec<_>>(), None);
    assert!(refused.unwrap().iter().all(|outcome| outcome.answer == Answer::LeaseLost), "{name}");

    let mut seen = BTreeSet::new();
    loop {
        let batch = queue.claim(10, Duration::ZERO).unwrap();
        if batch.is_empty() {
            break;
        }
        seen.extend(keys(&batch));
        let completes = seen.len() > 1;
        settle(&queue, &batch, if completes { Action::Complete } else { Action::Fail }, name);
    }
    assert_eq!(seen, added, "{name}: each has been handed out, and is called as it was when it was added");

    // An operator's ways: found by their keys, begun anew, purged.
    let all = queue.find(&Filter::of_keys(added.clone()), None, 100).unwrap();
    assert_eq!(keys(&all), added, "{name}");
    let page = queue.find(&Filter::default(), Some(all.get(2).unwrap().key()), 100).unwrap();
    assert_eq!(page.len(), 3, "{name}: after a key");
    in_pieces(&queue, &Filter::default(), 6, name);
    in_pieces(&queue, &Filter::of_states([ItemState::Failed]), 1, name);
    in_pieces(&queue, &Filter { error: Some("nothing says this".to_owned()), ..Filter::default() }, 0, name);
    let failed: Vec<_> = all.iter().filter(|item| item.state() == Some(ItemState::Failed)).collect();
    assert!(!failed.is_empty(), "{name}");
    let again: Vec<_> = failed.iter().map(|item| ItemRef::from(*item)).collect();
    all_ok(&queue.redrive(&again, None).unwrap(), name);
    let begun = queue.claim(10, Duration::ZERO).unwrap();
    assert_eq!(begun.len(), failed.len(), "{name}");
    settle(&queue, &begun, Action::Complete, name);
    assert_eq!(queue.purge(&Filter::of_keys(added.iter().take(2).cloned()), 100).unwrap(), 2, "{name}");
    assert_eq!(queue.find(&Filter::default(), None, 100).unwrap().len(), added.len() - 2, "{name}");
}

#[test]
fn own_items_are_looked_for_in_pieces() {
    for database in Database::each() {
        install(&database.config(&[]), Some(&QueueSpec::from_json(r#"{"queue": "Own"}"#).unwrap())).unwrap();
        let queue = Queue::open(&database.config(&[]), "Own").unwrap();
        queue.enqueue(&vec![NewItem::default(); 9], None).unwrap();
        settle(&queue, &queue.claim(3, Duration::ZERO).unwrap(), Action::Fail, "Own");
        settle(&queue, &queue.claim(2, Duration::ZERO).unwrap(), Action::Complete, "Own");
        in_pieces(&queue, &Filter::default(), 9, "Own");
        in_pieces(&queue, &Filter::of_states([ItemState::Failed]), 3, "Own");
        in_pieces(&queue, &Filter::of_states([ItemState::Pending]), 4, "Own");
        in_pieces(&queue, &Filter::of_states([ItemState::Processing]), 0, "Own");
        assert_eq!(queue.claim(1, Duration::ZERO).unwrap().len(), 1);
        in_pieces(&queue, &Filter::of_states([ItemState::Processing]), 1, "Own");
        in_pieces(&queue, &Filter { error: Some("nothing says this".to_owned()), ..Filter::default() }, 0, "Own");
        assert!(queue.look(&Filter::default(), None, 10, 0).is_err(), "nothing to look at");
    }
}

/// Looks that read two items each find what one find does; a page that is full says no more than its last key does.
fn in_pieces(queue: &Queue, filter: &Filter, count: usize, name: &str) {
    let (mut seen, mut after) = (Vec::new(), None::<String>);
    for look in 0.. {
        let (page, further) = queue.look(filter, after.as_deref(), 100, 2).unwrap();
        assert!(page.len() <= 2 && look < 7, "{name}: look {look}");
        seen.extend(page.iter().map(|item| item.key().to_owned()));
        let Some(key) = further else { break };
        assert_ne!(after.as_ref(), Some(&key), "{name}");
        after = Some(key);
    }
    let whole: Vec<_> = queue.find(filter, None, 100).unwrap().iter().map(|item| item.key().to_owned()).collect();
    assert_eq!((&seen, whole.len()), (&whole, count), "{name}: {filter:?}");
    if count > 1 {
        let (page, further) = queue.look(filter, None, 1, 5).unwrap();
        assert_eq!((page.len(), further), (1, None), "{name}");
    }
}

/// A key that the table has otherwise than described, or that can be none, is a finding with the way out.
#[test]
fn a_key_that_would_not_be_found_is_a_finding() {
    for database in Database::each() {
        let cases = [
            (database.pick("varchar(8)", "char(8)"), json!({"type": "text(8)"}), "say stored = "),
            (
                database.pick("nvarchar(8)", "varchar(8)"),
                json!({"type": "text(8)", "stored": "char"}),
                "leave \"stored\" out",
            ),
            ("numeric(10, 2)", json!({"type": "decimal(10, 0)"}), "say decimal(10, 2)"),
            ("numeric(10, 2)", json!({"type": "integer"}), "decimal(38, 2)"),
            (database.pick("varbinary(16)", "bytea"), json!({"type": "text(8)"}), "binary("),
            (database.pick("bit", "boolean"), json!({"type": "integer"}), "name other columns"),
            ("smallint", json!({"type": "bigint"}), "\"integer\""),
            (database.pick("rowversion", "double precision"), json!({"type": "binary(8)"}), "name other columns"),
            (
                database.pick("nvarchar(8) COLLATE Latin1_General_BIN2", "date"),
                json!({"type": "text(8)"}),
                database.pick("say collation = ", "name other columns"),
            ),
        ];
        for (kind, described, remedy) in cases {
            if kind == "rowversion" && !database.shows_bytes() {
                continue;
            }
            database.run(&format!("CREATE TABLE odd (id {kind} NOT NULL PRIMARY KEY, state int NOT NULL)"));
            let mut key = described.clone();
            (key["name"], key["source"]) = (json!("id"), json!("producer"));
            let text = json!({"queue": "Odd", "columns": [], "table": {"name": "odd", "key": [key],
                "status": {"column": "state", "values": {"Pending": 0, "Processing": 1, "Completed": 2}}}});
            let spec = QueueSpec::from_json(&text.to_string()).unwrap();
            let plan = readpast::adopt::plan(&database.config(&[]), &spec).unwrap();
            let of_key = plan.findings.iter().find(|finding| finding.severity == readpast::finding::Severity::Error);
            let of_key = of_key.unwrap_or_else(|| panic!("{kind}: {:?}", plan.findings));
            assert!(of_key.object.ends_with("odd.id") && of_key.remedy.contains(remedy), "{kind}: {of_key:?}");
            database.run("DROP TABLE odd");
        }
    }
}
