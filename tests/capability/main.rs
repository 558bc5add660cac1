//! Tests of all that a queue can do, each written once and run for every server at hand and for both layers: the Rust API and the
//! C functions.
//!
//! `READPAST_TEST_POSTGRES`, `READPAST_TEST_SQLSERVER` and `READPAST_TEST_CITUS` (a coordinator) hold the connection strings of the servers.
//! Each gets a scratch database, on Citus a sharded schema `readpast` in the one named, which is dropped at the end.

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

/// Bodies that Citus cannot pass, each with the reason.
const NOT_ON_CITUS: [(&str, &str); 9] = [
    ("alone::alone_holds_between_types_too", "no own_types_only"),
    ("ask::answers_have_the_members_of_the_page", "no triggers, by which items wait for others"),
    ("lease::only_claims_and_renewals_are_lazy", "no triggers"),
    ("refused::a_trigger_stops_only_its_row", "no triggers"),
    ("columns::subtypes_have_constraints", "a node's error loses its class in a statement that adds to two tables"),
    ("subtypes::exclusive_ones_are_checked_by_the_table", "the same"),
    ("stats::how_many_workers_are_needed", "the test itself changes a row by a sum that is STABLE"),
    ("claim::a_claim_is_found_by_its_number", "a time without a zone is not written"),
    ("roles::", "views are for the owner only"),
];

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
                if server.is_citus() && NOT_ON_CITUS.iter().any(|(body, _)| name.starts_with(body)) {
                    continue;
                }
                let server = Arc::clone(server);
                trials.push(Trial::test(format!("{}/{layer}/{name}", server.label()), move || {
                    run(|| body(&support::fixture::Given::new(server, layer, name)))
                }));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list && servers.iter().all(|server| !server.is_citus()) {
        println!("left out: Citus, since READPAST_TEST_CITUS is not set");
    }
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
