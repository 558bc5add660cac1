//! The span around each future.

use super::runtime;
use crate::worker::given::Given;
use readpast::{Queue, Verdict, Worker};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use support::scratch::item;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The fields of each span, and what happened inside it.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<BTreeMap<u64, Fields>>>, Arc<Mutex<Vec<u64>>>, Arc<AtomicU64>);

#[derive(Clone, Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.2.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fields = Fields::default();
        span.record(&mut fields);
        fields.0.insert("name".to_owned(), span.metadata().name().to_owned());
        self.0.lock().unwrap().insert(id, fields);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        values.record(self.0.lock().unwrap().get_mut(&span.into_u64()).unwrap());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some(span) = self.1.lock().unwrap().last() {
            event.record(self.0.lock().unwrap().get_mut(span).unwrap());
        }
    }

    fn enter(&self, span: &Id) {
        self.1.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.1.lock().unwrap().pop();
    }
}

fn work(queue: &Queue) {
    let worker = Worker::new(queue).threads(2).until_empty(true);
    let work = worker.run_async(|job| async move {
        tokio::task::yield_now().await;
        tracing::info!(payload = job.text("Payload"));
        if job.text("Payload") == Some("a") { Verdict::complete() } else { Verdict::fail("no") }
    });
    runtime().block_on(work).unwrap();
}

#[test]
fn a_span_is_around_each_future_and_has_its_action() {
    for given in Given::each(&["a"], &[]) {
        // A place in the code that another test enters first, while this one's subscriber is the only one, stays off.
        work(&given.queue);
        given.queue.enqueue(&[item("a"), item("b")], None).unwrap();
        let spans = Spans::default();
        let _default = tracing::subscriber::set_default(spans.clone());
        work(&given.queue);
        let spans = spans.0.lock().unwrap();
        let process: Vec<_> = spans.values().map(|span| &span.0).filter(|span| span["name"] == "process").collect();
        assert_eq!(process.len(), 2);
        for (payload, action) in [("\"a\"", "Complete"), ("\"b\"", "Fail")] {
            let span = process.iter().find(|span| span.get("payload").is_some_and(|its| its == payload)).unwrap();
            assert_eq!((&*span["action"], &*span["attempt"]), (action, "1"));
            assert_eq!(span["queue"], format!("{:?}", given.queue.name()));
            assert!(span["worker"].len() > 2 && span["key"].len() > 2, "{span:?}");
        }
    }
}
