//! The worker: what handlers do, and what becomes of their items, on each server at hand.

mod both;
mod scratch;

#[path = "worker/ending.rs"]
mod ending;
#[path = "worker/failing.rs"]
mod failing;
#[path = "worker/figures.rs"]
mod figures;
#[path = "worker/given.rs"]
mod given;
#[path = "worker/holding.rs"]
mod holding;
#[path = "worker/logging.rs"]
mod logging;
#[path = "worker/outage.rs"]
mod outage;
#[path = "worker/retention.rs"]
mod retention;
#[path = "worker/tidying.rs"]
mod tidying;
