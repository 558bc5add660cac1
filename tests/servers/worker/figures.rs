//! The metrics of a process about its workers while they are there, and after.

use readpast::engine::{Taken, WorkerTerms};
use readpast::{Action, Engine, Queue, QueueSpec, Settlement, install};
use std::time::Duration;
use support::both::Database;
use support::limit::until;
use support::scratch::item;

/// A figure of the queue; `more` are labels besides its own.
fn figure(queue: &Queue, name: &str, more: &str) -> f64 {
    let of = format!(",queue=\"{}\"{more}}} ", queue.name());
    let text = readpast::metrics().to_string();
    let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")) && line.contains(&of));
    line.map_or(-1.0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

#[test]
fn workers_are_reported_while_they_run_and_their_counts_stay() {
    for (number, database) in Database::each().into_iter().enumerate() {
        let config = database.config(&[("worker.fetchers", "2")]);
        // A name of its own: figures are the process's, which the other tests work in too.
        let name = format!("Told{number}");
        install(&config, Some(&QueueSpec::from_json(&format!(r#"{{"queue": "{name}"}}"#)).unwrap())).unwrap();
        let queue = Queue::open(&config, &name).unwrap();
        queue.enqueue(&[item("a"), item("b")], None).unwrap();
        assert_eq!(figure(&queue, "readpast_workers", ""), 0.0);

        let engine = Engine::new(&queue, WorkerTerms::default());
        let Taken::Items(batch) = engine.take(1, Duration::from_secs(600)).unwrap() else { panic!("there are items") };
        assert_eq!(figure(&queue, "readpast_workers", ""), 1.0);
        assert_eq!(figure(&queue, "readpast_worker_fetchers", ""), 2.0);
        assert_eq!(figure(&queue, "readpast_worker_items", ",state=\"begun\""), 1.0);
        let taken = batch.get(0).unwrap();
        let spoiled = Settlement { response: Some("a\0b"), ..Settlement::new(&taken, Action::Complete) };
        engine.end(&[spoiled]);
        until("it is settled", || figure(&queue, "readpast_settled_items_total", ",outcome=\"Completed\"") == 1.0);
        assert_eq!(figure(&queue, "readpast_worker_items", ",state=\"begun\""), 0.0);
        assert_eq!(figure(&queue, "readpast_worker_refused_items_total", ""), 1.0);
        let handler = "readpast_worker_handler_seconds";
        assert_eq!(figure(&queue, &format!("{handler}_count"), ""), 1.0, "the other waits, or was never claimed");
        assert!(figure(&queue, &format!("{handler}_sum"), "") > 0.0);
        assert_eq!(figure(&queue, "readpast_worker_wait_seconds_count", ""), 1.0);
        engine.close(Duration::from_secs(600)).unwrap();
        drop(engine);
        until("its threads have ended", || figure(&queue, "readpast_workers", "") == 0.0);
        assert_eq!(figure(&queue, "readpast_worker_fetchers", ""), 0.0);
        assert_eq!(figure(&queue, "readpast_worker_refused_items_total", ""), 1.0);
        assert_eq!(figure(&queue, "readpast_worker_troubles_total", ""), 0.0);
    }
}
