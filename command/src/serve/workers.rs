//! Workers, by the registry and by the items that they hold, and until when.

use super::answer::Answer;
use super::pages::Page;
use super::request::Request;
use super::{App, items};
use crate::looked;
use crate::sampler::{History, Sampler};
use crate::{concerns, roles};
use readpast::item::{RegisteredWorker, utc_ms, utc_text};
use readpast::{Batch, Filter, ItemState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Items in flight of a queue whose leases are read.
const READ: u32 = 500;

#[derive(Default)]
struct Worker {
    items: i64,
    longest_ms: Option<i64>,
    queues: BTreeMap<String, i64>,
    /// The first lease to end, and the last.
    leases: Option<(String, String)>,
    renewed: Option<String>,
    /// Its row in the registry, the newest where it works on several queues.
    registered: Option<RegisteredWorker>,
}

impl Worker {
    fn is_there(&self) -> bool {
        self.items > 0 || self.registered.as_ref().is_some_and(concerns::is_there)
    }
}

/// Workers that have gone, at most, and within what time.
const GONE: usize = 50;
const DAY_MS: i64 = 86_400_000;

pub fn page(app: &App, request: &Request) -> Answer {
    let (mut workers, mut problems, mut idle) = (BTreeMap::<String, Worker>::new(), Vec::new(), Vec::new());
    for sampler in app.queues.all() {
        let history = sampler.history();
        let Some(sample) = history.samples.last() else { continue };
        for holding in &sample.watched.workers {
            let worker = workers.entry(holding.worker.clone()).or_default();
            worker.items += holding.items;
            worker.longest_ms = worker.longest_ms.max(holding.longest_ms);
            *worker.queues.entry(sampler.queue.name().to_owned()).or_default() += holding.items;
        }
        for registered in history.workers.iter() {
            let worker = workers.entry(registered.worker.clone()).or_default();
            worker.queues.entry(sampler.queue.name().to_owned()).or_default();
            if worker.registered.as_ref().is_none_or(|known| known.seen_ms > registered.seen_ms) {
                worker.registered = Some(registered.clone());
            }
        }
        if sample.watched.workers.is_empty() && !history.workers.iter().any(concerns::is_there) {
            idle.push(unattended(&sampler, &history));
        } else if !sample.watched.workers.is_empty()
            && let Err(error) = leases(app, &sampler, &mut workers)
        {
            problems.push(json!({"queue": sampler.queue.name(), "text": items::error_text(&error)}));
        }
    }
    let (mut here, mut gone): (Vec<_>, Vec<_>) = workers.into_iter().partition(|(_, worker)| worker.is_there());
    here.sort_by_key(|(_, worker)| -worker.items);
    let seen_ms = |worker: &Worker| worker.registered.as_ref().map_or(i64::MAX, |registered| registered.seen_ms);
    gone.retain(|(_, worker)| seen_ms(worker) < DAY_MS);
    gone.sort_by_key(|(_, worker)| seen_ms(worker));
    gone.truncate(GONE);
    let documents = |workers: Vec<(String, Worker)>| -> Vec<_> {
        workers.into_iter().map(|(name, worker)| document(&name, worker)).collect()
    };
    let (workers, gone) = (documents(here), documents(gone));
    let data = json!({"workers": workers, "gone": gone, "unattended": idle, "problems": problems, "read": READ});
    app.pages.answer(app, request, 200, Page::new("workers.html", "Workers", "Workers", data))
}

/// Adds the leases of a queue's items in flight, by one bounded search.
fn leases(app: &App, sampler: &Sampler, workers: &mut BTreeMap<String, Worker>) -> readpast::Result<()> {
    let spec = sampler.queue.spec();
    let filter = Filter { states: vec![ItemState::Processing], ..Filter::default() };
    let looked = looked::look(&sampler.queue, &filter, READ, app.most);
    for item in looked.pages.iter().flat_map(Batch::iter) {
        let owner = roles::text(spec, &item, "owner").unwrap_or_default();
        let (Some(worker), Some(until)) = (workers.get_mut(&owner), roles::text(spec, &item, "lease_until")) else {
            continue;
        };
        let (first, last) = worker.leases.take().unwrap_or_else(|| (until.clone(), until.clone()));
        worker.leases = Some((first.min(until.clone()), last.max(until.clone())));
        let renewed = before(&until, i64::from(spec.lease.ms));
        worker.renewed = worker.renewed.take().max(renewed);
    }
    looked.failure.map_or(Ok(()), Err)
}

/// A UTC time so many milliseconds earlier.
fn before(utc: &str, ms: i64) -> Option<String> {
    let then = u64::try_from(utc_ms(utc)? - ms).ok()?;
    Some(utc_text(SystemTime::UNIX_EPOCH + Duration::from_millis(then)))
}

/// A queue without a worker: what is due, and since when nobody is there, by the registry, or as far as this process has seen.
fn unattended(sampler: &Sampler, history: &History) -> Value {
    if let Some(last) = history.workers.first() {
        return json!({
            "queue": sampler.queue.name(),
            "due": history.samples.last().map(|sample| sample.watched.stats.due),
            "oldest_due_ms": history.samples.last().and_then(|sample| sample.watched.stats.oldest_due_ms),
            "since": last.seen_at,
            "at_least": false,
        });
    }
    let held = history.samples.iter().rposition(|sample| !sample.watched.workers.is_empty());
    let since = history.samples.get(held.map_or(0, |at| at + 1));
    json!({
        "queue": sampler.queue.name(),
        "due": history.samples.last().map(|sample| sample.watched.stats.due),
        "oldest_due_ms": history.samples.last().and_then(|sample| sample.watched.stats.oldest_due_ms),
        "since": since.map(|sample| utc_text(sample.at)),
        // Without an earlier worker the time is only that of the first sample.
        "at_least": held.is_none(),
    })
}

fn document(name: &str, worker: Worker) -> Value {
    let parts: Vec<_> = name.split(':').collect();
    // The library's own names: host, process, and a random number.
    let (host, process) = match parts.as_slice() {
        [host, process, _] if process.parse::<u32>().is_ok() => (Some(*host), Some(*process)),
        _ => (None, None),
    };
    let is_there = worker.is_there();
    let queues: Vec<_> =
        worker.queues.into_iter().map(|(queue, items)| json!({"queue": queue, "items": items})).collect();
    let (first, last) = worker.leases.unzip();
    let registered = worker.registered.as_ref();
    let host = registered.map(|of| of.host.as_str()).filter(|host| !host.is_empty()).or(host);
    let process = registered.map(|of| of.process.to_string()).or(process.map(str::to_owned));
    json!({
        "worker": name, "host": host, "process": process, "version": registered.map(|of| &of.version),
        "started_at": registered.map(|of| &of.started_at), "seen_at": registered.map(|of| &of.seen_at),
        "state": if worker.items > 0 { "Working" } else if is_there { "Idle" } else { "Gone" },
        "items": worker.items, "longest_ms": worker.longest_ms,
        "queues": queues, "first_lease_until": first, "last_lease_until": last, "last_renewal": worker.renewed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_names_the_process_of_any_worker() {
        let registered = RegisteredWorker {
            worker: "mailer".to_owned(),
            host: "vm".to_owned(),
            process: 17,
            version: "0.1.0".to_owned(),
            started_at: "2026-11-28T01:00:00.0000000".to_owned(),
            seen_at: "2026-11-28T02:14:30.0000000".to_owned(),
            seen_ms: 1_000,
        };
        let shown = |seen_ms, items| {
            let registered = Some(RegisteredWorker { seen_ms, ..registered.clone() });
            document("mailer", Worker { items, registered, ..Worker::default() })
        };
        let idle = shown(1_000, 0);
        assert_eq!((&idle["host"], &idle["process"], &idle["state"]), (&json!("vm"), &json!("17"), &json!("Idle")));
        assert_eq!((&shown(90_000, 0)["state"], &shown(90_000, 1)["state"]), (&json!("Gone"), &json!("Working")));
    }

    #[test]
    fn a_name_of_the_library_has_a_host_and_a_process() {
        let shown = |name| document(name, Worker::default());
        assert_eq!((&shown("vm:4744:b082")["host"], &shown("vm:4744:b082")["process"]), (&json!("vm"), &json!("4744")));
        for other in ["mailer", "a:b:c", "", "vm:1"] {
            assert_eq!(shown(other)["host"], Value::Null, "{other}");
        }
    }

    #[test]
    fn a_renewal_was_a_lease_before_its_end() {
        let found = before("2026-11-21T08:30:30.5000000", 30_000);
        assert_eq!(found.as_deref(), Some("2026-11-21T08:30:00.5000000"));
        assert_eq!(before("soon", 1), None);
    }
}
