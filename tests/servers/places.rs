//! One queue over several databases: items find their places, each place works while another is away, and nothing is done twice.

use readpast::engine::{Begin, Taken, WorkerTerms};
use readpast::{Action, ItemRef, description::place_of};
use readpast::{
    Answer, Columns, Config, Engine, ErrorKind, Filter, ItemState, NewItem, Queue, QueueSpec, Settlement, Worker,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;
use support::both::Database;
use support::limit::{in_time, open_at_last, patient_with, until};
use support::scratch::{Proxy, Scratch, changed};

pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

pub(crate) const SPREAD: &str = r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Customer", "type": "integer"}, {"name": "No", "type": "integer"}],
    "order": {"group": "Customer"}, "spread_by": ["Customer"]}"#;

pub(crate) const ANYWHERE: &str =
    r#"{"queue": "Job", "backoff": "none", "columns": [{"name": "Customer", "type": "integer"}]}"#;

/// Three databases of one server.
pub(crate) struct Three(pub(crate) [Database; 3]);

impl Three {
    /// Three on each server at hand.
    pub(crate) fn each() -> impl Iterator<Item = Self> {
        let mut sets = [(); 3].map(|()| Database::each().into_iter());
        std::iter::from_fn(move || {
            let [a, b, c] = &mut sets;
            Some(Self([a.next()?, b.next()?, c.next()?]))
        })
    }

    pub(crate) fn config(&self, settings: &[(&str, &str)]) -> Config {
        self.config_at(&self.0.each_ref().map(Database::connection), settings)
    }

    pub(crate) fn config_at(&self, connections: &[String; 3], settings: &[(&str, &str)]) -> Config {
        let mut config = patient_with(settings);
        for (name, connection) in NAMES.iter().zip(connections) {
            config.set(&format!("places.{name}"), connection).unwrap();
        }
        config
    }

    fn open(&self, spec: &str) -> Queue {
        self.install(spec);
        Queue::open(&self.config(&[]), "Job").unwrap()
    }

    pub(crate) fn install(&self, spec: &str) {
        readpast::install(&self.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
    }

    /// The second place behind a relay.
    pub(crate) fn behind_a_relay(&self) -> (Proxy, String) {
        let connection = self.0[1].connection();
        let named = if self.0[1].is_sql_server() { "Server=127.0.0.1," } else { "Port=" };
        let port = connection.split(';').find_map(|pair| pair.trim().strip_prefix(named)).unwrap().parse().unwrap();
        let proxy = Proxy::to(port);
        let port = proxy.port.to_string();
        let relayed = if self.0[1].is_sql_server() {
            changed(&connection, &[("Server", &format!("127.0.0.1,{port}"))])
        } else {
            changed(&connection, &[("Server", "127.0.0.1"), ("Port", &port)])
        };
        (proxy, relayed)
    }

    fn counts(&self) -> [String; 3] {
        self.0.each_ref().map(|database| {
            database.look(database.pick("SELECT COUNT(*) FROM [readpast].[Job]", "SELECT COUNT(*) FROM readpast.job"))
        })
    }
}

pub(crate) fn of(customer: i64, no: i64) -> NewItem {
    let columns = Columns::from_json(&format!(r#"{{"Customer": {customer}, "No": {no}}}"#)).unwrap();
    NewItem { columns, ..NewItem::default() }
}

pub(crate) fn plain(customer: i64) -> NewItem {
    NewItem { columns: Columns::from_json(&format!(r#"{{"Customer": {customer}}}"#)).unwrap(), ..NewItem::default() }
}

pub(crate) fn place(customer: i64) -> &'static str {
    place_of(NAMES, &format!("[\"{customer}\"]")).unwrap()
}

#[test]
fn an_item_is_at_the_place_of_its_columns() {
    for three in Three::each() {
        let queue = three.open(SPREAD);
        let items: Vec<_> = (0..60).map(|customer| of(customer, 0)).collect();
        let receipts = queue.enqueue(&items, None).unwrap();
        for (customer, receipt) in receipts.iter().enumerate() {
            assert!(receipt.key.starts_with(&format!("{}/", place(customer as i64))), "{customer}: {}", receipt.key);
            let found = queue.get(&receipt.key).unwrap();
            assert_eq!(found.get(0).unwrap().key(), receipt.key);
        }
        let counts = three.counts().map(|count| count.parse::<i64>().unwrap());
        assert_eq!(counts.iter().sum::<i64>(), 60);
        assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 60);
        // All pages of all places, each item once.
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = queue.find(&Filter::default(), after.as_deref(), 7).unwrap();
            let Some(last) = page.iter().last() else { break };
            after = Some(last.key().to_owned());
            seen.extend(page.iter().map(|item| item.key().to_owned()));
        }
        let mut keys: Vec<_> = receipts.iter().map(|receipt| receipt.key.clone()).collect();
        keys.sort();
        assert_eq!(seen, keys);
        // The same by bounded looks.
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let (page, further) = queue.look(&Filter::default(), after.as_deref(), 50, 5).unwrap();
            seen.extend(page.iter().map(|item| item.key().to_owned()));
            after = further;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, keys);
    }
}

#[test]
fn a_repetition_under_its_identity_adds_nothing() {
    for three in Three::each() {
        for (spec, items) in
            [(SPREAD, (0..20).map(|n| of(n, 0)).collect::<Vec<_>>()), (ANYWHERE, (0..20).map(plain).collect())]
        {
            let queue = three.open(&spec.replace("Job", if spec == SPREAD { "Job" } else { "Any" }));
            let queue = if spec == SPREAD { queue } else { Queue::open(&three.config(&[]), "Any").unwrap() };
            let id = if spec == SPREAD {
                "0b5e8f0e-93d0-4c8e-bb5e-111111111111"
            } else {
                "0b5e8f0e-93d0-4c8e-bb5e-333333333333"
            };
            let keys = |receipts: Vec<readpast::Receipt>| receipts.into_iter().map(|one| one.key).collect::<Vec<_>>();
            let first = keys(queue.enqueue(&items, Some(id)).unwrap());
            assert_eq!(keys(queue.enqueue(&items, Some(id)).unwrap()), first);
            assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 20);
            assert!(queue.is_done(id).unwrap());
            assert!(!queue.is_done("0b5e8f0e-93d0-4c8e-bb5e-222222222222").unwrap());
        }
    }
}

#[test]
fn claims_and_settlements_go_to_their_places() {
    for three in Three::each() {
        let queue = three.open(SPREAD);
        queue.enqueue(&(0..30).map(|customer| of(customer, 0)).collect::<Vec<_>>(), None).unwrap();
        let mut places = BTreeMap::<String, usize>::new();
        let mut done = 0;
        while done < 30 {
            let batch = queue.claim(4, Duration::ZERO).unwrap();
            assert!(!batch.is_empty());
            let leases: Vec<_> = batch.iter().map(readpast::Lease::from).collect();
            assert!(queue.renew(&leases).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
            for item in batch.iter() {
                *places.entry(item.key()[..1].to_owned()).or_default() += 1;
            }
            let settlements: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            assert!(queue.settle(&settlements, None).unwrap().iter().all(|outcome| outcome.answer == Answer::Ok));
            done += batch.len();
        }
        assert_eq!(places.len(), 3, "{places:?}");
        assert!(queue.claim(1, Duration::from_millis(20)).unwrap().is_empty());
        assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 30);
        // An operator's call for items of several places, one of which is not there.
        let found = queue.find(&Filter::default(), None, 100).unwrap();
        let here = found.get(0).unwrap().key().to_owned();
        let nowhere = "c/2001-01-01T00:00:00.0000000";
        let refs = [&here, nowhere].map(|key| ItemRef { key, token: None });
        let outcomes = queue.redrive(&refs, None).unwrap();
        assert_eq!([outcomes[0].answer, outcomes[1].answer], [Answer::IllegalTransition, Answer::NotFound]);
        assert_eq!(queue.purge(&Filter::of_keys([here]), 10).unwrap(), 1);
        assert_eq!(queue.purge(&Filter::default(), 1000).unwrap(), 29);
    }
}

#[test]
fn one_worker_works_at_all_places_and_keeps_the_order_of_groups() {
    for three in Three::each() {
        let queue = three.open(SPREAD);
        let seen = Mutex::new(HashMap::<i64, Vec<i64>>::new());
        for no in 0..5 {
            queue.enqueue(&(0..20).map(|customer| of(customer, no)).collect::<Vec<_>>(), None).unwrap();
        }
        Worker::new(&queue)
            .threads(4)
            .until_empty(true)
            .run(|job: &readpast::worker::Job<'_>| {
                let number = |name| match job.value(name) {
                    Some(readpast::Value::Integer(number)) => number,
                    other => panic!("{other:?}"),
                };
                assert!(job.key().starts_with(place(number("Customer"))), "{}", job.key());
                seen.lock().unwrap().entry(number("Customer")).or_default().push(number("No"));
            })
            .unwrap();
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 20);
        assert!(seen.values().all(|order| *order == [0, 1, 2, 3, 4]), "{seen:?}");
        assert_eq!(queue.stats().unwrap().count(ItemState::Completed), 100);
    }
}

#[test]
fn a_place_that_is_away_holds_up_no_other() {
    for three in Three::each() {
        three.install(ANYWHERE);
        let (proxy, relayed) = three.behind_a_relay();
        let connections = [three.0[0].connection(), relayed, three.0[2].connection()];
        let queue = Queue::open(&three.config_at(&connections, &[("retry.budget_ms", "600000")]), "Job").unwrap();
        let engine = Engine::new(&queue, WorkerTerms::default());
        engine.start().unwrap();
        proxy.go_away();
        // Each call of a producer is taken by another place.
        let keys: Vec<_> =
            (0..20).map(|n| in_time(|| queue.enqueue(&[plain(n)], None).unwrap().remove(0).key)).collect();
        assert!(keys.iter().all(|key| !key.starts_with('b')), "{keys:?}");
        for _ in 0..20 {
            let Taken::Items(batch) = in_time(|| engine.take(1, Duration::from_secs(600)).unwrap()) else { panic!() };
            let item = batch.get(0).unwrap();
            assert_eq!(engine.begin(item.key(), item.attempt()), Begin::Ok);
            engine.end(&[Settlement::new(&item, Action::Complete)]);
        }
        // Back again, it gets items, and its worker takes them.
        proxy.come_back();
        until("the place is back", || {
            let key = queue.enqueue(&[plain(1)], None).unwrap().remove(0).key;
            key.starts_with('b')
        });
        until("its item is taken", || {
            let Taken::Items(batch) = engine.take(1, Duration::from_secs(600)).unwrap() else { panic!() };
            let item = batch.get(0).unwrap();
            assert_eq!(engine.begin(item.key(), item.attempt()), Begin::Ok);
            engine.end(&[Settlement::new(&item, Action::Complete)]);
            item.key().starts_with('b')
        });
        engine.close(Duration::from_secs(60)).unwrap();
    }
}

#[test]
fn a_silent_place_is_left_out_and_holds_up_no_other() {
    for three in Three::each() {
        three.install(ANYWHERE);
        let (proxy, relayed) = three.behind_a_relay();
        let connections = [three.0[0].connection(), relayed, three.0[2].connection()];
        let settings = [("login.timeout_ms", "1000"), ("query.timeout_ms", "1000"), ("retry.budget_ms", "0")];
        let config = three.config_at(&connections, &settings);
        let queue = open_at_last(&config);
        until("all places are open", || NAMES.iter().all(|name| queue.at(name).is_ok()));
        let engine = Engine::new(&queue, WorkerTerms::default());
        engine.start().unwrap();
        proxy.go_silent();
        // A busy machine may let an answer of the others be late, too. If the place were not left out, every third call would fail.
        let (mut keys, mut failed, mut in_a_row) = (Vec::new(), Vec::new(), 0);
        while in_a_row < 20 {
            match in_time(|| queue.enqueue(&[plain(1)], None)) {
                Ok(receipts) => {
                    keys.push(receipts[0].key.clone());
                    in_a_row += 1;
                }
                Err(error) if error.kind().is_transient() || error.kind() == ErrorKind::OutcomeUnknown => {
                    if error.message().contains("place b") {
                        failed.push(error.message().to_owned());
                        in_a_row = 0;
                        assert!(failed.len() < 10, "{failed:?}");
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(keys.iter().all(|key| !key.starts_with('b')), "{keys:?}");
        let mut taken = 0;
        until("the items of the others are taken", || {
            let Taken::Items(batch) = engine.take(100, Duration::from_secs(600)).unwrap() else { panic!() };
            taken += batch.iter().filter(|item| keys.iter().any(|key| key == item.key())).count();
            taken == keys.len()
        });
        // A queue that is opened then goes on without it.
        let late = open_at_last(&config);
        let claimed = in_time(|| late.claim(1, Duration::ZERO));
        assert!(claimed.as_ref().err().is_none_or(|error| error.kind().is_transient()), "{claimed:?}");
        let _ = in_time(|| engine.close(Duration::ZERO));
        proxy.come_back();
    }
}

#[test]
fn a_place_that_is_away_at_the_start_joins_later() {
    for three in Three::each() {
        three.install(SPREAD);
        let (proxy, relayed) = three.behind_a_relay();
        proxy.go_away();
        let connections = [three.0[0].connection(), relayed, three.0[2].connection()];
        let config = three.config_at(&connections, &[("retry.budget_ms", "0")]);
        let queue = in_time(|| Queue::open(&config, "Job").unwrap());
        let at_b: Vec<_> = (0..100).filter(|customer| place(*customer) == "b").take(2).collect();
        let elsewhere = (0..100).find(|customer| place(*customer) != "b").unwrap();
        // Only its own items fail, and the error names it; a repetition under the error's identity adds what is missing.
        let items = [of(at_b[0], 0), of(elsewhere, 0)];
        let error = queue.enqueue(&items, None).unwrap_err();
        assert!(error.message().contains("place b"), "{error}");
        assert!(error.kind().is_transient() && error.operation().is_some(), "{error:?}");
        let engine = Engine::new(&queue, WorkerTerms::default());
        let take = || {
            let Taken::Items(batch) = engine.take(1, Duration::from_secs(600)).unwrap() else { panic!() };
            let item = batch.get(0).unwrap();
            assert_eq!(engine.begin(item.key(), item.attempt()), Begin::Ok);
            engine.end(&[Settlement::new(&item, Action::Complete)]);
            item.key()[..1].to_owned()
        };
        assert_eq!(in_time(take), place(elsewhere));
        assert!(queue.stats().unwrap_err().message().contains("place b"));
        proxy.come_back();
        until("the place has joined", || queue.at("b").is_ok());
        assert_eq!(queue.enqueue(&items, error.operation()).unwrap().len(), 2);
        assert_eq!(in_time(take), "b");
        assert_eq!(queue.stats().unwrap().count(ItemState::Pending), 0, "the item of the other place was added once");
        engine.close(Duration::from_secs(60)).unwrap();
    }
}

#[test]
fn an_item_of_another_place_is_refused_at_this_one() {
    for three in Three::each() {
        let queue = three.open(SPREAD);
        let here = queue.at("a").unwrap();
        assert_eq!(here.places(), ["a"]);
        let (mine, theirs) = (
            (0..).find(|customer| place(*customer) == "a").unwrap(),
            (0..).find(|customer| place(*customer) == "c").unwrap(),
        );
        here.enqueue(&[of(mine, 0)], None).unwrap();
        let error = here.enqueue(&[of(theirs, 0)], None).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidItem && error.message().contains("place c"), "{error}");
        // An item that follows is put in with the settlement, at its place.
        let batch = here.claim(1, Duration::ZERO).unwrap();
        let item = batch.get(0).unwrap();
        let then = format!(r#"[{{"columns": {{"Customer": {theirs}, "No": 1}}}}]"#);
        let follows = Settlement { then: Some(&then), ..Settlement::new(&item, Action::Complete) };
        let error = here.settle(&[follows], None).unwrap_err();
        assert!(error.message().contains("place c"), "{error}");
        let then = format!(r#"[{{"columns": {{"Customer": {mine}, "No": 1}}}}]"#);
        let follows = Settlement { then: Some(&then), ..Settlement::new(&item, Action::Complete) };
        assert_eq!(queue.settle(&[follows], None).unwrap()[0].answer, Answer::Ok);
        assert_eq!(here.stats().unwrap().count(ItemState::Pending), 1);
        for (wrong, part) in [
            (queue.at("d").unwrap_err(), "a, b, c"),
            (here.at("b").unwrap_err(), "place a"),
            (queue.get("2026-11-21T00:00:00").unwrap_err(), "names no place"),
            (queue.get("d/2026-11-21T00:00:00").unwrap_err(), "names no place"),
            (here.get("b/2026-11-21T00:00:00").unwrap_err(), "place a"),
        ] {
            assert!(wrong.message().contains(part), "{wrong}");
        }
        here.watch(10).unwrap();
    }
}

#[test]
fn an_install_goes_through_all_places_and_refuses_different_ones() {
    // The stand-in for SQL Server calls its indexes by other names, and installs nothing twice.
    for three in Three::each().filter(|three| !three.0[0].is_stand_in()) {
        let config = three.config(&[]);
        let spec = |text: &str| QueueSpec::from_json(text).unwrap();
        readpast::install(&config.at("b").unwrap(), Some(&spec(ANYWHERE))).unwrap();
        // One that was there, and two that come new.
        readpast::install(&config, Some(&spec(ANYWHERE))).unwrap();
        assert_eq!(three.counts(), ["0", "0", "0"]);
        let wider = ANYWHERE.replace("}]}", "}, {\"name\": \"More\", \"type\": \"text(5)\"}]}");
        readpast::install(&config.at("c").unwrap(), Some(&spec(&wider))).unwrap();
        let third = wider.replace("More", "Less");
        let error = readpast::install(&config, Some(&spec(&third))).unwrap_err();
        assert!(error.kind() == ErrorKind::SchemaMismatch && error.message().contains("a and c"), "{error}");
        // It goes on where an install has ended early.
        readpast::install(&config, Some(&spec(&wider))).unwrap();
        let described = |place: &str| readpast::installed(&config.at(place).unwrap()).unwrap().remove(0).description;
        assert_eq!(described("a"), described("c"));
        for (text, part) in [
            (
                r#"{"queue": "Q", "columns": [{"name": "K", "type": "integer"}], "order": {"group": "K"}}"#,
                "order.group",
            ),
            (r#"{"queue": "Q", "columns": [{"name": "K", "type": "integer"}], "dedup": {"columns": ["K"]}}"#, "dedup"),
            (
                r#"{"queue": "Q", "columns": [], "schedule": [{"name": "n", "cron": "@daily", "zone": "UTC", "item": {}}]}"#,
                "schedule",
            ),
        ] {
            let error = readpast::install(&config, Some(&spec(text))).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(part), "{error}");
        }
        assert!(Queue::open(&config.at("a").unwrap(), "Q").is_err(), "nothing of them was installed");
    }
}

#[test]
fn places_are_found_by_a_query() {
    let three = Three::each().next().unwrap();
    let scratch = Scratch::empty();
    scratch.run("CREATE TABLE public.place (name text, changes text)");
    let config = scratch.config(&[("places.query", "SELECT name, changes FROM public.place")]);
    let error = Queue::open(&config, "Job").unwrap_err();
    assert!(error.message().contains("has found 0 places"), "{error}");
    for (name, of) in NAMES.iter().zip(&three.0) {
        scratch.run(&format!("INSERT INTO public.place VALUES ('{name}', 'Database={}')", of.name()));
    }
    readpast::install(&config, Some(&QueueSpec::from_json(SPREAD).unwrap())).unwrap();
    let queue = Queue::open(&config, "Job").unwrap();
    assert_eq!(queue.places(), NAMES);
    let key = queue.enqueue(&[of(7, 0)], None).unwrap().remove(0).key;
    assert!(key.starts_with(place(7)), "{key}");
    let one = Queue::open(config.clone().set("place", "b").unwrap(), "Job").unwrap();
    assert_eq!(one.places(), ["b"]);
    for (query, part) in [
        ("SELECT 'a'", "two columns"),
        ("SELECT 1, 2", "two columns"),
        ("SELEC", "places.query"),
        ("citus", "places.query"),
    ] {
        let error = Queue::open(config.clone().set("places.query", query).unwrap(), "Job").unwrap_err();
        assert!(error.message().contains(part), "{query}: {error}");
    }
}
