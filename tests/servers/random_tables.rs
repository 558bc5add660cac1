//! Tables by the dice: key, names, the encoding of the states, roles, NOT NULL, rows of others, each drawn; adopted and drained
//! on each server. `READPAST_TABLES` says how many, `READPAST_TABLES_SEED` repeats the dice of one run.

use readpast::item::{Action, Answer, Columns, Filter, ItemRef, NewItem, Settlement};
use readpast::{Dialect, ItemState, Queue, QueueSpec};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::env;
use std::time::{Duration, SystemTime};
use support::both::Database;
use support::dice::Dice;
use support::limit::until;

/// Names that a column may have: plain, with its case, a word of SQL's, with a blank, with a quote.
const NAMES: [&str; 5] = ["{}", "My{}", "order_{}", "a {}", "it's {}"];

/// A table that was drawn.
struct Drawn {
    ddl: String,
    spec: Value,
    /// The columns of a new row with its number, and their values.
    row: Box<dyn Fn(usize) -> Vec<(String, String)>>,
    /// The same as an item of a producer's.
    item: Box<dyn Fn(usize) -> Value>,
}

/// Draws columns, and says how each server writes them.
struct Draw<'a> {
    dice: &'a mut Dice,
    sql_server: bool,
    style: &'static str,
    columns: Vec<String>,
}

impl Draw<'_> {
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.dice.below(of.len() as u64)).unwrap()]
    }

    /// The name of a column: as SQL has it, and as a description has it.
    fn name(&self, stem: &str) -> (String, String) {
        let name = self.style.replace("{}", stem);
        let quoted = if self.sql_server { format!("[{name}]") } else { format!("\"{name}\"") };
        (quoted, if self.sql_server { name } else { format!("\"{name}\"") })
    }

    fn add(&mut self, stem: &str, kind: &str) -> String {
        let (quoted, described) = self.name(stem);
        let kind = match (kind, self.sql_server) {
            ("time", true) => "datetime2",
            ("time", false) => "timestamptz",
            ("text", true) => "nvarchar(400)",
            ("text", false) => "text",
            ("guid", true) => "uniqueidentifier",
            ("guid", false) => "uuid",
            ("flag", true) => "bit",
            ("flag", false) => "boolean",
            ("varchar(40)", true) => "nvarchar(40)",
            (kind, _) => kind,
        }
        .to_owned();
        self.columns.push(format!("{quoted} {kind}"));
        described
    }

    /// The constraint of a column that may be NULL, or may not and has a default.
    fn must(&mut self, default: &str) {
        if self.dice.one_in(3) {
            self.columns.last_mut().unwrap().push_str(&format!(" NOT NULL DEFAULT {default}"));
        } else {
            self.columns.last_mut().unwrap().push_str(" NULL");
        }
    }
}

fn drawn(dialect: Dialect, dice: &mut Dice) -> Drawn {
    let sql_server = dialect == Dialect::SqlServer;
    let mut draw = Draw { sql_server, style: "{}", columns: Vec::new(), dice };
    let mut spec = json!({"queue": "Drawn", "backoff": "none", "attempts": {"limit": 4, "history": draw.dice.one_in(3)},
        "table": {"schema": if sql_server { "dbo" } else { "public" }, "name": "drawn"}});

    // A key that producers give has a name that parameters can have.
    let kinds: &[(&str, &str, &str, &str)] = match draw.dice.below(13) {
        0 | 1 => &[("Id", "bigint", "table", "bigint IDENTITY")],
        2 => &[("Id", "guid", "producer", "guid")],
        3 => &[("Code", "text(40)", "producer", "varchar(40)")],
        4 => &[("Region", "text(9)", "producer", "varchar(9)"), ("Id", "bigint", "table", "bigint IDENTITY")],
        5 => &[
            ("A", "text(9)", "producer", "varchar(9)"),
            ("B", "integer", "producer", "int"),
            ("C", "guid", "producer", "guid"),
            ("D", "bigint", "producer", "bigint"),
        ],
        6 => &[("Id", "decimal(18, 0)", "table", "decimal IDENTITY")],
        7 => &[("Amount", "decimal(20, 4)", "producer", "decimal(20, 4)")],
        8 => &[("Hash", "binary(16)", "producer", "bytes")],
        9 => &[("Code", "text(12)", "producer", "char")],
        10 => &[("Code", "text(12)", "producer", "collated")],
        11 => &[("Small", "integer", "producer", "smallint")],
        _ => &[
            ("A", "text(12)", "producer", "char"),
            ("B", "decimal(20, 4)", "producer", "decimal(20, 4)"),
            ("C", "binary(16)", "producer", "bytes"),
            ("D", "text(12)", "producer", "collated"),
        ],
    };
    let mut key = Vec::new();
    for (stem, kind, source, made) in kinds {
        let sql = match (*made, sql_server) {
            ("bigint IDENTITY", false) => "bigint GENERATED ALWAYS AS IDENTITY",
            ("decimal IDENTITY", false) => "numeric(18) DEFAULT nextval('public.drawn_seq')",
            ("decimal IDENTITY", true) => "decimal(18, 0) IDENTITY",
            ("varchar(40)", true) => "nvarchar(40)",
            ("varchar(9)", true) => "nvarchar(9)",
            ("bytes", false) => "bytea",
            ("bytes", true) => "varbinary(16)",
            ("char", _) => "char(12)",
            ("collated", false) => "varchar(12) COLLATE \"C\"",
            ("collated", true) => "varchar(12) COLLATE Latin1_General_BIN2",
            (plain, _) => plain,
        };
        let name = draw.add(stem, sql);
        draw.columns.last_mut().unwrap().push_str(" NOT NULL");
        let mut column = json!({"name": name, "type": kind, "source": source});
        match *made {
            "char" => column["stored"] = json!("char"),
            "collated" => {
                column["stored"] = json!("varchar");
                column["collation"] = json!("Latin1_General_BIN2");
            }
            _ => {}
        }
        key.push(column);
    }
    let mut keys: Vec<_> = kinds.iter().map(|(stem, ..)| draw.name(stem).0).collect();
    spec["table"]["key"] = json!(key);
    let given: Vec<_> = kinds.iter().filter(|kind| kind.2 == "producer").copied().collect();
    // As tables that many queues share have it: the rows of each lie together.
    let in_lanes = kinds[0].3.ends_with("IDENTITY") && draw.dice.one_in(3);
    if in_lanes {
        let lane = draw.add("lane", "int");
        draw.columns.last_mut().unwrap().push_str(" NOT NULL");
        keys.insert(0, draw.name("lane").0);
        spec["table"]["seek"] = json!({ lane: [7, 8] });
    }

    draw.style = draw.pick(&NAMES);
    let life_style = draw.style;
    let mut life = Map::new();
    for (role, kind, default) in [
        ("due", "time", "'2020-01-01T00:00:00'"),
        ("enqueued", "time", "'2020-01-01T00:00:00'"),
        ("started", "time", ""),
        ("finished", "time", "'2020-01-01T00:00:00'"),
        ("duration", "bigint", "0"),
        ("attempts", "int", "0"),
        ("owner", "text", "''"),
        ("lease_until", "time", ""),
        ("step", "text", "''"),
        ("response", "text", "''"),
        ("error", "text", "''"),
        ("token", "time", "'2020-01-01T00:00:00'"),
    ] {
        // A producer may give the time of enqueueing: as a parameter.
        draw.style = if role == "enqueued" { "{}" } else { life_style };
        if draw.dice.one_in(2) {
            let name = draw.add(&format!("c_{role}"), kind);
            if default.is_empty() {
                draw.columns.last_mut().unwrap().push_str(" NULL");
            } else {
                draw.must(default);
            }
            life.insert(role.to_owned(), json!(name));
        }
    }
    draw.style = life_style;

    let mut first = Vec::new();
    if in_lanes {
        draw.style = "{}";
        first.push((draw.name("lane").0, "7".to_owned()));
        draw.style = life_style;
    }
    let mut states = Map::new();
    let mut add = |draw: &mut Draw<'_>, stem: &str, kind: &str, values: &[(&str, Value, &str)]| {
        let name = draw.add(stem, kind);
        draw.columns.last_mut().unwrap().push_str(" NOT NULL");
        first.push((draw.name(stem).0, values[0].2.to_owned()));
        for (state, value, _) in values {
            let of = states.entry((*state).to_owned()).or_insert_with(|| json!({}));
            of[&name] = value.clone();
        }
    };
    let few = [("Pending", 0), ("Processing", 1), ("Completed", 2), ("Failed", 3), ("Cancelled", 5)];
    match draw.dice.below(7) {
        0 => {
            spec["completion"] = json!("delete");
        }
        1 => {
            let values: Vec<_> = few.iter().map(|(state, value)| (*state, json!(value), "0")).collect();
            add(&mut draw, "state", "int", &values);
        }
        2 => {
            let values: Vec<_> =
                ItemState::ALL.iter().map(|state| (state.as_str(), json!(state.as_str()), "'Pending'")).collect();
            add(&mut draw, "state", "varchar(40)", &values);
        }
        3 => {
            let values: Vec<_> = few[..3 + usize::from(draw.dice.one_in(2))]
                .iter()
                .map(|(state, value)| (*state, json!([value, value + 10, value + 20]), "20"))
                .collect();
            add(&mut draw, "state", "smallint", &values);
        }
        4 => {
            add(
                &mut draw,
                "taken",
                "flag",
                &[
                    ("Pending", json!(false), if sql_server { "0" } else { "FALSE" }),
                    ("Processing", json!(true), ""),
                    ("Completed", json!(true), ""),
                ],
            );
            add(
                &mut draw,
                "sent",
                "flag",
                &[
                    ("Pending", json!(false), if sql_server { "0" } else { "FALSE" }),
                    ("Processing", json!(false), ""),
                    ("Completed", json!(true), ""),
                ],
            );
        }
        5 => {
            let values: Vec<_> =
                few.iter().map(|(state, value)| (*state, json!(format!("it's {value}")), "'it''s 0'")).collect();
            let kind = if sql_server { "varchar(20)".to_owned() } else { "char(9)".to_owned() };
            add(&mut draw, "state", &kind, &values);
        }
        _ => {
            spec["completion"] = json!("delete");
            let values: Vec<_> = few[..2].iter().map(|(state, value)| (*state, json!(value), "0")).collect();
            add(&mut draw, "state", "bigint", &values);
        }
    }
    if !states.is_empty() {
        spec["table"]["states"] = Value::Object(states);
    }

    if draw.dice.one_in(2) {
        let mut rows = Map::new();
        for (stem, kind, test, value) in [
            ("tenant", "int", json!(7), "7"),
            ("kind", "varchar(20)", json!(["x", "it's y"]), "'it''s y'"),
            ("weight", "int", json!({">=": 1, "<>": 3}), "2"),
            ("gone", "time", json!({"is": "null"}), "NULL"),
        ] {
            if draw.dice.one_in(2) {
                let name = draw.add(stem, kind);
                draw.columns.last_mut().unwrap().push_str(if stem == "weight" {
                    " NOT NULL DEFAULT 5"
                } else {
                    " NULL"
                });
                rows.insert(name, test);
                first.push((draw.name(stem).0, value.to_owned()));
            }
        }
        spec["table"]["where"] = Value::Object(rows);
    }
    if in_lanes {
        let lane = if sql_server { "lane" } else { "\"lane\"" };
        spec["table"]["where"][lane] = json!(7);
    }
    draw.style = "{}";
    let what = draw.add("What", "int");
    draw.columns.last_mut().unwrap().push_str(" NOT NULL");
    spec["columns"] = json!([{"name": what, "type": "integer", "nullable": false}]);
    if draw.dice.one_in(3) {
        let name = draw.add("Rank", "int");
        draw.columns.last_mut().unwrap().push_str(" NOT NULL");
        spec["columns"].as_array_mut().unwrap().push(json!({"name": name, "type": "integer", "nullable": false}));
        spec["order"] = json!({"priority": {"column": name}});
        first.push((draw.name("Rank").0, "1".to_owned()));
    } else if draw.dice.one_in(3) {
        let name = draw.add("Lot", "int");
        draw.columns.last_mut().unwrap().push_str(" NULL");
        spec["columns"].as_array_mut().unwrap().push(json!({"name": name, "type": "integer"}));
        spec["order"] = json!({"group": name});
        first.push((draw.name("Lot").0, "1".to_owned()));
    } else if draw.dice.one_in(3) {
        spec["order"] = json!({"direction": draw.pick(&["lifo", "unordered"])});
    }
    spec["table"]["lifecycle"] = Value::Object(life);

    let table = if sql_server { "[dbo].[drawn]" } else { "public.drawn" };
    let before = if sql_server { "" } else { "CREATE SEQUENCE IF NOT EXISTS drawn_seq;\nGO\n" };
    let ddl = format!("{before}CREATE TABLE {table} ({}, PRIMARY KEY ({}));", draw.columns.join(", "), keys.join(", "));
    let shown = what.trim_matches('"').to_owned();
    let (what, _) = draw.name("What");
    let name = move |stem: &str| if sql_server { format!("[{stem}]") } else { format!("\"{stem}\"") };
    let of_key = move |number: usize| -> Vec<(&'static str, Value)> {
        let value = |stem: &'static str, kind: &str| match kind {
            "decimal(20, 4)" => (stem, json!(format!("-1234567890.{number:02}"))),
            // The bytes 00, FF and the number.
            "binary(16)" => (stem, json!(format!("AP8{}", char::from(b'A' + u8::try_from(number).unwrap())))),
            "guid" => (stem, json!(format!("{:08x}-0000-4000-8000-{number:012x}", number * 7))),
            "integer" | "bigint" => (stem, json!(number)),
            _ => (stem, json!(format!("k '{number}"))),
        };
        given.iter().map(|(stem, kind, ..)| value(stem, kind)).collect()
    };
    let of_row = of_key.clone();
    let has_rank = spec["columns"]
        .as_array()
        .unwrap()
        .get(1)
        .map(|column| column["name"].as_str().unwrap().trim_matches('"').to_owned());
    Drawn {
        ddl,
        spec,
        row: Box::new(move |number| {
            let literal = |value: Value| match value {
                Value::String(text) => format!("'{}'", text.replace('\'', "''")),
                other => other.to_string(),
            };
            let value = |value: Value| match value {
                Value::String(text) if text.starts_with("AP8") && sql_server => format!("0x00FF{number:02x}"),
                Value::String(text) if text.starts_with("AP8") => format!("'\\x00ff{number:02x}'"),
                other => literal(other),
            };
            let keys = of_row(number).into_iter().map(|(stem, found)| (name(stem), value(found)));
            let number = (what.clone(), number.to_string());
            keys.chain(first.clone()).chain([number]).collect()
        }),
        item: Box::new(move |number| {
            let mut columns: Map<String, Value> = of_key(number).into_iter().map(|(s, v)| (s.to_owned(), v)).collect();
            columns.insert(shown.clone(), json!(number));
            has_rank.iter().for_each(|name| drop(columns.insert(name.clone(), json!(number % 3))));
            Value::Object(columns)
        }),
    }
}

/// The number of an item.
fn number(item: &readpast::item::Item<'_>) -> i64 {
    let shown: Value = serde_json::from_str(&item.to_json()).unwrap();
    shown["What"].as_i64().unwrap_or_else(|| panic!("{shown}"))
}

/// Adopts a table, has other programs and producers put rows in, and works on it until nothing is left; whether it was adopted.
fn live(database: &Database, dice: &mut Dice) -> bool {
    const ITEMS: usize = 12;
    let drawn = drawn(database.dialect, dice);
    let told = || format!("{}\n{}", drawn.ddl, drawn.spec);
    println!("{}", told());
    if drawn.ddl.contains("varbinary") && !database.shows_bytes() {
        return false;
    }
    database.run(&drawn.ddl);
    let table = database.pick("[dbo].[drawn]", "public.drawn");
    for n in 0..ITEMS / 2 {
        let (names, values): (Vec<_>, Vec<_>) = (drawn.row)(n).into_iter().unzip();
        database.run(&format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", ")));
    }
    let spec = QueueSpec::from_json(&drawn.spec.to_string()).unwrap_or_else(|error| panic!("{error}: {}", told()));
    let plan = readpast::adopt::plan(&database.config(&[]), &spec).unwrap();
    if !plan.is_possible() {
        println!("not adopted: {:?}", plan.findings);
        database.run(&format!("DROP TABLE {table}"));
        return false;
    }
    plan.apply(&database.config(&[])).unwrap_or_else(|error| panic!("{error}: {}", told()));
    let open = |worker: &str, lease: &str| {
        let settings = [("worker", worker), ("lease.ms", lease), ("recover.interval_ms", "3600000")];
        Queue::open(&database.config(&settings), "Drawn").unwrap()
    };
    let queue = open("w", "600000");
    for n in ITEMS / 2..ITEMS {
        let columns = Columns::from_json(&(drawn.item)(n).to_string()).unwrap();
        // Where the column of the step may not be NULL, a new item needs one on SQL Server.
        let step = (database.is_sql_server() || dice.one_in(2)).then(|| "first".to_owned());
        let item = NewItem { columns, step, ..NewItem::default() };
        let receipts = queue.enqueue(&[item], None).unwrap_or_else(|error| panic!("{error}: {}", told()));
        assert!(!receipts[0].duplicate, "{}", told());
    }
    assert_eq!(queue.stats().unwrap().count(ItemState::Pending), ITEMS as i64, "{}", told());

    let dies = open("d", "10");
    let dead = dies.claim(1 + u32::try_from(dice.below(2)).unwrap(), Duration::ZERO).unwrap();
    let mut back = 0;
    until(&format!("the dead worker's items come back: {}", told()), || {
        back += queue.recover(100).unwrap();
        back as usize == dead.len()
    });
    let mut done: BTreeMap<i64, usize> = BTreeMap::new();
    let mut failed = 0;
    until(&format!("it is drained: {}", told()), || {
        let batch = queue.claim(1 + u32::try_from(dice.below(5)).unwrap(), Duration::ZERO).unwrap();
        for item in batch.iter() {
            let action = match dice.below(6) {
                0 if item.attempt() < 3 => Action::Retry,
                1 => Action::Release,
                2 => Action::Fail,
                _ => Action::Complete,
            };
            let ends =
                Settlement { error: (dice.one_in(2)).then_some("it's \u{fc}ber"), ..Settlement::new(&item, action) };
            let answers = queue.settle(&[ends], None).unwrap_or_else(|error| panic!("{error}: {}", told()));
            assert_eq!(answers[0].answer, Answer::Ok, "{action:?}: {}", told());
            if action == Action::Complete {
                *done.entry(number(&item)).or_default() += 1;
            }
            failed += usize::from(action == Action::Fail);
        }
        done.len() + failed == ITEMS
    });
    assert!(done.values().all(|times| *times == 1), "{done:?}: {}", told());
    let figures = queue.stats().unwrap();
    let open_ = [ItemState::Pending, ItemState::Processing, ItemState::Error].map(|state| figures.count(state));
    assert_eq!(open_, [0; 3], "{}", told());
    assert_eq!(figures.count(ItemState::Failed), failed as i64, "{}", told());

    // Failed ones begin anew.
    let ended = queue.find(&Filter::of_states([ItemState::Failed]), None, 100).unwrap();
    let ended: Vec<_> = ended.iter().map(ItemRef::from).collect();
    let answers = queue.redrive(&ended, None).unwrap_or_else(|error| panic!("{error}: {}", told()));
    assert!(answers.iter().all(|outcome| outcome.answer == Answer::Ok), "{answers:?}: {}", told());
    let mut again = 0;
    while again < failed {
        let batch = queue.claim(100, Duration::ZERO).unwrap();
        assert!(!batch.is_empty() && batch.iter().all(|item| item.attempt() == 1), "{}", told());
        queue.settle(&support::scratch::all(&batch, Action::Complete), None).unwrap();
        again += batch.len();
    }
    assert_eq!(queue.stats().unwrap().count(ItemState::Failed), 0, "{}", told());
    drop((queue, dies));
    readpast::install::drop_queue(&database.config(&[]), "Drawn").unwrap();
    database.run(&format!("DROP TABLE {table}"));
    true
}

#[test]
fn whatever_table_is_drawn_is_adopted_and_drained() {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() % (1 << 48);
    let seed = number("READPAST_TABLES_SEED").unwrap_or_else(|| u64::try_from(now()).unwrap());
    println!("READPAST_TABLES_SEED={seed}");
    let tables = number("READPAST_TABLES").unwrap_or(6);
    for database in Database::each() {
        let mut dice = Dice::new(seed);
        let adopted = (0..tables).filter(|_| live(&database, &mut dice)).count();
        println!("{adopted} of {tables} were adopted");
        assert!(tables < 6 || adopted * 2 > usize::try_from(tables).unwrap(), "only {adopted} of {tables}");
    }
}
