//! Windows-only code, each part behind functions that are safe to call.

pub mod access;
pub mod console;
pub mod event_log;
pub mod times;
