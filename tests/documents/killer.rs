//! One item whose handler kills the process, among fifty that would do no harm, in every shape of table: it ends Failed,
//! and the others are Completed, however few attempts there are. Each is begun once, for nobody else's death is theirs.

use crate::Body;
use crate::drain::item;
use crate::hand::number_in;
use crate::place::{Place, Server};
use readpast::{
    item::{Action, Filter, ItemState, Settlement},
    queue::Queue,
};
use serde_json::{Value, json};
use std::{
    env, fs, fs::OpenOptions, io::Write as _, os::unix::process::ExitStatusExt as _, process::Command, time::Duration,
};
use support::fixture::Settings;
use support::folder::folder;

pub const BODIES: &[(&str, Body)] = &[
    ("own", |server| everywhere(server, &OWN)),
    ("own_in_groups", |server| everywhere(server, &GROUPED)),
    ("four_queue_scheduler", |server| everywhere(server, &FOUR_QUEUE)),
    ("email_requests", |server| everywhere(server, &EMAIL_REQUESTS)),
    ("email_requests_sent", |server| everywhere(server, &EMAIL_REQUESTS_SENT)),
    ("simple_queue", |server| everywhere(server, &SIMPLE_QUEUE)),
    ("simple_queue_with_a_lease_in_the_table", |server| everywhere(server, &LEASED)),
    ("lock_table", |server| everywhere(server, &LOCK_TABLE)),
    ("sync_queue", |server| everywhere(server, &SYNC_QUEUE)),
];

/// The environment variable that makes this program a worker, and says what to do.
pub const ORDER: &str = "READPAST_KILLER_WORKER";

const ITEMS: u64 = 50;

/// The one in the midst of its claim.
const KILLER: u64 = 24;

/// A table, and how it is filled.
struct Shape {
    tables: &'static [&'static str],
    adopt: fn(&Place) -> String,
    /// The column with the item's number.
    column: &'static str,
    columns: fn(u64) -> Value,
}

const OWN: Shape = Shape {
    tables: &[],
    adopt: |place| named(place.adopt_text(r#"{"queue": "Own", "columns": [{"name": "Work", "type": "integer"}]}"#)),
    column: "Work",
    columns: |n| json!({"Work": n}),
};

const GROUPED: Shape = Shape {
    adopt: |place| {
        named(place.adopt_text(
            r#"{"queue": "Own", "columns": [{"name": "Work", "type": "integer"}, {"name": "Part", "type": "integer"}],
                "order": {"group": "Part"}}"#,
        ))
    },
    columns: |n| json!({"Work": n, "Part": n}),
    ..OWN
};

const FOUR_QUEUE: Shape = Shape {
    tables: &["four_queue_scheduler"],
    adopt: |place| named(place.adopt("four_queue_scheduler", |text| text)),
    column: "reputation",
    columns: |n| json!({"reputation": n}),
};

const EMAIL_REQUESTS: Shape = Shape {
    tables: &["email_requests"],
    adopt: |place| named(place.adopt("email_requests", |text| text)),
    column: "Subject",
    columns: |n| json!({"EmailAddress": "a@example.org", "Subject": n.to_string(), "Body": "x"}),
};

const EMAIL_REQUESTS_SENT: Shape = Shape {
    tables: &["email_requests", "email_requests_sent"],
    adopt: |place| named(place.adopt("email_requests_sent", |text| text)),
    ..EMAIL_REQUESTS
};

const SIMPLE_QUEUE: Shape = Shape {
    tables: &["simple_queue"],
    adopt: |place| named(place.adopt("simple_queue", |text| text)),
    column: "Payload",
    columns: |n| json!({"Payload": format!("payload {n}")}),
};

/// The mark of an item that came back must not stand in the table's own column, where old code would take it for a lease.
const LEASED: Shape = Shape {
    adopt: |place| {
        let kind = if place.is_sql_server() { "DATETIME2" } else { "timestamp" };
        place.run(&format!("ALTER TABLE SimpleQueue ADD LeaseUntil {kind} NULL"));
        named(place.adopt("simple_queue", |text| {
            text.replace("error = \"Errors\" }", "error = \"Errors\", lease_until = \"LeaseUntil\" }")
        }))
    },
    ..SIMPLE_QUEUE
};

const LOCK_TABLE: Shape = Shape {
    tables: &["lock_table", "lock_table_attempts"],
    adopt: |place| named(place.adopt("queue_lock_table", |text| text)),
    column: "Request",
    columns: |n| json!({"Request": n.to_string()}),
};

const SYNC_QUEUE: Shape = Shape {
    tables: &["relational"],
    adopt: |place| named(place.adopt_text(&crate::relational::spec_of("SyncQueue", r#"["Orders"]"#))),
    column: "EnqueuedAt",
    columns: |n| json!({"EnqueuedAt": format!("2026-11-22T08:30:00.{n:06}Z")}),
};

fn named(spec: readpast::description::QueueSpec) -> String {
    spec.queue.as_str().to_owned()
}

fn everywhere(server: Server, shape: &Shape) {
    for limit in 1..=3 {
        one_among_fifty(server, shape, limit);
    }
}

fn one_among_fifty(server: Server, shape: &Shape, limit: usize) {
    let folder = folder("killer");
    let ledger = folder.join("ledger");

    let place = Place::with(server, shape.tables);
    let name = (shape.adopt)(&place);
    let open = || Queue::open(&Settings::from(place.settings(&[])).config(), &name).unwrap();
    place.set(&format!("{}.maxAttempts", open().spec().settings), limit as i32);
    let items: Vec<_> = (0..ITEMS).map(|n| item((shape.columns)(n))).collect();
    open().enqueue(&items, None).unwrap();

    let mut deaths = 0;
    loop {
        let settings = place.settings(&[
            ("worker", &format!("worker{deaths}")),
            ("lease.ms", "300"),
            ("recover.interval_ms", "20"),
            ("poll.interval_ms", "20"),
        ]);
        let order = json!({"settings": settings, "queue": name, "column": shape.column, "ledger": ledger});
        let mut worker = Command::new(env::current_exe().unwrap()).env(ORDER, order.to_string()).spawn().unwrap();
        let status = worker.wait().unwrap();
        if status.success() {
            break;
        }
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{status}");
        deaths += 1;
        assert!(deaths <= limit + 1, "{deaths} workers died of an item with {limit} attempts");
    }
    let begun = fs::read_to_string(&ledger).unwrap();
    fs::remove_dir_all(folder).unwrap();

    let mut expected: Vec<_> =
        (0..ITEMS).map(|n| format!("{n} {}", if n < KILLER { "with others" } else { "alone" })).collect();
    // Nobody knew the first time; from then on the deaths are its own.
    expected[KILLER as usize] = format!("{KILLER} with others");
    expected.extend(std::iter::repeat_n(format!("{KILLER} alone"), limit));
    let mut begun: Vec<_> = begun.lines().map(str::to_owned).collect();
    expected.sort();
    begun.sort();
    assert_eq!(begun, expected, "{limit} attempts");

    let failed = open().find(&Filter::of_states([ItemState::Failed]), None, 100).unwrap();
    let failed: Vec<_> = failed.iter().map(|item| (work_of(&item, shape.column), item.attempt())).collect();
    assert_eq!(failed, [(KILLER, limit as i32)], "its attempts are its own");
    let stats = open().stats().unwrap();
    for state in [ItemState::Pending, ItemState::Processing, ItemState::Error] {
        assert_eq!(stats.count(state), 0, "{limit} attempts: {state}");
    }
    assert_eq!(deaths, limit + 1);
}

/// The whole life of a worker process.
pub fn run(order: &str) {
    let order: Value = serde_json::from_str(order).unwrap();
    let pairs = order["settings"].as_array().unwrap().iter();
    let settings: Vec<_> =
        pairs.map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned())).collect();
    let queue = Queue::open(&Settings::from(settings).config(), order["queue"].as_str().unwrap()).unwrap();
    let mut ledger = OpenOptions::new().create(true).append(true).open(order["ledger"].as_str().unwrap()).unwrap();
    loop {
        let batch = queue.claim(ITEMS as u32, Duration::from_millis(100)).unwrap();
        assert!(!batch.is_quarantined() || batch.len() == 1);
        let how = if batch.is_quarantined() { "alone" } else { "with others" };
        for item in batch.iter() {
            let work = work_of(&item, order["column"].as_str().unwrap());
            ledger.write_all(format!("{work} {how}\n").as_bytes()).unwrap();
            if work == KILLER {
                kill_this_process();
            }
            let done = Settlement {
                attempt: item.attempt(),
                ..Settlement::control(item.key(), Some(item.token()), Action::Complete)
            };
            assert_eq!(queue.settle(&[done], None).unwrap()[0].answer, readpast::item::Answer::Ok);
        }
        let stats = queue.stats().unwrap();
        let open = [ItemState::Pending, ItemState::Processing, ItemState::Error];
        if open.iter().all(|state| stats.count(*state) == 0) {
            return;
        }
    }
}

#[allow(unsafe_code, reason = "signals are libc's")]
fn kill_this_process() -> ! {
    // SAFETY: it touches no memory.
    unsafe { libc::raise(libc::SIGKILL) };
    unreachable!("nobody survives this signal")
}

fn work_of(item: &readpast::item::Item<'_>, column: &str) -> u64 {
    match item.value_of(column) {
        Some(readpast::item::Value::Integer(number)) => number as u64,
        Some(readpast::item::Value::Text(text)) => number_in(text.trim_end_matches('Z')),
        other => panic!("{column}: {other:?}"),
    }
}
