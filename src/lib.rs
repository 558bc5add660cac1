//! Work queues in ordinary SQL Server tables (and PostgreSQL), driven from any language through one vetted library.

pub mod config;
pub mod dialect;
pub mod error;
#[doc(hidden)]
pub mod ffi;
pub mod ident;
pub mod install;
pub mod item;
pub mod pool;
pub mod queue;
pub mod session;
pub mod spec;
pub mod worker;
