//! A worker process: claims, works and settles until its order to end comes and nothing is left, or it is killed.

use crate::crew::text;
use crate::{consumer, place};
use readpast::item::{Action, Settlement};
use serde_json::Value;
use std::{path::Path, thread, time::Duration};
use support::api::{Layer, Taken};
use support::dice::Dice;
use support::fixture::Settings;
use support::ledger::Ledger;

/// The most items of a claim.
pub const MAX_BATCH: u64 = 8;

/// The work of these can never be done.
pub fn is_doomed(work: u64) -> bool {
    work % 29 == 13
}

/// The first attempt at these fails.
pub fn stumbles(work: u64) -> bool {
    work % 5 == 1
}

/// The whole life of a worker process.
pub fn run(order: &str) {
    let order: Value = serde_json::from_str(order).unwrap();
    let ledger = Ledger::open(Path::new(&text(&order, "ledger")));
    let pairs = order["settings"].as_array().unwrap().iter();
    let mut settings: Vec<_> =
        pairs.map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].as_str().unwrap().to_owned())).collect();
    let task = &order["task"];
    let dice = Dice::new(order["seed"].as_u64().unwrap());
    let over = text(&order, "over");
    let is_over = || Path::new(&over).exists();
    if task["take"].is_array() {
        return consumer::run(&Settings::from(settings), task, &text(&order, "worker"), dice, &ledger, is_over);
    }
    for (key, value) in [("lease.ms", text(task, "lease_ms")), ("recover.interval_ms", "200".to_owned())] {
        settings.push((key.to_owned(), value));
    }
    work(&Settings::from(settings), task, dice, &ledger, is_over);
}

fn work(settings: &Settings, task: &Value, mut dice: Dice, ledger: &Ledger, is_over: impl Fn() -> bool) {
    let queue = Layer::Rust.open(settings, &text(task, "queue")).unwrap();
    let mut held = Vec::new();
    loop {
        if held.is_empty() {
            // Asked before the claim: what is found empty after that is so for good.
            let last = is_over();
            held = queue.claim(1 + dice.below(MAX_BATCH) as u32, Duration::from_millis(50)).unwrap();
            ledger.claimed(&held);
            if held.is_empty() && last {
                return;
            }
            continue;
        }
        if dice.one_in(10) {
            let leases: Vec<_> = held.iter().map(Taken::lease).collect();
            queue.renew(&leases).unwrap();
        }
        thread::sleep(Duration::from_micros(dice.below(3000) * held.len() as u64));
        let settlements: Vec<_> = held.iter().map(|item| handle(item, task)).collect();
        ledger.asking(&settlements);
        let next = if dice.one_in(2) {
            let outcomes = queue.settle(&settlements, None).unwrap();
            ledger.answered(&settlements, &outcomes);
            Vec::new()
        } else {
            let max = 1 + dice.below(MAX_BATCH) as u32;
            let (outcomes, next) = queue.settle_and_claim(&settlements, max).unwrap();
            ledger.answered(&settlements, &outcomes);
            ledger.claimed(&next);
            next
        };
        held = next;
    }
}

fn handle<'a>(item: &'a Taken, task: &Value) -> Settlement<'a> {
    if task["stumbles"] == false {
        return item.settle(Action::Complete);
    }
    let work = work_of(item, task["column"].as_str());
    if is_doomed(work) {
        Settlement { error: Some("no such address"), ..item.settle(Action::Fail) }
    } else if stumbles(work) && item.attempt == 1 {
        Settlement { error: Some("try again"), ..item.settle(Action::Retry) }
    } else {
        item.settle(Action::Complete)
    }
}

/// The number that stands for the work of an item.
fn work_of(item: &Taken, column: Option<&str>) -> u64 {
    match column.map(|column| item.column(column)) {
        Some(Value::Number(number)) => number.as_u64().unwrap(),
        Some(Value::String(text)) => number_in(text),
        Some(other) => panic!("{other}"),
        None => number_in(&item.key),
    }
}

/// The digits at the end of a text; of a time, the microseconds.
pub fn number_in(text: &str) -> u64 {
    match text.rsplit_once('.') {
        Some((_, fraction)) => format!("{fraction:0<6}")[..6].parse().unwrap(),
        None => text.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0),
    }
}

/// Names an item's key and attempt as they are in a ledger.
pub fn taken(key: &str) -> Taken {
    Taken {
        key: place::text(readpast::item::Value::Text(key)),
        token: String::new(),
        attempt: 1,
        columns: Vec::new(),
        json: Value::Null,
        text: String::new(),
    }
}
