//! A queue whose description changes, and a database that an earlier release installed: the items stay, and workers go on.
//!
//! `READPAST_TEST_POSTGRES` and `READPAST_TEST_SQLSERVER` hold the connection strings of the servers; each test gets a
//! database of its own on each.

mod at_work;
mod changes;
mod columns;
mod database;
mod owners;
mod release;
mod scripts;
