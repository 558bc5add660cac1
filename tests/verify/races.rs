//! Workers that compete, with READ_COMMITTED_SNAPSHOT off and on; and how fast they are.

use crate::place::{Place, SHARDS};
use crate::report::{Report, cell};
use readpast::Result;
use readpast::item::{Action, Answer, Batch, Settlement};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// How often each item was completed, and how long it took.
fn drain(place: &Place, sessions: usize, size: u32) -> Result<(BTreeMap<String, usize>, Duration)> {
    let queues: Vec<_> = (0..sessions).map(|number| place.queue(&format!("racer {number}"))).collect::<Result<_>>()?;
    let begun = Instant::now();
    let work = |queue: &readpast::queue::Queue| -> Result<Vec<String>> {
        let mut done = Vec::new();
        let mut batch = queue.claim(size, Duration::ZERO)?;
        while !batch.is_empty() {
            let ends: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
            let (outcomes, next): (_, Batch) = queue.settle_and_claim(&ends, None, size)?;
            let ok = batch.iter().zip(&outcomes).filter(|(_, outcome)| outcome.answer == Answer::Ok);
            done.extend(ok.map(|(item, _)| item.key().to_owned()));
            batch = next;
        }
        Ok(done)
    };
    let mut counts = BTreeMap::new();
    let results: Vec<Result<Vec<String>>> = thread::scope(|scope| {
        let threads: Vec<_> = queues.iter().map(|queue| scope.spawn(|| work(queue))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why))).collect()
    });
    for key in results.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        *counts.entry(key).or_insert(0) += 1;
    }
    Ok((counts, begun.elapsed()))
}

/// So many items, and as many sessions on them as there are.
fn race(place: &Place, report: &mut Report, sessions: usize, size: u32, count: usize) -> Result<()> {
    place.empty()?;
    place.fill(count)?;
    let before = latched(place);
    let (counts, took) = drain(place, sessions, size)?;
    let waits = match (before, latched(place)) {
        (Some(before), Some(after)) => format!("; PAGELATCH_EX {} ms", after - before),
        _ => String::new(),
    };
    let once = counts.len() == count && counts.values().all(|times| *times == 1);
    let rate = count as f64 / took.as_secs_f64();
    report.expect(
        once,
        format!(
            "{sessions} sessions, {size} a call: each of {count} items once ({}); {rate:.0} items/s{waits}",
            counts.len()
        ),
    );
    Ok(())
}

/// For how long the server's sessions have waited for a page that others latch, as far as the login may see it.
fn latched(place: &Place) -> Option<i64> {
    let query = "SELECT s.wait_time_ms FROM sys.dm_os_wait_stats AS s WHERE s.wait_type = N'PAGELATCH_EX'";
    cell(&place.execute(query).ok().filter(|rows| !rows.is_empty())?, 0, 0).parse().ok()
}

/// One head, and several: the same work, one after the other.
fn heads(place: &Place, report: &mut Report, items: usize) -> Result<()> {
    for shards in [None, Some(SHARDS), None, Some(SHARDS)] {
        report.chapter(&shards.map_or_else(|| "One head".to_owned(), |shards| format!("shards = {shards}")));
        place.deal(shards)?;
        for (sessions, size) in [(8, 1), (16, 1), (32, 1), (32, 100)] {
            race(place, report, sessions, size, if size == 1 { items / 5 } else { items })?;
        }
    }
    place.empty()?;
    place.deal(None)
}

pub fn run(place: &Place, report: &mut Report, items: usize) -> Result<()> {
    for snapshot in ["OFF", "ON"] {
        report.chapter(&format!("Competing workers, READ_COMMITTED_SNAPSHOT {snapshot}"));
        let set =
            format!("ALTER DATABASE {} SET READ_COMMITTED_SNAPSHOT {snapshot} WITH ROLLBACK IMMEDIATE", place.name());
        if let Err(error) = place.administer(&set) {
            report.unseen(&format!("READ_COMMITTED_SNAPSHOT {snapshot}"), error);
        }
        for (sessions, size) in [(1, 1), (1, 100), (8, 1), (8, 100), (32, 1), (32, 100)] {
            race(place, report, sessions, size, if size == 1 { items / 5 } else { items })?;
        }
    }
    heads(place, report, items)?;
    report.chapter("Deadlocks that the server has recorded (system_health)");
    let query = "SELECT CAST(t.target_data AS nvarchar(max)) FROM sys.dm_xe_session_targets AS t \
        INNER JOIN sys.dm_xe_sessions AS s ON s.address = t.event_session_address \
        WHERE s.name = N'system_health' AND t.target_name = N'ring_buffer'";
    match place.execute(query) {
        Ok(rows) => {
            let all: String = (0..rows.len()).map(|row| cell(&rows, row, 0)).collect();
            let events = all.split("<event ").filter(|event| event.contains("xml_deadlock_report"));
            let ours: Vec<_> = events.filter(|event| event.contains(place.name())).collect();
            report.expect(ours.is_empty(), format!("no deadlock in {}: {}", place.name(), ours.len()));
            ours.iter().for_each(|event| report.block(event));
        }
        Err(error) => report.unseen("system_health", error),
    }
    Ok(())
}
