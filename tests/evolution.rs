//! A queue whose description changes, and a database that an earlier release installed: the items stay, and workers go on.
//!
//! `READPAST_TEST_POSTGRES` and `READPAST_TEST_SQLSERVER` hold the connection strings of the servers; each test gets a
//! database of its own on each.

#[path = "both/batches.rs"]
mod batches;
#[path = "evolution/changes.rs"]
mod changes;
#[path = "evolution/columns.rs"]
mod columns;
#[path = "evolution/database.rs"]
mod database;
#[path = "evolution/owners.rs"]
mod owners;
#[path = "evolution/release.rs"]
mod release;
#[path = "evolution/scripts.rs"]
mod scripts;
