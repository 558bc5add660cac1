//! Enqueues items of [readpast](https://crates.io/crates/readpast)'s queues in the caller's own transaction, over the caller's own
//! driver: an order and the mail about it are there together, or neither is. Workers use the crate `readpast`, which has the native
//! library; this one has none.
//!
//! Each driver is a feature, and a module of that name with one function, `enqueue`: [`tokio_postgres`], [`postgres`] (synchronous),
//! [`sqlx`] and [`tiberius`]. For another driver [`Call`] has the statement and its parameters.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The example of the README is compiled.
#[cfg(all(doctest, feature = "sqlx"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod call;
mod item;
mod queue;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlx")]
pub mod sqlx;
#[cfg(feature = "tiberius")]
pub mod tiberius;
#[cfg(feature = "tokio-postgres")]
pub mod tokio_postgres;

pub use self::call::{Call, Receipt, Unfit};
pub use self::item::{After, NewItem, OnFailed};
pub use self::queue::Queue;
