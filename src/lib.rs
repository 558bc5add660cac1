//! Work queues in ordinary SQL Server tables (and PostgreSQL), driven from any language through one vetted library.
#![forbid(unsafe_code)]

pub mod error;
pub mod ident;
pub mod config;
pub mod item;
pub mod spec;
pub mod dialect;
