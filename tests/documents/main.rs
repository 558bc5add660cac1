//! The five documents: each one's table as it is declared there, adopted and drained by worker processes that are killed,
//! and the behaviour that the document describes, a test for each piece of it. The same bodies run on PostgreSQL and,
//! when `READPAST_TEST_SQLSERVER` is set, on that server. Every test has a database of its own.
//!
//! `tests/documents/*.sql` holds the tables, `sql/specs` the descriptions by which they are adopted.
//!
//! `READPAST_DOCUMENTS_SEED` repeats the dice of an earlier run (though not what the machine made of them).

mod audit;
mod consumer;
mod crew;
mod drain;
mod email_requests;
mod four_queue;
mod hand;
mod killer;
mod lock_table;
mod next_item;
mod place;
mod queue_four;
mod relational;
mod simple_queue;

use libtest_mimic::{Arguments, Failed, Trial};
use place::Server;
use std::{env, panic::AssertUnwindSafe};

/// A test body.
type Body = fn(Server);

fn main() {
    if let Ok(order) = env::var(crew::ORDER) {
        return hand::run(&order);
    }
    if let Ok(order) = env::var(killer::ORDER) {
        return killer::run(&order);
    }
    let arguments = Arguments::from_args();
    let documents: [(&str, &[(&str, Body)]); 8] = [
        ("relational", relational::BODIES),
        ("four_queue", four_queue::BODIES),
        ("queue_four", queue_four::BODIES),
        ("email_requests", email_requests::BODIES),
        ("simple_queue", simple_queue::BODIES),
        ("lock_table", lock_table::BODIES),
        ("next_item", next_item::BODIES),
        ("one_killer_among_fifty", killer::BODIES),
    ];
    let mut trials = Vec::new();
    for server in if arguments.list { Vec::new() } else { Server::at_hand() } {
        for (document, bodies) in documents {
            for (name, body) in bodies.iter().copied() {
                let name = format!("{}/{document}/{name}", server.label());
                trials.push(Trial::test(name, move || run(|| body(server))));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn run(body: impl FnOnce()) -> Result<(), Failed> {
    std::panic::catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Failed::from(text.unwrap_or("it panicked").to_owned())
    })
}
