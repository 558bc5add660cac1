//! Items that follow a settlement, in its commit, on both servers.

use readpast::item::{Action, Columns, NewItem, Settlement};
use readpast::worker::Job;
use readpast::{Answer, ErrorKind, Filter, Item, ItemState, Queue, QueueSpec, Verdict, Worker, install};
use serde_json::json;
use std::time::Duration;
use support::both::Database;

const ORDER: &str = r#"{"queue": "Order", "backoff": "none", "columns": [{"name": "N", "type": "integer"}]}"#;
const INVOICE: &str = r#"{"queue": "Invoice", "types": ["Letter", "Mail"], "columns": [
    {"name": "Of", "type": "integer", "nullable": false, "check": "\"Of\" >= 0"}, {"name": "Note", "type": "text(5)"}],
    "dedup": {"columns": ["Of"]}}"#;

struct Given {
    order: Queue,
    invoice: Queue,
}

impl Given {
    fn new(database: &Database) -> Self {
        for spec in [ORDER, INVOICE] {
            install(&database.config(&[]), Some(&QueueSpec::from_json(spec).unwrap())).unwrap();
        }
        let open = |name| Queue::open(&database.config(&[]), name).unwrap();
        Self { order: open("Order"), invoice: open("Invoice") }
    }

    /// Puts in orders with these numbers.
    fn put(&self, numbers: impl IntoIterator<Item = i32>) -> Vec<String> {
        let items: Vec<_> = numbers.into_iter().map(order).collect();
        self.order.enqueue(&items, None).unwrap().into_iter().map(|receipt| receipt.key).collect()
    }

    /// The orders of the invoices.
    fn invoiced(&self) -> Vec<i64> {
        let found = self.invoice.find(&Filter::default(), None, 1000).unwrap();
        let mut all: Vec<_> = found.iter().map(|item| number(&item, "of")).collect();
        all.sort_unstable();
        all
    }

    fn state(&self, key: &str) -> (ItemState, String) {
        let found = self.order.get(key).unwrap();
        let item = found.get(0).unwrap();
        (item.state().unwrap(), item.to_json())
    }
}

fn order(number: i32) -> NewItem {
    NewItem { columns: Columns::from_iter([("N", number)]), ..NewItem::default() }
}

fn invoice(of: i64) -> NewItem {
    NewItem { kind: Some("Mail".to_owned()), columns: Columns::from_iter([("Of", of)]), ..NewItem::default() }
}

fn number(item: &Item<'_>, column: &str) -> i64 {
    let item: serde_json::Value = serde_json::from_str(&item.to_json()).unwrap();
    let members = item.as_object().unwrap();
    let (_, value) = members.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).unwrap();
    value.as_i64().unwrap()
}

#[test]
fn accepted_settlements_alone_are_followed_and_once() {
    for database in Database::each() {
        let given = Given::new(&database);
        given.put(0..4);
        let batch = given.order.claim(4, Duration::ZERO).unwrap();
        let verdicts: Vec<_> =
            batch.iter().map(|item| Verdict::complete().then("Invoice", [invoice(number(&item, "n"))])).collect();
        let mut settlements: Vec<_> = batch
            .iter()
            .zip(&verdicts)
            .map(|(item, verdict)| verdict.settlement(item.key(), item.token(), item.attempt()))
            .collect();
        settlements[1].attempt = 7;
        settlements[2].then = None;
        let more = json!([{"columns": {"N": 10}, "delay_ms": 3_600_000}, {"columns": {"N": 11}}]).to_string();
        settlements[3].then = Some(&more);
        let operation = "d6513312-4dcc-4c44-b044-08b98257037c";
        for _ in 0..3 {
            let outcomes = given.order.settle(&settlements, Some(operation)).unwrap();
            let answers: Vec<_> = outcomes.iter().map(|outcome| outcome.answer).collect();
            assert_eq!(answers, [Answer::Ok, Answer::LeaseLost, Answer::Ok, Answer::Ok]);
            assert_eq!(given.invoiced(), [0]);
            let stats = given.order.stats().unwrap();
            assert_eq!((stats.count(ItemState::Completed), stats.count(ItemState::Pending)), (3, 2));
        }
        // One of the two waits for its hour.
        assert_eq!(given.order.claim(10, Duration::ZERO).unwrap().len(), 1);
        assert!(given.order.is_done(operation).unwrap());
    }
}

#[test]
fn mistakes_are_named_and_nothing_is_done() {
    for database in Database::each() {
        let given = Given::new(&database);
        let keys = given.put(0..2);
        let batch = given.order.claim(2, Duration::ZERO).unwrap();
        let cases = [
            (
                json!([{"queue": "Invoice", "columns": {"Of": 1}}, {"queue": "Invoice"}]),
                "item 1: then[1]: item 0: column \"Of\" must have",
            ),
            (json!([{"queue": "Invoices"}]), "then[0]: schema \"readpast\" has no queue \"Invoices\""),
            (json!([{"queue": "Invoice", "type": "Fax", "columns": {"Of": 1}}]), "has no type \"Fax\""),
            (
                json!([{"queue": "Invoice", "columns": {"Of": 1, "Note": "longer"}}]),
                "\"Note\" (text(5)) is 6 characters",
            ),
            (json!([{"columns": {"N": 1}, "delay_ms": -5}]), "-5"),
            (json!({}), "must be an array of items"),
        ];
        for (then, part) in cases {
            let then = then.to_string();
            let mut all: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            all[1].then = Some(&then);
            let error = given.order.settle(&all, None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidItem, "{error}");
            assert!(error.message().contains("item 1: ") && error.message().contains(part), "{part}: {error}");
        }
        // The server refuses a value, and then the settlement too.
        let then = json!([{"queue": "Invoice", "columns": {"Of": 8}}, {"queue": "Invoice", "columns": {"Of": -1}}]);
        let then = then.to_string();
        let bad = Settlement { then: Some(&then), ..Settlement::new(&batch.get(0).unwrap(), Action::Complete) };
        assert_eq!(given.order.settle(&[bad], None).unwrap_err().kind(), ErrorKind::InvalidItem);
        assert_eq!(given.invoiced(), [] as [i64; 0]);
        assert!(keys.iter().all(|key| given.state(key).0 == ItemState::Processing));
    }
}

#[test]
fn a_worker_goes_on_past_followers_that_are_refused() {
    for database in Database::each() {
        let given = Given::new(&database);
        let keys = given.put(0..40);
        // The same work is there already, which keeps no order from being done.
        given.invoice.enqueue(&[invoice(4)], None).unwrap();
        let handle = |job: &Job<'_>| match number(&job.item(), "n") {
            1 => Verdict::complete().response("done").then("Invoice", [invoice(-1)]),
            2 => Verdict::complete().then("Nowhere", [invoice(2)]),
            3 => Verdict::retry("later").after(Duration::from_secs(3600)).then("Invoice", [invoice(3)]),
            n if n < 40 => Verdict::complete().then("Invoice", [invoice(n)]).then("Order", [order(100)]),
            _ => Verdict::complete(),
        };
        Worker::new(&given.order).until_empty(true).run(handle).unwrap();
        let wanted: Vec<i64> = (0..40).filter(|n| ![1, 2].contains(n)).collect();
        assert_eq!(given.invoiced(), wanted);
        for (at, part) in [(1, "a part of the result was refused"), (2, "has no queue")] {
            let (state, item) = given.state(&keys[at]);
            assert_eq!(state, ItemState::Failed, "not done without them: {item}");
            assert!(item.contains(part), "{item}");
        }
        let stats = given.order.stats().unwrap();
        assert_eq!(stats.count(ItemState::Completed), 37 + 37, "with an order after each");
        assert_eq!((stats.count(ItemState::Failed), stats.count(ItemState::Error)), (2, 1));
    }
}

/// Each order is followed by the next, and the last by an invoice.
#[test]
fn chains_of_two_queues_run_to_their_end() {
    const LENGTH: i32 = 50;
    for database in Database::each() {
        let given = Given::new(&database);
        given.put([0, 0, 0]);
        let next = |job: &Job<'_>| {
            let n = i32::try_from(number(&job.item(), "n")).unwrap();
            let done = Verdict::complete();
            if n < LENGTH { done.then("Order", [order(n + 1)]) } else { done.then("Invoice", [invoice(n.into())]) }
        };
        Worker::new(&given.order).until_empty(true).run(next).unwrap();
        assert_eq!(given.order.stats().unwrap().count(ItemState::Completed), 3 * i64::from(LENGTH + 1));
        assert_eq!(given.invoiced(), [i64::from(LENGTH)], "the same work once");
    }
}
