//! One queue over several clusters while they die and come back, while one is added and one is removed. In a binary of its own, since
//! it runs servers of its own.

use readpast::{Columns, Config, Error, NewItem, Queue, QueueSpec, Value, Worker};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use std::{env, thread};
use support::cluster::Cluster;
use support::limit::until;
use support::scratch::{config, look};

const SPEC: &str = r#"{"queue": "Job", "backoff": "none", "attempts": {"limit": 1000}, "columns": [{"name": "Customer", "type": "integer"},
    {"name": "No", "type": "integer"}], "order": {"group": "Customer"}, "spread_by": ["Customer"]}"#;

const CUSTOMERS: i64 = 40;

/// Items of a crash are claimed again soon, and calls go on for as long as a server is away.
const SETTINGS: [(&str, &str); 5] = [
    ("lease.ms", "3000"),
    ("recover.interval_ms", "200"),
    ("poll.interval_ms", "100"),
    ("retry.budget_ms", "600000"),
    ("query.timeout_ms", "600000"),
];

/// Items of each third of the run. `READPAST_PLACES_ITEMS` gives another
/// number for the whole.
fn items() -> i64 {
    let given = env::var("READPAST_PLACES_ITEMS").ok().map(|items| items.parse::<i64>().expect("it is a number"));
    (given.unwrap_or(6_000) / 3 / CUSTOMERS).max(1)
}

struct Clusters(BTreeMap<&'static str, Cluster>);

impl Clusters {
    fn config(&self, names: &[&str]) -> Config {
        let mut config = Config::new();
        for name in names {
            config.set(&format!("places.{name}"), self.0[name].connection()).unwrap();
        }
        SETTINGS.iter().for_each(|(key, value)| assert!(config.set(key, value).is_ok()));
        config
    }

    fn install(&self, name: &str) {
        readpast::install(&self.config(&[name]), Some(&QueueSpec::from_json(SPEC).unwrap())).unwrap();
    }

    fn look(&self, name: &str, query: &str) -> String {
        let mut session = readpast::for_tests::Session::open(&config(self.0[name].connection(), &[])).unwrap();
        look(&mut session, query)
    }

    /// How many items have not ended at these places.
    fn open(&self, names: &[&str]) -> i64 {
        let query = "SELECT COUNT(*) FROM readpast.job WHERE status <> 'Completed'";
        names.iter().map(|name| self.look(name, query).parse::<i64>().unwrap()).sum()
    }
}

/// Adds the items numbered `from` to `to` of all customers, each call until it has succeeded.
fn produce(queue: &Queue, from: i64, to: i64) {
    for no in from..to {
        let item = |customer| NewItem {
            columns: Columns::from_json(&format!(r#"{{"Customer": {customer}, "No": {no}}}"#)).unwrap(),
            ..NewItem::default()
        };
        let items: Vec<_> = (0..CUSTOMERS).map(item).collect();
        let mut operation: Option<String> = None;
        loop {
            match queue.enqueue(&items, operation.as_deref()) {
                Ok(receipts) => break assert_eq!(receipts.len(), items.len()),
                Err(error) => operation = Some(again(&error)),
            }
        }
    }
}

/// The identity of a call that failed at a place which is away.
fn again(error: &Error) -> String {
    assert!(error.is_retryable(), "{error:?}");
    thread::sleep(Duration::from_millis(50));
    error.operation().unwrap_or_else(|| panic!("{error:?} has no identity")).to_owned()
}

/// The items in the order in which handlers began them.
#[derive(Default)]
struct Begun {
    of: Mutex<HashMap<i64, Vec<i64>>>,
    count: AtomicI64,
}

impl Begun {
    fn note(&self, job: &readpast::worker::Job<'_>) {
        let number = |name| match job.value(name) {
            Some(Value::Integer(number)) => number,
            other => panic!("{name}: {other:?}"),
        };
        self.of.lock().unwrap().entry(number("Customer")).or_default().push(number("No"));
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Works at these places while `meanwhile` runs, and until all that it has added is done.
fn work(clusters: &Clusters, names: &[&str], begun: &Begun, meanwhile: impl FnOnce(&Queue)) {
    let queue = Queue::open(&clusters.config(names), "Job").unwrap();
    let worker = Worker::new(&queue).threads(4);
    let stop = worker.stop_handle();
    thread::scope(|scope| {
        let working = scope.spawn(move || worker.run(|job: &readpast::worker::Job<'_>| begun.note(job)).unwrap());
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            meanwhile(&queue);
            until("all items are done", || clusters.open(names) == 0);
        }));
        stop.stop();
        working.join().unwrap();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn each_item_is_done_once_and_in_order_while_places_die_come_and_go() {
    if Cluster::at_hand().is_none() {
        eprintln!("not run: READPAST_PG_BIN, _DATA and _USER name no cluster of ours");
        return;
    }
    let clusters = Clusters(["a", "b", "c", "d"].map(|name| (name, Cluster::new())).into());
    ["a", "b", "c"].iter().for_each(|name| clusters.install(name));
    let (third, begun) = (items(), Begun::default());
    // Given three places, of which one dies again and again
    work(&clusters, &["a", "b", "c"], &begun, |queue| {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let crashing = scope.spawn(|| {
                let mut crashes = 0;
                while !is_over.load(Ordering::SeqCst) {
                    clusters.0["b"].crash_and_return();
                    crashes += 1;
                    thread::sleep(Duration::from_millis(500));
                }
                crashes
            });
            produce(queue, 0, third);
            is_over.store(true, Ordering::SeqCst);
            println!("crashes: {}", crashing.join().unwrap());
        });
    });
    // When one is added, which takes its share of each of the others
    clusters.install("d");
    work(&clusters, &["a", "b", "c", "d"], &begun, |queue| produce(queue, third, 2 * third));
    // And one is removed
    work(&clusters, &["b", "c", "d"], &begun, |queue| produce(queue, 2 * third, 3 * third));

    // Then each item is there once and is done
    let mut there = BTreeSet::new();
    for name in clusters.0.keys() {
        assert_eq!(clusters.open(&[name]), 0);
        let query = r#"SELECT COALESCE(string_agg("Customer"::text || ':' || "No"::text, ','), '') FROM readpast.job"#;
        for item in clusters.look(name, query).split(',') {
            assert!(there.insert(item.to_owned()), "{item} is there twice");
        }
    }
    assert_eq!(there.len(), usize::try_from(CUSTOMERS * 3 * third).unwrap());
    assert!(clusters.look("d", "SELECT COUNT(*) FROM readpast.job") != "0");
    // And those of a customer began in their order: one that a crash took away began again before the next.
    let of = begun.of.lock().unwrap();
    for (customer, order) in &*of {
        let wrong = order.windows(2).position(|two| two[0] > two[1]);
        let around = wrong.map(|at| &order[at.saturating_sub(3)..(at + 4).min(order.len())]);
        assert_eq!(around, None, "customer {customer}");
        let once: BTreeSet<_> = order.iter().copied().collect();
        assert_eq!(once.len(), usize::try_from(3 * third).unwrap(), "customer {customer}");
    }
    println!("items: {}, handlers that began: {}", there.len(), begun.count.load(Ordering::SeqCst));
}
