//! The worker: what handlers do, and what becomes of their items, on each server at hand.

mod changes;
mod ending;
mod failing;
mod figures;
mod given;
mod holding;
mod logging;
mod on_tokio;
mod outage;
mod retention;
mod tidying;
mod typed;
#[cfg(unix)]
mod wanting;
