//! The driver, but for what a scenario is surrounded by: reads scenarios, speaks to adapters, compares, and sums up.

mod adapter;
mod expand;
mod pattern;
mod policy;
mod run;
mod scenario;
mod statuses;
mod table;

#[allow(unused_imports, reason = "each of two test binaries uses its part of them")]
pub use self::scenario::{Place, Scenario, load};
pub use adapter::Program;
pub use pattern::{Variables, matches};
#[allow(unused_imports, reason = "each of two test binaries uses its part of them")]
pub use policy::unproven;
pub use run::{Surroundings, run};
pub use statuses::missing;
pub use table::{Cell, render};
