//! Futures by the type of the item.

use super::runtime;
use readpast::worker::{AsyncHandlers, AsyncJob};
use readpast::{Columns, Filter, ItemState, NewItem, Queue, QueueSpec, Verdict, Worker, install, item::Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use support::both::Database;
use support::limit::HOLDS;

#[derive(Deserialize)]
struct SendMail {
    to: String,
}

type Seen = Arc<Mutex<Vec<String>>>;

fn note(seen: &Seen, line: impl Into<String>) {
    seen.lock().unwrap().push(line.into());
}

fn mail(seen: &Seen, handlers: AsyncHandlers) -> AsyncHandlers {
    let seen = Arc::clone(seen);
    handlers.handle("SendMail", move |job: AsyncJob| {
        let seen = Arc::clone(&seen);
        async move {
            tokio::task::yield_now().await;
            let mail: SendMail = job.in_column("Document")?;
            assert_ne!(mail.to, "panic");
            note(&seen, format!("mail {}", mail.to));
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        }
    })
}

fn around(seen: &Seen, name: &'static str, handlers: AsyncHandlers) -> AsyncHandlers {
    let seen = Arc::clone(seen);
    handlers.around(move |job, next| {
        let seen = Arc::clone(&seen);
        async move {
            note(&seen, format!("{name} in"));
            let verdict = next.call(job).await;
            note(&seen, format!("{name} out"));
            verdict
        }
    })
}

/// Handles items of these types and documents; state, attempt and error of each, in the order of their keys.
fn ended(handlers: AsyncHandlers, database: &Database, items: &[(&str, Json)]) -> Vec<(ItemState, i32, String)> {
    let spec = json!({"queue": "Job", "types": ["SendMail", "Resize"], "columns": [{"name": "Document", "type": "json"}],
        "backoff": {"first_ms": 3_600_000, "cap_ms": 3_600_000}});
    let config = database.config(&[HOLDS, ("lease.ms", "3600000")]);
    install(&config, Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    let queue = Queue::open(&config, "Job").unwrap();
    let item = |(kind, document): &(&str, Json)| NewItem {
        kind: Some((*kind).to_owned()),
        columns: Columns::from_iter([("Document", document.clone())]),
        ..NewItem::default()
    };
    queue.enqueue(&items.iter().map(item).collect::<Vec<_>>(), None).unwrap();
    let worker = Worker::new(&queue).until_empty(true);
    runtime().block_on(worker.run_async(move |job| handlers.call(job))).unwrap();
    let error = |item: &readpast::Item<'_>| match item.value_of("Error").unwrap() {
        Value::Text(text) => text.to_owned(),
        _ => String::new(),
    };
    let all = queue.find(&Filter::default(), None, 1000).unwrap();
    all.iter().map(|item| (item.state().unwrap(), item.attempt(), error(&item))).collect()
}

#[test]
fn work_goes_to_the_future_of_its_type() {
    for database in Database::each() {
        let seen = Seen::default();
        let handlers = mail(&seen, AsyncHandlers::new());
        assert_eq!(format!("{handlers:?}"), "AsyncHandlers { types: [\"SendMail\"], .. }");
        let items = [
            ("SendMail", json!({"to": "a"})),
            ("SendMail", json!({"to": 7})),
            ("Resize", json!({})),
            ("SendMail", json!({"to": "panic"})),
        ];
        let ended = ended(handlers, &database, &items);
        assert_eq!(*seen.lock().unwrap(), ["mail a"]);
        assert_eq!(ended[0], (ItemState::Completed, 1, String::new()));
        let why = "the item carries no SendMail: invalid type: integer, expected a string at line 1 column ";
        assert!(ended[1].0 == ItemState::Failed && ended[1].2.starts_with(why), "{ended:?}");
        let why = "this worker has no handler for the type Resize; it has some for SendMail";
        assert_eq!(ended[2], (ItemState::Error, 1, why.to_owned()));
        assert_eq!(ended[3].0, ItemState::Error, "a panic is its item's");
    }
}

#[test]
fn the_first_middleware_is_the_outermost_and_may_decide_alone() {
    for database in Database::each() {
        let seen = Seen::default();
        let handlers = mail(&seen, AsyncHandlers::new()).handle_all(async |_| Verdict::complete().response("other"));
        let handlers = around(&seen, "inner", around(&seen, "outer", handlers));
        let handlers = handlers.around(async |job: AsyncJob, next| {
            let document = job.text("Document").unwrap_or_default().to_owned();
            if document.contains("never") { Verdict::fail("not today") } else { next.call(job).await }
        });
        let items = [("SendMail", json!({"to": "a"})), ("SendMail", json!({"to": "never"})), ("Resize", json!({}))];
        let ended = ended(handlers, &database, &items);
        let mut all = seen.lock().unwrap().clone();
        assert_eq!(all[..2], ["outer in", "inner in"]);
        all.sort();
        let [inner, outer] = ["inner", "outer"].map(|name| ["in", "out"].map(|way| vec![format!("{name} {way}"); 3]));
        assert_eq!(all, [inner.concat(), vec!["mail a".to_owned()], outer.concat()].concat());
        assert_eq!(ended[1], (ItemState::Failed, 1, "not today".to_owned()));
        assert!([0, 2].iter().all(|place: &usize| ended[*place].0 == ItemState::Completed), "{ended:?}");
    }
}

#[test]
fn a_type_has_one_future() {
    let twice = || drop(mail(&Seen::default(), mail(&Seen::default(), AsyncHandlers::new())));
    let why = catch_unwind(AssertUnwindSafe(twice)).unwrap_err();
    assert_eq!(why.downcast_ref::<String>().unwrap(), "there is a handler for the type SendMail");
}
