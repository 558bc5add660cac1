//! The cost of 10,000 schedules: of a claim while none of them is due, against the same queue without; and the time until all of them
//! have fired that are due at one moment.
//!
//! Why: a tenant's schedule is a row, so there may be as many as tenants. They have to cost nothing while they wait, and midnight has to
//! be over soon.
//!
//! How to read it: the claims of the two queues take turns in one run; a figure is the median time of a claim, and the ratio is of the
//! medians. At midnight one process fires, schedule by schedule, each in a commit of its own, and takes the items as well.

mod common;

use common::{Server, median, record, show, verdict};
use readpast::item::{Action, Batch, Columns, NewItem, ScheduleChange, Settlement};
use readpast::queue::Queue;
use readpast::{QueueSpec, install};
use serde_json::json;
use std::time::{Duration, Instant};

const SCHEDULES: u32 = 10_000;
const CLAIM: u32 = 10;
const ROUNDS: u32 = 501;

fn main() {
    Server::each("schedules", |server| {
        let [plain, many] = ["Plain", "Many"].map(|name| open(server, name));
        let (rounds, schedules) = (server.scaled(ROUNDS).max(41), server.scaled(SCHEDULES));
        let begun = Instant::now();
        for number in 0..schedules {
            many.set_schedule(&format!("tenant {number}"), &yearly(number)).unwrap();
        }
        let made = begun.elapsed();
        // The process that claims gives each its first planned time, a few at a look.
        let begun = Instant::now();
        let unplanned = if server.is_sql_server() {
            "SELECT COUNT(*) FROM [readpast].QueueSchedule WHERE NextAt IS NULL"
        } else {
            "SELECT COUNT(*) FROM readpast.queue_schedule WHERE next_at IS NULL"
        };
        while server.number(unplanned) > 0 {
            assert!(many.claim(CLAIM, Duration::ZERO).unwrap().is_empty());
        }
        let planned = begun.elapsed();
        for queue in [&plain, &many] {
            let items = vec![NewItem::default(); (rounds * CLAIM) as usize];
            items.chunks(1000).for_each(|part| drop(queue.enqueue(part, None).unwrap()));
        }
        ["Plain", "Many"].iter().for_each(|name| server.settle_down(name));

        let times: Vec<_> = (0..rounds).map(|_| [&plain, &many].map(claim)).collect();
        let [without, with] = [0, 1].map(|at| median(times.iter().map(|round| round[at]).collect()));
        let ratio = with / without;
        verdict("a claim of ten beside schedules, against none", &format!("{ratio:.2} x"), "<= 1.05 x", ratio <= 1.05);

        let midnight = if server.is_sql_server() {
            "UPDATE [readpast].QueueSchedule SET NextAt = CAST(DATEADD(SECOND, -1, SYSUTCDATETIME()) AS datetime2(0))"
        } else {
            "UPDATE readpast.queue_schedule SET next_at = date_trunc('second', clock_timestamp()) - interval '1 second'"
        };
        server.session().execute(midnight, &[]).unwrap();
        // This process learns it by a change of its own.
        many.set_schedule("tenant 0", &ScheduleChange::default()).unwrap();
        let begun = Instant::now();
        let mut left = schedules;
        while left > 0 {
            let batch = many.claim(1000, Duration::from_secs(1)).unwrap();
            left -= u32::try_from(batch.len()).unwrap();
            end(&many, &batch);
        }
        let took = begun.elapsed();
        println!(
            "  {schedules} schedules made in {}, planned in {}, fired and done in {}",
            show(made),
            show(planned),
            show(took)
        );
        for (name, time) in [("made", made), ("planned", planned), ("fired, and their items done", took)] {
            let a_second = f64::from(schedules) / time.as_secs_f64();
            record::row(
                "schedules",
                json!({"": name, "schedules": schedules, "time": show(time), "a second": a_second.round()}),
            );
        }
    });
}

fn open(server: &Server, name: &str) -> Queue {
    let mut spec =
        json!({"queue": name, "columns": [{"name": "Tenant", "type": "integer", "nullable": false, "default": 0}]});
    if name == "Many" {
        spec["schedule"] = json!([]);
    }
    install(&server.config(&[]), Some(&QueueSpec::from_json(&spec.to_string()).unwrap())).unwrap();
    server.open(name, &[("recover.interval_ms", "3600000")])
}

/// A schedule that does not fire by itself as long as this runs.
fn yearly(tenant: u32) -> ScheduleChange {
    let columns = Columns::from_json(&json!({"Tenant": tenant}).to_string()).unwrap();
    ScheduleChange {
        cron: Some("0 0 29 2 *".to_owned()),
        zone: Some("UTC".to_owned()),
        item: Some(NewItem { columns, ..NewItem::default() }),
        ..ScheduleChange::default()
    }
}

/// The seconds that a claim takes; its items end.
fn claim(queue: &Queue) -> f64 {
    let begun = Instant::now();
    let batch = queue.claim(CLAIM, Duration::ZERO).unwrap();
    let time = begun.elapsed();
    assert_eq!(batch.len(), CLAIM as usize);
    end(queue, &batch);
    time.as_secs_f64()
}

fn end(queue: &Queue, batch: &Batch) {
    let ends: Vec<_> = batch.iter().map(|item| Settlement::new(&item, Action::Complete)).collect();
    if !ends.is_empty() {
        queue.settle(&ends, None).unwrap();
    }
}
