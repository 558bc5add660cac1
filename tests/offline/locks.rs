//! A model of the locks that the procedures take on SQL Server, and all interleavings of two and three sessions: no item is
//! claimed twice, nothing is lost, our own procedures never end one another, and a claim waits for nobody who changes items.
//!
//! What each procedure does stands in `programs`, once: the search runs it, and `rendered` holds it to the rendered SQL.
//! Not in the model: prefetching, which the statements rule out by their hints, and what `world` leaves out.

mod adding;
mod history;
mod programs;
mod proofs;
mod proofs_attempts;
mod proofs_kinds;
mod reading;
mod rendered;
mod rendered_attempts;
mod rendered_kinds;
mod search;
mod session;
mod statement;
mod variants;
mod variants_attempts;
mod world;
