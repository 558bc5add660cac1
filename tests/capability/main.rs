//! Tests of all that a queue can do, each written once and run for every server at hand and for both layers: the Rust API and the
//! C functions.
//!
//! `READPAST_TEST_POSTGRES` and `READPAST_TEST_SQLSERVER` hold the connection strings of the servers. Each gets a scratch
//! database, which is dropped at the end.

mod by_hand;

mod alone;
mod ask;
mod attempts;
mod backoff;
mod bytes;
mod claim;
mod columns;
mod completion;
mod dedup;
mod enqueue;
mod group;
mod history;
mod install;
mod kinds;
mod lease;
mod metrics;
mod names;
mod operate;
mod order;
mod pool;
mod refused;
mod replacing;
mod roles;
mod searched;
mod set;
mod settle;
mod shards;
mod states;
mod stats;
mod steps;
mod subtypes;
mod text;
mod wait;

use libtest_mimic::{Arguments, Failed, Trial};
use std::{panic::AssertUnwindSafe, sync::Arc};
use support::fixture::{Body, Server};

fn main() {
    let arguments = Arguments::from_args();
    let servers: Vec<_> = if arguments.list { Vec::new() } else { Server::at_hand() };
    let capabilities: &[&[(&str, Body)]] = &[
        alone::BODIES,
        ask::BODIES,
        attempts::BODIES,
        backoff::BODIES,
        bytes::BODIES,
        claim::BODIES,
        columns::BODIES,
        completion::BODIES,
        dedup::BODIES,
        enqueue::BODIES,
        group::BODIES,
        history::BODIES,
        install::BODIES,
        kinds::BODIES,
        lease::BODIES,
        metrics::BODIES,
        names::BODIES,
        order::BODIES,
        operate::BODIES,
        pool::BODIES,
        refused::BODIES,
        replacing::BODIES,
        roles::BODIES,
        searched::BODIES,
        set::BODIES,
        settle::BODIES,
        shards::BODIES,
        states::BODIES,
        stats::BODIES,
        steps::BODIES,
        subtypes::BODIES,
        text::BODIES,
        wait::BODIES,
    ];
    let mut trials = Vec::new();
    for server in &servers {
        for layer in support::api::LAYERS {
            for (name, body) in capabilities.iter().copied().flatten() {
                let server = Arc::clone(server);
                trials.push(Trial::test(format!("{}/{layer}/{name}", server.label()), move || {
                    run(|| body(&support::fixture::Given::new(server, layer, name)))
                }));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    for server in &servers {
        println!("ran on {}", server.describe());
        server.drop_scratch();
    }
    conclusion.exit();
}

fn run(body: impl FnOnce()) -> Result<(), Failed> {
    std::panic::catch_unwind(AssertUnwindSafe(body)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Failed::from(text.unwrap_or("it panicked").to_owned())
    })
}
