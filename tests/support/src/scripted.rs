//! A queue on the scripted server: what its procedures would answer, with faults where a test wants them.

pub mod ledger;
pub mod server;
