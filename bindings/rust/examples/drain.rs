//! Claims and completes items as fast as one thread can, in batches of 100, and says how long it took: what the other
//! languages are compared with.
//!
//!     READPAST_CONNECTION='Driver={...};Server=...;' drain [-o key=value]... queue count
//!
//! It reads of each item what a worker needs: key, token, attempt and the column Payload.

use readpast::{Action, Answer, Batch, Config, Queue, Settlement, Value};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::time::{Duration, Instant};

const BATCH_SIZE: u32 = 100;

/// After so many items, memory should not grow any more.
const WARM: usize = 50_000;

/// The processor time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

fn resident_kb() -> Result<usize, Box<dyn Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("/proc/self/statm cannot be read")?.parse()?;
    Ok(pages * rustix::param::page_size() / 1024)
}

/// Looks at every item, and says how to settle it.
fn complete<'a>(batch: &'a Batch, read: &mut usize) -> Vec<Settlement<'a>> {
    let settle = |item: readpast::Item<'a>| {
        if let Some(Value::Text(payload)) = item.value_of("Payload") {
            *read += payload.len();
        }
        Settlement::new(&item, Action::Complete)
    };
    batch.iter().map(settle).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::new();
    config.set("connection", &std::env::var("READPAST_CONNECTION").unwrap_or_default())?;
    let mut rest = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "-o" {
            let setting = arguments.next().unwrap_or_default();
            let (key, value) = setting.split_once('=').ok_or("-o takes key=value")?;
            config.set(key, value)?;
        } else {
            rest.push(argument);
        }
    }
    let [name, wanted] = rest.as_slice() else { return Err("usage: drain [-o key=value]... queue count".into()) };
    let wanted: usize = wanted.parse()?;
    let queue = Queue::open(&config, name)?;

    let (mut done, mut read) = (0, 0);
    let mut rss_begin = resident_kb()?;
    let (cpu, begun) = (cpu_seconds(), Instant::now());
    let mut batch = queue.claim(BATCH_SIZE, Duration::ZERO)?;
    while !batch.is_empty() {
        let (outcomes, next) = queue.settle_and_claim(&complete(&batch, &mut read), None, BATCH_SIZE)?;
        if outcomes.iter().any(|outcome| outcome.answer != Answer::Ok) {
            return Err("an item was refused".into());
        }
        if done < WARM && done + batch.len() >= WARM {
            rss_begin = resident_kb()?;
        }
        done += batch.len();
        batch = next;
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    if done != wanted || read == 0 {
        return Err(format!("there were {done} items").into());
    }
    println!(
        "{{\"items\":{done},\"seconds\":{seconds:.6},\"cpu_seconds\":{cpu:.6},\"rss_begin_kb\":{rss_begin},\"rss_end_kb\":{}}}",
        resident_kb()?
    );
    Ok(())
}
