//! Code that the tests share. A suite takes from here; no suite takes from another.

#![allow(clippy::new_without_default, reason = "a new database is no default of anything")]

pub mod api;
pub mod both;
pub mod citus;
pub mod cluster;
pub mod database;
pub mod dice;
pub mod fixture;
pub mod folder;
pub mod hostile;
pub mod ledger;
pub mod limit;
pub mod matrix;
pub mod scratch;
pub mod scripted;
pub mod tds_peer;
