//! The cost of places: the same items in one queue, and spread over 1, 2 and 4 databases of one server, drained by one worker with ten
//! handlers that do nothing, and put in 1,000 at a time.
//!
//! Why: an item's key has its place before it, each take asks the places in turn, and an enqueue finds the place of each item by a hash.
//! On one server there is no other log or head to gain: the figures show what spreading costs (docs/scale.md).
//!
//! How to read it: each round runs all of them, in turns; a ratio is the median of the rounds, with the least and the most of them. Above 1
//! is slower than the plain queue.

mod common;

use common::{Server, median, record};
use readpast::item::NewItem;
use readpast::{Columns, Config, Queue, QueueSpec, Worker, install};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const ITEMS: u32 = 20_000;
const ROUNDS: usize = 7;
const PLACES: [usize; 3] = [1, 2, 4];

const SPREAD: &str = r#"{"queue": "Spread", "columns": [{"name": "Payload", "type": "text"}, {"name": "No", "type": "integer"}], "spread_by": ["No"]}"#;

fn main() {
    Server::each("places", |server| {
        let others = ["places_b", "places_c", "places_d"].map(|name| server.another_database(name));
        let servers: Vec<_> = [server].into_iter().chain(&others).collect();
        for server in &servers {
            install(&server.config(&[]), Some(&QueueSpec::from_json(SPREAD).unwrap())).unwrap();
        }
        let count = server.scaled(ITEMS);
        for (what, measure) in [("enqueue", put as fn(&Queue, u32) -> f64), ("drain", drain)] {
            let mut plain = Vec::new();
            let mut ratios = vec![Vec::new(); PLACES.len()];
            for _ in 0..ROUNDS {
                let once = run(&servers, 0, count, what, measure);
                plain.push(f64::from(count) / once);
                for (places, ratios) in PLACES.iter().zip(&mut ratios) {
                    ratios.push(run(&servers, *places, count, what, measure) / once);
                }
            }
            println!("  {what}, one queue: {:.0} items/s", median(plain));
            for (places, mut ratios) in PLACES.iter().zip(ratios) {
                record::rounds("times as long as one queue", &format!("{what}, {places} places"), &ratios);
                ratios.sort_by(f64::total_cmp);
                let (least, most) = (ratios[0], ratios[ROUNDS - 1]);
                println!("  {what}, {places} places: {:.3} x as long ({least:.2} to {most:.2})", median(ratios));
            }
        }
    });
}

/// How long it takes with so many places; with 0 without any.
fn run(servers: &[&Server], places: usize, count: u32, what: &str, measure: fn(&Queue, u32) -> f64) -> f64 {
    servers.iter().for_each(|server| server.empty("Spread"));
    let queue = open(servers, places);
    if what == "drain" {
        put(&queue, count);
    }
    servers.iter().take(places.max(1)).for_each(|server| server.settle_down("Spread"));
    measure(&queue, count)
}

fn open(servers: &[&Server], places: usize) -> Queue {
    if places == 0 {
        return servers[0].open("Spread", &[]);
    }
    let mut config = Config::new();
    for (server, name) in servers.iter().zip(["a", "b", "c", "d"]).take(places) {
        config.set(&format!("places.{name}"), server.scratch()).unwrap();
    }
    Queue::open(&config, "Spread").unwrap()
}

fn put(queue: &Queue, count: u32) -> f64 {
    let item = |no| NewItem {
        columns: Columns::from_json(&format!(
            r#"{{"No": {no}, "Payload": "about as much as the parameters of a job"}}"#
        ))
        .unwrap(),
        ..NewItem::default()
    };
    let items: Vec<_> = (0..count).map(item).collect();
    let begun = Instant::now();
    for part in items.chunks(1000) {
        queue.enqueue(part, None).unwrap();
    }
    begun.elapsed().as_secs_f64()
}

fn drain(queue: &Queue, count: u32) -> f64 {
    let (done, begun) = (AtomicU32::new(0), Instant::now());
    let worker = Worker::new(queue).threads(10);
    let stop = worker.stop_handle();
    worker
        .run(|_: &readpast::worker::Job<'_>| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == count {
                stop.stop();
            }
        })
        .unwrap();
    let took = begun.elapsed().as_secs_f64();
    assert_eq!(done.load(Ordering::Relaxed), count);
    took
}
