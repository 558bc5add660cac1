//! Workers in several processes drain one queue while they are killed and paused at random: nothing is lost, nothing is
//! done twice, nothing is stuck, and every attempt is accounted for. On every server at hand, through the Rust API and
//! through the C functions.
//!
//! The test starts itself as the worker processes. Each keeps a ledger, a file of its own, in which it notes what it
//! claimed, what it is about to ask of the server, and what the server answered. At the end the ledgers and the table
//! must tell the same story (`audit`). Nothing here depends on how fast anything is.
//!
//! `READPAST_CONTENTION_ITEMS` is how many items there are, `READPAST_CONTENTION_SEED` repeats the dice of an earlier run
//! (though not what the machine made of them).

mod audit;
mod herd;
mod worker;

use audit::Audit;
use herd::Herd;
use libtest_mimic::{Arguments, Trial};
use std::{
    env,
    sync::{Arc, atomic::AtomicBool, atomic::Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};
use support::dice::Dice;
use support::fixture::{Given, Server};

/// Worker processes at any time.
const PROCESSES: usize = 4;

/// How many processes are killed in a run, each at a random moment.
const KILLS: usize = 20;

/// The attempts an item has.
const MAX_ATTEMPTS: i32 = 10;

/// After this long something is stuck, whatever the machine.
const PATIENCE: Duration = Duration::from_secs(1800);

fn main() {
    if let Ok(order) = env::var(worker::ORDER) {
        return worker::run(&order);
    }
    let mut arguments = Arguments::from_args();
    // One herd at a time is enough for any machine.
    arguments.test_threads = Some(1);
    let servers: Vec<_> = if arguments.list { Vec::new() } else { Server::at_hand() };
    let mut trials = Vec::new();
    for server in &servers {
        for layer in support::api::LAYERS {
            for shards in [None, Some(4)] {
                let given = Given::new(Arc::clone(server), layer, "contention");
                let of_shards = if shards.is_some() { "_of_shards" } else { "" };
                let name = format!("{}/{layer}/every_item{of_shards}_is_done_once", server.label());
                trials.push(Trial::test(name, move || {
                    every_item_is_done_once(&given, shards);
                    Ok(())
                }));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    for server in &servers {
        server.drop_scratch();
    }
    conclusion.exit();
}

fn every_item_is_done_once(given: &Given, shards: Option<u8>) {
    let number = |name, otherwise| env::var(name).map_or(otherwise, |text| text.parse().expect(name));
    let items = number("READPAST_CONTENTION_ITEMS", if shards.is_some() { 8_000 } else { 20_000 });
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("READPAST_CONTENTION_SEED", now % 1_000_000);
    println!("{} items, READPAST_CONTENTION_SEED={seed}", items);
    let mut dice = Dice::new(seed);

    let source = match shards {
        Some(shards) => given.described(&format!(r#""shards": {shards}"#)),
        None => given.queue(&[]),
    };
    given.set_max_attempts(MAX_ATTEMPTS);
    let enqueue = |first| {
        let batch: Vec<_> = (first..items.min(first + 500)).map(|i| support::api::item(&i.to_string())).collect();
        source.enqueue(&batch, None).unwrap();
    };
    enqueue(0);
    let mut herd = Herd::start(given, PROCESSES, &mut dice);
    // The moments: so many bytes in the ledgers, which grow by some hundred for each item.
    let mut moments: Vec<_> = (0..KILLS).map(|_| dice.below(items * 100)).collect();
    moments.sort_unstable_by(|a, b| b.cmp(a));

    let begun = Instant::now();
    let all_in = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            (500..items).step_by(500).for_each(enqueue);
            all_in.store(true, Ordering::SeqCst);
        });
        loop {
            thread::sleep(Duration::from_millis(10));
            herd.tend();
            if moments.last().is_some_and(|moment| herd.noted() >= *moment) {
                moments.pop();
                herd.replace_one(&mut dice);
                continue;
            }
            // Looking costs the server a scan: only when it may well be over.
            let over = all_in.load(Ordering::SeqCst) && moments.is_empty() && herd.is_whole() && unfinished(given) == 0;
            if over {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{} items are stuck", unfinished(given));
        }
    });
    let kills = herd.kills();
    let ledgers = herd.dismiss();
    let audit = Audit::new(&ledgers, given);
    audit.check(items, kills);
    println!("{}; {:.1} s", audit.summary(), begun.elapsed().as_secs_f64());
}

fn unfinished(given: &Given) -> i64 {
    given.look("COUNT(*)", "Status IN ('Pending', 'Processing', 'Error', 'Paused')").parse().unwrap()
}
