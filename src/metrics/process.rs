//! Names and meanings of a process's figures.

use super::counters::{BOUNDS_US, CallKind, Counters, REFUSALS};
use super::family::{Family, Kind, number};
use super::source::{CurrentFigures, Reading};
use crate::error::ErrorKind;
use crate::item::ItemState;
use std::sync::Arc;
use std::time::Duration;

/// A figure with one value for each queue.
type Plain = (&'static str, Kind, &'static str, fn(&Reading) -> f64);

const PLAIN: [Plain; 11] = [
    ("readpast_pool_connections_max", Kind::Gauge, "The most connections that the open handles may have.", |of| {
        number(of.now.most)
    }),
    ("readpast_pool_waiting_threads", Kind::Gauge, "Threads that wait for a connection.", |of| number(of.now.waiting)),
    ("readpast_pool_waits_total", Kind::Counter, "How often a thread had to wait for a connection.", |of| {
        number(of.so_far.waits)
    }),
    ("readpast_pool_wait_seconds_total", Kind::Counter, "How long threads have waited for connections.", |of| {
        of.so_far.waited.as_secs_f64()
    }),
    ("readpast_pool_opened_connections_total", Kind::Counter, "Connections that were opened.", |of| {
        number(of.so_far.opened)
    }),
    (
        "readpast_pool_given_up_connections_total",
        Kind::Counter,
        "Connections that were given up, because a call on them did not return in time.",
        |of| number(of.so_far.given_up),
    ),
    ("readpast_pool_hanging_connections", Kind::Gauge, "Connections given up whose call has not returned.", |of| {
        number(of.now.hanging)
    }),
    ("readpast_workers", Kind::Gauge, "Workers of this process that run.", |of| number(of.now.workers)),
    ("readpast_worker_fetchers", Kind::Gauge, "Threads of workers that call the database.", |of| {
        number(of.now.fetchers)
    }),
    (
        "readpast_worker_refused_items_total",
        Kind::Counter,
        "Items for which a part of the handler's result was refused and left out.",
        |of| number(of.so_far.refused),
    ),
    (
        "readpast_worker_troubles_total",
        Kind::Counter,
        "Calls of workers that failed although they were retried, and are made again later.",
        |of| number(of.so_far.troubles),
    ),
];

/// A queue, and the sum of its sources.
struct QueueSources {
    counters: Arc<Counters>,
    reading: Reading,
}

/// The figures of these queues.
pub(super) fn families(ledgers: &[Arc<Counters>]) -> Vec<Family> {
    let all: Vec<_> = ledgers
        .iter()
        .map(|counters| QueueSources { counters: Arc::clone(counters), reading: counters.read() })
        .collect();
    let mut families = vec![build()];
    families.extend(items(&all));
    families.extend(calls(&all));
    families.extend(handlers(&all));
    families.push(connections(&all));
    families.extend(PLAIN.map(|plain| of_each(&all, plain)));
    families.push(in_hand(&all));
    families
}

fn build() -> Family {
    let mut family = Family::new("readpast_build_info", Kind::Gauge, "The version of readpast.");
    family.add(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    family
}

impl QueueSources {
    /// Adds a figure of this queue, with `label`.
    fn add(&self, family: &mut Family, label: Option<(&'static str, &str)>, value: f64) {
        family.add(&self.labels(label), value);
    }

    fn labels<'a>(&'a self, label: Option<(&'static str, &'a str)>) -> Vec<(&'static str, &'a str)> {
        [("schema", self.counters.schema.as_str()), ("queue", self.counters.queue.as_str())]
            .into_iter()
            .chain(label)
            .collect()
    }
}

fn of_each(all: &[QueueSources], (name, kind, help, value): Plain) -> Family {
    let mut family = Family::new(name, kind, help);
    all.iter().for_each(|seen| seen.add(&mut family, None, value(&seen.reading)));
    family
}

/// Figures about items.
fn items(all: &[QueueSources]) -> [Family; 6] {
    let mut claims = Family::new("readpast_claims_total", Kind::Counter, "Looks for items, by their result.");
    let mut claimed = Family::new("readpast_claimed_items_total", Kind::Counter, "Items that were claimed.");
    let mut enqueued = Family::new(
        "readpast_enqueued_items_total",
        Kind::Counter,
        "Items to enqueue; duplicate: the queue had the same work already.",
    );
    let mut settled = Family::new(
        "readpast_settled_items_total",
        Kind::Counter,
        "Settlements, by the item's state after them, or by the reason of their refusal.",
    );
    let mut lost = Family::new(
        "readpast_lost_leases_total",
        Kind::Counter,
        "Claims that a renewal, a settlement or the next claim found lost.",
    );
    let mut aside = Family::new(
        "readpast_refused_by_table_total",
        Kind::Counter,
        "Claims and recoveries of an item that its table refused; the item is set aside for a while.",
    );
    for seen in all {
        let counters = &*seen.counters;
        seen.add(&mut aside, None, number(counters.aside.get()));
        for (found, count) in ["items", "nothing"].into_iter().zip(&counters.claims) {
            seen.add(&mut claims, Some(("found", found)), number(count.get()));
        }
        seen.add(&mut claimed, None, number(counters.claimed.get()));
        for (outcome, count) in ["new", "duplicate"].into_iter().zip(&counters.enqueued) {
            seen.add(&mut enqueued, Some(("outcome", outcome)), number(count.get()));
        }
        let states = ItemState::ALL.map(|state| state.to_string()).into_iter().zip(&counters.settled);
        let refusals = REFUSALS.map(|answer| format!("{answer:?}")).into_iter().zip(&counters.refused);
        for (outcome, count) in states.chain(refusals) {
            seen.add(&mut settled, Some(("outcome", &outcome)), number(count.get()));
        }
        seen.add(&mut lost, None, number(counters.lost.get()));
    }
    [claims, claimed, enqueued, settled, lost, aside]
}

/// Figures about calls.
fn calls(all: &[QueueSources]) -> [Family; 3] {
    let mut took = Family::new(
        "readpast_call_duration_seconds",
        Kind::Histogram,
        "How long each try at a call took once it had a connection, whatever its outcome.",
    );
    let mut retries =
        Family::new("readpast_call_retries_total", Kind::Counter, "Calls that were repeated after a transient error.");
    let mut errors =
        Family::new("readpast_call_errors_total", Kind::Counter, "Tries at calls that failed, by the kind of error.");
    let bounds = BOUNDS_US.map(|us| Duration::from_micros(us).as_secs_f64());
    for seen in all {
        for ((_, name), histogram) in CallKind::ALL.iter().zip(&seen.counters.calls) {
            let (counts, sum) = histogram.read();
            if counts.iter().any(|count| *count > 0) {
                let labels = seen.labels(Some(("call", name)));
                took.add_histogram(&labels, &bounds, &counts, sum.as_secs_f64());
            }
        }
        seen.add(&mut retries, None, number(seen.counters.retries.get()));
        for (kind, count) in ErrorKind::ALL.into_iter().zip(&seen.counters.errors) {
            // Transient errors have a figure from the beginning, so that a monitor sees the first one.
            if kind.is_transient() || count.get() > 0 {
                seen.add(&mut errors, Some(("error", &format!("{kind:?}"))), number(count.get()));
            }
        }
    }
    [took, retries, errors]
}

/// The times of items in flight.
fn handlers(all: &[QueueSources]) -> [Family; 2] {
    let mut waited = Family::new(
        "readpast_worker_wait_seconds",
        Kind::Histogram,
        "How long items that workers claimed ahead waited for a handler: from the claim until a handler began.",
    );
    let mut worked = Family::new(
        "readpast_worker_handler_seconds",
        Kind::Histogram,
        "How long handlers of workers had their items: from the moment they began until they ended them.",
    );
    let bounds = BOUNDS_US.map(|us| Duration::from_micros(us).as_secs_f64());
    for seen in all {
        for (family, histogram) in [(&mut waited, &seen.counters.waited), (&mut worked, &seen.counters.worked)] {
            let (counts, sum) = histogram.read();
            if counts.iter().any(|count| *count > 0) {
                family.add_histogram(&seen.labels(None), &bounds, &counts, sum.as_secs_f64());
            }
        }
    }
    [waited, worked]
}

fn connections(all: &[QueueSources]) -> Family {
    let mut family = Family::new(
        "readpast_pool_connections",
        Kind::Gauge,
        "Connections that are open or being opened, by whether they are in use.",
    );
    for seen in all {
        let CurrentFigures { idle, in_use, .. } = seen.reading.now;
        for (state, count) in [("idle", idle), ("in_use", in_use)] {
            seen.add(&mut family, Some(("state", state)), number(count));
        }
    }
    family
}

fn in_hand(all: &[QueueSources]) -> Family {
    let mut family = Family::new(
        "readpast_worker_items",
        Kind::Gauge,
        "Items that workers hold: ready for a handler, begun by one, or ended and to be settled.",
    );
    for seen in all {
        let CurrentFigures { ready, begun, ended, .. } = seen.reading.now;
        for (state, count) in [("ready", ready), ("begun", begun), ("ended", ended)] {
            seen.add(&mut family, Some(("state", state)), number(count));
        }
    }
    family
}
